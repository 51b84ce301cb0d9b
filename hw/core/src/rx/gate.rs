//! The gate: nothing of a frame passes before its verdict, and nothing at all of a bad one.

use rust_hdl::prelude::*;

use super::icrc::Verdict;
use crate::head::Head;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Joins heads and payload packets with the verdicts on their frames.
///
/// - **Ports** `verdict`: one per frame; `head`: one per frame; `payload`: one packet per frame whose verdict is
///   `paid`; `good_head`: those of class 0; `judged_payload`: the packets, with `err` on the `eop` of those not of
///   class 0, for a packet FIFO; `counts`: frames by class. A good head is given in the cycle in which the last
///   beat of its payload is.
/// - **Latency** 0 cycles, 1 to the counters. **Rate** 1 beat and 1 verdict per cycle.
/// - **Backpressure** stalls the inputs; their `ready` follows that of the outputs combinationally. `good_head.ready`
///   and `judged_payload.ready` must stay high until used, as a FIFO's do.
/// - **Reset** clears the counters, which wrap.
#[derive(LogicBlock, Default)]
pub struct Gate<const D: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub verdict: StreamSink<Verdict>,
    pub head: StreamSink<Head>,
    pub payload: StreamSink<Beat<D>>,
    pub good_head: StreamSource<Head>,
    pub judged_payload: StreamSource<Beat<D>>,
    pub counts: [Signal<Out, Bits<32>>; 16],
    count: [Reg<Bits<32>>; 16],
    is_good: Signal<Local, Bit>,
    is_due: Signal<Local, Bit>,
    head_fits: Signal<Local, Bit>,
    payload_ends: Signal<Local, Bit>,
    payload_may_pass: Signal<Local, Bit>,
    payload_is_done: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
}

impl<const D: usize> Logic for Gate<D> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_due.next = self.verdict.valid.val() & self.head.valid.val();
        self.is_good.next = !self.verdict.payload.val().class.any();
        self.head_fits.next = !self.is_good.val() | self.good_head.ready.val();
        self.payload_ends.next = self.payload.valid.val() & self.payload.payload.val().eop;

        // All beats but the last go ahead: the packet FIFO hides them until the last one comes.
        self.payload_may_pass.next = self.payload.valid.val()
            & (!self.payload.payload.val().eop
                | (self.is_due.val() & self.verdict.payload.val().paid & self.head_fits.val()));
        self.judged_payload.valid.next = self.payload_may_pass.val();
        self.judged_payload.payload.next.data = self.payload.payload.val().data;
        self.judged_payload.payload.next.nbytes = self.payload.payload.val().nbytes;
        self.judged_payload.payload.next.sop = self.payload.payload.val().sop;
        self.judged_payload.payload.next.eop = self.payload.payload.val().eop;
        self.judged_payload.payload.next.err =
            self.payload.payload.val().eop & (self.payload.payload.val().err | !self.is_good.val());
        self.payload.ready.next = self.payload_may_pass.val() & self.judged_payload.ready.val();

        self.payload_is_done.next =
            !self.verdict.payload.val().paid | (self.payload_ends.val() & self.judged_payload.ready.val());
        self.done.next = self.is_due.val() & self.payload_is_done.val() & self.head_fits.val();
        self.verdict.ready.next = self.done.val();
        self.head.ready.next = self.done.val();
        self.good_head.valid.next = self.is_due.val() & self.is_good.val() & self.payload_is_done.val();
        self.good_head.payload.next = self.head.payload.val();

        for i in 0..16 {
            self.count[i].clock.next = self.clock.val();
            self.count[i].d.next = self.count[i].q.val();
            self.counts[i].next = self.count[i].q.val();
        }
        if self.done.val() {
            for i in 0..16 {
                if self.verdict.payload.val().class.index() == i {
                    self.count[i].d.next = self.count[i].q.val() + 1;
                }
            }
        }
        if self.reset.val() {
            for i in 0..16 {
                self.count[i].d.next = 0.into();
            }
        }
    }
}
