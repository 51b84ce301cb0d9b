//! The responder's order: is a request the next one, an old one, or one too many, and may it be carried out?

pub mod advance;
pub mod commission;
pub mod decide;
pub mod measure;
pub mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use advance::Advance;
use commission::Commission;
use decide::Decide;
use measure::{Measure, Measured, Standing};

use super::records::{Arrival, Errand};
use crate::host::work::QpChange;
use crate::prim::fifo::Fifo;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Judges the requests of the peers of `2^QPS` queue pairs, one at a time.
    ///
    /// ```text
    ///   arrival ─┬─ rows ─ Measure ─▮─ Decide ─┬─ Commission ─ FIFO ─ errand
    ///   change ──┘   └─────────────────────────┴─ Advance ─ rows
    /// ```
    ///
    /// 1. The next request is carried out when it keeps the rules: its place in its message, the queue pair's right, its length.
    ///    Key and bounds are for whoever carries out the errand. Otherwise it is refused as invalid, and what follows of the
    ///    queue pair is thrown away until it resets. SEND, immediate data and atomics are not spoken, and refused.
    /// 2. A WRITE that has been there before is acknowledged again, with the last PSN before the next. A READ that has been
    ///    there is carried out again when all its answer lies before the next PSN, and it keeps the rules; what else
    ///    comes again is thrown away.
    /// 3. A request behind a gap is thrown away; the first of them is answered with a NAK.
    ///
    /// - **Ports** `arrival`: requests that are for this card; `change`: a queue pair that resets is forgotten. `errand`: one for each
    ///   arrival, in order, with `ends`. `duplicates`, `naks`: a pulse for each request that came again, for each negative
    ///   answer. `ready`: the rows are scrubbed. `busy`: they are not, or something is under way or waits in the FIFO.
    /// - **Latency** 3 cycles from `arrival` to `errand`. **Rate** an arrival every 3 cycles.
    /// - **Order** changes before arrivals: each is one command of the host.
    /// - **Backpressure** 4 errands wait, then `arrival` does; `change` waits for nobody. No combinational path from
    ///   port to port.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; arrivals and changes wait.
    /// - **Limits** `QPS` from 1 to 24; `arrival` and `change` name queue pairs in the table. The path MTU has a code from 1
    ///   to 5. How many READs the peer has open is not counted: who answers them may drop one.
    pub struct Sequence<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrival: StreamSink<Arrival>,
        pub change: StreamSink<QpChange>,
        pub errand: StreamSource<Errand>,
        pub duplicates: Signal<Out, Bit>,
        pub naks: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        rows: BlockRam<Standing, QPS>,
        measure: Measure,
        decide: Decide,
        advance: Advance,
        commission: Commission,
        errands: Fifo<Errand, 2>,
        is_scrubbing: Reg<Bit>,
        /// The row is there.
        is_looking: Reg<Bit>,
        /// The measures are there.
        is_acting: Reg<Bit>,
        is_change: Reg<Bit>,
        /// Of the operation; after reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        measured: Reg<Measured>,
        was_duplicate: Reg<Bit>,
        was_negative: Reg<Bit>,
        starts: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<QPS>>,
        judges: Signal<Local, Bit>,
        forgets: Signal<Local, Bit>,
        nothing: Constant<Standing> = Constant::new(Standing::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Sequence<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows, errands);
        dff_setup!(self, clock, is_scrubbing, is_looking, is_acting, is_change, queue_pair, measured);
        dff_setup!(self, clock, was_duplicate, was_negative);
        self.errands.reset.next = self.reset.val();

        // Choose. An input moves when it has been acted on, so its payload is there all the while.
        self.starts.next = !self.is_scrubbing.q.val()
            & !self.is_looking.q.val()
            & !self.is_acting.q.val()
            & (self.change.valid.val() | (self.arrival.valid.val() & self.errands.sink.ready.val()));
        self.chosen.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);
        if self.change.valid.val() {
            self.chosen.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }
        if self.starts.val() {
            self.is_change.d.next = self.change.valid.val();
            self.queue_pair.d.next = self.chosen.val();
        }
        self.is_looking.d.next = self.starts.val();
        self.is_acting.d.next = self.is_looking.q.val();
        self.rows.read_enable.next = self.starts.val();
        self.rows.read_address.next = self.chosen.val();

        // Look.
        self.measure.arrival.next = self.arrival.payload.val();
        self.measure.standing.next = self.rows.read_data.val();
        self.measured.d.next = self.measure.measured.val();

        // Act.
        self.judges.next = self.is_acting.q.val() & !self.is_change.q.val();
        self.arrival.ready.next = self.judges.val();
        self.change.ready.next = self.is_acting.q.val() & self.is_change.q.val();
        self.forgets.next =
            self.is_acting.q.val() & self.is_change.q.val() & self.change.payload.val().resets;
        self.decide.measured.next = self.measured.q.val();
        self.decide.standing.next = self.rows.read_data.val();
        self.advance.arrival.next = self.arrival.payload.val();
        self.advance.measured.next = self.measured.q.val();
        self.advance.verdict.next = self.decide.verdict.val();
        self.advance.standing.next = self.rows.read_data.val();
        self.commission.arrival.next = self.arrival.payload.val();
        self.commission.measured.next = self.measured.q.val();
        self.commission.verdict.next = self.decide.verdict.val();
        self.commission.standing.next = self.rows.read_data.val();
        self.errands.sink.valid.next = self.judges.val();
        self.errands.sink.payload.next = self.commission.errand.val();
        StreamSource::<Errand>::link(&mut self.errand, &mut self.errands.source);
        self.was_duplicate.d.next = self.judges.val() & self.decide.verdict.val().is_duplicate;
        self.was_negative.d.next =
            self.judges.val() & (self.decide.verdict.val().refuses | self.decide.verdict.val().tells_gap);
        self.duplicates.next = self.was_duplicate.q.val();
        self.naks.next = self.was_negative.q.val();

        self.rows.write_enable.next = self.is_scrubbing.q.val() | self.judges.val() | self.forgets.val();
        self.rows.write_address.next = self.queue_pair.q.val();
        self.rows.write_data.next = self.nothing.val();
        if self.judges.val() {
            self.rows.write_data.next = self.advance.changed.val();
        }
        if self.is_scrubbing.q.val() {
            self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            self.is_scrubbing.d.next = self.queue_pair.q.val() != self.last.val();
        }
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val()
            | self.is_looking.q.val()
            | self.is_acting.q.val()
            | self.errands.source.valid.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_looking.d.next = false;
            self.is_acting.d.next = false;
            self.queue_pair.d.next = 0.into();
            self.was_duplicate.d.next = false;
            self.was_negative.d.next = false;
        }
    }
}
