//! From WQE to WQE.

use rust_hdl::prelude::*;

use super::PLACE_BITS;
use super::judge::Judge;
use crate::host::work::{Job, Work};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Walks over the units of a job that is all there, from WQE to WQE.
    ///
    /// - **Ports** `job`, `arrived`: a job, offered no later than the bit that says it is there, and is true if it failed;
    ///   `at`: the place that is looked at, and before which nothing is needed any more; `found`: the unit there, in the same
    ///   cycle; `work`: into a FIFO; `units`: units of works; `busy`: a job is under way.
    /// - **Latency** 2 cycles from `arrived` to `work`. **Rate** as [`Parse`](super::Parse) says.
    /// - **Backpressure** of any output stalls all. `units` comes from a register.
    /// - **Reset** forgets the job under way; the next one begins at place 0.
    pub struct Walk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub job: StreamSink<Job>,
        pub arrived: StreamSink<Bit>,
        pub at: Signal<Out, Bits<PLACE_BITS>>,
        pub found: Signal<In, Bits<512>>,
        pub work: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        judge: Judge,
        // At most one of the four: the unit found is to be taken, is the head of a WQE, is to be sent; the job ends.
        looking: Reg<Bit>,
        judging: Reg<Bit>,
        sending: Reg<Bit>,
        ending: Reg<Bit>,
        /// The job under way, and whether it failed.
        held: Reg<Job>,
        failed: Reg<Bit>,
        /// Units from here to the job's end, and the index of the first.
        left: Reg<Bits<6>>,
        index: Reg<Bits<16>>,
        bytes: Reg<Bits<32>>,
        unit: Reg<Bits<512>>,
        /// Units to be sent.
        rest: Reg<Bits<4>>,
        place: Reg<Bits<PLACE_BITS>>,
        /// Place behind the job.
        end: Reg<Bits<PLACE_BITS>>,
        is_idle: Signal<Local, Bit>,
        judged: Signal<Local, Bit>,
        ended: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        sum: Signal<Local, Bits<33>>,
        nothing: Constant<Work> = Constant::new(Work::default()),
        most: Constant<Bits<32>> = Constant::new(Bits::mask()),
    }
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, looking, judging, sending, ending, held, failed, left, index, bytes);
        dff_setup!(self, clock, unit, rest, place, end);
        self.at.next = self.place.q.val();
        self.is_idle.next =
            !self.looking.q.val() & !self.judging.q.val() & !self.sending.q.val() & !self.ending.q.val();
        self.busy.next = !self.is_idle.val();
        self.judge.job.next = self.held.q.val();
        self.judge.failed.next = self.failed.q.val();
        self.judge.left.next = self.left.q.val();
        self.judge.index.next = self.index.q.val();
        self.judge.head.next = bit_cast::<256, 512>(self.unit.q.val());

        self.ended.next = self.ending.q.val() & self.work.ready.val();
        self.ending.d.next = self.ending.q.val() & !self.work.ready.val();
        self.work.valid.next = (self.judging.q.val() & !self.judge.stops.val()) | self.ending.q.val();
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
        self.units.valid.next = self.sending.q.val();
        self.units.payload.next = self.unit.q.val();

        if self.looking.q.val() {
            self.unit.d.next = self.found.val();
            self.looking.d.next = false;
            self.judging.d.next = true;
        }

        self.sum.next =
            bit_cast::<33, 32>(self.bytes.q.val()) + bit_cast::<33, 32>(self.judge.work.val().length);
        self.judged.next = self.judging.q.val() & !self.judge.stops.val() & self.work.ready.val();
        if self.judging.q.val() & self.judge.stops.val() {
            self.judging.d.next = false;
            self.ending.d.next = true;
            self.place.d.next = self.end.q.val();
        }
        if self.judged.val() {
            self.judging.d.next = false;
            self.left.d.next = self.left.q.val() - self.judge.count.val();
            self.index.d.next = self.index.q.val() + bit_cast::<16, 6>(self.judge.count.val());
            if !self.judge.work.val().status.any() {
                self.bytes.d.next = bit_cast::<32, 33>(self.sum.val());
                if self.sum.val().get_bit(32) {
                    self.bytes.d.next = self.most.val();
                }
            }
            if self.judge.is_bad.val() {
                self.ending.d.next = true;
                self.place.d.next = self.end.q.val();
            } else if self.judge.sends.val() {
                self.sending.d.next = true;
                self.rest.d.next = self.judge.work.val().units;
                self.place.d.next = self.place.q.val() + 1;
            } else {
                self.looking.d.next = self.left.q.val() != self.judge.count.val();
                self.ending.d.next = self.left.q.val() == self.judge.count.val();
                self.place.d.next = self.place.q.val() + bit_cast::<PLACE_BITS, 6>(self.judge.count.val());
            }
        }

        // What is found behind the last unit to be sent is the head of the next WQE, if there is one.
        if self.sending.q.val() & self.units.ready.val() {
            self.unit.d.next = self.found.val();
            self.rest.d.next = self.rest.q.val() - 1;
            self.place.d.next = self.place.q.val() + 1;
            if self.rest.q.val() == 1 {
                self.place.d.next = self.place.q.val();
                self.sending.d.next = false;
                self.judging.d.next = self.left.q.val().any();
                self.ending.d.next = !self.left.q.val().any();
            }
        }

        // The next job begins in the cycle in which the one before ends; its units follow those of that job.
        self.begins.next =
            self.arrived.valid.val() & self.job.valid.val() & (self.is_idle.val() | self.ended.val());
        self.job.ready.next = self.begins.val();
        self.arrived.ready.next = self.begins.val();
        if self.begins.val() {
            self.unit.d.next = self.found.val();
            self.held.d.next = self.job.payload.val();
            self.failed.d.next = self.arrived.payload.val();
            self.left.d.next = self.job.payload.val().units;
            self.index.d.next = self.job.payload.val().index;
            self.bytes.d.next = 0.into();
            self.end.d.next = self.place.q.val() + bit_cast::<PLACE_BITS, 6>(self.job.payload.val().units);
            self.judging.d.next = true;
        }
        if self.reset.val() {
            self.looking.d.next = false;
            self.judging.d.next = false;
            self.sending.d.next = false;
            self.ending.d.next = false;
            self.place.d.next = 0.into();
        }
    }
}
