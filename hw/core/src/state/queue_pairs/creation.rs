//! What a queue pair may begin with.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::desc::queue_pair::{QUEUE_LOG_MAX, QUEUE_LOG_MIN};
use stroma_abi::desc::{QueuePair, QueuePairKind, RING_ALIGN_LOG};

use super::attributes::set_by_creation;
use crate::constant::number;

/// Kinds of queue pairs.
const KINDS: usize = QueuePairKind::ALL.len();
/// Fields that creation looks at.
const CHECKS: usize = 10;
/// Those fields, in the order of the body's bytes, which is the order of the checks.
const CHECKED: [Field; CHECKS] = [
    QueuePair::KIND,
    QueuePair::SEND_CQ,
    QueuePair::SEND_LOG,
    QueuePair::RECEIVE_CQ,
    QueuePair::RECEIVE_LOG,
    QueuePair::PAGE,
    QueuePair::HAS_SRQ,
    QueuePair::SEND_BASE,
    QueuePair::RECEIVE_BASE,
    QueuePair::SRQ,
];
/// log2 of the bytes of a unit of the send queue.
const UNIT_LOG: usize = 6;
/// log2 of the bytes of the shortest entry of a receive queue.
const RECEIVE_ENTRY_LOG: usize = 4;

block! {
    /// Judges the body of a create command. Logic only.
    ///
    /// - **Ports** `body`: of the command; `cq_exists`: whether its CQs for sending and for receiving do; `srq_exists`: whether its SRQ does; `refused`,
    ///   `field`: a field holds what it may not, and the byte where the first such begins, 0 if there is none;
    ///   `stored`: the queue pair in RESET, with what creation sets and zeroes elsewhere.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** a CQ at or beyond `2^CQS` and a page at or beyond `2^PAGES` are refused.
    pub struct Creation<const CQS: usize, const PAGES: usize> {
        pub body: Signal<In, Bits<896>>,
        pub cq_exists: [Signal<In, Bit>; 2],
        pub srq_exists: Signal<In, Bit>,
        pub refused: Signal<Out, Bit>,
        pub field: Signal<Out, Bits<16>>,
        pub stored: Signal<Out, Bits<896>>,
        kind: Signal<Local, Bits<8>>,
        send_log: Signal<Local, Bits<8>>,
        receive_log: Signal<Local, Bits<8>>,
        send_cq: Signal<Local, Bits<24>>,
        receive_cq: Signal<Local, Bits<24>>,
        page: Signal<Local, Bits<16>>,
        send_base: Signal<Local, Bits<64>>,
        receive_base: Signal<Local, Bits<64>>,
        /// log2 of the receive queue's bytes.
        receive_bytes: Signal<Local, Bits<5>>,
        send_end: Signal<Local, Bits<65>>,
        receive_end: Signal<Local, Bits<65>>,
        has_srq: Signal<Local, Bit>,
        bad: [Signal<Local, Bit>; CHECKS],
        found: Signal<Local, Bit>,
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        send_cq_at: Constant<Bits<10>> = number(QueuePair::SEND_CQ.offset()),
        send_log_at: Constant<Bits<10>> = number(QueuePair::SEND_LOG.offset()),
        receive_cq_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_CQ.offset()),
        receive_log_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_LOG.offset()),
        page_at: Constant<Bits<10>> = number(QueuePair::PAGE.offset()),
        stride_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_STRIDE.offset()),
        has_srq_at: Constant<Bits<10>> = number(QueuePair::HAS_SRQ.offset()),
        send_base_at: Constant<Bits<10>> = number(QueuePair::SEND_BASE.offset()),
        receive_base_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_BASE.offset()),
        kinds: [Constant<Bits<8>>; KINDS] = std::array::from_fn(|kind| number(QueuePairKind::ALL[kind].0 as u64)),
        log_min: Constant<Bits<8>> = number(QUEUE_LOG_MIN),
        log_max: Constant<Bits<8>> = number(QUEUE_LOG_MAX),
        cq_log: Constant<Bits<5>> = number(CQS),
        page_log: Constant<Bits<5>> = number(PAGES),
        unit: Constant<Bits<65>> = number(1_u64 << UNIT_LOG),
        receive_entry: Constant<Bits<65>> = number(1_u64 << RECEIVE_ENTRY_LOG),
        initial: Constant<Bits<896>> = Constant::new(set_by_creation()),
        byte: [Constant<Bits<16>>; CHECKS] = std::array::from_fn(|check| number(CHECKED[check].byte)),
    }
}

impl<const CQS: usize, const PAGES: usize> Logic for Creation<CQS, PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.kind.next = self.body.val().get_bits::<8>(self.kind_at.val().index());
        self.send_cq.next = self.body.val().get_bits::<24>(self.send_cq_at.val().index());
        self.send_log.next = self.body.val().get_bits::<8>(self.send_log_at.val().index());
        self.receive_cq.next = self.body.val().get_bits::<24>(self.receive_cq_at.val().index());
        self.receive_log.next = self.body.val().get_bits::<8>(self.receive_log_at.val().index());
        self.page.next = self.body.val().get_bits::<16>(self.page_at.val().index());
        self.send_base.next = self.body.val().get_bits::<64>(self.send_base_at.val().index());
        self.receive_base.next = self.body.val().get_bits::<64>(self.receive_base_at.val().index());
        // A log beyond its limit is told before a base, so four bits of it are enough here.
        self.receive_bytes.next = bit_cast::<5, 8>(self.receive_log.val() & 15)
            + bit_cast::<5, 3>(self.body.val().get_bits::<3>(self.stride_at.val().index()));
        self.send_end.next = bit_cast::<65, 64>(self.send_base.val())
            + (self.unit.val() << bit_cast::<4, 8>(self.send_log.val()));
        self.receive_end.next = bit_cast::<65, 64>(self.receive_base.val())
            + (self.receive_entry.val() << self.receive_bytes.val());

        self.bad[0].next = true;
        for i in 0..KINDS {
            if self.kind.val() == self.kinds[i].val() {
                self.bad[0].next = false;
            }
        }
        self.bad[1].next = (self.send_cq.val() >> self.cq_log.val()).any() | !self.cq_exists[0].val();
        self.bad[2].next =
            (self.send_log.val() < self.log_min.val()) | (self.send_log.val() > self.log_max.val());
        self.bad[3].next = (self.receive_cq.val() >> self.cq_log.val()).any() | !self.cq_exists[1].val();
        self.bad[4].next = self.receive_log.val().any()
            & ((self.receive_log.val() < self.log_min.val()) | (self.receive_log.val() > self.log_max.val()));
        self.bad[5].next = (self.page.val() >> self.page_log.val()).any();
        // Receives come from one queue.
        self.has_srq.next = self.body.val().get_bit(self.has_srq_at.val().index());
        self.bad[6].next = self.has_srq.val() & self.receive_log.val().any();
        // A ring may end where the addresses do, but not go on at 0.
        self.bad[7].next = bit_cast::<RING_ALIGN_LOG, 64>(self.send_base.val()).any()
            | (self.send_end.val().get_bit(64) & bit_cast::<64, 65>(self.send_end.val()).any());
        self.bad[8].next = self.receive_log.val().any()
            & (bit_cast::<RING_ALIGN_LOG, 64>(self.receive_base.val()).any()
                | (self.receive_end.val().get_bit(64) & bit_cast::<64, 65>(self.receive_end.val()).any()));
        self.bad[9].next = self.has_srq.val() & !self.srq_exists.val();

        self.found.next = false;
        self.field.next = 0.into();
        for i in 0..CHECKS {
            if self.bad[i].val() & !self.found.val() {
                self.found.next = true;
                self.field.next = self.byte[i].val();
            }
        }
        self.refused.next = self.found.val();
        self.stored.next = self.body.val() & self.initial.val();
    }
}
