//! What a command does to a CQ.

use rust_hdl::prelude::*;
use stroma_abi::desc::completion_queue::{CQ_LOG_MAX, CQ_LOG_MIN, MODERATION_ATTRIBUTE};
use stroma_abi::desc::{CommandStatus, CompletionQueue, Cqe, RING_ALIGN_LOG, Verb};

use super::table::QueueRow;
use crate::constant::number;
use crate::state::command::{ObjectCommand, ObjectReply};

const _: () = assert!(RING_ALIGN_LOG == 12, "a ring's address has 52 bits and twelve zeroes");

block! {
    /// Judges a command. Logic only.
    ///
    /// The first reason to refuse wins: the verb, the number, the object's existence, the attributes, the fields in the order of
    /// the body. A ring may end with the last byte of the address space; if `log` is wrong nothing is said of its end.
    ///
    /// A place in line outlives its queue: whoever has the number next stands there. A queue that waits while its moderation
    /// changes joins the line in any case, for the new rule may be that its event is due.
    ///
    /// - **Ports** `command`: what is asked; `row`: of this queue; `is_beyond`: whose number the table does not have.
    ///   `reply`: the answer. `changes`: `after` is the queue's row from now on; `ends`: it is destroyed.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Admit<const PAGES: usize> {
        pub command: Signal<In, ObjectCommand>,
        pub row: Signal<In, QueueRow>,
        pub is_beyond: Signal<In, Bit>,
        pub reply: Signal<Out, ObjectReply>,
        pub changes: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub after: Signal<Out, QueueRow>,
        base: Signal<Local, Bits<64>>,
        log: Signal<Local, Bits<8>>,
        page: Signal<Local, Bits<16>>,
        count: Signal<Local, Bits<16>>,
        period: Signal<Local, Bits<16>>,
        above_page: Signal<Local, Bits<16>>,
        /// Of the ring's last byte.
        last_at: Signal<Local, Bits<32>>,
        last_page: Signal<Local, Bits<53>>,
        is_attribute_bad: Signal<Local, Bit>,
        is_log_bad: Signal<Local, Bit>,
        is_base_bad: Signal<Local, Bit>,
        status: Signal<Local, Bits<16>>,
        field: Signal<Local, Bits<16>>,
        shown: Signal<Local, Bits<256>>,
        creates: Signal<Local, Bit>,
        modifies: Signal<Local, Bit>,
        queries: Signal<Local, Bit>,
        destroys: Signal<Local, Bit>,
        is_done: Signal<Local, Bit>,
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        modify: Constant<Bits<8>> = number(Verb::Modify as u64),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        present: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
        moderation: Constant<Bits<64>> = number(MODERATION_ATTRIBUTE),
        base_byte: Constant<Bits<16>> = number(CompletionQueue::BASE.byte),
        log_byte: Constant<Bits<16>> = number(CompletionQueue::LOG.byte),
        page_byte: Constant<Bits<16>> = number(CompletionQueue::PAGE.byte),
        base_at: Constant<Bits<10>> = number(CompletionQueue::BASE.offset()),
        log_at: Constant<Bits<10>> = number(CompletionQueue::LOG.offset()),
        page_at: Constant<Bits<10>> = number(CompletionQueue::PAGE.offset()),
        count_at: Constant<Bits<10>> = number(CompletionQueue::MODERATION_COUNT.offset()),
        period_at: Constant<Bits<10>> = number(CompletionQueue::MODERATION_PERIOD.offset()),
        producer_at: Constant<Bits<10>> = number(CompletionQueue::PRODUCER.offset()),
        consumer_at: Constant<Bits<10>> = number(CompletionQueue::CONSUMER.offset()),
        armed_at: Constant<Bits<10>> = number(CompletionQueue::ARMED.offset()),
        overflowed_at: Constant<Bits<10>> = number(CompletionQueue::OVERFLOWED.offset()),
        log_min: Constant<Bits<8>> = number(CQ_LOG_MIN),
        log_max: Constant<Bits<8>> = number(CQ_LOG_MAX),
        entry: Constant<Bits<32>> = number(Cqe::LEN),
        pages: Constant<Bits<4>> = number(PAGES),
        nothing: Constant<QueueRow> = Constant::new(QueueRow::default()),
    }
}

impl<const PAGES: usize> Logic for Admit<PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.creates.next = self.command.val().verb == self.create.val();
        self.modifies.next = self.command.val().verb == self.modify.val();
        self.queries.next = self.command.val().verb == self.query.val();
        self.destroys.next = self.command.val().verb == self.destroy.val();
        self.base.next = self.command.val().body.get_bits::<64>(self.base_at.val().index());
        self.log.next = self.command.val().body.get_bits::<8>(self.log_at.val().index());
        self.page.next = self.command.val().body.get_bits::<16>(self.page_at.val().index());
        self.count.next = self.command.val().body.get_bits::<16>(self.count_at.val().index());
        self.period.next = self.command.val().body.get_bits::<16>(self.period_at.val().index());
        self.above_page.next = self.page.val() >> self.pages.val();
        self.is_log_bad.next = (self.log.val() < self.log_min.val()) | (self.log.val() > self.log_max.val());
        self.last_at.next = (self.entry.val() << self.log.val().get_bits::<5>(0)) - 1;
        self.last_page.next =
            bit_cast::<53, 64>(self.base.val() >> 12) + bit_cast::<53, 32>(self.last_at.val() >> 12);
        self.is_base_bad.next = self.base.val().get_bits::<RING_ALIGN_LOG>(0).any()
            | (!self.is_log_bad.val() & self.last_page.val().get_bit(52));

        self.is_attribute_bad.next = (self.creates.val() & self.command.val().attributes.any())
            | (self.modifies.val() & (self.command.val().attributes != self.moderation.val()));
        self.status.next = self.done.val();
        self.field.next = 0.into();
        if !self.creates.val() & !self.modifies.val() & !self.queries.val() & !self.destroys.val() {
            self.status.next = self.unknown_verb.val();
        } else if !self.creates.val() & (self.is_beyond.val() | !self.row.val().exists) {
            self.status.next = self.no_object.val();
        } else if self.creates.val() & self.is_beyond.val() {
            self.status.next = self.out_of_range.val();
        } else if self.creates.val() & self.row.val().exists {
            self.status.next = self.present.val();
        } else if self.is_attribute_bad.val() {
            self.status.next = self.bad_attribute.val();
        } else if self.creates.val() & self.is_base_bad.val() {
            self.status.next = self.bad_field.val();
            self.field.next = self.base_byte.val();
        } else if self.creates.val() & self.is_log_bad.val() {
            self.status.next = self.bad_field.val();
            self.field.next = self.log_byte.val();
        } else if self.creates.val() & self.above_page.val().any() {
            self.status.next = self.bad_field.val();
            self.field.next = self.page_byte.val();
        }
        self.is_done.next = self.status.val() == self.done.val();
        self.changes.next = self.is_done.val() & !self.queries.val();
        self.ends.next = self.is_done.val() & self.destroys.val();

        self.after.next = self.nothing.val();
        self.after.next.lined = self.row.val().lined;
        if self.modifies.val() {
            self.after.next = self.row.val();
            self.after.next.lined = self.row.val().lined | self.row.val().awaited.any();
        }
        if self.creates.val() | self.modifies.val() {
            self.after.next.count = self.count.val();
            self.after.next.period = self.period.val();
        }
        if self.creates.val() {
            self.after.next.exists = true;
            self.after.next.base = bit_cast::<52, 64>(self.base.val() >> 12);
            self.after.next.log = bit_cast::<5, 8>(self.log.val());
            self.after.next.page = bit_cast::<12, 16>(self.page.val());
        }

        self.shown.next = 0.into();
        if self.is_done.val() & self.queries.val() {
            self.shown.next = (bit_cast::<256, 52>(self.row.val().base) << 12 << self.base_at.val())
                | (bit_cast::<256, 5>(self.row.val().log) << self.log_at.val())
                | (bit_cast::<256, 12>(self.row.val().page) << self.page_at.val())
                | (bit_cast::<256, 16>(self.row.val().count) << self.count_at.val())
                | (bit_cast::<256, 16>(self.row.val().period) << self.period_at.val())
                | (bit_cast::<256, 24>(self.row.val().producer) << self.producer_at.val())
                | (bit_cast::<256, 24>(self.row.val().consumer) << self.consumer_at.val())
                | (bit_cast::<256, 2>(self.row.val().armed) << self.armed_at.val());
            self.shown.next =
                self.shown.val().replace_bit(self.overflowed_at.val().index(), self.row.val().overflowed);
        }
        self.reply.next.status = self.status.val();
        self.reply.next.field = self.field.val();
        self.reply.next.body = bit_cast::<896, 256>(self.shown.val());
    }
}
