//! What a command does to a shared receive queue.

use num_bigint::BigUint;
use rust_hdl::prelude::*;
use stroma_abi::desc::shared_queue::{LIMIT_ATTRIBUTE, SRQ_LOG_MAX, SRQ_LOG_MIN};
use stroma_abi::desc::{CommandStatus, RING_ALIGN_LOG, SharedQueue, Verb};

use super::table::{BODY_BITS, Kept};
use crate::constant::number;
use crate::state::command::{ObjectCommand, ObjectReply};

/// log2 of the bytes of the shortest entry.
const ENTRY_LOG: usize = 4;

/// Ones where the limit is, or everywhere in the queue but there.
fn mask(is_limit: bool) -> Bits<BODY_BITS> {
    let mut bytes = [0; SharedQueue::LEN];
    let wanted = SharedQueue::TABLE.iter().filter(|entry| (entry.field == SharedQueue::LIMIT) == is_limit);
    wanted.for_each(|entry| entry.field.write(&mut bytes, entry.field.max()));
    BigUint::from_bytes_le(&bytes).into()
}

block! {
    /// Judges a command. Logic only.
    ///
    /// The first reason to refuse wins: the verb, the number, the object's existence, the attributes, the fields in the order of the
    /// body. A queue begins without a limit.
    ///
    /// - **Ports** `command`: what is asked; `kept`: its queue, with `is_told` without the limit; `is_beyond`: whose number the table does not have. `reply`: the answer.
    ///   `changes`: `after` is the queue from now on; `begins`: it is a new one.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Judge<const PAGES: usize> {
        pub command: Signal<In, ObjectCommand>,
        pub kept: Signal<In, Kept>,
        pub is_told: Signal<In, Bit>,
        pub is_beyond: Signal<In, Bit>,
        pub reply: Signal<Out, ObjectReply>,
        pub changes: Signal<Out, Bit>,
        pub begins: Signal<Out, Bit>,
        pub after: Signal<Out, Kept>,
        body: Signal<Local, Bits<BODY_BITS>>,
        base: Signal<Local, Bits<64>>,
        log: Signal<Local, Bits<8>>,
        page: Signal<Local, Bits<16>>,
        /// log2 of the ring's bytes.
        bytes: Signal<Local, Bits<5>>,
        end: Signal<Local, Bits<65>>,
        is_log_bad: Signal<Local, Bit>,
        is_base_bad: Signal<Local, Bit>,
        status: Signal<Local, Bits<16>>,
        field: Signal<Local, Bits<16>>,
        is_new: Signal<Local, Bit>,
        is_set: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        limit_mask: Constant<Bits<BODY_BITS>> = Constant::new(mask(true)),
        initial: Constant<Bits<BODY_BITS>> = Constant::new(mask(false)),
        base_at: Constant<Bits<8>> = number(SharedQueue::BASE.offset()),
        log_at: Constant<Bits<8>> = number(SharedQueue::LOG.offset()),
        stride_at: Constant<Bits<8>> = number(SharedQueue::STRIDE.offset()),
        page_at: Constant<Bits<8>> = number(SharedQueue::PAGE.offset()),
        base_byte: Constant<Bits<16>> = number(SharedQueue::BASE.byte),
        log_byte: Constant<Bits<16>> = number(SharedQueue::LOG.byte),
        page_byte: Constant<Bits<16>> = number(SharedQueue::PAGE.byte),
        log_min: Constant<Bits<8>> = number(SRQ_LOG_MIN),
        log_max: Constant<Bits<8>> = number(SRQ_LOG_MAX),
        page_log: Constant<Bits<5>> = number(PAGES),
        entry: Constant<Bits<65>> = number(1_u64 << ENTRY_LOG),
        limit: Constant<Bits<64>> = number(LIMIT_ATTRIBUTE),
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        modify: Constant<Bits<8>> = number(Verb::Modify as u64),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        exists_already: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
    }
}

impl<const PAGES: usize> Logic for Judge<PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.body.next = bit_cast::<BODY_BITS, 896>(self.command.val().body);
        self.base.next = self.body.val().get_bits::<64>(self.base_at.val().index());
        self.log.next = self.body.val().get_bits::<8>(self.log_at.val().index());
        self.page.next = self.body.val().get_bits::<16>(self.page_at.val().index());
        self.is_log_bad.next = (self.log.val() < self.log_min.val()) | (self.log.val() > self.log_max.val());
        // A wrong log means nothing here: it is refused, too, and a field later in the body is never told before it.
        self.bytes.next = bit_cast::<5, 8>(self.log.val() & 15)
            + bit_cast::<5, 3>(self.body.val().get_bits::<3>(self.stride_at.val().index()));
        self.end.next = bit_cast::<65, 64>(self.base.val()) + (self.entry.val() << self.bytes.val());
        self.is_base_bad.next = bit_cast::<RING_ALIGN_LOG, 64>(self.base.val()).any()
            | (!self.is_log_bad.val()
                & self.end.val().get_bit(64)
                & bit_cast::<64, 65>(self.end.val()).any());

        self.status.next = self.done.val();
        self.field.next = 0.into();
        self.is_new.next = false;
        self.is_set.next = false;
        self.is_over.next = false;
        if self.command.val().verb == self.create.val() {
            if self.is_beyond.val() {
                self.status.next = self.out_of_range.val();
            } else if self.kept.val().exists {
                self.status.next = self.exists_already.val();
            } else if self.command.val().attributes.any() {
                self.status.next = self.bad_attribute.val();
            } else if self.is_base_bad.val() {
                self.status.next = self.bad_field.val();
                self.field.next = self.base_byte.val();
            } else if self.is_log_bad.val() {
                self.status.next = self.bad_field.val();
                self.field.next = self.log_byte.val();
            } else if (self.page.val() >> self.page_log.val()).any() {
                self.status.next = self.bad_field.val();
                self.field.next = self.page_byte.val();
            } else {
                self.is_new.next = true;
            }
        } else if (self.command.val().verb != self.modify.val())
            & (self.command.val().verb != self.query.val())
            & (self.command.val().verb != self.destroy.val())
        {
            self.status.next = self.unknown_verb.val();
        } else if !self.kept.val().exists {
            self.status.next = self.no_object.val();
        } else if self.command.val().verb == self.modify.val() {
            if self.command.val().attributes == self.limit.val() {
                self.is_set.next = true;
            } else {
                self.status.next = self.bad_attribute.val();
            }
        } else if self.command.val().verb == self.destroy.val() {
            self.is_over.next = true;
        }

        self.changes.next = self.is_new.val() | self.is_set.val() | self.is_over.val();
        self.begins.next = self.is_new.val();
        self.after.next.exists = !self.is_over.val();
        self.after.next.round = self.kept.val().round;
        self.after.next.body = self.body.val() & self.initial.val();
        if self.is_set.val() {
            self.after.next.round = self.kept.val().round + 1;
            self.after.next.body =
                (self.kept.val().body & !self.limit_mask.val()) | (self.body.val() & self.limit_mask.val());
        }
        self.reply.next.status = self.status.val();
        self.reply.next.field = self.field.val();
        self.reply.next.body = 0.into();
        if (self.command.val().verb == self.query.val()) & (self.status.val() == self.done.val()) {
            self.reply.next.body = bit_cast::<896, BODY_BITS>(self.kept.val().body);
            if self.is_told.val() {
                self.reply.next.body =
                    bit_cast::<896, BODY_BITS>(self.kept.val().body & !self.limit_mask.val());
            }
        }
    }
}
