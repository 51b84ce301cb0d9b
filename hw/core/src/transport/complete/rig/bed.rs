//! The block beside the two memories that tell it what was sent.

use rust_hdl::prelude::*;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;

use crate::host::work::QpChange;
use crate::prim::ram::BlockRam;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::complete::Complete;
use crate::transport::records::{Alarm, Arrival, Errand, Rewind, Sent, SentRow};

block! {
    /// As [`Complete`], with `row*` and `entry*` to write what was sent.
    pub(super) struct Bed<const QPS: usize, const OUT: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub row_write: Signal<In, Bit>,
        pub row_index: Signal<In, Bits<QPS>>,
        pub row: Signal<In, SentRow>,
        pub entry_write: Signal<In, Bit>,
        pub entry_index: Signal<In, Bits<OUT>>,
        pub entry: Signal<In, Sent>,
        pub arrival: StreamSink<Arrival>,
        pub change: StreamSink<QpChange>,
        pub errand: StreamSource<Errand>,
        pub rewind: StreamSource<Rewind>,
        pub alarm: StreamSource<Alarm>,
        pub timeouts: Signal<Out, Bit>,
        pub stale: Signal<Out, Bit>,
        pub unwanted: Signal<Out, Bit>,
        pub tally: Signal<Out, Bits<REQUESTER_COUNTERS>>,
        pub tally_index: Signal<Out, Bits<QPS>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        complete: Complete<QPS, OUT>,
        rows: BlockRam<SentRow, QPS>,
        entries: BlockRam<Sent, OUT>,
    }
}

impl<const QPS: usize, const OUT: usize> Logic for Bed<QPS, OUT> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, complete, rows, entries);
        self.complete.reset.next = self.reset.val();
        StreamSink::<Arrival>::link(&mut self.arrival, &mut self.complete.arrival);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.complete.change);
        StreamSource::<Errand>::link(&mut self.errand, &mut self.complete.errand);
        StreamSource::<Rewind>::link(&mut self.rewind, &mut self.complete.rewind);
        StreamSource::<Alarm>::link(&mut self.alarm, &mut self.complete.alarm);
        self.rows.write_enable.next = self.row_write.val();
        self.rows.write_address.next = self.row_index.val();
        self.rows.write_data.next = self.row.val();
        self.rows.read_enable.next = self.complete.sent_enable.val();
        self.rows.read_address.next = self.complete.sent_index.val();
        self.complete.sent.next = self.rows.read_data.val();
        self.entries.write_enable.next = self.entry_write.val();
        self.entries.write_address.next = self.entry_index.val();
        self.entries.write_data.next = self.entry.val();
        self.entries.read_enable.next = self.complete.out_enable.val();
        self.entries.read_address.next = self.complete.out_index.val();
        self.complete.out_entry.next = self.entries.read_data.val();
        self.timeouts.next = self.complete.timeouts.val();
        self.stale.next = self.complete.stale.val();
        self.unwanted.next = self.complete.unwanted.val();
        self.tally.next = self.complete.tally.val();
        self.tally_index.next = self.complete.tally_index.val();
        self.ready.next = self.complete.ready.val();
        self.busy.next = self.complete.busy.val();
    }
}
