//! Queue pairs as the mailbox makes and changes them, and the table of their states.

use super::mailbox::BODY_LEN;
use crate::{Psn, Qpn, codes::codes, layout::layout};

/// log2 of the fewest 64-byte units of a send queue, or entries of a receive queue.
pub const QUEUE_LOG_MIN: usize = 4;
/// log2 of the most: an index of 16 bits tells full from empty.
pub const QUEUE_LOG_MAX: usize = 15;

layout! {
    /// A queue pair. Rings begin on multiples of [`RING_ALIGN`](super::RING_ALIGN).
    QueuePair: Little, 112 bytes;
    STATE            state:            u8   =   0, 0,  8, "a `QueuePairState`; create makes it RESET whatever stands here";
    KIND             kind:             u8   =   1, 0,  8, "a `QueuePairKind`; at creation only";
    PD               pd:               u16  =   2, 0, 16, "protection domain; at creation only";
    SEND_CQ          send_cq:          u32  =   4, 0, 24, "CQ of the send queue; at creation only";
    SEND_LOG         send_log:         u8   =   7, 0,  8, "log2 of its 64-byte units, 4 to 15; at creation only";
    RECEIVE_CQ       receive_cq:       u32  =   8, 0, 24, "CQ of the receive queue; at creation only";
    RECEIVE_LOG      receive_log:      u8   =  11, 0,  8, "log2 of its entries, 4 to 15; 0: none; at creation only";
    PAGE             page:             u16  =  12, 0, 16, "doorbell page it belongs to; at creation only";
    RECEIVE_STRIDE   receive_stride:   u8   =  14, 0,  3, "entries of the receive queue have `16 << receive_stride` bytes; at creation only";
    HAS_SRQ          has_srq:          bool =  14, 7,  1, "receives come from `srq`; at creation only";
    RIGHTS           rights:           u8   =  15, 0,  5, "what of the `rights` of regions its peer may use; `RIGHTS`";
    SEND_BASE        send_base:        u64  =  16, 0, 64, "DMA address of the send queue, a multiple of 4096; at creation only";
    RECEIVE_BASE     receive_base:     u64  =  24, 0, 64, "DMA address of the receive queue, a multiple of 4096; at creation only";
    SRQ              srq:              u32  =  32, 0, 24, "shared receive queue; at creation only";
    PATH_MTU         path_mtu:         u8   =  35, 0,  3, "path MTU: 1 256 bytes, 2 512, 3 1024, 4 2048, 5 4096; Raw: 5; UD: it has none, and sends up to 4096; `PATH_MTU`";
    Q_KEY            q_key:            u32  =  36, 0, 32, "UD: key that senders must know; `Q_KEY`";
    PEER             peer:             Qpn  =  40, 0, 24, "queue pair of the peer; `PEER`";
    MIN_RNR          min_rnr:          u8   =  43, 0,  5, "timer code sent with RNR NAKs; `MIN_RNR`";
    SEND_PSN         send_psn:         Psn  =  44, 0, 24, "PSN of the first request sent; `SEND_PSN`";
    TIMEOUT          timeout:          u8   =  47, 0,  5, "wait for an answer 4.096 us << this, 0: for ever; `TIMEOUT`";
    RECEIVE_PSN      receive_psn:      Psn  =  48, 0, 24, "PSN of the first request received; `RECEIVE_PSN`";
    RETRY            retry:            u8   =  51, 0,  3, "requests are repeated as often; `RETRY`";
    RNR_RETRY        rnr_retry:        u8   =  51, 4,  3, "as often after RNR NAKs, 7: for ever; `RNR_RETRY`";
    READS_OUT        reads_out:        u8   =  52, 0,  5, "READs, atomics and RPCs to have in flight, to 16; `READS_OUT`";
    READS_IN         reads_in:         u8   =  53, 0,  5, "as many to take from the peer, to 16; `READS_IN`";
    P_KEY            p_key:            u16  =  54, 0, 16, "partition; `P_KEY`";
    PEER_MAC         peer_mac:         u64  =  56, 0, 48, "next hop, first byte lowest; `ADDRESS`";
    SOURCE_PORT      source_port:      u16  =  62, 0, 16, "UDP port packets leave from; `ADDRESS`";
    PEER_IP          peer_ip:          u128 =  64, 0, 128, "IPv6, or IPv4 as `::ffff:a.b.c.d`, first byte lowest; `ADDRESS`";
    HOP_LIMIT        hop_limit:        u8   =  80, 0,  8, "hops packets may take; `ADDRESS`";
    TRAFFIC_CLASS    traffic_class:    u8   =  81, 0,  8, "DSCP and ECN bits; `ADDRESS`";
    VLAN             vlan:             u16  =  82, 0, 16, "tag, with `has_vlan`; `ADDRESS`";
    FLOW_LABEL       flow_label:       u32  =  84, 0, 20, "IPv6 flow label; `ADDRESS`";
    SOURCE_ADDRESS   source_address:   u8   =  86, 4,  4, "which of the port's addresses packets leave from; `ADDRESS`";
    HAS_VLAN         has_vlan:         bool =  87, 0,  1, "packets carry `vlan`; `ADDRESS`";
    PACE             pace:             u32  =  88, 0, 24, "cycles a KiB of requests takes at least, in 1/256; 0: no limit; `PACE`";
    RESULT_BASE      result_base:      u64  =  96, 0, 64, "virtual address of the 16 places for RPC results, a multiple of the bytes of all; `RESULT_AREA`";
    RESULT_LOG       result_log:       u8   = 104, 0,  5, "log2 of the bytes of one place, 12 to 16; 0: there are none; `RESULT_AREA`";
    NOTIFY           notify:           bool = 105, 0,  1, "on the way to Drained: an event tells when nothing is unacknowledged any more; `STATE`";
    DRAINING         draining:         bool = 105, 7,  1, "shown by query: it is on its way to Drained, and something is unacknowledged; `STATE`";
    RESULT_KEY       result_key:       u32  = 108, 0, 32, "`L_Key` of the places; `RESULT_AREA`";
}

const _: () = assert!(QueuePair::LEN == BODY_LEN);

codes! {
    /// States, with the numbers of libibverbs' `ibv_qp_state`.
    QueuePairState: u8 {
        0 Reset          "Nothing is posted, nothing is known.";
        1 Init           "Receives may be posted.";
        2 ReadyToReceive "Requests of the peer are answered.";
        3 ReadyToSend    "Requests are carried out.";
        4 Drained        "SQD: requests begun are finished, no other is begun; those posted wait.";
        5 SendError      "UC, UD: a request failed; those behind it are flushed.";
        6 Error          "All requests and receives are flushed.";
    }
}

codes! {
    /// What a queue pair speaks.
    QueuePairKind: u8 {
        1 Reliable   "RC: reliable connection.";
        2 Unreliable "UC: unreliable connection.";
        3 Datagram   "UD: unreliable datagrams.";
        4 Local      "No network: NOP, GATHER and SCATTER alone.";
        5 Raw        "Whole Ethernet frames: those that are not RoCE arrive here, and SEND sends one.";
    }
}

/// Attributes of a modify command, as bits of its mask.
pub mod attribute {
    macro_rules! attributes {
        ($($bit:literal $name:ident $prose:literal;)*) => {
            $(#[doc = $prose] pub const $name: u64 = 1 << $bit;)*
            /// All of them, with bit and meaning.
            pub const ALL: &[(u32, &str, &str)] = &[$(($bit, stringify!($name), $prose)),*];
        };
    }

    attributes! {
        0 STATE "`state`; without it the state stays.";
        1 RIGHTS "`rights`.";
        2 PATH_MTU "`path_mtu`.";
        3 Q_KEY "`q_key`.";
        4 PEER "`peer`.";
        5 MIN_RNR "`min_rnr`.";
        6 SEND_PSN "`send_psn`.";
        7 TIMEOUT "`timeout`.";
        8 RECEIVE_PSN "`receive_psn`.";
        9 RETRY "`retry`.";
        10 RNR_RETRY "`rnr_retry`.";
        11 READS_OUT "`reads_out`.";
        12 READS_IN "`reads_in`.";
        13 P_KEY "`p_key`.";
        14 ADDRESS "`peer_mac`, `peer_ip`, `source_port`, `hop_limit`, `traffic_class`, `flow_label`, VLAN and source address.";
        15 PACE "`pace`.";
        16 RESULT_AREA "`result_base`, `result_log` and `result_key`.";
    }
}

/// One legal change of state, or of attributes within a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Present state.
    pub from: QueuePairState,
    /// State afterwards.
    pub to: QueuePairState,
    /// For which kinds: a bit each, by code.
    pub kinds: u8,
    /// Attributes that must be given, `STATE` apart.
    pub required: u64,
    /// Attributes that may be given.
    pub optional: u64,
}

const RC: u8 = 1 << QueuePairKind::Reliable as u8;
const UC: u8 = 1 << QueuePairKind::Unreliable as u8;
const UD: u8 = 1 << QueuePairKind::Datagram as u8;
const LOCAL: u8 = 1 << QueuePairKind::Local as u8;
const RAW: u8 = 1 << QueuePairKind::Raw as u8;
const ANY: u8 = RC | UC | UD | LOCAL | RAW;

macro_rules! transitions {
    ($($from:ident -> $to:ident, $kinds:expr, [$($required:ident)*], [$($optional:ident)*];)*) => {
        /// The table of states: what is not in it is refused. Any state may also go to RESET and to Error.
        pub const TRANSITIONS: &[Transition] = &[$(Transition {
            from: QueuePairState::$from,
            to: QueuePairState::$to,
            kinds: $kinds,
            required: 0 $(| attribute::$required)*,
            optional: 0 $(| attribute::$optional)*,
        }),*];
    };
}

transitions! {
    Reset          -> Init,           RC | UC, [RIGHTS P_KEY], [PACE RESULT_AREA];
    Reset          -> Init,           UD,      [Q_KEY P_KEY],  [PACE];
    Reset          -> Init,           LOCAL | RAW, [],         [PACE];
    Init           -> Init,           RC | UC, [],             [RIGHTS P_KEY PACE RESULT_AREA];
    Init           -> Init,           UD,      [],             [Q_KEY P_KEY PACE];
    Init           -> Init,           LOCAL | RAW, [],         [PACE];
    Init           -> ReadyToReceive, RC,      [ADDRESS PATH_MTU PEER RECEIVE_PSN READS_IN MIN_RNR], [RIGHTS P_KEY PACE];
    Init           -> ReadyToReceive, UC,      [ADDRESS PATH_MTU PEER RECEIVE_PSN], [RIGHTS P_KEY PACE];
    Init           -> ReadyToReceive, UD,      [],             [Q_KEY P_KEY PACE];
    Init           -> ReadyToReceive, LOCAL,   [],             [PACE];
    Init           -> ReadyToReceive, RAW,     [PATH_MTU],     [PACE];
    ReadyToReceive -> ReadyToSend,    RC,      [SEND_PSN TIMEOUT RETRY RNR_RETRY READS_OUT], [RIGHTS MIN_RNR PACE];
    ReadyToReceive -> ReadyToSend,    UC,      [SEND_PSN],     [RIGHTS PACE];
    ReadyToReceive -> ReadyToSend,    UD,      [SEND_PSN],     [Q_KEY PACE];
    ReadyToReceive -> ReadyToSend,    LOCAL | RAW, [],         [PACE];
    ReadyToSend    -> ReadyToSend,    RC,      [],             [RIGHTS MIN_RNR PACE];
    ReadyToSend    -> ReadyToSend,    UC,      [],             [RIGHTS PACE];
    ReadyToSend    -> ReadyToSend,    UD,      [],             [Q_KEY PACE];
    ReadyToSend    -> ReadyToSend,    LOCAL | RAW, [],         [PACE];
    ReadyToSend    -> Drained,        ANY,     [],             [];
    Drained        -> Drained,        RC,      [],             [RIGHTS ADDRESS TIMEOUT RETRY RNR_RETRY READS_OUT READS_IN MIN_RNR P_KEY PACE];
    Drained        -> Drained,        UC,      [],             [RIGHTS ADDRESS P_KEY PACE];
    Drained        -> Drained,        UD,      [],             [Q_KEY P_KEY PACE];
    Drained        -> ReadyToSend,    RC,      [],             [RIGHTS MIN_RNR PACE];
    Drained        -> ReadyToSend,    UC,      [],             [RIGHTS PACE];
    Drained        -> ReadyToSend,    UD,      [],             [Q_KEY PACE];
    Drained        -> ReadyToSend,    LOCAL | RAW, [],         [PACE];
    SendError      -> ReadyToSend,    UC,      [],             [RIGHTS];
    SendError      -> ReadyToSend,    UD,      [],             [Q_KEY];
}

/// May a queue pair of this kind change from one state to another with these attributes?
///
/// # Errors
/// How the card answers when it may not.
pub fn transition(
    kind: QueuePairKind,
    from: QueuePairState,
    to: QueuePairState,
    attributes: u64,
) -> Result<(), super::mailbox::CommandStatus> {
    use super::mailbox::CommandStatus::{BadAttribute, BadState};
    let given = attributes & !attribute::STATE;
    if matches!(to, QueuePairState::Reset | QueuePairState::Error) && attributes & attribute::STATE != 0 {
        return if given == 0 { Ok(()) } else { Err(BadAttribute) };
    }
    let row =
        TRANSITIONS.iter().find(|row| row.from == from && row.to == to && row.kinds >> kind as u8 & 1 == 1);
    let row = row.ok_or(BadState)?;
    let is_legal = row.required & !given == 0 && given & !(row.required | row.optional) == 0;
    if is_legal { Ok(()) } else { Err(BadAttribute) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_come_back_as_they_were(bytes in any::<[u8; QueuePair::LEN]>()) {
            let body = QueuePair::parse(&bytes).unwrap();
            prop_assert_eq!(QueuePair::parse(&body.to_bytes()), Some(body));
        }
    }

    #[test]
    fn a_row_is_named_once_and_its_columns_do_not_overlap() {
        for (index, row) in TRANSITIONS.iter().enumerate() {
            assert_eq!(row.required & row.optional, 0, "{row:?}");
            let same = |other: &&Transition| {
                (other.from, other.to) == (row.from, row.to) && other.kinds & row.kinds != 0
            };
            assert_eq!(TRANSITIONS[index + 1..].iter().find(same), None, "{row:?}");
        }
    }

    #[test]
    fn every_kind_reaches_ready_to_send_with_what_is_required_and_not_with_less() {
        use QueuePairState::{Init, ReadyToReceive, ReadyToSend, Reset};
        for (kind, _) in QueuePairKind::ALL {
            for (from, to) in [(Reset, Init), (Init, ReadyToReceive), (ReadyToReceive, ReadyToSend)] {
                let row = TRANSITIONS
                    .iter()
                    .find(|row| (row.from, row.to) == (from, to) && row.kinds >> *kind as u8 & 1 == 1)
                    .unwrap();
                assert_eq!(transition(*kind, from, to, row.required | attribute::STATE), Ok(()));
                for bit in (0..64).filter(|bit| row.required >> bit & 1 == 1) {
                    assert!(transition(*kind, from, to, row.required & !(1 << bit)).is_err());
                }
            }
            assert!(transition(*kind, Reset, ReadyToSend, attribute::STATE).is_err());
        }
    }
}
