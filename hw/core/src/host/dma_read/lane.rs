//! Lane: one client's part of the read engine. Nothing in it is shared, so nothing another client does can fill it.

use rust_hdl::prelude::*;

use super::deliver::Deliver;
use super::ids::{Arrival, Request};
use super::reorder::{Reorder, Stored};
use super::split::{Burst, Split};
use super::{ReadCommand, ReadData};
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Asks for the bursts of one client's commands, keeps what arrives, and delivers it in order.
    ///
    /// ```text
    ///   command ─┬─ Split ─ Reorder ─ request
    ///            │             ├───── arrival
    ///            └─ Deliver ───┘
    ///      data ────┘
    /// ```
    ///
    /// - **Ports** `command`, `data`: the client; `request`, `arrival`, `arrived`: the host, as [`Reorder`]; `busy`: a
    ///   command is under way.
    /// - **Latency** 1 cycle from `command` to `request`, 6 from `arrival` to `data`. **Rate** 1 beat per cycle; a command
    ///   every 2 cycles.
    /// - **Backpressure** none on `arrival`; a stalled `data` stalls `command` in the end. No combinational path from
    ///   port to port.
    /// - **Reset** forgets all.
    pub struct Lane<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ReadCommand>,
        pub data: StreamSource<ReadData<D>>,
        pub request: StreamSource<Request>,
        pub arrival: Signal<In, Arrival<D>>,
        pub arrived: Signal<In, Bit>,
        pub busy: Signal<Out, Bit>,
        split: Split<D>,
        reorder: Reorder<D, LOG>,
        deliver: Deliver<D>,
        is_open: Signal<Local, Bit>,
        accept: Signal<Local, Bit>,
    }
}

impl<const D: usize, const LOG: usize> Lane<D, LOG> {
    /// The lane of client number `client`, below 8, whose commands begin at multiples of `step`, a power of two.
    #[must_use]
    pub fn new(client: usize, step: usize) -> Self {
        Self { reorder: Reorder::new(client), deliver: Deliver::in_steps_of(step), ..Self::default() }
    }
}

impl<const D: usize, const LOG: usize> Logic for Lane<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, split, reorder, deliver);
        self.split.reset.next = self.reset.val();
        self.reorder.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();

        self.is_open.next = self.split.sink.ready.val() & self.deliver.command.ready.val();
        self.command.ready.next = self.is_open.val();
        self.accept.next =
            self.command.valid.val() & self.is_open.val() & self.command.payload.val().len.any();
        self.split.sink.valid.next = self.accept.val();
        self.split.sink.payload.next = self.command.payload.val();
        self.deliver.command.valid.next = self.accept.val();
        self.deliver.command.payload.next = self.command.payload.val();

        StreamSource::<Burst>::join(&mut self.split.source, &mut self.reorder.sink);
        StreamSource::<Request>::link(&mut self.request, &mut self.reorder.request);
        self.reorder.arrival.next = self.arrival.val();
        self.reorder.arrived.next = self.arrived.val();
        StreamSource::<Stored<D>>::join(&mut self.reorder.source, &mut self.deliver.sink);
        StreamSource::<ReadData<D>>::link(&mut self.data, &mut self.deliver.data);
        self.busy.next = self.deliver.busy.val();
    }
}
