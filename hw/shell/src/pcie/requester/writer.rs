//! Write bursts become memory writes.

pub mod answers;
pub mod assemble;
pub mod intake;
pub mod prepare;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::host::axi::{WriteAddress, WriteBeat, WriteResponse};
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::RqBeat;
use answers::{Answers, Report};
use assemble::Assemble;
use intake::{Intake, Plan};
use prepare::{Prepare, Recipe};

block! {
    /// Writes bursts of the card to the host.
    ///
    /// ```text
    ///   aw, w ─ Intake ─┬─ plans ─ Prepare ─┐
    ///                   └─ beats ───────── Assemble ─ rq
    ///                                       Answers ─ b
    ///                              reports ───┘
    /// ```
    ///
    /// - **Ports** `aw`, `w`, `b`: the card's bursts; `rq`: memory writes, none longer than the largest payload, none across a multiple of it, each without a
    ///   gap; `reports`: the block's; `max_payload_log`: as [`Intake`]; `stops`: no address is taken. `accepted`, `left`: bursts whose last beat was
    ///   taken from `w`, and bursts of which nothing has still to be taken from `rq`; they wrap. `is_drained`: every burst is answered.
    /// - **Responses** are good, in order, and come when the block has reported the last transaction of their burst: from then on nothing overtakes
    ///   it. A burst without strobes sends nothing and is answered in its turn.
    /// - **Latency** 6 cycles from the last beat of a transaction to `rq`; 2 from its report to `b`. **Rate** 1 beat of `rq` per cycle; 5 of them carry
    ///   256 bytes. A transaction that begins behind dword 4 of a beat takes a cycle more.
    /// - **Backpressure** `w` waits with 124 beats, or 60 transactions, inside; `rq` with 61 or 62 that are not reported. No combinational path from port to port,
    ///   but `stops` to `aw.ready`.
    /// - **Reset** forgets everything; the block must not report transactions from before.
    /// - **Limits** as [`Intake`]'s and [`Answers`]'.
    pub struct Writer {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub max_payload_log: Signal<In, Bits<4>>,
        pub stops: Signal<In, Bit>,
        pub aw: StreamSink<WriteAddress>,
        pub w: StreamSink<WriteBeat<512, 64>>,
        pub b: StreamSource<WriteResponse>,
        pub rq: StreamSource<RqBeat>,
        pub reports: [Signal<In, Report>; 2],
        pub accepted: Signal<Out, Bits<32>>,
        pub left: Signal<Out, Bits<32>>,
        pub is_drained: Signal<Out, Bit>,
        intake: Intake,
        prepare: Prepare,
        assemble: Assemble,
        answers: Answers,
        accepted_count: Reg<Bits<32>>,
        left_count: Reg<Bits<32>>,
        /// Bursts that are not answered.
        open: Reg<Bits<10>>,
        is_empty: Reg<Bit>,
        opens: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
    }
}

impl Logic for Writer {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, intake, prepare, assemble, answers);
        dff_setup!(self, clock, accepted_count, left_count, open, is_empty);
        self.intake.reset.next = self.reset.val();
        self.prepare.reset.next = self.reset.val();
        self.assemble.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();

        self.intake.max_payload_log.next = self.max_payload_log.val();
        self.opens.next = self.aw.valid.val() & self.intake.aw.ready.val() & !self.stops.val();
        self.intake.aw.valid.next = self.aw.valid.val() & !self.stops.val();
        self.intake.aw.payload.next = self.aw.payload.val();
        self.aw.ready.next = self.intake.aw.ready.val() & !self.stops.val();
        StreamSink::<WriteBeat<512, 64>>::link(&mut self.w, &mut self.intake.w);
        StreamSource::<Plan>::join(&mut self.intake.plans, &mut self.prepare.plans);
        StreamSource::<Recipe>::join(&mut self.prepare.recipes, &mut self.assemble.recipes);
        StreamSource::<Bits<512>>::join(&mut self.intake.beats, &mut self.assemble.beats);
        StreamSource::<RqBeat>::link(&mut self.rq, &mut self.assemble.rq);
        self.assemble.room.next = self.answers.room.val();
        self.assemble.sequence.next = self.answers.sequence.val();
        self.answers.starts.next = self.assemble.starts.val();
        self.answers.ends.next = self.assemble.ends.val();
        self.answers.is_empty.next = self.assemble.is_empty.val();
        for i in 0..2 {
            self.answers.reports[i].next = self.reports[i].val();
        }
        self.b.valid.next = self.answers.b.valid.val();
        self.b.payload.next = self.answers.b.payload.val();
        self.answers.b.ready.next = self.b.ready.val();
        self.closes.next = self.answers.b.valid.val() & self.b.ready.val();

        self.accepted.next = self.accepted_count.q.val();
        self.left.next = self.left_count.q.val();
        self.is_drained.next = self.is_empty.q.val();
        if self.w.valid.val() & self.intake.w.ready.val() & self.w.payload.val().last {
            self.accepted_count.d.next = self.accepted_count.q.val() + 1;
        }
        if self.assemble.leaves.val() {
            self.left_count.d.next = self.left_count.q.val() + 1;
        }
        if self.opens.val() & !self.closes.val() {
            self.open.d.next = self.open.q.val() + 1;
        }
        if !self.opens.val() & self.closes.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        self.is_empty.d.next = !self.open.q.val().any() & !self.opens.val();
        if self.reset.val() {
            self.accepted_count.d.next = 0.into();
            self.left_count.d.next = 0.into();
            self.open.d.next = 0.into();
            self.is_empty.d.next = false;
        }
    }
}
