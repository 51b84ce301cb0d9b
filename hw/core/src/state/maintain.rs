//! Registration and its end: writes the region table, and waits out what was begun under a row that goes.

use rust_hdl::prelude::*;

use super::memory_keys::{RegionRow, RowWrite};
use crate::prim::colours::Colours;
use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Owns the rows of the table of `2^MRS` regions and windows, of which one at a time may be ending.
    ///
    /// A request is coloured as it enters. Invalidation clears the row, turns the colour, waits until the last request
    /// of the old colour has been answered, lets the TLB forget the region, and only then says `done`: walks begun
    /// under the old row have ended by then, for somebody waited for each of them.
    ///
    /// A window ends by a `row` that is not valid: it has no page of its own that the TLB could keep, and what was
    /// begun under it is waited out elsewhere.
    ///
    /// - **Ports** `row`: a row to be stored: a valid one over one that is not, or one that is not valid over a window's;
    ///   `invalidate`: a region or a window that ends; `done`: it has. `enters`, `colour`: a request enters, in this
    ///   colour; `leaves`, `leaves_colour`: its last answer goes. `write*`: to the table. `forget*`, `forgetting`: to the
    ///   TLB. `open`: requests may enter. `busy`: a region ends or a request is unanswered.
    /// - **Latency** a row counts for requests that enter after the cycle in which it was taken.
    /// - **Backpressure** `invalidate` waits for the one before it. `row` waits for none but an `invalidate` taken in the same
    ///   cycle, so rows of others go on while a region ends.
    /// - **Reset** clears the table, a row a cycle; `open` is low meanwhile. Changes wait for the TLB as well.
    /// - **Limits** no `row` for a number that ends, until `done`. At most 511 requests of a colour unanswered.
    pub struct Maintain<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub row: StreamSink<RowWrite<MRS>>,
        pub invalidate: StreamSink<Bits<MRS>>,
        pub done: StreamSource<Bits<MRS>>,
        pub enters: Signal<In, Bit>,
        pub colour: Signal<Out, Bit>,
        pub leaves: Signal<In, Bit>,
        pub leaves_colour: Signal<In, Bit>,
        pub write: Signal<Out, Bit>,
        pub write_index: Signal<Out, Bits<MRS>>,
        pub write_row: Signal<Out, RegionRow>,
        pub forget: Signal<Out, Bit>,
        pub forget_region: Signal<Out, Bits<MRS>>,
        pub forgetting: Signal<In, Bit>,
        pub open: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        scrubbing: Reg<Bit>,
        draining: Reg<Bit>,
        clearing: Reg<Bit>,
        finished: Reg<Bit>,
        /// The region that ends; after reset the row to be cleared next.
        region: Reg<Bits<MRS>>,
        /// Requests unanswered.
        colours: Colours<9>,
        is_idle: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        stores: Signal<Local, Bit>,
        nothing: Constant<RegionRow> = Constant::new(RegionRow::default()),
        last: Constant<Bits<MRS>> = Constant::new(Bits::mask()),
        own_clock: OwnClock,
    }
}

impl<const MRS: usize> Logic for Maintain<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, colours);
        dff_setup!(self, clock, scrubbing, draining, clearing, finished, region);
        self.colours.reset.next = self.reset.val();
        self.is_idle.next = !self.scrubbing.q.val()
            & !self.draining.q.val()
            & !self.clearing.q.val()
            & !self.finished.q.val()
            & !self.forgetting.val();
        self.invalidate.ready.next = self.is_idle.val();
        self.ends.next = self.is_idle.val() & self.invalidate.valid.val();
        // A TLB that is not clean after reset must not be asked; one that forgets a region may.
        self.stores.next =
            !self.scrubbing.q.val() & !self.ends.val() & (!self.forgetting.val() | self.clearing.q.val());
        self.row.ready.next = self.stores.val();
        self.open.next = !self.scrubbing.q.val();

        self.write.next =
            self.scrubbing.q.val() | (self.stores.val() & self.row.valid.val()) | self.ends.val();
        self.write_index.next = self.row.payload.val().region;
        self.write_row.next = self.row.payload.val().row;
        if self.ends.val() {
            self.write_index.next = self.invalidate.payload.val();
            self.write_row.next = self.nothing.val();
            self.region.d.next = self.invalidate.payload.val();
            self.draining.d.next = true;
        }
        if self.scrubbing.q.val() {
            self.write_index.next = self.region.q.val();
            self.write_row.next = self.nothing.val();
            self.region.d.next = self.region.q.val() + 1;
            self.scrubbing.d.next = self.region.q.val() != self.last.val();
        }

        self.colour.next = self.colours.colour.val();
        self.colours.enters.next = self.enters.val();
        self.colours.enters_colour.next = self.colours.colour.val();
        self.colours.pending.next = false;
        self.colours.leaves.next = self.leaves.val();
        self.colours.leaves_colour.next = self.leaves_colour.val();
        self.colours.drain.next = self.ends.val();
        self.forget.next = self.colours.drained.val();
        self.forget_region.next = self.region.q.val();
        if self.colours.drained.val() {
            self.draining.d.next = false;
            self.clearing.d.next = true;
        }
        if self.clearing.q.val() & !self.forgetting.val() {
            self.clearing.d.next = false;
            self.finished.d.next = true;
        }
        self.done.valid.next = self.finished.q.val();
        self.done.payload.next = self.region.q.val();
        if self.finished.q.val() & self.done.ready.val() {
            self.finished.d.next = false;
        }
        self.busy.next = !self.is_idle.val() | self.colours.busy.val();

        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.draining.d.next = false;
            self.clearing.d.next = false;
            self.finished.d.next = false;
            self.region.d.next = 0.into();
        }
    }
}
