//! Datagram extended transport header (IBTA 9.3).

use crate::{Qpn, layout::layout};

layout! {
    /// What every UD packet carries behind its BTH.
    Deth: Big, 8 bytes;
    QUEUE_KEY queue_key: u32 = 0, 0, 32, "`Q_Key`: the receiving queue pair's must be equal";
    RESERVED  reserved:  u8  = 4, 0,  8, "zero";
    SOURCE_QP source_qp: Qpn = 5, 0, 24, "queue pair of the sender";
}
