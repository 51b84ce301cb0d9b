//! When what kernels wrote is visible, they hear of it.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::record;
use crate::slot::{Ending, SlotDone};
use crate::stream::StreamSource;

record! {
    /// A write whose bytes are through.
    pub struct Written<const N: usize> {
        /// Whose it is, one bit of all.
        pub to: Bits<N>,
        /// An [`Ending`].
        pub ending: Bits<2>,
        /// Writes to host memory that have to be visible before.
        pub ticket: Bits<16>,
    }
}

/// log2 of the writes of a client that are under way, or whose end it has not heard.
pub const WRITES_LOG: usize = 6;
/// log2 of those of all clients.
const WAITING_LOG: usize = WRITES_LOG + 4;

block! {
    /// Tells `N` clients of the end of their writes, each at its own pace.
    ///
    /// - **Ports** `comes`, `written`: the bytes of a write are through. `visible`: the last ticket all before which are visible.
    ///   `done[i]`: one for each write of client `i`, in order; `told`: a bit for each client, one of its ends is here. `clear`: those that
    ///   a client has not heard are forgotten.
    /// - **Latency** 2 cycles when nothing is waited for. **Rate** 1 per cycle.
    /// - **Backpressure** none: a client has at most 64 writes that it has not heard of, and there are places for all.
    /// - **Reset** forgets everything.
    /// - **Limits** `N` at most 16. A ticket is at most 32,767 ahead of `visible`, and not as far behind.
    pub struct Settle<const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub comes: Signal<In, Bit>,
        pub written: Signal<In, Written<N>>,
        pub visible: Signal<In, Bits<16>>,
        pub done: [StreamSource<SlotDone>; N] = std::array::from_fn(|_| StreamSource::default()),
        pub told: Signal<Out, Bits<N>>,
        pub clear: Signal<In, Bits<N>>,
        waiting: Fifo<Written<N>, WAITING_LOG>,
        ends: [Fifo<SlotDone, WRITES_LOG>; N] = std::array::from_fn(|_| Fifo::default()),
        lead: Signal<Local, Bits<16>>,
        is_visible: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        tells: Signal<Local, Bits<N>>,
        end: Signal<Local, SlotDone>,
        good: Constant<Bits<2>> = number(Ending::Good as u8),
        far: Constant<Bits<4>> = number(15),
    }
}

impl<const N: usize> Logic for Settle<N> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waiting);
        self.waiting.reset.next = self.reset.val();
        self.waiting.sink.valid.next = self.comes.val();
        self.waiting.sink.payload.next = self.written.val();
        self.lead.next = self.visible.val() - self.waiting.source.payload.val().ticket;
        self.is_visible.next = !self.lead.val().get_bit(self.far.val().index())
            | (self.waiting.source.payload.val().ending != self.good.val());
        self.goes.next = self.waiting.source.valid.val() & self.is_visible.val();
        self.waiting.source.ready.next = self.is_visible.val();
        self.tells.next = 0.into();
        if self.goes.val() {
            self.tells.next = self.waiting.source.payload.val().to;
        }
        self.told.next = self.tells.val();
        self.end.next.err = self.waiting.source.payload.val().ending;
        for i in 0..N {
            self.ends[i].clock.next = self.clock.val();
            self.ends[i].reset.next = self.reset.val() | self.clear.val().get_bit(i);
            self.ends[i].sink.valid.next = self.tells.val().get_bit(i);
            self.ends[i].sink.payload.next = self.end.val();
            StreamSource::<SlotDone>::link(&mut self.done[i], &mut self.ends[i].source);
        }
    }
}
