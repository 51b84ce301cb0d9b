//! What a kernel has read, until it takes it.

use rust_hdl::prelude::*;

use crate::prim::block_fifo::BlockFifo;
use crate::prim::reg::Reg;
use crate::slot::SlotData;
use crate::stream::StreamSource;

block! {
    /// Holds up to `2^LOG` beats for one kernel. Whoever asks for bytes has counted the room before.
    ///
    /// A walk along pointers pays for each cycle here, so a beat that finds nobody before it does not go through the memory.
    ///
    /// - **Ports** `comes`, `beat`: a beat in this cycle; `source`: all of them, in order; `ends`: the last beat of a read is taken.
    /// - **Latency** 1 cycle, 4 behind others. **Rate** 1 beat per cycle.
    /// - **Backpressure** none: what has no room is lost. `source` comes from registers.
    /// - **Reset** forgets everything, and what comes meanwhile.
    pub struct Landing<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub comes: Signal<In, Bit>,
        pub beat: Signal<In, SlotData<D>>,
        pub source: StreamSource<SlotData<D>>,
        pub ends: Signal<Out, Bit>,
        queue: BlockFifo<SlotData<D>, LOG>,
        given: Reg<SlotData<D>>,
        is_given: Reg<Bit>,
        opens: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
    }
}

impl<const D: usize, const LOG: usize> Logic for Landing<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, queue);
        dff_setup!(self, clock, given, is_given);
        self.queue.reset.next = self.reset.val();
        self.opens.next = !self.is_given.q.val() | self.source.ready.val();
        self.passes.next = self.opens.val() & !self.queue.level.val().any();
        self.queue.sink.valid.next = self.comes.val() & !self.passes.val();
        self.queue.sink.payload.next = self.beat.val();
        self.queue.source.ready.next = self.opens.val();
        if self.opens.val() {
            self.is_given.d.next = self.queue.source.valid.val() | (self.passes.val() & self.comes.val());
            self.given.d.next = self.beat.val();
            if self.queue.source.valid.val() {
                self.given.d.next = self.queue.source.payload.val();
            }
        }
        self.source.valid.next = self.is_given.q.val();
        self.source.payload.next = self.given.q.val();
        self.ends.next = self.is_given.q.val() & self.source.ready.val() & self.given.q.val().eop;
        if self.reset.val() {
            self.is_given.d.next = false;
        }
    }
}
