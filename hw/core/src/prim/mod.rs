//! The parts every stage is made of: first those that hold one value, then memories, then streams, by size.

pub mod model;
pub mod own_clock;
pub mod reg;
pub mod reset_reg;
pub mod sync2;

pub mod colours;
pub mod pulses;

pub mod linear;
pub mod mul;
pub mod ram;

pub mod skid;

pub mod fork;
pub mod join;

pub mod ring;
pub mod stream_ram;

pub mod block_fifo;
pub mod fifo;
pub mod packet_fifo;

pub mod async_fifo;

pub mod round_robin;

pub mod all;
pub mod arbiter;

pub mod reverse;

pub mod insert;
pub mod narrow;
pub mod splice;
pub mod strip;

#[cfg(test)]
mod differential;
