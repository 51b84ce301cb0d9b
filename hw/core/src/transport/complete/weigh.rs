//! An arrival and a message, compared.

use rust_hdl::prelude::*;

use super::kind::Kind;
use super::measure::Measure;
use super::rows::Answered;
use super::stand::{Stand, Standing};
use crate::prim::reg::Reg;
use crate::transport::records::{Arrival, Sent, SentRow};

block! {
    /// Compares an arrival with the first message that is not over, and keeps what comes of it for the step.
    ///
    /// - **Ports** `weighs`: all the rest is there: `arrival`, `kind`: what came; `reach`: the first PSN that it does not answer;
    ///   `sent`: how far its queue pair had sent; `row`, `entry`, `front`, `unanswered`: how far it is answered, the first message that
    ///   is not over, as in [`Focus`](super::focus::Focus), and its first PSN that is not answered. `standing`, `ahead`, `offset`, `here`, `base`: as in [`Stand`] and
    ///   [`Measures`](super::measure::Measures), from the next cycle on, until the next is weighed.
    /// - **Latency** 1 cycle. **Reset** none.
    pub struct Weigh {
        pub clock: Signal<In, Clock>,
        pub weighs: Signal<In, Bit>,
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub reach: Signal<In, Bits<24>>,
        pub sent: Signal<In, SentRow>,
        pub row: Signal<In, Answered>,
        pub entry: Signal<In, Sent>,
        pub front: Signal<In, Bits<24>>,
        pub unanswered: Signal<In, Bits<24>>,
        pub standing: Signal<Out, Standing>,
        pub ahead: Signal<Out, Bits<24>>,
        pub offset: Signal<Out, Bits<32>>,
        pub here: Signal<Out, Bits<24>>,
        pub base: Signal<Out, Bits<24>>,
        measure: Measure,
        stand: Stand,
        held_standing: Reg<Standing>,
        held_ahead: Reg<Bits<24>>,
        held_offset: Reg<Bits<32>>,
        held_here: Reg<Bits<24>>,
        held_base: Reg<Bits<24>>,
    }
}

impl Logic for Weigh {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held_standing, held_ahead, held_offset, held_here, held_base);
        self.measure.arrival.next = self.arrival.val();
        self.measure.reach.next = self.reach.val();
        self.measure.row.next = self.row.val();
        self.measure.entry.next = self.entry.val();
        self.measure.front.next = self.front.val();
        self.measure.unanswered.next = self.unanswered.val();
        self.measure.frontier.next = self.sent.val().frontier;
        self.stand.kind.next = self.kind.val();
        self.stand.arrival.next = self.arrival.val();
        self.stand.row.next = self.row.val();
        self.stand.outstanding.next = self.sent.val().head - self.row.val().tail;
        self.stand.entry.next = self.entry.val();
        self.stand.measures.next = self.measure.measures.val();
        if self.weighs.val() {
            self.held_standing.d.next = self.stand.standing.val();
            self.held_ahead.d.next = self.measure.measures.val().ahead;
            self.held_offset.d.next = self.measure.measures.val().offset;
            self.held_here.d.next = self.measure.measures.val().here;
            self.held_base.d.next = self.measure.measures.val().base;
        }
        self.standing.next = self.held_standing.q.val();
        self.ahead.next = self.held_ahead.q.val();
        self.offset.next = self.held_offset.q.val();
        self.here.next = self.held_here.q.val();
        self.base.next = self.held_base.q.val();
    }
}
