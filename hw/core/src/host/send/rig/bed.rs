//! The scheduler beside a table of rows, which shows when an operation begins.

use rust_hdl::prelude::*;

use crate::host::dma_read::ReadCommand;
use crate::host::send::Send;
use crate::host::work::{Job, QpChange, SendDoorbell, SendRow};
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Progress;

block! {
    /// As [`Send`], with `write*` for the rows; `began`, `began_index`: in the cycle before, rows were read.
    pub(super) struct Bed<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub write_row: Signal<In, SendRow>,
        pub began: Signal<Out, Bit>,
        pub began_index: Signal<Out, Bits<QPS>>,
        pub doorbell: StreamSink<SendDoorbell>,
        pub units: StreamSink<Bits<512>>,
        pub change: StreamSink<QpChange>,
        pub progress: StreamSink<Progress>,
        pub kick: StreamSink<Bits<24>>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub retired: Signal<In, Bit>,
        pub retired_colour: Signal<In, Bit>,
        pub pause: Signal<In, Bit>,
        pub now: Signal<In, Bits<64>>,
        pub read: StreamSource<ReadCommand>,
        pub job: StreamSource<Job>,
        pub pushed: StreamSource<Bits<512>>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub pushes: Signal<Out, Bit>,
        pub push_fallbacks: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        send: Send<QPS>,
        rows: BlockRam<SendRow, QPS>,
        last_began: Reg<Bit>,
        last_index: Reg<Bits<QPS>>,
    }
}

impl<const QPS: usize> Logic for Bed<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, send, rows);
        dff_setup!(self, clock, last_began, last_index);
        self.send.reset.next = self.reset.val();
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next = self.write_row.val();
        self.rows.read_enable.next = self.send.row_enable.val();
        self.rows.read_address.next = self.send.row_index.val();
        self.send.row.next = self.rows.read_data.val();
        self.last_began.d.next = self.send.row_enable.val();
        self.last_index.d.next = self.send.row_index.val();
        self.began.next = self.last_began.q.val();
        self.began_index.next = self.last_index.q.val();

        StreamSink::<SendDoorbell>::link(&mut self.doorbell, &mut self.send.doorbell);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.send.units);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.send.change);
        StreamSink::<Progress>::link(&mut self.progress, &mut self.send.progress);
        StreamSink::<Bits<24>>::link(&mut self.kick, &mut self.send.kick);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.send.read);
        StreamSource::<Job>::link(&mut self.job, &mut self.send.job);
        StreamSource::<Bits<512>>::link(&mut self.pushed, &mut self.send.pushed);
        self.send.drain.next = self.drain.val();
        self.drained.next = self.send.drained.val();
        self.send.retired.next = self.retired.val();
        self.send.retired_colour.next = self.retired_colour.val();
        self.send.pause.next = self.pause.val();
        self.send.time.next = self.now.val();
        self.wrong_page.next = self.send.wrong_page.val();
        self.bad.next = self.send.bad.val();
        self.pushes.next = self.send.pushes.val();
        self.push_fallbacks.next = self.send.push_fallbacks.val();
        self.ready.next = self.send.ready.val();
        self.busy.next = self.send.busy.val();
    }
}
