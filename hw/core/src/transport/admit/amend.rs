//! Amendments: a queue pair sends again, stops, or begins anew.

use rust_hdl::prelude::*;

use super::rows::CursorRow;
use crate::host::work::QpChange;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Progress, Rewind};

block! {
    /// Changes rows between works.
    ///
    /// - **Ports** `rewind`, `change`: what is to be done, rewinds first; `wants`: there is something that
    ///   waits for `free` alone; `free`: the rows are; `begins`: it begins, and looks at the row of `index`; `row`: that row, a cycle later; `write`, `write_index`, `write_row`: the row afterwards;
    ///   `progress`, `flush`: into FIFOs whose `ready` is a register; `rewound`, `forgotten`, `qpn`: `qpn` sends again from now
    ///   on, or begins anew; `busy`: under way.
    /// - **Latency** 1 cycle from `begins` to all that follows. **Rate** 2 cycles each.
    /// - **Backpressure** `rewind` waits for `progress` alone, `change` for `flush` and rewinds.
    /// - **Reset** forgets what is under way.
    /// - **Limits** a rewind of a queue pair that has admitted nothing, or sends no more, is ignored. One behind the last message
    ///   only ends or begins a rest: its index and PSN are not used. A change that both resets and stops, resets. The epoch
    ///   outlives all changes: others keep it, too, and nobody has to be told that it begins anew.
    pub struct Amend<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub rewind: StreamSink<Rewind>,
        pub change: StreamSink<QpChange>,
        pub wants: Signal<Out, Bit>,
        pub free: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<QPS>>,
        pub row: Signal<In, CursorRow>,
        pub write: Signal<Out, Bit>,
        pub write_index: Signal<Out, Bits<QPS>>,
        pub write_row: Signal<Out, CursorRow>,
        pub progress: StreamSource<Progress>,
        pub flush: StreamSource<Bits<QPS>>,
        pub rewound: Signal<Out, Bit>,
        pub forgotten: Signal<Out, Bit>,
        pub qpn: Signal<Out, Bits<24>>,
        pub busy: Signal<Out, Bit>,
        rewinding: Reg<Bit>,
        changing: Reg<Bit>,
        is_idle: Signal<Local, Bit>,
        may_begin: Signal<Local, Bit>,
        may_rewind: Signal<Local, Bit>,
        may_change: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        target: Signal<Local, CursorRow>,
        stops: Signal<Local, Bit>,
        resets: Signal<Local, Bit>,
        nothing: Constant<CursorRow> = Constant::new(CursorRow::default()),
    }
}

impl<const QPS: usize> Logic for Amend<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, rewinding, changing);
        self.is_idle.next = !self.rewinding.q.val() & !self.changing.q.val();
        self.busy.next = !self.is_idle.val();
        self.may_rewind.next = self.rewind.valid.val() & self.progress.ready.val();
        self.may_change.next = !self.rewind.valid.val() & self.change.valid.val() & self.flush.ready.val();
        self.wants.next = self.may_rewind.val() | self.may_change.val();
        self.may_begin.next = self.free.val() & self.is_idle.val();
        self.begins.next = self.may_begin.val() & (self.may_rewind.val() | self.may_change.val());
        self.rewinding.d.next = self.may_begin.val() & self.may_rewind.val();
        self.changing.d.next = self.may_begin.val() & self.may_change.val();
        self.index.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        if self.rewind.valid.val() {
            self.index.next = bit_cast::<QPS, 24>(self.rewind.payload.val().qpn);
        }
        self.rewind.ready.next = self.rewinding.q.val();
        self.change.ready.next = self.changing.q.val();

        self.moves.next = self.rewinding.q.val()
            & self.row.val().started
            & !self.row.val().stopped
            & !self.row.val().halted;
        // All may have been answered while the queue pair rested.
        self.target.next = self.row.val();
        self.target.next.held = self.rewind.payload.val().holds;
        self.target.next.epoch = self.row.val().epoch + self.rewind.payload.val().discards;
        self.target.next.slot = self.rewind.payload.val().slot;
        self.target.next.index = self.row.val().head_index;
        self.target.next.psn = self.row.val().frontier;
        self.target.next.sent = 0.into();
        if self.rewind.payload.val().slot != self.row.val().head {
            self.target.next.index = self.rewind.payload.val().index;
            self.target.next.psn = self.rewind.payload.val().psn;
            self.target.next.sent = self.rewind.payload.val().skips;
        }
        self.resets.next = self.changing.q.val() & self.change.payload.val().resets;
        self.stops.next = self.changing.q.val()
            & !self.change.payload.val().resets
            & self.change.payload.val().stops
            & !self.row.val().stopped;
        self.qpn.next = self.change.payload.val().qpn;
        self.write_index.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        self.write_row.next = self.row.val();
        self.write_row.next.stopped = true;
        if self.resets.val() {
            self.write_row.next = self.nothing.val();
            self.write_row.next.epoch = self.row.val().epoch;
        }
        if self.rewinding.q.val() {
            self.qpn.next = self.rewind.payload.val().qpn;
            self.write_index.next = bit_cast::<QPS, 24>(self.rewind.payload.val().qpn);
            self.write_row.next = self.target.val();
        }
        self.write.next = self.moves.val() | self.resets.val() | self.stops.val();
        self.rewound.next = self.moves.val() & !self.rewind.payload.val().holds;
        self.forgotten.next = self.resets.val();

        self.flush.valid.next = self.stops.val();
        self.flush.payload.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        self.progress.valid.next = self.moves.val();
        self.progress.payload.next.qpn = self.rewind.payload.val().qpn;
        self.progress.payload.next.next_index = self.target.val().index;
        self.progress.payload.next.rewinds = true;
        self.progress.payload.next.blocked = self.rewind.payload.val().holds;
        self.progress.payload.next.bytes = 0.into();
        if self.reset.val() {
            self.rewinding.d.next = false;
            self.changing.d.next = false;
        }
    }
}
