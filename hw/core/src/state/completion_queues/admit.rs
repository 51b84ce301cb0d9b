//! What a command does to a CQ.

use rust_hdl::prelude::*;
use stroma_abi::desc::{CommandStatus, CompletionQueue, RING_ALIGN_LOG};

use super::examine::Sense;
use super::table::QueueRow;
use crate::constant::number;
use crate::state::command::{ObjectCommand, ObjectReply};

const _: () = assert!(RING_ALIGN_LOG == 12, "a ring's address has 52 bits and twelve zeroes");

block! {
    /// Judges a command. Logic only.
    ///
    /// The first reason to refuse wins: the verb, the number, the object's existence, the attributes, the fields in the order of
    /// the body.
    ///
    /// A place in line outlives its queue: whoever has the number next stands there. A queue that waits while its moderation
    /// changes joins the line in any case, for the new rule may be that its event is due.
    ///
    /// - **Ports** `command`: what is asked; `sense`: what that means in itself; `row`: of this queue; `is_beyond`: whose
    ///   number the table does not have. `reply`: the answer. `changes`: `after` is the queue's row from now on; `ends`: it is
    ///   destroyed.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Admit {
        pub command: Signal<In, ObjectCommand>,
        pub sense: Signal<In, Sense>,
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
        status: Signal<Local, Bits<16>>,
        field: Signal<Local, Bits<16>>,
        shown: Signal<Local, Bits<256>>,
        is_done: Signal<Local, Bit>,
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        present: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
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
        nothing: Constant<QueueRow> = Constant::new(QueueRow::default()),
    }
}

impl Logic for Admit {
    #[hdl_gen]
    fn update(&mut self) {
        self.base.next = self.command.val().body.get_bits::<64>(self.base_at.val().index());
        self.log.next = self.command.val().body.get_bits::<8>(self.log_at.val().index());
        self.page.next = self.command.val().body.get_bits::<16>(self.page_at.val().index());
        self.count.next = self.command.val().body.get_bits::<16>(self.count_at.val().index());
        self.period.next = self.command.val().body.get_bits::<16>(self.period_at.val().index());
        self.status.next = self.done.val();
        self.field.next = 0.into();
        if !self.sense.val().creates
            & !self.sense.val().modifies
            & !self.sense.val().queries
            & !self.sense.val().destroys
        {
            self.status.next = self.unknown_verb.val();
        } else if !self.sense.val().creates & (self.is_beyond.val() | !self.row.val().exists) {
            self.status.next = self.no_object.val();
        } else if self.sense.val().creates & self.is_beyond.val() {
            self.status.next = self.out_of_range.val();
        } else if self.sense.val().creates & self.row.val().exists {
            self.status.next = self.present.val();
        } else if self.sense.val().bad_attribute {
            self.status.next = self.bad_attribute.val();
        } else if self.sense.val().creates & self.sense.val().bad_base {
            self.status.next = self.bad_field.val();
            self.field.next = self.base_byte.val();
        } else if self.sense.val().creates & self.sense.val().bad_log {
            self.status.next = self.bad_field.val();
            self.field.next = self.log_byte.val();
        } else if self.sense.val().creates & self.sense.val().bad_page {
            self.status.next = self.bad_field.val();
            self.field.next = self.page_byte.val();
        }
        self.is_done.next = self.status.val() == self.done.val();
        self.changes.next = self.is_done.val() & !self.sense.val().queries;
        self.ends.next = self.is_done.val() & self.sense.val().destroys;

        self.after.next = self.nothing.val();
        self.after.next.lined = self.row.val().lined;
        if self.sense.val().modifies {
            self.after.next = self.row.val();
            self.after.next.lined = self.row.val().lined | self.row.val().awaited.any();
        }
        if self.sense.val().creates | self.sense.val().modifies {
            self.after.next.count = self.count.val();
            self.after.next.period = self.period.val();
        }
        if self.sense.val().creates {
            self.after.next.exists = true;
            self.after.next.base = bit_cast::<52, 64>(self.base.val() >> 12);
            self.after.next.log = bit_cast::<5, 8>(self.log.val());
            self.after.next.page = bit_cast::<12, 16>(self.page.val());
        }

        self.shown.next = 0.into();
        if self.is_done.val() & self.sense.val().queries {
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
