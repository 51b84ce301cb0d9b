//! What crosses Ethernet: RoCE v2 frames, from the outside in, then whole frames.
//!
//! ```text
//!   Ethernet [802.1Q] | IPv4 or IPv6 | UDP 4791 | BTH | extended headers | payload, pad | ICRC [padding]
//!   ethernet            ipv4  ipv6     udp        bth   by opcode: deth reth atomic     icrc
//!                                                       aeth imm rpc
//! ```

pub mod aeth;
pub mod arp;
pub mod atomic;
pub mod bth;
pub mod class;
pub mod classify;
pub mod deth;
pub mod ethernet;
pub mod extended;
pub mod frame;
pub mod grh;
pub mod header;
pub mod icrc;
pub mod imm;
pub mod ipv4;
pub mod ipv6;
pub mod opcode;
pub mod print;
pub mod reth;
pub mod rpc;
pub mod service;
pub mod udp;

pub use aeth::{Aeth, NakCode, Syndrome};
pub use arp::Arp;
pub use atomic::{AtomicAckEth, AtomicEth};
pub use bth::{Bth, Cnp};
pub use class::{Class, Reject};
pub use classify::{Shape, classify};
pub use deth::Deth;
pub use ethernet::{Ethernet, Mac, Tag};
pub use extended::Extended;
pub use frame::{EmitError, Frame, Ip};
pub use grh::GRH_LEN;
pub use header::{Header, HeaderSet};
pub use imm::{Ieth, ImmDt};
pub use ipv4::Ipv4;
pub use ipv6::Ipv6;
pub use opcode::{Opcode, Position, Role, Transport};
pub use reth::Reth;
pub use rpc::{RpcEth, RpcStatus, RpcTarget};
pub use service::{ServiceAnswer, ServiceRequest};
pub use udp::Udp;
