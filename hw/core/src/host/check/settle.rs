//! What becomes of a WQE.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::PLACE_BITS;
use super::ask::Expected;
use crate::constant::number;
use crate::host::parse::Defect;
use crate::host::parse::operations::{BARE, one_of};
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
    /// Collects the answers for each WQE, gives it its status, and passes on the units of those that stay without.
    ///
    /// - **Ports** `expected`: what is due; `verdict`: the answers; `work`: a WQE, offered no later than its end is due;
    ///   `checked`: the same with its status, into a FIFO; `units`: units of those to be carried out; `at`: the place that
    ///   is looked at, and before which nothing is needed any more; `found`: the unit there, in the same cycle; `busy`: units
    ///   are being sent.
    /// - **Latency** 1 cycle from the end of a WQE to its first unit. **Rate** 1 of `expected` per cycle, but an end waits
    ///   until the units of the WQE before have gone.
    /// - **Backpressure** of `checked` and `units` stalls `expected` at an end. `units` comes from a register.
    /// - **Reset** forgets all answers and units; the next WQE's units begin at place 0.
    pub struct Settle {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub expected: StreamSink<Expected>,
        pub verdict: StreamSink<Verdict>,
        pub work: StreamSink<Work>,
        pub checked: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub at: Signal<Out, Bits<PLACE_BITS>>,
        pub found: Signal<In, Bits<512>>,
        pub busy: Signal<Out, Bit>,
        /// A range of the WQE was refused, and why.
        is_refused: Reg<Bit>,
        cause: Reg<Bits<8>>,
        sending: Reg<Bit>,
        unit: Reg<Bits<512>>,
        /// Units to be sent.
        rest: Reg<Bits<4>>,
        place: Reg<Bits<PLACE_BITS>>,
        is_answer: Signal<Local, Bit>,
        refuses: Signal<Local, Bit>,
        settles: Signal<Local, Bit>,
        has_units: Signal<Local, Bit>,
        status: Signal<Local, Bits<8>>,
        vendor: Signal<Local, Bits<8>>,
        bare: Constant<Bits<256>> = one_of(BARE),
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
        dff_setup!(self, clock, is_refused, cause, sending, unit, rest, place);
        self.at.next = self.place.q.val();
        self.busy.next = self.sending.q.val();
        self.is_answer.next = !self.expected.payload.val().ends & !self.expected.payload.val().wraps;
        self.verdict.ready.next = self.expected.valid.val() & self.is_answer.val();
        self.refuses.next = self.expected.valid.val()
            & (self.expected.payload.val().wraps
                | (self.is_answer.val() & self.verdict.valid.val() & !self.verdict.payload.val().ok));
        if self.refuses.val() & !self.is_refused.q.val() {
            self.is_refused.d.next = true;
            self.cause.d.next = bit_cast::<8, 3>(self.verdict.payload.val().cause);
            if self.expected.payload.val().wraps {
                self.cause.d.next = self.bounds.val();
            }
        }
        self.settles.next = self.expected.valid.val()
            & self.expected.payload.val().ends
            & self.work.valid.val()
            & self.checked.ready.val()
            & !self.sending.q.val();
        self.expected.ready.next = self.settles.val()
            | (self.is_answer.val() & self.verdict.valid.val())
            | self.expected.payload.val().wraps;

        self.has_units.next = !self.work.payload.val().ends
            & !self.work.payload.val().status.any()
            & !self.bare.val().get_bit(self.work.payload.val().opcode.index());
        self.status.next = self.work.payload.val().status;
        self.vendor.next = self.work.payload.val().vendor;
        if self.expected.payload.val().mismatch {
            self.status.next = self.malformed.val();
            self.vendor.next = self.bad_sum.val();
        } else if self.expected.payload.val().excess {
            self.status.next = self.too_long.val();
        } else if self.is_refused.q.val() {
            self.status.next = self.protection.val();
            self.vendor.next = self.cause.q.val();
            if self.cause.q.val() == self.page_list.val() {
                self.status.next = self.general.val();
            }
        }
        self.work.ready.next = self.settles.val();
        self.checked.valid.next = self.settles.val();
        self.checked.payload.next = self.work.payload.val();
        self.checked.payload.next.status = self.status.val();
        self.checked.payload.next.vendor = self.vendor.val();
        self.units.valid.next = self.sending.q.val();
        self.units.payload.next = self.unit.q.val();
        if self.settles.val() {
            self.is_refused.d.next = false;
            if self.has_units.val() {
                self.unit.d.next = self.found.val();
                self.rest.d.next = self.work.payload.val().units;
                self.sending.d.next = !self.status.val().any();
                self.place.d.next = self.place.q.val() + 1;
                if self.status.val().any() {
                    self.place.d.next =
                        self.place.q.val() + bit_cast::<PLACE_BITS, 4>(self.work.payload.val().units);
                }
            }
        }
        if self.sending.q.val() & self.units.ready.val() {
            self.rest.d.next = self.rest.q.val() - 1;
            if self.rest.q.val() == 1 {
                self.sending.d.next = false;
            } else {
                self.unit.d.next = self.found.val();
                self.place.d.next = self.place.q.val() + 1;
            }
        }
        if self.reset.val() {
            self.is_refused.d.next = false;
            self.sending.d.next = false;
            self.place.d.next = 0.into();
        }
    }
}
