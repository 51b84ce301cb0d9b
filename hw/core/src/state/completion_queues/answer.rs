//! The mailbox's answer, and what it waits for.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::state::command::ObjectReply;
use crate::stream::StreamSource;

block! {
    /// Replies to commands; to one that ends an object only after its writes have settled.
    ///
    /// - **Ports** `open`: a command may come. In its cycle `answers`: `given` is its reply; `ends`: it ends an object.
    ///   `settle`: writes begun so far are to reach host memory; `settled`: they have. `reply`: the reply. `busy`: there is
    ///   one, or will be.
    /// - **Latency** 1 cycle to `reply` or `settle`, 1 from `settled` to `reply`.
    /// - **Backpressure** `open` is low until the reply is taken.
    /// - **Reset** forgets the reply, and that it waits for `settled`.
    pub struct Answer {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub open: Signal<Out, Bit>,
        pub answers: Signal<In, Bit>,
        pub given: Signal<In, ObjectReply>,
        pub ends: Signal<In, Bit>,
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub reply: StreamSource<ObjectReply>,
        pub busy: Signal<Out, Bit>,
        reply_valid: Reg<Bit>,
        reply_held: Reg<ObjectReply>,
        begins: Reg<Bit>,
        settling: Reg<Bit>,
    }
}

impl Logic for Answer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, reply_valid, reply_held, begins, settling);
        self.open.next = !self.reply_valid.q.val() & !self.settling.q.val();
        self.busy.next = self.reply_valid.q.val() | self.settling.q.val();
        self.settle.next = self.begins.q.val();
        self.reply.valid.next = self.reply_valid.q.val();
        self.reply.payload.next = self.reply_held.q.val();
        if self.reply.ready.val() {
            self.reply_valid.d.next = false;
        }
        self.begins.d.next = self.answers.val() & self.ends.val();
        if self.answers.val() {
            self.reply_held.d.next = self.given.val();
            self.reply_valid.d.next = !self.ends.val();
            self.settling.d.next = self.ends.val();
        }
        if self.settling.q.val() & self.settled.val() {
            self.settling.d.next = false;
            self.reply_valid.d.next = true;
        }
        if self.reset.val() {
            self.reply_valid.d.next = false;
            self.begins.d.next = false;
            self.settling.d.next = false;
        }
    }
}
