//! The PCIe block and the root behind it, as the shell meets them.
//!
//! ```text
//!            beats                packets                        transactions
//! shell ── s_axis_rq ─▶ stream ─▶ request ─▶ block (credits) ─▶ root ─▶ memory behind an IOMMU
//!       ◀─ m_axis_rc ── stream ◀─ completion ◀──────────────── root
//!       ◀─ m_axis_cq ── stream ◀─ access ◀──────────────────── processor: stores and loads
//!       ── s_axis_cc ─▶ stream ─▶ answer ─▶──────────────────── processor
//! ```
//!
//! [`PciBlock`] is called once for each edge of `user_clk`. Whatever a real block or a real root would punish, by dropping a
//! packet, by an error on the link or by memory that is wrong, is a panic here that names it.
//!
//! Formats are those of `pcie4_uscale_plus` with 512 bits, `DWord` aligned, without straddling, with tags of our own: descriptors of
//! PG213 ("Requester Request Descriptor Formats" and its three sisters), places in `tuser` as in alexforencich/cocotbext-pcie,
//! `cocotbext/pcie/xilinx/us/interface.py`.

mod access;
mod answer;
mod bits;
mod block;
mod byte_enables;
mod completion;
mod config;
mod credits;
mod management;
mod messages;
mod pins;
mod processor;
mod request;
mod root;
mod stream;
#[cfg(test)]
mod tests;

pub use block::{PciBlock, Weather};
pub use config::{BAR_BYTES, Config};
pub use credits::Room;
pub use messages::Message;
pub use pins::{FromShell, Management, MessagePins, ToShell};
pub use processor::{Bar, LoadId};
pub use stream::{Beat, CcBeat, CqBeat, RcBeat, RqBeat};

/// Bytes of a `DWord`, the unit of packets.
pub(crate) const DWORD: usize = 4;
/// No request crosses a multiple of this.
pub(crate) const PAGE: u64 = 4096;
