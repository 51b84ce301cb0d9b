//! Judge: the one stage that decides, in order, what becomes of an errand.

use rust_hdl::prelude::*;

use super::ask::{Mark, VALUE_BYTES};
use super::collect::Found;
use super::command::Piece;
use super::verdict::Verdict;
use crate::constant::number;
use crate::fabric::records::{Calling, NO_KERNEL};
use crate::prim::reg::Reg;
use crate::state::access::Cause;
use crate::state::failures::Failure;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Errand;

block! {
    /// Judges each errand when all before it are judged and its answers are there.
    ///
    /// - **Ports** `errand`, `mark`: as [`Ask`](super::ask::Ask) gives them; `found`: for each errand that asks; `look`, `failure`, `marks`,
    ///   `failure_next`: as [`Failures`](crate::state::failures::Failures); `open`: an errand may be judged; `piece`: what becomes of its payload; `judged`,
    ///   `untold`: as [`Verdict`] says it has to end, an allowed atomic with the DMA address of its word as `va`;
    ///   `refused`, `accepted`, `overtaken`, `lost`: as [`Place`](super::Place) has them.
    /// - **Latency** 0 cycles, to these pulses 1. **Rate** 1 errand per cycle; behind one that `marks` 2 cycles more, for `open` is low.
    /// - **Backpressure** `piece` and `judged` go into FIFOs and move together, so `valid` of either follows `ready` of the
    ///   other; `ready` of the sinks follows both.
    /// - **Reset** forgets the pulses, and the arrival under way.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub mark: Signal<In, Mark>,
        pub found: StreamSink<Found>,
        pub look: Signal<Out, Bits<24>>,
        pub failure: Signal<In, Failure>,
        pub marks: Signal<Out, Bit>,
        pub failure_next: Signal<Out, Failure>,
        pub open: Signal<In, Bit>,
        pub piece: StreamSource<Piece>,
        pub judged: StreamSource<Errand>,
        pub untold: Signal<Out, Bit>,
        pub refused: Signal<Out, Bit>,
        pub accepted: Signal<Out, Bit>,
        pub overtaken: Signal<Out, Bit>,
        pub lost: Signal<Out, Bit>,
        verdict: Verdict,
        is_refused: Reg<Bit>,
        is_accepted: Reg<Bit>,
        is_overtaken: Reg<Bit>,
        is_lost: Reg<Bit>,
        /// An errand of the arrival under way was judged; when it came its queue pair had failed.
        is_begun: Reg<Bit>,
        had_failed: Reg<Bit>,
        came_late: Signal<Local, Bit>,
        counts: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        refusal: Signal<Local, Bits<3>>,
        len: Signal<Local, Bits<13>>,
        writes: Signal<Local, Bit>,
        calls: Signal<Local, Bit>,
        begins: Constant<Bits<2>> = number(Calling::Begins as u8),
        goes_on: Constant<Bits<2>> = number(Calling::GoesOn as u8),
        nobody: Constant<Bits<4>> = number(NO_KERNEL),
        bounds: Constant<Bits<3>> = number(Cause::Bounds as u8),
        value_len: Constant<Bits<13>> = number(VALUE_BYTES),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_refused, is_accepted, is_overtaken, is_lost, is_begun, had_failed);
        self.look.next = self.mark.val().qpn;
        self.refused.next = self.is_refused.q.val();
        self.accepted.next = self.is_accepted.q.val();
        self.overtaken.next = self.is_overtaken.q.val();
        self.lost.next = self.is_lost.q.val();
        self.goes.next = self.errand.valid.val()
            & (self.found.valid.val() | !self.mark.val().asks)
            & self.open.val()
            & self.piece.ready.val()
            & self.judged.ready.val();
        self.errand.ready.next = self.goes.val();
        self.found.ready.next = self.goes.val() & self.mark.val().asks;
        self.piece.valid.next = self.goes.val();
        self.judged.valid.next = self.goes.val();

        self.refusal.next = 0.into();
        if self.mark.val().wraps {
            self.refusal.next = self.bounds.val();
        } else if self.mark.val().asks {
            self.refusal.next = self.found.payload.val().cause;
        }
        self.verdict.errand.next = self.errand.payload.val();
        self.verdict.is_request.next = self.mark.val().is_request;
        self.verdict.refusal.next = self.refusal.val();
        self.verdict.failure.next = self.failure.val();
        self.judged.payload.next = self.verdict.judged.val();
        // Nothing else needs the address of an atomic that is allowed; one that comes too late has no use for it either.
        if self.errand.payload.val().atomic.any() & !self.refusal.val().any() {
            self.judged.payload.next.va = self.found.payload.val().iova;
        }
        self.untold.next = self.verdict.untold.val();
        self.marks.next = self.goes.val() & self.verdict.marks.val();
        self.failure_next.next = self.verdict.failure_next.val();
        self.is_refused.d.next = self.goes.val() & self.verdict.denies.val();

        // What decides is how its queue pair stood when the arrival came: one that is refused itself was not overtaken.
        self.came_late.next = self.failure.val().failed;
        if self.is_begun.q.val() {
            self.came_late.next = self.had_failed.q.val();
        }
        if self.goes.val() {
            self.is_begun.d.next = !self.errand.payload.val().ends;
            self.had_failed.d.next = self.came_late.val();
        }
        self.counts.next =
            self.goes.val() & self.errand.payload.val().ends & self.errand.payload.val().is_awaited;
        self.is_accepted.d.next = self.counts.val() & !self.came_late.val() & !self.verdict.drops.val();
        self.is_lost.d.next = self.counts.val() & !self.came_late.val() & self.verdict.drops.val();
        self.is_overtaken.d.next = self.counts.val() & self.came_late.val();

        self.len.next = self.errand.payload.val().payload_len;
        if self.errand.payload.val().has_value {
            self.len.next = self.value_len.val();
        }
        self.writes.next = self.errand.payload.val().places
            & self.len.val().any()
            & self.mark.val().asks
            & !self.refusal.val().any()
            & !self.verdict.throws.val();
        self.piece.payload.next.writes = self.writes.val();
        // What a kernel is not to have any more, and what came again, is thrown away.
        self.calls.next = ((self.errand.payload.val().call == self.begins.val())
            | (self.errand.payload.val().call == self.goes_on.val()))
            & (self.errand.payload.val().kernel != self.nobody.val())
            & self.errand.payload.val().payload_len.any()
            & !self.failure.val().failed;
        self.piece.payload.next.drops =
            self.errand.payload.val().payload_len.any() & !self.writes.val() & !self.calls.val();
        self.piece.payload.next.calls = self.calls.val();
        self.piece.payload.next.kernel = self.errand.payload.val().kernel;
        self.piece.payload.next.begins = self.errand.payload.val().call == self.begins.val();
        self.piece.payload.next.has_value = self.errand.payload.val().has_value;
        self.piece.payload.next.value = self.errand.payload.val().value;
        self.piece.payload.next.qpn = self.errand.payload.val().qpn;
        self.piece.payload.next.iova = self.found.payload.val().iova;
        self.piece.payload.next.next_iova = self.found.payload.val().next_iova;
        self.piece.payload.next.crosses = self.writes.val() & self.found.payload.val().crosses;
        self.piece.payload.next.continues =
            self.errand.payload.val().payload_len.any() & !self.errand.payload.val().ends;
        self.piece.payload.next.len = self.len.val();
        if self.writes.val() & self.found.payload.val().crosses {
            self.piece.payload.next.len = self.found.payload.val().len;
        }
        self.piece.payload.next.rest = self.len.val() - self.found.payload.val().len;
        if self.reset.val() {
            self.is_begun.d.next = false;
            self.is_accepted.d.next = false;
            self.is_overtaken.d.next = false;
            self.is_lost.d.next = false;
            self.is_refused.d.next = false;
        }
    }
}
