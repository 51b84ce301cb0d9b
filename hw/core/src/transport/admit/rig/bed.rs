//! Admit with the tables of its neighbours.

use rust_hdl::prelude::*;

use super::{OUT, QPS};
use crate::host::work::{QpChange, Work};
use crate::prim::fifo::Fifo;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::admit::Admit;
use crate::transport::records::{
    AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, Progress, RequesterRow, Rewind, Sent, SentRow,
};

block! {
    /// Admit with the tables of its neighbours. Registers show what happened in the cycle before.
    pub(super) struct Bed {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub local: StreamSource<Work>,
        pub local_units: StreamSource<Bits<512>>,
        pub key: StreamSource<KeyJob>,
        pub key_room: Signal<Out, Bit>,
        pub message: StreamSource<Message>,
        pub message_units: StreamSource<Bits<512>>,
        pub progress: StreamSource<Progress>,
        pub rewind: StreamSink<Rewind>,
        pub change: StreamSink<QpChange>,
        pub nudge: StreamSource<Nudge>,
        pub alarm: StreamSource<Alarm>,
        pub colour: Signal<In, Bit>,
        pub ended: Signal<In, Bits<48>>,
        pub acked_write: Signal<In, Bit>,
        pub acked_index: Signal<In, Bits<QPS>>,
        pub acked_row: Signal<In, AckedRow>,
        pub keyed_write: Signal<In, Bit>,
        pub keyed_index: Signal<In, Bits<QPS>>,
        pub keyed_row: Signal<In, KeyedRow>,
        pub enters: Signal<Out, Bit>,
        pub enters_colour: Signal<Out, Bit>,
        pub begins: Signal<Out, Bit>,
        pub waits: Signal<Out, Bit>,
        pub sent_write: Signal<Out, Bit>,
        pub sent_index: Signal<Out, Bits<QPS>>,
        pub sent: Signal<Out, SentRow>,
        pub epoch_write: Signal<Out, Bit>,
        pub epoch_index: Signal<Out, Bits<QPS>>,
        pub epoch: Signal<Out, Bits<4>>,
        pub requester_write: Signal<Out, Bit>,
        pub requester_index: Signal<Out, Bits<QPS>>,
        pub requester: Signal<Out, RequesterRow>,
        pub out_write: Signal<Out, Bit>,
        pub out_index: Signal<Out, Bits<OUT>>,
        pub out_entry: Signal<Out, Sent>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        admit: Admit<QPS, OUT>,
        ring: BlockRam<Sent, OUT>,
        acked: BlockRam<AckedRow, QPS>,
        keyed: BlockRam<KeyedRow, QPS>,
        keys: Fifo<KeyJob, 1>,
        entered: Reg<Bit>,
        entered_colour: Reg<Bit>,
        began: Reg<Bit>,
        waited: Reg<Bit>,
        wrote_sent: Reg<Bit>,
        wrote_sent_index: Reg<Bits<QPS>>,
        wrote_sent_row: Reg<SentRow>,
        wrote_epoch: Reg<Bit>,
        wrote_epoch_index: Reg<Bits<QPS>>,
        wrote_epoch_value: Reg<Bits<4>>,
        wrote_requester: Reg<Bit>,
        wrote_requester_index: Reg<Bits<QPS>>,
        wrote_requester_row: Reg<RequesterRow>,
        wrote_out: Reg<Bit>,
        wrote_out_index: Reg<Bits<OUT>>,
        wrote_out_entry: Reg<Sent>,
    }
}

impl Logic for Bed {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, admit, ring, acked, keyed, keys);
        dff_setup!(
            self,
            clock,
            entered,
            entered_colour,
            began,
            waited,
            wrote_sent,
            wrote_sent_index,
            wrote_sent_row
        );
        dff_setup!(self, clock, wrote_epoch, wrote_epoch_index, wrote_epoch_value);
        dff_setup!(self, clock, wrote_requester, wrote_requester_index, wrote_requester_row);
        dff_setup!(self, clock, wrote_out, wrote_out_index, wrote_out_entry);
        self.admit.reset.next = self.reset.val();
        self.keys.reset.next = self.reset.val();
        StreamSink::<Work>::link(&mut self.work, &mut self.admit.work);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.admit.units);
        StreamSink::<Rewind>::link(&mut self.rewind, &mut self.admit.rewind);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.admit.change);
        StreamSource::<Work>::link(&mut self.local, &mut self.admit.local);
        StreamSource::<Bits<512>>::link(&mut self.local_units, &mut self.admit.local_units);
        StreamSource::<KeyJob>::join(&mut self.admit.key, &mut self.keys.sink);
        StreamSource::<KeyJob>::link(&mut self.key, &mut self.keys.source);
        self.key_room.next = self.keys.sink.ready.val();
        StreamSource::<Message>::link(&mut self.message, &mut self.admit.message);
        StreamSource::<Bits<512>>::link(&mut self.message_units, &mut self.admit.message_units);
        StreamSource::<Progress>::link(&mut self.progress, &mut self.admit.progress);
        StreamSource::<Nudge>::link(&mut self.nudge, &mut self.admit.nudge);
        StreamSource::<Alarm>::link(&mut self.alarm, &mut self.admit.alarm);
        self.admit.colour.next = self.colour.val();
        self.admit.ended.next = self.ended.val();
        self.ready.next = self.admit.ready.val();
        self.busy.next = self.admit.busy.val() | self.keys.source.valid.val();

        self.ring.write_enable.next = self.admit.out_write.val();
        self.ring.write_address.next = self.admit.out_write_index.val();
        self.ring.write_data.next = self.admit.out_entry.val();
        self.ring.read_enable.next = self.admit.out_enable.val();
        self.ring.read_address.next = self.admit.out_index.val();
        self.admit.out_found.next = self.ring.read_data.val();
        self.acked.write_enable.next = self.acked_write.val();
        self.acked.write_address.next = self.acked_index.val();
        self.acked.write_data.next = self.acked_row.val();
        self.acked.read_enable.next = self.admit.acked_enable.val();
        self.acked.read_address.next = self.admit.acked_index.val();
        self.admit.acked.next = self.acked.read_data.val();
        self.keyed.write_enable.next = self.keyed_write.val();
        self.keyed.write_address.next = self.keyed_index.val();
        self.keyed.write_data.next = self.keyed_row.val();
        self.keyed.read_enable.next = self.admit.acked_enable.val();
        self.keyed.read_address.next = self.admit.acked_index.val();
        self.admit.keyed.next = self.keyed.read_data.val();

        self.entered.d.next = self.admit.enters.val();
        self.entered_colour.d.next = self.colour.val();
        self.began.d.next = self.admit.out_enable.val();
        self.waited.d.next = self.admit.reads_waiting.val();
        self.wrote_sent.d.next = self.admit.sent_write.val();
        self.wrote_sent_index.d.next = self.admit.sent_index.val();
        self.wrote_sent_row.d.next = self.admit.sent.val();
        self.wrote_epoch.d.next = self.admit.epoch_write.val();
        self.wrote_epoch_index.d.next = self.admit.epoch_index.val();
        self.wrote_epoch_value.d.next = self.admit.epoch.val();
        self.wrote_requester.d.next = self.admit.requester_write.val();
        self.wrote_requester_index.d.next = self.admit.requester_index.val();
        self.wrote_requester_row.d.next = self.admit.requester.val();
        self.wrote_out.d.next = self.admit.out_write.val();
        self.wrote_out_index.d.next = self.admit.out_write_index.val();
        self.wrote_out_entry.d.next = self.admit.out_entry.val();
        self.enters.next = self.entered.q.val();
        self.enters_colour.next = self.entered_colour.q.val();
        self.begins.next = self.began.q.val();
        self.waits.next = self.waited.q.val();
        self.sent_write.next = self.wrote_sent.q.val();
        self.sent_index.next = self.wrote_sent_index.q.val();
        self.sent.next = self.wrote_sent_row.q.val();
        self.epoch_write.next = self.wrote_epoch.q.val();
        self.epoch_index.next = self.wrote_epoch_index.q.val();
        self.epoch.next = self.wrote_epoch_value.q.val();
        self.requester_write.next = self.wrote_requester.q.val();
        self.requester_index.next = self.wrote_requester_index.q.val();
        self.requester.next = self.wrote_requester_row.q.val();
        self.out_write.next = self.wrote_out.q.val();
        self.out_index.next = self.wrote_out_index.q.val();
        self.out_entry.next = self.wrote_out_entry.q.val();
    }
}
