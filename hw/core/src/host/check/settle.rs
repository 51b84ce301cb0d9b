//! What becomes of a WQE.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::PLACE_BITS;
use super::ask::Expected;
use super::intake::Kind;
use crate::constant::number;
use crate::host::parse::Defect;
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::record;
use crate::state::access::Cause;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What counts of an answer.
    pub struct Verdict {
        /// The access is allowed.
        pub ok: Bit,
        /// Why not: a [`Cause`].
        pub cause: Bits<3>,
    }
}

block! {
    /// Collects the answers for each WQE, gives it its status, and lets the units go of those that stay without.
    ///
    /// - **Ports** `work`, `kind`: a WQE, offered no later than its end is due, and what it is; both move together.
    ///   `expected`: what is due for those that are not quiet; `verdict`: the answers. `checked`: the WQE with its status;
    ///   `units`: units of those to be carried out; `at`: the place of the next one, and before which nothing is needed any
    ///   more; `found`: the unit there, in the same cycle; `written`: the place behind the last unit that came; `busy`: units
    ///   are to go.
    /// - **Latency** 0 cycles to `checked`, from registers and memories; 1 from there to its first unit. **Rate** 1 answer, 1
    ///   WQE and 1 unit per cycle; one that is refused keeps the next waiting for 2 cycles and one for each of its units.
    /// - **Backpressure** of `checked` stalls at the end of a WQE, but its units are offered all the same. That of `units`
    ///   stalls at a WQE that is refused: it waits until the units before its own have gone.
    /// - **Reset** forgets all answers and units; the next WQE's units begin at place 0.
    pub struct Settle {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub kind: StreamSink<Kind>,
        pub expected: StreamSink<Expected>,
        pub verdict: StreamSink<Verdict>,
        pub checked: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub at: Signal<Out, Bits<PLACE_BITS>>,
        pub found: Signal<In, Bits<512>>,
        pub written: Signal<In, Bits<PLACE_BITS>>,
        pub busy: Signal<Out, Bit>,
        /// A range of the WQE was refused, and why.
        is_refused: Reg<Bit>,
        cause: Reg<Bits<8>>,
        place: Reg<Bits<PLACE_BITS>>,
        /// Place behind the last unit that may go.
        open: Reg<Bits<PLACE_BITS>>,
        /// The units of the WQE on offer may go already.
        is_opened: Reg<Bit>,
        /// The units from `place` to `open` are thrown away.
        dropping: Reg<Bit>,
        is_told: Signal<Local, Bit>,
        refuses: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        reason: Signal<Local, Bits<8>>,
        is_good: Signal<Local, Bit>,
        is_gone: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        settles: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        has_next: Signal<Local, Bit>,
        malformed: Constant<Bits<8>> = number(Status::LocalQueuePair as u64),
        too_long: Constant<Bits<8>> = number(Status::LocalLength as u64),
        protection: Constant<Bits<8>> = number(Status::LocalProtection as u64),
        general: Constant<Bits<8>> = number(Status::General as u64),
        bad_sum: Constant<Bits<8>> = number(Defect::Sum as u64),
        bounds: Constant<Bits<8>> = number(Cause::Bounds as u64),
        page_list: Constant<Bits<8>> = number(Cause::PageList as u64),
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_refused, cause, place, open, is_opened, dropping);
        self.at.next = self.place.q.val();
        self.is_gone.next = self.place.q.val() == self.open.q.val();
        self.busy.next = !self.is_gone.val();

        self.is_told.next =
            self.expected.valid.val() & (!self.expected.payload.val().asks | self.verdict.valid.val());
        self.refuses.next = self.expected.payload.val().wraps
            | (self.expected.payload.val().asks & !self.verdict.payload.val().ok);
        self.is_bad.next = self.is_refused.q.val() | self.refuses.val();
        self.reason.next = bit_cast::<8, 3>(self.verdict.payload.val().cause);
        if self.expected.payload.val().wraps {
            self.reason.next = self.bounds.val();
        }
        if self.is_refused.q.val() {
            self.reason.next = self.cause.q.val();
        }

        self.is_good.next = self.kind.payload.val().quiet
            | (!self.expected.payload.val().mismatch
                & !self.expected.payload.val().excess
                & !self.is_bad.val());
        self.offers.next = self.work.valid.val()
            & (self.kind.payload.val().quiet | (self.is_told.val() & self.expected.payload.val().ends))
            & !self.dropping.q.val()
            & (self.is_good.val() | self.is_gone.val());
        self.settles.next = self.offers.val() & self.checked.ready.val();
        self.checked.valid.next = self.offers.val();
        self.checked.payload.next = self.work.payload.val();
        if !self.kind.payload.val().quiet {
            if self.expected.payload.val().mismatch {
                self.checked.payload.next.status = self.malformed.val();
                self.checked.payload.next.vendor = self.bad_sum.val();
            } else if self.expected.payload.val().excess {
                self.checked.payload.next.status = self.too_long.val();
            } else if self.is_bad.val() {
                self.checked.payload.next.status = self.protection.val();
                self.checked.payload.next.vendor = self.reason.val();
                if self.reason.val() == self.page_list.val() {
                    self.checked.payload.next.status = self.general.val();
                }
            }
        }
        self.work.ready.next = self.settles.val();
        self.kind.ready.next = self.settles.val();

        // Answers are taken as they come; one that is a WQE's last, with it.
        self.takes.next = self.is_told.val()
            & (!self.expected.payload.val().ends | (self.settles.val() & !self.kind.payload.val().quiet));
        self.expected.ready.next = self.takes.val();
        self.verdict.ready.next = self.takes.val() & self.expected.payload.val().asks;
        if self.takes.val() {
            self.is_refused.d.next = self.is_bad.val() & !self.expected.payload.val().ends;
            self.cause.d.next = self.reason.val();
        }

        // Units never wait for their work to be taken, because whoever takes it may wait for both.
        self.is_opened.d.next = self.offers.val() & !self.checked.ready.val();
        if (self.offers.val()
            & self.is_good.val()
            & self.kind.payload.val().has_units
            & !self.is_opened.q.val())
            | (self.settles.val() & !self.is_good.val())
        {
            self.open.d.next = self.open.q.val() + bit_cast::<PLACE_BITS, 4>(self.work.payload.val().units);
        }
        self.has_next.next = !self.is_gone.val() & (self.place.q.val() != self.written.val());
        self.units.valid.next = self.has_next.val() & !self.dropping.q.val();
        self.units.payload.next = self.found.val();
        if self.has_next.val() & (self.dropping.q.val() | self.units.ready.val()) {
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.is_gone.val() {
            self.dropping.d.next = self.settles.val() & !self.is_good.val();
        }
        if self.reset.val() {
            self.is_refused.d.next = false;
            self.is_opened.d.next = false;
            self.dropping.d.next = false;
            self.place.d.next = 0.into();
            self.open.d.next = 0.into();
        }
    }
}
