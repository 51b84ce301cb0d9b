//! From WQE to WQE.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::BODY_AT;

use super::PLACE_BITS;
use super::judge::Judge;
use crate::constant::number;
use crate::host::work::{Job, Work};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Walks over the units of a job, from WQE to WQE, a unit a cycle.
    ///
    /// A head is judged in the cycle in which it is read, and its unit goes on with it. The end of a job is told while
    /// the units of its last WQE follow.
    ///
    /// - **Ports** `job`: jobs; `arrived`: one a job, when its units may be looked at, and true if it failed; `written`: the
    ///   place behind the last unit that came; `at`: the place that is looked at, and before which nothing is needed any
    ///   more; `found`: the unit there, in the same cycle; `work`, `units`: works and their units, into FIFOs; `busy`:
    ///   a job is under way.
    /// - **Latency** 0 cycles from `arrived` to `work` and `units`, if the job was there a cycle before. **Rate** as
    ///   [`Parse`](super::Parse) says.
    /// - **Backpressure** of any output stalls all; a work and its first unit move together, so `valid` of either follows
    ///   `ready` of the other.
    /// - **Reset** forgets the job under way; the next one begins at place 0.
    /// - **Limits** only the units behind a job's first WQE may be missing when it has arrived, as those of a push may.
    pub struct Walk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub job: StreamSink<Job>,
        pub arrived: StreamSink<Bit>,
        pub written: Signal<In, Bits<PLACE_BITS>>,
        pub at: Signal<Out, Bits<PLACE_BITS>>,
        pub found: Signal<In, Bits<512>>,
        pub work: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        judge: Judge,
        /// A WQE is to be judged, behind the units to be sent; it is the first of its job.
        judging: Reg<Bit>,
        is_first: Reg<Bit>,
        /// The unit found is to be sent, and so many from there on.
        sending: Reg<Bit>,
        rest: Reg<Bits<4>>,
        /// The end of the job is to be told.
        ending: Reg<Bit>,
        /// The job under way.
        held: Reg<Job>,
        /// Units from the next WQE to the job's end, and the index of the first.
        left: Reg<Bits<6>>,
        index: Reg<Bits<16>>,
        bytes: Reg<Bits<32>>,
        place: Reg<Bits<PLACE_BITS>>,
        /// Place behind the job.
        end: Reg<Bits<PLACE_BITS>>,
        is_due: Signal<Local, Bit>,
        judged: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        is_here: Signal<Local, Bit>,
        sends: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        sum: Signal<Local, Bits<33>>,
        nothing: Constant<Work> = Constant::new(Work::default()),
        most: Constant<Bits<32>> = Constant::new(Bits::mask()),
        room_at: Constant<Bits<10>> = number(BODY_AT * 8 + Sge::LENGTH.offset()),
    }
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, judging, is_first, sending, rest, ending, held, left, index, bytes);
        dff_setup!(self, clock, place, end);
        self.at.next = self.place.q.val();
        self.busy.next = self.judging.q.val() | self.sending.q.val() | self.ending.q.val();
        self.judge.job.next = self.held.q.val();
        self.judge.failed.next = self.is_first.q.val() & self.arrived.payload.val();
        self.judge.is_first.next = self.is_first.q.val();
        self.judge.left.next = self.left.q.val();
        self.judge.index.next = self.index.q.val();
        self.judge.head.next = bit_cast::<256, 512>(self.found.val());
        self.judge.room.next = self.found.val().get_bits::<32>(self.room_at.val().index());

        self.is_due.next = self.judging.q.val()
            & !self.sending.q.val()
            & self.units.ready.val()
            & (self.arrived.valid.val() | !self.is_first.q.val());
        self.work.valid.next = (self.is_due.val() & !self.judge.stops.val()) | self.ending.q.val();
        self.work.payload.next = self.judge.work.val();
        if self.ending.q.val() {
            self.work.payload.next = self.nothing.val();
            self.work.payload.next.ends = true;
            self.work.payload.next.colour = self.held.q.val().colour;
            self.work.payload.next.qpn = self.held.q.val().qpn;
            self.work.payload.next.index = self.index.q.val();
            self.work.payload.next.length = self.bytes.q.val();
            self.work.payload.next.cq = self.held.q.val().cq;
            self.work.payload.next.pd = self.held.q.val().pd;
            self.work.payload.next.path_mtu = self.held.q.val().path_mtu;
            self.work.payload.next.send_psn = self.held.q.val().send_psn;
            self.work.payload.next.reads_out = self.held.q.val().reads_out;
            self.work.payload.next.timeout = self.held.q.val().timeout;
            self.work.payload.next.drains = self.held.q.val().drains;
        }
        self.ending.d.next = self.ending.q.val() & !self.work.ready.val();

        self.sum.next =
            bit_cast::<33, 32>(self.bytes.q.val()) + bit_cast::<33, 32>(self.judge.work.val().length);
        self.is_last.next = self.left.q.val() == self.judge.count.val();
        self.judged.next = self.is_due.val() & !self.judge.stops.val() & self.work.ready.val();
        self.arrived.ready.next = self.is_first.q.val() & self.judged.val();
        if self.is_due.val() & self.judge.stops.val() {
            self.judging.d.next = false;
            self.ending.d.next = true;
            self.place.d.next = self.end.q.val();
        }
        if self.judged.val() {
            self.is_first.d.next = false;
            self.judging.d.next = !self.is_last.val() & !self.judge.is_bad.val();
            self.ending.d.next = self.is_last.val() | self.judge.is_bad.val();
            self.left.d.next = self.left.q.val() - self.judge.count.val();
            self.index.d.next = self.index.q.val() + bit_cast::<16, 6>(self.judge.count.val());
            if !self.judge.work.val().status.any() {
                self.bytes.d.next = bit_cast::<32, 33>(self.sum.val());
                if self.sum.val().get_bit(32) {
                    self.bytes.d.next = self.most.val();
                }
            }
            self.sending.d.next = self.judge.sends.val() & (self.judge.work.val().units != 1);
            self.rest.d.next = self.judge.work.val().units - 1;
            self.place.d.next = self.place.q.val() + bit_cast::<PLACE_BITS, 6>(self.judge.count.val());
            if self.judge.is_bad.val() {
                self.place.d.next = self.end.q.val();
            }
            if self.judge.sends.val() {
                self.place.d.next = self.place.q.val() + 1;
            }
        }

        self.is_here.next = self.place.q.val() != self.written.val();
        self.sends.next = self.sending.q.val() & self.units.ready.val() & self.is_here.val();
        if self.sends.val() {
            self.sending.d.next = self.rest.q.val() != 1;
            self.rest.d.next = self.rest.q.val() - 1;
            self.place.d.next = self.place.q.val() + 1;
        }
        self.units.valid.next =
            (self.judged.val() & self.judge.sends.val()) | (self.sending.q.val() & self.is_here.val());
        self.units.payload.next = self.found.val();

        // The next job begins in the cycle in which the last of the one before goes; its units follow those of that job.
        self.begins.next = self.job.valid.val()
            & !self.judging.q.val()
            & (!self.ending.q.val() | self.work.ready.val())
            & (!self.sending.q.val() | (self.sends.val() & (self.rest.q.val() == 1)));
        self.job.ready.next = self.begins.val();
        if self.begins.val() {
            self.held.d.next = self.job.payload.val();
            self.left.d.next = self.job.payload.val().units;
            self.index.d.next = self.job.payload.val().index;
            self.bytes.d.next = 0.into();
            self.end.d.next = self.end.q.val() + bit_cast::<PLACE_BITS, 6>(self.job.payload.val().units);
            self.judging.d.next = true;
            self.is_first.d.next = true;
        }
        if self.reset.val() {
            self.judging.d.next = false;
            self.sending.d.next = false;
            self.ending.d.next = false;
            self.place.d.next = 0.into();
            self.end.d.next = 0.into();
        }
    }
}
