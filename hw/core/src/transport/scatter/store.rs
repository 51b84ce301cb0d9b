//! Store: lists that have come, whole.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::work::Unit;
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the units that are kept.
pub const UNITS_LOG: usize = 5;

block! {
    /// Keeps units until their list is done with.
    ///
    /// That some of the bytes are missing is known with the last unit of a command, so none is used before; and a list is
    /// given up as a whole, wherever its payload ends.
    ///
    /// - **Ports** `units`: what host memory answers; `verdict`: for each command whose units are all here, whether some could not be
    ///   read; `row`: the oldest unit; `turns`: then the one behind it; `frees`: `list_units` of the oldest are given up.
    /// - **Latency** 1 cycle from the last unit to `verdict`, and from `turns` and `frees` to `row`. **Rate** 1 unit per cycle.
    /// - **Backpressure** 32 units are kept, then `units` waits; `units.ready` is made of registers.
    /// - **Reset** gives up everything.
    /// - **Limits** units that have not come must not be given up.
    pub struct Store {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub units: StreamSink<Unit>,
        pub verdict: StreamSource<Bit>,
        pub row: Signal<Out, Bits<512>>,
        pub turns: Signal<In, Bit>,
        pub frees: Signal<In, Bit>,
        pub list_units: Signal<In, Bits<3>>,
        rows: LutRam<Bits<512>, UNITS_LOG>,
        /// Each command that waits here has a unit that waits, too.
        verdicts: Fifo<Bit, UNITS_LOG>,
        oldest: Reg<Bits<UNITS_LOG>>,
        shown: Reg<Bits<UNITS_LOG>>,
        newest: Reg<Bits<UNITS_LOG>>,
        count: Reg<Bits<6>>,
        behind: Signal<Local, Bits<UNITS_LOG>>,
        kept: Signal<Local, Bits<6>>,
        has_room: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        most: Constant<Bits<6>> = number(1 << UNITS_LOG),
    }
}

impl Logic for Store {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows, verdicts);
        dff_setup!(self, clock, oldest, shown, newest, count);
        self.verdicts.reset.next = self.reset.val();
        self.has_room.next = self.count.q.val() != self.most.val();
        self.units.ready.next = self.has_room.val();
        self.takes.next = self.units.valid.val() & self.has_room.val();
        self.rows.write_enable.next = self.takes.val();
        self.rows.write_address.next = self.newest.q.val();
        self.rows.write_data.next = self.units.payload.val().data;
        self.verdicts.sink.valid.next = self.takes.val() & self.units.payload.val().last;
        self.verdicts.sink.payload.next = self.units.payload.val().err;
        StreamSource::<Bit>::link(&mut self.verdict, &mut self.verdicts.source);

        self.rows.read_address.next = self.shown.q.val();
        self.row.next = self.rows.read_data.val();
        if self.turns.val() {
            self.shown.d.next = self.shown.q.val() + 1;
        }
        // That a list goes is known late: what follows from it is ready by then.
        self.behind.next = self.oldest.q.val() + bit_cast::<UNITS_LOG, 3>(self.list_units.val());
        self.kept.next = self.count.q.val() - bit_cast::<6, 3>(self.list_units.val());
        if self.takes.val() {
            self.newest.d.next = self.newest.q.val() + 1;
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.frees.val() {
            self.oldest.d.next = self.behind.val();
            self.shown.d.next = self.behind.val();
            self.count.d.next = self.kept.val();
            if self.takes.val() {
                self.count.d.next = self.kept.val() + 1;
            }
        }
        if self.reset.val() {
            self.oldest.d.next = 0.into();
            self.shown.d.next = 0.into();
            self.newest.d.next = 0.into();
            self.count.d.next = 0.into();
        }
    }
}
