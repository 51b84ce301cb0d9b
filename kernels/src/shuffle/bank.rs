//! Bank: words of some partitions are gathered until a row of them is worth a write.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::ram::UltraRam;
use stroma_hw::stream::{Beat, StreamSource};

use super::drain::{Drain, Header};
use super::fill::{Fill, Job};
use super::open::{Open, Opened};
use super::parameters::{PARTITION_BITS, Task};
use super::pick::{Pick, Word};

block! {
    /// A share of the buffers, with 512 bytes for each.
    ///
    /// ```text
    ///   entries ─ Open ──┬───────────────┐
    ///   beats ─── Pick ─ Fill ─ jobs ─ Drain ─ headers, beats
    ///                     └─── RAM ──────┘
    /// ```
    ///
    /// - **Ports** `is_there`, `entry`, `index`: an entry of the table; `data`, `lanes`, `valid`, `ready`: a stream of beats with words of the bank; `begins`: one cycle, before the first of a payload; `is_taken`: no word is on its way to
    ///   the RAM. `flushes`: one cycle, all words of the payload are there; `last`: number of its last buffer, if `is_used`; `is_at_mark`: all are in packets that are taken, and none of
    ///   the next payload goes before `releases`, one cycle. `asked`, `used`: bytes in use, at `flushes`. `overflows`: one cycle, a word had no room. `headers`, `beats`: writes.
    /// - **Latency** as of its parts. **Rate** 1 word per cycle in and out.
    /// - **Backpressure** as of its parts; the ports are registers but for `used`, which follows `asked`.
    /// - **Reset** forgets everything but RAM; the next payload begins with entries. Others may go on with the buffers of the one before.
    /// - **Limits** as of its parts.
    pub struct Bank<const D: usize, const L: usize, const I: usize, const A: usize, const F: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: Signal<In, Task>,
        pub bank: Signal<In, Bits<3>>,
        pub is_there: Signal<In, Bit>,
        pub entry: Signal<In, Bits<128>>,
        pub index: Signal<In, Bits<PARTITION_BITS>>,
        pub begins: Signal<In, Bit>,
        pub data: Signal<In, Bits<D>>,
        pub lanes: Signal<In, Bits<8>>,
        pub valid: Signal<In, Bit>,
        pub ready: Signal<Out, Bit>,
        pub is_taken: Signal<Out, Bit>,
        pub flushes: Signal<In, Bit>,
        pub last: Signal<In, Bits<PARTITION_BITS>>,
        pub is_used: Signal<In, Bit>,
        pub is_at_mark: Signal<Out, Bit>,
        pub releases: Signal<In, Bit>,
        pub asked: Signal<In, Bits<PARTITION_BITS>>,
        pub used: Signal<Out, Bits<D>>,
        pub overflows: Signal<Out, Bit>,
        pub headers: StreamSource<Header>,
        pub beats: StreamSource<Beat<D>>,
        open: Open,
        pick: Pick<D, L>,
        fill: Fill<I, A>,
        ram: UltraRam<Bits<64>, A>,
        drain: Drain<D, I, A, F>,
        is_open: Signal<Local, Bit>,
        opened: Signal<Local, Opened>,
    }
}

impl<const D: usize, const L: usize, const I: usize, const A: usize, const F: usize> Logic
    for Bank<D, L, I, A, F>
{
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, open, pick, fill, ram, drain);
        self.open.reset.next = self.reset.val();
        self.pick.reset.next = self.reset.val();
        self.fill.reset.next = self.reset.val();
        self.drain.reset.next = self.reset.val();

        self.open.is_there.next = self.is_there.val();
        self.open.entry.next = self.entry.val();
        self.open.index.next = self.index.val();
        self.open.wide.next = self.request.val().wide;
        self.is_open.next = self.open.is_open.val();
        self.opened.next = self.open.opened.val();

        self.pick.sink.payload.next.data = self.data.val();
        self.pick.sink.payload.next.lanes = self.lanes.val();
        self.pick.sink.valid.next = self.valid.val();
        self.ready.next = self.pick.sink.ready.val();
        self.pick.request.next = self.request.val();
        self.pick.begins.next = self.begins.val();
        self.is_taken.next = self.pick.is_empty.val();
        StreamSource::<Word>::join(&mut self.pick.source, &mut self.fill.sink);
        self.fill.is_open.next = self.is_open.val();
        self.fill.opened.next = self.opened.val();
        self.fill.flushes.next = self.flushes.val();
        self.fill.last.next = self.last.val();
        self.fill.is_used.next = self.is_used.val();
        self.fill.asked.next = self.asked.val();
        self.used.next = bit_cast::<D, 32>(self.fill.used.val());
        self.overflows.next = self.fill.overflows.val();

        self.ram.write_enable.next = self.fill.write_enable.val();
        self.ram.write_address.next = self.fill.write_address.val();
        self.ram.write_data.next = self.fill.write_data.val();
        self.ram.read_enable.next = self.drain.read_enable.val();
        self.ram.read_address.next = self.drain.read_address.val();
        self.drain.read_data.next = self.ram.read_data.val();

        StreamSource::<Job>::join(&mut self.fill.jobs, &mut self.drain.jobs);
        self.drain.is_open.next = self.is_open.val();
        self.drain.opened.next = self.opened.val();
        self.drain.bank.next = self.bank.val();
        self.fill.is_freed.next = self.drain.is_freed.val();
        self.fill.freed.next = self.drain.freed.val();
        self.is_at_mark.next = self.drain.is_at_mark.val();
        self.drain.releases.next = self.releases.val();
        StreamSource::<Header>::link(&mut self.headers, &mut self.drain.headers);
        StreamSource::<Beat<D>>::link(&mut self.beats, &mut self.drain.beats);
    }
}
