//! The card's datapath as RustHDL blocks, and the emitter that turns them into Verilog.
//!
//! [`stream`] says how blocks talk, [`prim`] holds the parts every stage is made of, [`verilog`] prints them.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

#[macro_use]
mod block;

mod constant;
pub mod crc;
pub mod formal;
pub mod head;
pub mod host;
pub mod mask;
pub mod pack;
pub mod prim;
pub mod rx;
pub mod state;
pub mod stream;
pub mod tx;
pub mod verilog;

#[cfg(test)]
pub(crate) mod testing;
