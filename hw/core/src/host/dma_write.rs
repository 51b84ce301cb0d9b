//! DMA write: bytes go to host memory at any address, and a ticket says when the host has them.

pub mod account;
pub mod align;
pub mod model;
#[cfg(test)]
mod rig;
pub mod split;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use account::Account;
use align::{Align, Plan};
use split::Split;

use super::axi::{WriteAddress, WriteBeat, WriteResponse};
use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// Where the next packet goes.
    pub struct WriteCommand {
        /// Of its first byte; any alignment.
        pub iova: Bits<64>,
        /// Its bytes, up to 4096. With 0 no packet comes and nothing is written.
        pub len: Bits<13>,
    }
}

record! {
    /// A command that the host did not carry out.
    pub struct Failed {
        /// Its ticket.
        pub ticket: Bits<16>,
    }
}

block! {
    /// Writes packets to host memory, in order.
    ///
    /// ```text
    ///   command ─ Split ─┬─ FIFO ─────────────── aw
    ///                    ├─ FIFO ─┐
    ///   data ─────────────────── Align ─ FIFO ── w
    ///                    └─ Account ◀─────────── b
    ///                         └─ issued, done, failed
    /// ```
    ///
    /// The n-th command since reset has ticket n. It is done when `done` has reached its ticket (16 bits, they wrap), and
    /// then all before it are. Whoever notes `issued` knows what to wait for to have everything written so far.
    ///
    /// - **Ports** `command`, `data`: a command, and for each with `len > 0` one packet of `len` bytes, in the same order,
    ///   either of them first; `aw`, `w`, `b`: AXI; `issued`: commands taken; `done`: commands answered, good or bad;
    ///   `failed`: tickets of commands with a bad response to any of their bursts, on offer no later than `done` reaches
    ///   them; `missed`: failures that found `failed` full; `busy`: commands are not done, or `failed` holds tickets.
    /// - **Bursts** end at multiples of 4 KiB and of 256 beats, whichever is less. Only the first beat of a command lacks
    ///   bytes in front and only the last one lacks bytes behind; every beat has some.
    /// - **Latency** to `aw` 1 cycle from the command, to `w` 4 from the command and 3 from the data, to `done` 1 from `b`.
    ///   **Rate** 1 beat of `w` per cycle, without a gap between bursts or commands, whatever their alignment: a
    ///   command costs the beats its bytes touch, which is one more than those of its packet where they do not fit.
    ///   Commands: 1 burst per cycle; a command without bytes takes 1 cycle.
    /// - **Backpressure** stalls `command` when `aw` has 32 addresses waiting, `w` 32 bursts, `outstanding` bursts lack their
    ///   response, or 64 bursts and empty commands are not done; stalls `data` while its command is not there. `b` waits
    ///   only for a burst to answer, so nothing but the host holds it up: with 16 failures untaken the next ones are
    ///   counted in `missed` instead. No combinational path from port to port.
    /// - **Reset** forgets everything and begins with ticket 1; the host port has to be reset with it, because a response
    ///   to an old burst would be taken for one to a new burst.
    /// - **Limits** `D = 8 * K` is 64 or 512; `outstanding` from 1 to 64, 32 unless said, else building panics. The packet has
    ///   the command's length: `eop`, `nbytes` and `err` are not looked at. `aw` and `w` do not wait for each other, but a
    ///   command before its data keeps the host waiting for `w`.
    pub struct DmaWrite<const D: usize, const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<WriteCommand>,
        pub data: StreamSink<Beat<D>>,
        pub aw: StreamSource<WriteAddress>,
        pub w: StreamSource<WriteBeat<D, K>>,
        pub b: StreamSink<WriteResponse>,
        pub issued: Signal<Out, Bits<16>>,
        pub done: Signal<Out, Bits<16>>,
        pub failed: StreamSource<Failed>,
        pub missed: Signal<Out, Bits<32>>,
        pub busy: Signal<Out, Bit>,
        split: Split<K>,
        addresses: Fifo<WriteAddress, 5>,
        plans: Fifo<Plan, 5>,
        align: Align<D, K>,
        account: Account,
        room: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
    }
}

impl<const D: usize, const K: usize> DmaWrite<D, K> {
    /// An engine with at most `outstanding` bursts that lack their response; `default()` allows 32.
    ///
    /// # Panics
    /// If `outstanding` is not in 1 to 64.
    #[must_use]
    pub fn new(outstanding: usize) -> Self {
        Self { account: Account::new(outstanding), ..Self::default() }
    }
}

impl<const D: usize, const K: usize> Logic for DmaWrite<D, K> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, split, addresses, plans, align, account);
        self.split.reset.next = self.reset.val();
        self.addresses.reset.next = self.reset.val();
        self.plans.reset.next = self.reset.val();
        self.align.reset.next = self.reset.val();
        self.account.reset.next = self.reset.val();

        StreamSink::<WriteCommand>::link(&mut self.command, &mut self.split.command);
        self.room.next =
            self.account.room.val() & self.addresses.sink.ready.val() & self.plans.sink.ready.val();
        self.split.source.ready.next = self.room.val();
        self.moves.next = self.split.source.valid.val() & self.room.val();
        self.writes.next = self.moves.val() & !self.split.source.payload.val().is_empty;

        self.addresses.sink.valid.next = self.writes.val();
        self.addresses.sink.payload.next.addr = self.split.source.payload.val().addr;
        self.addresses.sink.payload.next.len = self.split.source.payload.val().len;
        StreamSource::<WriteAddress>::link(&mut self.aw, &mut self.addresses.source);

        self.plans.sink.valid.next = self.writes.val();
        self.plans.sink.payload.next.len = self.split.source.payload.val().len;
        self.plans.sink.payload.next.shift = self.split.source.payload.val().shift;
        self.plans.sink.payload.next.until = self.split.source.payload.val().until;
        self.plans.sink.payload.next.starts = self.split.source.payload.val().starts;
        self.plans.sink.payload.next.ends = self.split.source.payload.val().ends;
        StreamSource::<Plan>::join(&mut self.plans.source, &mut self.align.plan);
        StreamSink::<Beat<D>>::link(&mut self.data, &mut self.align.data);
        StreamSource::<WriteBeat<D, K>>::link(&mut self.w, &mut self.align.w);

        self.account.enters.next = self.moves.val();
        self.account.burst.next = self.split.source.payload.val();
        StreamSink::<WriteResponse>::link(&mut self.b, &mut self.account.b);
        StreamSource::<Failed>::link(&mut self.failed, &mut self.account.failed);
        self.issued.next = self.account.issued.val();
        self.done.next = self.account.done.val();
        self.missed.next = self.account.missed.val();
        self.busy.next = self.account.busy.val();
    }
}
