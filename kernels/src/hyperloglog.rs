//! `hyperloglog`: counts distinct items of a payload while that passes to the caller's memory.

pub mod cut;
#[cfg(test)]
mod differential;
pub mod gather;
pub mod lane;
pub mod maximum;
pub mod mix;
pub mod pack;
pub mod parameters;
pub mod pour;
pub mod quad;
pub mod rank;
pub mod settle;
pub mod sum;
pub mod sweep;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::slot::{SlotCommand, SlotDone, SlotResponse, SlotWrite};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use cut::{Cut, Piece};
use gather::Gather;
use pack::Pack;
use parameters::{Decode, Task};
use pour::Pour;
use quad::Quad;
use settle::{Entry, Settle};
use sweep::Sweep;

/// Words of registers that may wait to go out, as a power of two.
const WORDS_LOG: usize = 5;
/// So many may wait when another is asked for: those on their way find room.
const WORDS_WAITING: usize = 16;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::hyperloglog`].
    ///
    /// ```text
    ///   command ─ Decode ─ Cut ─┐                          write_done
    ///                           ▼                              ▼
    ///   data_in ────────────── Pour ──────── entries ──────── Settle ─ response
    ///                           │ │└─ write, write_data
    ///                           │ └─ Sweep ─────┐
    ///                           └─ Gather ─ Quads ─ words ─ Pack ─ data_out
    /// ```
    ///
    /// A row is 16 items of 4 bytes, 8 of 8 or 4 of 16. Each has a lane with registers of its own, so that all are counted in one cycle, and
    /// registers that are read are the largest of all lanes'.
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says, without reads.
    /// - **Latency** 3 cycles from a command to the first beat that is taken for it, 1 from there to `write`, 2 to `write_data`, 1 from the end of the last write to
    ///   `response`, 5 from a command that is refused. To clear takes 4,126 cycles from the command to the answer; to read or take 4,138 if `data_out` never waits, at `D` = 64 8,231.
    /// - **Rate** a beat per cycle, whatever the items. The next invocation's beats follow at once, without waiting for the writes of the one before; of
    ///   those that have one beat, one every 2 cycles. One that reads or clears waits until those before it are answered.
    /// - **Backpressure** `write`, `write_data`, and 64 writes that are not done stall `data_in`. So does an invocation that reads or clears, as long as it takes, but no other.
    ///   No combinational path from port to port.
    /// - **Reset** forgets the invocations and the sketch, which has no name then; ends of writes from before must not come any more. `restart` does the
    ///   same, but the sketch stays, unless it was about to be cleared: who has his own work ended takes no sketch from others.
    /// - **Limits** `D` is 64 with `W` = 128 and `Q` = 1, or 512 with `W` = 512 and `Q` = 4. `data_in` has as many bytes for a command as that says.
    pub struct HyperLogLogKernel<const D: usize, const W: usize, const Q: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub restart: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub write_done: StreamSink<SlotDone>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        decode: Decode,
        cut: Cut<D>,
        pour: Pour<D>,
        gather: Gather<D, W>,
        quad: [Quad; Q] = std::array::from_fn(Quad::new),
        sweep: Sweep,
        words: Fifo<Bits<128>, WORDS_LOG>,
        pack: Pack<D>,
        settle: Settle,
        ends: Signal<Local, Bit>,
        row: Signal<Local, Bits<W>>,
        reads: Signal<Local, Bit>,
        /// Of the last quad.
        is_word: Signal<Local, Bit>,
        word: Signal<Local, Bits<128>>,
        level: Signal<Local, Bits<16>>,
        most: Constant<Bits<16>> = number(WORDS_WAITING),
    }
}

impl<const D: usize, const W: usize, const Q: usize> Logic for HyperLogLogKernel<D, W, Q> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, decode, cut, pour, gather, sweep, words, pack, settle);
        self.ends.next = self.reset.val() | self.restart.val();
        self.decode.reset.next = self.reset.val();
        self.decode.restart.next = self.restart.val();
        self.cut.reset.next = self.ends.val();
        self.pour.reset.next = self.ends.val();
        self.gather.reset.next = self.ends.val();
        self.sweep.reset.next = self.ends.val();
        self.words.reset.next = self.ends.val();
        self.pack.reset.next = self.ends.val();
        self.settle.reset.next = self.ends.val();

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        StreamSource::<Task>::join(&mut self.decode.source, &mut self.cut.sink);
        StreamSource::<Piece>::join(&mut self.cut.source, &mut self.pour.piece);
        StreamSink::<Beat<D>>::link(&mut self.data_in, &mut self.pour.data_in);
        StreamSource::<SlotWrite>::link(&mut self.write, &mut self.pour.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.pour.write_data);

        self.gather.is_there.next = self.pour.counts.val();
        self.gather.beat.next = self.pour.beat.val();
        self.gather.item.next = self.pour.item.val();
        self.row.next = self.gather.row.val();
        for i in 0..Q {
            self.quad[i].clock.next = self.clock.val();
            self.quad[i].reset.next = self.ends.val();
            self.quad[i].is_row.next = self.gather.is_row.val();
            self.quad[i].row.next = self.row.val().get_bits::<128>(i * 128);
            self.quad[i].row_len.next = self.gather.row_len.val();
            self.quad[i].item.next = self.gather.row_item.val();
            self.is_word.next = self.quad[i].is_word.val();
            self.word.next = self.quad[i].word.val();
        }
        self.quad[0].sweep.next = self.sweep.step.val();
        self.quad[0].merged.next = 0.into();
        for i in 1..Q {
            self.quad[i].sweep.next = self.quad[i - 1].next_sweep.val();
            self.quad[i].merged.next = self.quad[i - 1].word.val();
        }

        self.reads.next = self.pour.reads.val();
        self.level.next = self.words.level.val();
        self.sweep.begins.next = self.pour.begins_sweep.val();
        self.sweep.reads.next = self.reads.val();
        self.sweep.wipes.next = self.pour.wipes.val();
        self.decode.is_wiped.next = self.sweep.ends.val() & self.pour.wipes.val();
        self.sweep.has_room.next = self.level.val() < self.most.val();
        self.words.sink.valid.next = self.is_word.val();
        self.words.sink.payload.next = self.word.val();
        StreamSource::<Bits<128>>::join(&mut self.words.source, &mut self.pack.sink);
        self.pour.sweep_ends.next = self.pack.ends.val();
        if !self.reads.val() {
            self.pour.sweep_ends.next = self.sweep.ends.val();
        }
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.pack.source);

        self.pour.is_idle.next = self.settle.is_idle.val();
        StreamSource::<Entry>::join(&mut self.pour.entry, &mut self.settle.sink);
        StreamSink::<SlotDone>::link(&mut self.write_done, &mut self.settle.write_done);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.settle.response);
    }
}
