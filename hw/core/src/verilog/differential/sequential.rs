//! Shapes that need a clock: registers, blocks inside blocks, joined streams.

use rust_hdl::prelude::*;

use super::{Case, differential};
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// One register with valid/ready around it.
#[derive(LogicBlock, Default)]
struct Stage<const D: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<Beat<D>>,
    pub source: StreamSource<Beat<D>>,
    held: Reg<Beat<D>>,
    full: Reg<Bit>,
    take: Signal<Local, Bit>,
}

impl<const D: usize> Logic for Stage<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, full);
        self.take.next = !self.full.q.val() | self.source.ready.val();
        self.sink.ready.next = self.take.val();
        self.source.payload.next = self.held.q.val();
        self.source.valid.next = self.full.q.val();
        if self.take.val() {
            self.held.d.next = self.sink.payload.val();
            self.full.d.next = self.sink.valid.val();
        }
        if self.reset.val() {
            self.full.d.next = false;
        }
    }
}

/// Three stages in a row and a counter: links, joins, arrays of blocks.
#[derive(LogicBlock, Default)]
struct Chain<const D: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<Beat<D>>,
    pub source: StreamSource<Beat<D>>,
    pub moved: Signal<Out, Bits<16>>,
    first: Stage<D>,
    middle: [Stage<D>; 2],
    count: Reg<Bits<16>>,
}

impl<const D: usize> Logic for Chain<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count);
        self.first.clock.next = self.clock.val();
        self.first.reset.next = self.reset.val();
        for i in 0..2 {
            self.middle[i].clock.next = self.clock.val();
            self.middle[i].reset.next = self.reset.val();
        }
        StreamSink::<Beat<D>>::link(&mut self.sink, &mut self.first.sink);
        StreamSource::<Beat<D>>::join(&mut self.first.source, &mut self.middle[0].sink);
        StreamSource::<Beat<D>>::join(&mut self.middle[0].source, &mut self.middle[1].sink);
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.middle[1].source);
        if self.sink.valid.val() & self.first.sink.ready.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.reset.val() {
            self.count.d.next = 0.into();
        }
        self.moved.next = self.count.q.val();
    }
}

pub(crate) fn cases() -> Vec<Case> {
    fn chain<const D: usize>() -> Case {
        differential!(
            &format!("chain_{D}"),
            Chain::<D>::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready]
        )
    }
    vec![chain::<64>(), chain::<512>()]
}
