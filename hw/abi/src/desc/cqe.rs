//! Completion queue entries.

use crate::{Qpn, codes::codes, layout::layout};

layout! {
    /// One completed request or receive: a single aligned write, its phase bit in the last byte.
    Cqe: Little, 32 bytes;
    DETAIL          detail:          u32  =  0, 0, 32, "immediate data, invalidated key, or RPC status";
    LENGTH          length:          u32  =  4, 0, 32, "bytes received, read, or answered";
    QUEUE_PAIR      queue_pair:      Qpn  =  8, 0, 24, "queue pair whose request this is";
    OPCODE          opcode:          u8   = 11, 0,  8, "the `WorkOp` completed; with `receive`, the one the peer posted";
    INDEX           index:           u16  = 12, 0, 16, "index of the request in its queue";
    STATUS          status:          u8   = 14, 0,  8, "a `Status`";
    VENDOR          vendor:          u8   = 15, 0,  8, "detail of an error, for people";
    SOURCE_QP       source_qp:       Qpn  = 16, 0, 24, "UD: queue pair of the sender";
    HAS_IMMEDIATE   has_immediate:   bool = 19, 0,  1, "`detail` is immediate data";
    HAS_INVALIDATED has_invalidated: bool = 19, 1,  1, "`detail` is a key the peer invalidated";
    HAS_GRH         has_grh:         bool = 19, 2,  1, "UD: the buffer begins with 40 bytes of GRH";
    SOLICITED       solicited:       bool = 19, 3,  1, "the message asked for a wake-up";
    RECEIVE         receive:         bool = 19, 4,  1, "a receive rather than a request";
    RPC             rpc:             bool = 19, 5,  1, "`detail` is an RPC status";
    PARTITION_INDEX partition_index: u16  = 20, 0, 16, "UD: index of the sender's `P_Key`";
    TIMESTAMP       timestamp:       u64  = 24, 0, 56, "core clock cycles when the entry was made";
    PHASE           phase:           bool = 31, 7,  1, "flips each lap of the ring";
}

codes! {
    /// How a request ended. The numbers are libibverbs' `ibv_wc_status`, so no table translates them.
    Status: u8 {
        0  Success             "Done.";
        1  LocalLength         "The message is longer than the receive buffer, or than the limit.";
        2  LocalQueuePair      "The request contradicts itself or its ring slot was overwritten.";
        4  LocalProtection     "A local key, its bounds or its rights do not allow a local access.";
        5  Flushed             "The queue pair was in error before this request could run.";
        6  WindowBind          "A memory window cannot be bound as asked, or its key cannot be ended.";
        7  BadResponse         "The peer answered what was not asked.";
        8  LocalAccess         "A message arrived whose local buffer may not be written.";
        9  RemoteInvalid       "The peer calls the request invalid.";
        10 RemoteAccess        "The peer's key, bounds or rights refuse the access.";
        11 RemoteOperation     "The peer failed.";
        12 RetryExceeded       "No answer after all retries.";
        13 RnrRetryExceeded    "The peer was not ready after all retries.";
        21 General             "The card failed: a DMA error.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_phase_is_the_top_bit_of_the_last_byte() {
        let bytes = Cqe { phase: true, ..Cqe::default() }.to_bytes();
        assert_eq!((bytes[31], bytes[..31].iter().all(|byte| *byte == 0)), (0x80, true));
    }

    #[test]
    fn fields_land_on_the_bytes_the_driver_reads() {
        let cqe = Cqe {
            detail: 0x0403_0201,
            length: 0x0807_0605,
            queue_pair: Qpn::new(0x0b_0a09),
            opcode: 0x0c,
            index: 0x0e0d,
            status: 0x0f,
            vendor: 0x10,
            source_qp: Qpn::new(0x13_1211),
            timestamp: 0x1f_1e1d_1c1b_1a19,
            ..Cqe::default()
        };
        let bytes = cqe.to_bytes();
        assert!(bytes[..19].iter().zip(1..).all(|(byte, expected)| *byte == expected));
        assert!(bytes[24..31].iter().zip(0x19..).all(|(byte, expected)| *byte == expected));
    }

    #[test]
    fn every_status_is_found_by_its_code() {
        for (status, _) in Status::ALL {
            assert_eq!(Status::from_code(*status as u8), Some(*status));
        }
        assert_eq!(Status::from_code(0xff), None);
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(bytes in any::<[u8; 32]>()) {
            let cqe = Cqe::parse(&bytes).unwrap();
            prop_assert_eq!(Cqe::parse(&cqe.to_bytes()), Some(cqe));
        }
    }
}
