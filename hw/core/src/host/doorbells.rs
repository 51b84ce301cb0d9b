//! Doorbells: stores to BAR2 become requests to look at a queue, or WQEs that need not be fetched.

pub mod decode;
pub mod model;
#[cfg(test)]
mod tests;
pub mod windows;

use rust_hdl::prelude::*;

use decode::Decode;
use windows::Windows;

use super::work::{CqDoorbell, PageStore, SendDoorbell};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::ReceiveDoorbell;

block! {
    /// Takes the stores to `2^PAGES` doorbell pages, one at a time.
    ///
    /// ```text
    ///   store ─ Decode ─┬─────────── FIFO ─ cq
    ///                   ├─────────── FIFO ─ receive
    ///                   ├─ Windows ─ FIFO ─ pushed
    ///                   └─────────── FIFO ─ send
    /// ```
    ///
    /// - **Ports** `store`: a store; `send`: send doorbells and commits; `pushed`: the units of commits with `units`, in the
    ///   order of `send`, the first on offer a cycle behind its commit, and one in each further cycle; `receive`: doorbells of receive queues, shared or not;
    ///   `cq`: doorbells of CQs; `discards`: stores are taken and forgotten; `bad`: high for a cycle for each store that
    ///   means nothing; `ready`: the windows are empty, stores are taken.
    /// - **Meaning** a doorbell has all eight bytes. A commit hands over the window's units if each of their words was stored
    ///   whole since the last commit of that window, and if there is room; otherwise it is offered with `units` 0. It
    ///   empties the window in any case. Units are copied before the next store is looked at.
    /// - **Latency** 2 cycles from `store` to `send`, `receive` and `cq`. **Rate** a store every 2 cycles, a commit of n units n + 2.
    /// - **Backpressure** a doorbell waits, and with it the stores behind, while 16 of its kind are untaken. A commit never
    ///   waits for `pushed`: without room for its units among 16 it hands over none.
    /// - **Reset** empties the windows, a page a cycle, with `ready` low; stores wait. Forgets what waits.
    /// - **Limits** `UNITS` is `PAGES + 4`, else building panics. Bad are: a page from `2^PAGES` on, an offset without a
    ///   register, a doorbell of fewer than eight bytes, a commit of 0 units or more than 4 (which empties its window all
    ///   the same).
    pub struct Doorbells<const PAGES: usize, const UNITS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub store: StreamSink<PageStore>,
        pub send: StreamSource<SendDoorbell>,
        pub pushed: StreamSource<Bits<512>>,
        pub receive: StreamSource<ReceiveDoorbell>,
        pub cq: StreamSource<CqDoorbell>,
        pub discards: Signal<In, Bit>,
        pub bad: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        held: Reg<PageStore>,
        held_valid: Reg<Bit>,
        decode: Decode<PAGES>,
        windows: Windows<PAGES, UNITS>,
        sends: Fifo<SendDoorbell, 4>,
        received: Fifo<ReceiveDoorbell, 4>,
        cqs: Fifo<CqDoorbell, 4>,
        /// There is a store, and no commit before it is being copied.
        looks: Signal<Local, Bit>,
        rings: Signal<Local, Bit>,
        receives: Signal<Local, Bit>,
        completes: Signal<Local, Bit>,
        commits: Signal<Local, Bit>,
        waits: Signal<Local, Bit>,
    }
}

impl<const PAGES: usize, const UNITS: usize> Logic for Doorbells<PAGES, UNITS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, windows, sends, received, cqs);
        dff_setup!(self, clock, held, held_valid);
        self.windows.reset.next = self.reset.val();
        self.sends.reset.next = self.reset.val();
        self.received.reset.next = self.reset.val();
        self.cqs.reset.next = self.reset.val();
        self.ready.next = !self.windows.scrubbing.val();
        // A store that is going to be forgotten is no work: whoever keeps storing must not keep the card from its end.
        self.busy.next = (self.held_valid.q.val() & !self.discards.val())
            | self.windows.scrubbing.val()
            | self.windows.busy.val()
            | self.sends.level.val().any()
            | self.received.level.val().any()
            | self.cqs.level.val().any();

        self.store.ready.next = !self.held_valid.q.val() & !self.windows.scrubbing.val();
        if !self.held_valid.q.val() {
            self.held.d.next = self.store.payload.val();
            self.held_valid.d.next = self.store.valid.val() & !self.windows.scrubbing.val();
        }
        self.decode.store.next = self.held.q.val();
        self.looks.next = self.held_valid.q.val() & !self.windows.copying.val() & !self.discards.val();
        self.rings.next = self.looks.val() & self.decode.rings.val();
        self.receives.next = self.looks.val() & self.decode.receives.val();
        self.completes.next = self.looks.val() & self.decode.completes.val();
        self.commits.next = self.looks.val() & self.decode.commits.val() & self.sends.sink.ready.val();
        self.bad.next = self.looks.val()
            & self.decode.bad.val()
            & (!self.decode.commits.val() | self.sends.sink.ready.val());

        self.windows.page.next = bit_cast::<PAGES, 12>(self.held.q.val().page);
        self.windows.window.next = self.decode.window.val();
        self.windows.word.next = self.decode.word.val();
        self.windows.data.next = self.held.q.val().data;
        self.windows.fills.next = self.looks.val() & self.decode.fills.val();
        self.windows.whole.next = self.decode.whole.val();
        self.windows.commits.next = self.commits.val();
        self.windows.units.next = self.decode.units.val();
        StreamSource::<Bits<512>>::link(&mut self.pushed, &mut self.windows.pushed);

        // A commit goes ahead of its units, which follow whatever happens: there is room for them.
        self.sends.sink.valid.next = self.rings.val() | (self.commits.val() & self.decode.fits.val());
        self.sends.sink.payload.next = self.decode.send.val();
        if self.windows.takes.val() {
            self.sends.sink.payload.next.units = bit_cast::<3, 4>(self.decode.units.val());
        }
        self.received.sink.valid.next = self.receives.val();
        self.received.sink.payload.next = self.decode.receive.val();
        self.cqs.sink.valid.next = self.completes.val();
        self.cqs.sink.payload.next = self.decode.cq.val();
        StreamSource::<SendDoorbell>::link(&mut self.send, &mut self.sends.source);
        StreamSource::<ReceiveDoorbell>::link(&mut self.receive, &mut self.received.source);
        StreamSource::<CqDoorbell>::link(&mut self.cq, &mut self.cqs.source);

        self.waits.next = (self.rings.val() & !self.sends.sink.ready.val())
            | (self.receives.val() & !self.received.sink.ready.val())
            | (self.completes.val() & !self.cqs.sink.ready.val())
            | (self.looks.val() & self.decode.commits.val() & !self.sends.sink.ready.val())
            | (self.commits.val() & self.decode.fits.val() & self.windows.takes.val())
            | (self.windows.copying.val() & !self.windows.copied.val());
        if self.held_valid.q.val() {
            self.held_valid.d.next = self.waits.val();
        }
        if self.reset.val() {
            self.held_valid.d.next = false;
        }
    }
}
