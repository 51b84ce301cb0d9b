//! What a command says, whichever queue it is for.

use rust_hdl::prelude::*;
use stroma_abi::desc::completion_queue::{CQ_LOG_MAX, CQ_LOG_MIN, MODERATION_ATTRIBUTE};
use stroma_abi::desc::{CompletionQueue, Cqe, RING_ALIGN_LOG, Verb};

use crate::constant::number;
use crate::record;
use crate::state::command::ObjectCommand;

record! {
    /// What a command says in itself.
    pub struct Sense {
        /// What it asks for: one of these, or none if the verb is unknown.
        pub creates: Bit,
        /// It changes the moderation.
        pub modifies: Bit,
        /// It asks for the row.
        pub queries: Bit,
        /// It ends the queue.
        pub destroys: Bit,
        /// Attributes that its verb does not have.
        pub bad_attribute: Bit,
        /// The ring begins within a page, or ends beyond the address space.
        pub bad_base: Bit,
        /// No ring has as many entries.
        pub bad_log: Bit,
        /// The card does not have the doorbell page.
        pub bad_page: Bit,
    }
}

block! {
    /// Reads a command, and finds what is wrong with it in itself. Logic only.
    ///
    /// A ring may end with the last byte of the address space; if `log` is wrong nothing is said of its end. What is said of
    /// base, log and page means nothing unless a queue is created.
    ///
    /// The sum of address and size takes long, so it has the cycle in which the row is looked at.
    ///
    /// - **Ports** `command`: what is asked; `sense`: what that means.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Examine<const PAGES: usize> {
        pub command: Signal<In, ObjectCommand>,
        pub sense: Signal<Out, Sense>,
        base: Signal<Local, Bits<64>>,
        log: Signal<Local, Bits<8>>,
        page: Signal<Local, Bits<16>>,
        above_page: Signal<Local, Bits<16>>,
        /// Of the ring's last byte.
        last_at: Signal<Local, Bits<32>>,
        last_page: Signal<Local, Bits<53>>,
        is_log_bad: Signal<Local, Bit>,
        creates: Signal<Local, Bit>,
        modifies: Signal<Local, Bit>,
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        modify: Constant<Bits<8>> = number(Verb::Modify as u64),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        moderation: Constant<Bits<64>> = number(MODERATION_ATTRIBUTE),
        base_at: Constant<Bits<10>> = number(CompletionQueue::BASE.offset()),
        log_at: Constant<Bits<10>> = number(CompletionQueue::LOG.offset()),
        page_at: Constant<Bits<10>> = number(CompletionQueue::PAGE.offset()),
        log_min: Constant<Bits<8>> = number(CQ_LOG_MIN),
        log_max: Constant<Bits<8>> = number(CQ_LOG_MAX),
        entry: Constant<Bits<32>> = number(Cqe::LEN),
        pages: Constant<Bits<4>> = number(PAGES),
    }
}

impl<const PAGES: usize> Logic for Examine<PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.creates.next = self.command.val().verb == self.create.val();
        self.modifies.next = self.command.val().verb == self.modify.val();
        self.base.next = self.command.val().body.get_bits::<64>(self.base_at.val().index());
        self.log.next = self.command.val().body.get_bits::<8>(self.log_at.val().index());
        self.page.next = self.command.val().body.get_bits::<16>(self.page_at.val().index());
        self.above_page.next = self.page.val() >> self.pages.val();
        self.is_log_bad.next = (self.log.val() < self.log_min.val()) | (self.log.val() > self.log_max.val());
        self.last_at.next = (self.entry.val() << self.log.val().get_bits::<5>(0)) - 1;
        self.last_page.next =
            bit_cast::<53, 64>(self.base.val() >> 12) + bit_cast::<53, 32>(self.last_at.val() >> 12);
        self.sense.next.creates = self.creates.val();
        self.sense.next.modifies = self.modifies.val();
        self.sense.next.queries = self.command.val().verb == self.query.val();
        self.sense.next.destroys = self.command.val().verb == self.destroy.val();
        self.sense.next.bad_attribute = (self.creates.val() & self.command.val().attributes.any())
            | (self.modifies.val() & (self.command.val().attributes != self.moderation.val()));
        self.sense.next.bad_base = self.base.val().get_bits::<RING_ALIGN_LOG>(0).any()
            | (!self.is_log_bad.val() & self.last_page.val().get_bit(52));
        self.sense.next.bad_log = self.is_log_bad.val();
        self.sense.next.bad_page = self.above_page.val().any();
    }
}
