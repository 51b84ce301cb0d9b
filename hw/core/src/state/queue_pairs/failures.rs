//! Queue pairs that change by themselves: they go into error, or have drained.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Event, QueuePair, QueuePairState};

use super::attributes::ones;
use crate::constant::number;
use crate::host::work::{EventRecord, QpChange, QpError};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Puts queue pairs into error, and notes those that have drained, one at a time.
    ///
    /// A queue pair that does not exist or is in RESET stays as it is. Event and change are for one that went into error just
    /// now: in error already, it has nothing new to tell. The change is for the requests of a drained queue pair, which
    /// stand in no line: nobody else would look at them again, and flush them.
    ///
    /// One that has drained is told of if its body wants that. If it is not draining any more, the news is old, and ignored.
    ///
    /// - **Ports** `error`: who goes into error; `emptied`: who has drained, behind errors; `event`: to be told; `change`: to the sending side. `open`: the tables are free in this
    ///   cycle and the next, unless `looks`. `read`, `index`: asks the tables; `looks`, `body`, `beyond`: a cycle later they show this
    ///   queue pair, or that there is no such place; `write`, `write_index`, `write_body`: its body afterwards. `busy`: something is inside.
    /// - **Latency** 1 cycle from `error` to `write`, 2 to `event` and `change`. **Rate** one error in 2 cycles, in 3 if there
    ///   is something to tell.
    /// - **Backpressure** an event or a change that is not taken stalls `error` and `emptied`; their `ready` follows
    ///   `open` combinationally, and that of `emptied` `error.valid`.
    /// - **Reset** forgets the error, the event and the change under way.
    pub struct Failures<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub error: StreamSink<QpError>,
        pub emptied: StreamSink<Bits<24>>,
        pub event: StreamSource<EventRecord>,
        pub change: StreamSource<QpChange>,
        pub open: Signal<In, Bit>,
        pub read: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<32>>,
        pub looks: Signal<Out, Bit>,
        pub body: Signal<In, Bits<896>>,
        pub beyond: Signal<In, Bit>,
        pub write: Signal<Out, Bit>,
        pub write_index: Signal<Out, Bits<QPS>>,
        pub write_body: Signal<Out, Bits<896>>,
        pub busy: Signal<Out, Bit>,
        looking: Reg<Bit>,
        failed: Reg<QpError>,
        /// It has not failed, but drained.
        is_emptied: Reg<Bit>,
        telling: Reg<Bit>,
        changing: Reg<Bit>,
        accepts: Signal<Local, Bit>,
        state: Signal<Local, Bits<3>>,
        exists: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        notify_at: Constant<Bits<10>> = number(QueuePair::NOTIFY.offset()),
        draining_at: Constant<Bits<10>> = number(QueuePair::DRAINING.offset()),
        state_mask: Constant<Bits<896>> = Constant::new(ones([QueuePair::STATE])),
        draining_mask: Constant<Bits<896>> = Constant::new(ones([QueuePair::DRAINING])),
        error_body: Constant<Bits<896>> = Constant::new(body_in(QueuePairState::Error)),
        reset_state: Constant<Bits<3>> = number(QueuePairState::Reset as u64),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u64),
        error_state: Constant<Bits<3>> = number(QueuePairState::Error as u64),
        error_event: Constant<Bits<8>> = number(Event::QueuePairError as u64),
        drained_event: Constant<Bits<8>> = number(Event::SendQueueDrained as u64),
    }
}

/// A body that holds a state and nothing else.
fn body_in(state: QueuePairState) -> Bits<896> {
    let mut bytes = [0; QueuePair::LEN];
    QueuePair::STATE.write(&mut bytes, state as u128);
    num_bigint::BigUint::from_bytes_le(&bytes).into()
}

impl<const QPS: usize> Logic for Failures<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, looking, failed, is_emptied, telling, changing);
        self.accepts.next =
            self.open.val() & !self.looking.q.val() & !self.telling.q.val() & !self.changing.q.val();
        self.error.ready.next = self.accepts.val();
        self.emptied.ready.next = self.accepts.val() & !self.error.valid.val();
        self.read.next = self.accepts.val() & (self.error.valid.val() | self.emptied.valid.val());
        self.index.next = bit_cast::<32, 24>(self.emptied.payload.val());
        if self.error.valid.val() {
            self.index.next = bit_cast::<32, 24>(self.error.payload.val().qpn);
        }
        self.looking.d.next = self.accepts.val() & (self.error.valid.val() | self.emptied.valid.val());
        if self.accepts.val() {
            self.failed.d.next = self.error.payload.val();
            self.is_emptied.d.next = !self.error.valid.val();
            if !self.error.valid.val() {
                self.failed.d.next.qpn = self.emptied.payload.val();
                self.failed.d.next.status = 0.into();
            }
        }

        self.state.next = self.body.val().get_bits::<3>(self.state_at.val().index());
        self.exists.next =
            self.body.val().get_bits::<3>(self.kind_at.val().index()).any() & !self.beyond.val();
        self.goes.next = self.looking.q.val()
            & !self.is_emptied.q.val()
            & self.exists.val()
            & (self.state.val() != self.reset_state.val())
            & (self.state.val() != self.error_state.val());
        self.ends.next = self.looking.q.val()
            & self.is_emptied.q.val()
            & self.exists.val()
            & (self.state.val() == self.drained.val())
            & self.body.val().get_bit(self.draining_at.val().index());
        self.looks.next = self.looking.q.val();
        self.write.next = self.goes.val() | self.ends.val();
        self.write_index.next = bit_cast::<QPS, 24>(self.failed.q.val().qpn);
        self.write_body.next = self.body.val() & !self.draining_mask.val();
        if !self.is_emptied.q.val() {
            self.write_body.next = (self.body.val() & !self.draining_mask.val() & !self.state_mask.val())
                | self.error_body.val();
        }

        self.event.valid.next = self.telling.q.val();
        self.event.payload.next.data = 0.into();
        self.event.payload.next.object = self.failed.q.val().qpn;
        self.event.payload.next.kind = self.error_event.val();
        if self.is_emptied.q.val() {
            self.event.payload.next.kind = self.drained_event.val();
        }
        self.event.payload.next.subkind = self.failed.q.val().status;
        if self.event.ready.val() {
            self.telling.d.next = false;
        }
        if (self.goes.val() & self.failed.q.val().untold)
            | (self.ends.val() & self.body.val().get_bit(self.notify_at.val().index()))
        {
            self.telling.d.next = true;
        }
        self.change.valid.next = self.changing.q.val();
        self.change.payload.next.qpn = self.failed.q.val().qpn;
        self.change.payload.next.resets = false;
        self.change.payload.next.stops = true;
        self.change.payload.next.ends = false;
        self.change.payload.next.drains = false;
        if self.change.ready.val() {
            self.changing.d.next = false;
        }
        if self.goes.val() {
            self.changing.d.next = true;
        }
        self.busy.next = self.looking.q.val() | self.telling.q.val() | self.changing.q.val();
        if self.reset.val() {
            self.looking.d.next = false;
            self.telling.d.next = false;
            self.changing.d.next = false;
        }
    }
}
