//! The card's datapath as RustHDL blocks, and the emitter that turns them into Verilog.
//!
//! ```text
//!   wire ─▶ rx ─▶ head, payload ─▶ ┐                                    ┌ state: who may touch which memory
//!                                  ├ transport: reliable connections ───┤
//!   wire ◀─ tx ◀─ head, payload ◀─ ┘                                    └ host: the way to host memory
//! ```
//!
//! [`stream`] says how blocks talk, [`pack`] how their records become bits, [`head`] what is known of a packet. [`prim`]
//! holds the parts every stage is made of, [`rx`] and [`tx`] take packets apart and put them together ([`mask`] and [`crc`]
//! serve both), [`turn`] brings frames for the card itself back in, [`transport`] makes packets of work requests and carries out those of peers, [`mod@state`] checks and translates
//! addresses, [`host`] moves data. Kernels sit in [`slot`]s, which [`fabric`] joins to all that. [`verilog`] prints all of it, [`formal`] proves what can be proved.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

#[macro_use]
mod block;

pub mod constant;
pub mod crc;
pub mod fabric;
pub mod formal;
pub mod head;
pub mod host;
pub mod mask;
pub mod pack;
pub mod prim;
pub mod rx;
pub mod slot;
pub mod state;
pub mod stream;
pub mod transport;
pub mod turn;
pub mod tx;
pub mod verilog;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
