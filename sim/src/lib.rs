//! The Verilated card and what stands around it: the wire, and the files that record it.
//!
//! [`Card`] is the card of one profile with drivers on its ports; [`pcap`] reads and writes captures; [`host`] is what
//! the card's way to host memory will end in. The card's behaviour is RTL alone: nothing here knows a protocol.
//!
//! `STROMA_WAVES=/absolute/folder` makes every card write its waves there; see [`stroma_verilate`].

#![deny(unsafe_code)]

mod card;
pub mod host;
mod linked;
pub mod pcap;

pub use card::{Card, Packet, Streams};
