//! What a store to a doorbell page means.

use rust_hdl::prelude::*;
use stroma_abi::regs::Reg;
use stroma_abi::regs::map::doorbells;

use crate::constant::number;
use crate::host::work::{CqDoorbell, PUSH_UNITS, PageStore, SendDoorbell};
use crate::transport::records::ReceiveDoorbell;

block! {
    /// Tells doorbells, commits and words for push windows apart. Combinational.
    ///
    /// - **Ports** `store`: the store. `rings`, `receives`, `completes`, `commits`: it is a doorbell of a send queue, of a
    ///   receive queue, of a CQ, a commit; `fills`: it goes to a push window, and `whole` brings all eight bytes. `send`:
    ///   the doorbell, or what the commit says if its window is incomplete; `receive`, `cq`: the other doorbells.
    ///   `window`, `word`: place in a push window; with `commits` the window alone. `units`: of the commit, and `fits` if a
    ///   push may have as many. `bad`: the store means nothing, or the commit does not fit.
    /// - **Limits** `PAGES` below 12.
    pub struct Decode<const PAGES: usize> {
        pub store: Signal<In, PageStore>,
        pub rings: Signal<Out, Bit>,
        pub receives: Signal<Out, Bit>,
        pub completes: Signal<Out, Bit>,
        pub commits: Signal<Out, Bit>,
        pub fills: Signal<Out, Bit>,
        pub whole: Signal<Out, Bit>,
        pub send: Signal<Out, SendDoorbell>,
        pub receive: Signal<Out, ReceiveDoorbell>,
        pub cq: Signal<Out, CqDoorbell>,
        pub window: Signal<Out, Bits<2>>,
        pub word: Signal<Out, Bits<5>>,
        pub units: Signal<Out, Bits<4>>,
        pub fits: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        is_inside: Signal<Local, Bit>,
        is_whole: Signal<Local, Bit>,
        is_send: Signal<Local, Bit>,
        is_receive: Signal<Local, Bit>,
        is_shared: Signal<Local, Bit>,
        is_completion: Signal<Local, Bit>,
        is_commit: Signal<Local, Bit>,
        is_push: Signal<Local, Bit>,
        count: Signal<Local, Bits<4>>,
        is_fit: Signal<Local, Bit>,
        pages_log: Constant<Bits<4>> = number(PAGES),
        send_at: Constant<Bits<12>> = number(doorbells::SEND.offset),
        receive_at: Constant<Bits<12>> = number(doorbells::RECEIVE.offset),
        shared_at: Constant<Bits<12>> = number(doorbells::SHARED_RECEIVE.offset),
        completion_at: Constant<Bits<12>> = number(doorbells::COMPLETION.offset),
        commit_at: Constant<Bits<12>> = number(doorbells::PUSH_COMMIT.offset),
        push_at: Constant<Bits<12>> = number(doorbells::PUSH.offset),
        push_end: Constant<Bits<12>> = number(doorbells::PUSH.end()),
        /// Of every byte of the store.
        all: Constant<Bits<8>> = Constant::new(Bits::mask()),
        send_queue_at: Constant<Bits<6>> = place(&doorbells::SEND, "queue_pair", 24),
        producer_at: Constant<Bits<6>> = place(&doorbells::SEND, "producer", 16),
        receive_queue_at: Constant<Bits<6>> = place(&doorbells::RECEIVE, "queue_pair", 24),
        receive_producer_at: Constant<Bits<6>> = place(&doorbells::RECEIVE, "producer", 16),
        shared_queue_at: Constant<Bits<6>> = place(&doorbells::SHARED_RECEIVE, "queue", 24),
        shared_producer_at: Constant<Bits<6>> = place(&doorbells::SHARED_RECEIVE, "producer", 16),
        queue_at: Constant<Bits<6>> = place(&doorbells::COMPLETION, "queue", 24),
        consumer_at: Constant<Bits<6>> = place(&doorbells::COMPLETION, "consumer", 24),
        arm_at: Constant<Bits<6>> = place(&doorbells::COMPLETION, "arm", 2),
        commit_queue_at: Constant<Bits<6>> = place(&doorbells::PUSH_COMMIT, "queue_pair", 24),
        index_at: Constant<Bits<6>> = place(&doorbells::PUSH_COMMIT, "index", 16),
        units_at: Constant<Bits<6>> = place(&doorbells::PUSH_COMMIT, "units", 4),
        window_at: Constant<Bits<6>> = place(&doorbells::PUSH_COMMIT, "window", 2),
        most: Constant<Bits<4>> = number(PUSH_UNITS),
    }
}

/// Lowest bit of a register's part.
///
/// # Panics
/// When the register has no such part, or it has another width.
fn place(reg: &Reg, part: &str, width: usize) -> Constant<Bits<6>> {
    let entry = reg.fields.iter().find(|entry| entry.name == part);
    let field = entry.unwrap_or_else(|| panic!("{} has no part {part}", reg.name)).field;
    assert_eq!(field.width, width, "bits of {part}");
    number(field.offset())
}

impl<const PAGES: usize> Logic for Decode<PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_inside.next = !(self.store.val().page >> self.pages_log.val()).any();
        self.is_whole.next = self.store.val().strb == self.all.val();
        self.is_send.next =
            self.is_inside.val() & self.is_whole.val() & (self.store.val().offset == self.send_at.val());
        self.is_receive.next =
            self.is_inside.val() & self.is_whole.val() & (self.store.val().offset == self.receive_at.val());
        self.is_shared.next =
            self.is_inside.val() & self.is_whole.val() & (self.store.val().offset == self.shared_at.val());
        self.is_completion.next = self.is_inside.val()
            & self.is_whole.val()
            & (self.store.val().offset == self.completion_at.val());
        self.is_commit.next =
            self.is_inside.val() & self.is_whole.val() & (self.store.val().offset == self.commit_at.val());
        self.is_push.next = self.is_inside.val()
            & (self.store.val().offset >= self.push_at.val())
            & (self.store.val().offset < self.push_end.val());
        self.count.next = bit_cast::<4, 64>(self.store.val().data >> self.units_at.val());
        self.is_fit.next = self.count.val().any() & (self.count.val() <= self.most.val());

        self.rings.next = self.is_send.val();
        self.receives.next = self.is_receive.val() | self.is_shared.val();
        self.completes.next = self.is_completion.val();
        self.commits.next = self.is_commit.val();
        self.fills.next = self.is_push.val();
        self.whole.next = self.is_whole.val();
        self.units.next = self.count.val();
        self.fits.next = self.is_fit.val();
        self.bad.next = !self.is_send.val()
            & !self.is_receive.val()
            & !self.is_shared.val()
            & !self.is_completion.val()
            & !self.is_push.val()
            & !(self.is_commit.val() & self.is_fit.val());

        self.send.next.page = self.store.val().page;
        self.send.next.commits = self.is_commit.val();
        self.send.next.units = 0.into();
        self.send.next.qpn = bit_cast::<24, 64>(self.store.val().data >> self.send_queue_at.val());
        self.send.next.producer = bit_cast::<16, 64>(self.store.val().data >> self.producer_at.val());
        self.word.next = bit_cast::<5, 12>((self.store.val().offset - self.push_at.val()) >> 3);
        self.window.next = bit_cast::<2, 12>((self.store.val().offset - self.push_at.val()) >> 8);
        if self.is_commit.val() {
            self.send.next.qpn = bit_cast::<24, 64>(self.store.val().data >> self.commit_queue_at.val());
            self.send.next.producer = bit_cast::<16, 64>(self.store.val().data >> self.index_at.val())
                + bit_cast::<16, 4>(self.count.val());
            self.window.next = bit_cast::<2, 64>(self.store.val().data >> self.window_at.val());
        }
        self.receive.next.shared = self.is_shared.val();
        self.receive.next.page = self.store.val().page;
        self.receive.next.number = bit_cast::<24, 64>(self.store.val().data >> self.receive_queue_at.val());
        self.receive.next.producer =
            bit_cast::<16, 64>(self.store.val().data >> self.receive_producer_at.val());
        if self.is_shared.val() {
            self.receive.next.number =
                bit_cast::<24, 64>(self.store.val().data >> self.shared_queue_at.val());
            self.receive.next.producer =
                bit_cast::<16, 64>(self.store.val().data >> self.shared_producer_at.val());
        }
        self.cq.next.cq = bit_cast::<24, 64>(self.store.val().data >> self.queue_at.val());
        self.cq.next.page = self.store.val().page;
        self.cq.next.consumer = bit_cast::<24, 64>(self.store.val().data >> self.consumer_at.val());
        self.cq.next.arm = bit_cast::<2, 64>(self.store.val().data >> self.arm_at.val());
    }
}
