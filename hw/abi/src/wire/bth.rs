//! Base transport header (IBTA 9.2), and what follows it in a congestion notification.

use crate::{Psn, Qpn, layout::layout};

layout! {
    /// Base transport header.
    Bth: Big, 12 bytes;
    OPCODE         opcode:         u8   = 0, 0,  8, "operation, place in the message, headers that follow";
    SOLICITED      solicited:      bool = 1, 0,  1, "the receiver asked to be woken by this message";
    MIGRATION      migration:      bool = 1, 1,  1, "path migration state; 1 on RoCE";
    PAD            pad:            u8   = 1, 2,  2, "bytes added to the payload to fill a word";
    VERSION        version:        u8   = 1, 4,  4, "transport header version: 0";
    PARTITION      partition:      u16  = 2, 0, 16, "`P_Key`";
    FECN           fecn:           bool = 4, 0,  1, "congestion met forward; not in the ICRC";
    BECN           becn:           bool = 4, 1,  1, "congestion reported back; not in the ICRC";
    RESERVED6      reserved6:      u8   = 4, 2,  6, "zero; not in the ICRC";
    DESTINATION_QP destination_qp: Qpn  = 5, 0, 24, "queue pair at the receiver";
    ACK_REQUEST    ack_request:    bool = 8, 0,  1, "answer this packet";
    RESERVED7      reserved7:      u8   = 8, 1,  7, "zero";
    PSN            psn:            Psn  = 9, 0, 24, "packet sequence number";
}

layout! {
    /// The sixteen bytes behind the BTH of a congestion notification packet (Annex A17).
    Cnp: Big, 16 bytes;
    RESERVED reserved: u128 = 0, 0, 128, "zero";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_header_reads_as_its_fields() {
        // First SEND of the recorded Soft-RoCE run: queue pair 0x11, first PSN 0xfffff8.
        let bytes = [0x04, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0xff, 0xff, 0xf8];
        let header = Bth::parse(&bytes).unwrap();
        assert_eq!((header.opcode, header.partition), (0x04, 0xffff));
        assert_eq!((header.destination_qp, header.psn), (Qpn::new(0x11), Psn::new(0xff_fff8)));
        assert!(header.ack_request && !header.solicited && !header.fecn);
        assert_eq!(header.to_bytes(), bytes);
    }

    #[test]
    fn each_flag_sits_on_its_own_bit() {
        let bit = |header: Bth| {
            u128::from_be_bytes([[0; 4].as_slice(), &header.to_bytes()].concat().try_into().unwrap())
        };
        let flags = [
            (Bth { solicited: true, ..Bth::default() }, 0x80_u128 << 80),
            (Bth { migration: true, ..Bth::default() }, 0x40 << 80),
            (Bth { pad: 3, ..Bth::default() }, 0x30 << 80),
            (Bth { version: 15, ..Bth::default() }, 0x0f << 80),
            (Bth { fecn: true, ..Bth::default() }, 0x80 << 56),
            (Bth { becn: true, ..Bth::default() }, 0x40 << 56),
            (Bth { ack_request: true, ..Bth::default() }, 0x80 << 24),
        ];
        for (header, expected) in flags {
            assert_eq!(bit(header), expected, "{header:?}");
        }
    }
}
