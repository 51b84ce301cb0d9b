//! The PCIe side, one engine per file.

pub mod axi;
pub mod axi_lite;

pub mod dma_read;
pub mod dma_write;
pub mod reader;
pub mod writer;
pub mod writes;

pub mod control;

pub mod work;

pub mod doorbells;
pub mod send;

pub mod parse;

pub mod check;

pub mod mover;
pub mod work_path;

pub mod behind;
pub mod calm;
pub mod counts;
pub mod events;
pub mod restart;
pub mod time;

pub mod side;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod read_memory;
