//! UDP.

use crate::layout::layout;

/// Destination port of RoCE v2.
pub const ROCE_PORT: u16 = 4791;
/// IP protocol number of UDP.
pub const PROTOCOL: u8 = 17;

layout! {
    /// UDP header.
    Udp: Big, 8 bytes;
    SOURCE_PORT      source_port:      u16 = 0, 0, 16, "entropy for switches, one value a flow";
    DESTINATION_PORT destination_port: u16 = 2, 0, 16, "4791: RoCE v2";
    LENGTH           length:           u16 = 4, 0, 16, "this header and all behind it, ICRC included";
    CHECKSUM         checksum:         u16 = 6, 0, 16, "zero in RoCE; not in the ICRC, and never checked";
}
