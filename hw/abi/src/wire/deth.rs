//! Datagram extended transport header (IBTA 9.3).

use crate::{Qpn, layout::layout};

/// The destination of a datagram for all queue pairs that belong to a group.
pub const GROUP_QP: Qpn = Qpn::new(0xff_ffff);
/// The queue pair for management datagrams, of every station.
pub const MANAGEMENT_QP: Qpn = Qpn::new(1);
/// Its key.
pub const MANAGEMENT_KEY: u32 = 0x8001_0000;
/// A work request whose key has this bit sends its queue pair's key instead.
pub const OWN_KEY_BIT: u32 = 1 << 31;

layout! {
    /// What every UD packet carries behind its BTH.
    Deth: Big, 8 bytes;
    QUEUE_KEY queue_key: u32 = 0, 0, 32, "`Q_Key`: the receiving queue pair's must be equal";
    RESERVED  reserved:  u8  = 4, 0,  8, "zero";
    SOURCE_QP source_qp: Qpn = 5, 0, 24, "queue pair of the sender";
}
