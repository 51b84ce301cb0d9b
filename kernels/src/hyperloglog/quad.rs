//! Quad: four lanes, from the bytes of a row to the registers.

use rust_hdl::prelude::*;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::{block, record};

use super::lane::{Lane, WORD_LOG};
use super::maximum::Maximum;
use super::mix::Mix;
use super::rank::Rank;
use super::sum::{LANES, Sum};

/// Cycles from `sweep` to `word`.
const WORD: usize = 6;

record! {
    /// A step of a sweep.
    pub struct Sweeping {
        /// There is one.
        pub is_there: Bit,
        /// The word is asked for.
        pub reads: Bit,
        /// It is set to 0.
        pub wipes: Bit,
        /// Which.
        pub at: Bits<WORD_LOG>,
    }
}

block! {
    /// Counts the items of 16 bytes of a row, each in a lane of its own, and merges its lanes with those of the quad before it.
    ///
    /// - **Ports** `is_row`: one cycle, `row` has items of `4 << item` bytes, in `row_len` bytes of the whole row. `sweep`: a word is looked at in all lanes; `next_sweep`: the same for
    ///   the quad behind, a cycle later; `merged`: the word of the quad before; `is_word`: one cycle, `word` was asked for: the larger of that and of those of the lanes.
    /// - **Latency** 18 cycles from a row until its items are stored, 6 from `sweep` to `word`, with `merged` 1 before it. **Rate** a row per cycle, a word per cycle. **Backpressure** none.
    /// - **Reset** forgets items on their way; the registers stay.
    /// - **Limits** no sweep within 18 cycles behind a row.
    pub struct Quad {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_row: Signal<In, Bit>,
        pub row: Signal<In, Bits<128>>,
        pub row_len: Signal<In, Bits<7>>,
        pub item: Signal<In, Bits<2>>,
        pub sweep: Signal<In, Sweeping>,
        pub next_sweep: Signal<Out, Sweeping>,
        pub merged: Signal<In, Bits<128>>,
        pub is_word: Signal<Out, Bit>,
        pub word: Signal<Out, Bits<128>>,
        sum: Sum,
        mix: [Mix; LANES] = std::array::from_fn(|_| Mix::default()),
        rank: [Rank; LANES] = std::array::from_fn(|_| Rank::default()),
        lane: [Lane; LANES] = std::array::from_fn(|_| Lane::default()),
        first_two: Maximum,
        last_two: Maximum,
        all_four: Maximum,
        with_before: Maximum,
        step: Reg<Sweeping>,
        /// A word has been asked for, by cycles.
        asked: Reg<Bits<WORD>>,
        begins: Signal<Local, Bits<LANES>>,
        lanes: Signal<Local, Bits<LANES>>,
        summed: Signal<Local, Bits<LANES>>,
        /// Lanes in which items begin, by their size.
        of_size: [Constant<Bits<LANES>>; 3] = constants(|item| [0b1111_u64, 0b0101, 0b0001][item].into()),
        /// Bytes of the row before each lane.
        before: [Constant<Bits<7>>; LANES] = constants(|lane| (lane as u64 * 4).into()),
        eight: Constant<Bits<2>> = number(1_u8),
        sixteen: Constant<Bits<2>> = number(2_u8),
    }
}

impl Quad {
    /// The quad of that place in the row.
    #[must_use]
    pub fn new(place: usize) -> Self {
        Self { before: constants(|lane| ((place * LANES + lane) as u64 * 4).into()), ..Self::default() }
    }
}

impl Logic for Quad {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, sum, first_two, last_two, all_four, with_before);
        dff_setup!(self, clock, step, asked);
        self.sum.reset.next = self.reset.val();
        self.lanes.next = self.of_size[0].val();
        if self.item.val() == self.eight.val() {
            self.lanes.next = self.of_size[1].val();
        } else if self.item.val() == self.sixteen.val() {
            self.lanes.next = self.of_size[2].val();
        }
        self.begins.next = 0.into();
        for i in 0..LANES {
            self.begins.next = self.begins.val().replace_bit(
                i,
                self.is_row.val() & self.lanes.val().get_bit(i) & (self.row_len.val() > self.before[i].val()),
            );
        }
        self.sum.is_there.next = self.begins.val();
        self.sum.row.next = self.row.val();
        self.sum.item.next = self.item.val();
        self.summed.next = self.sum.is_summed.val();

        self.step.d.next = self.sweep.val();
        self.next_sweep.next = self.step.q.val();
        for i in 0..LANES {
            self.mix[i].clock.next = self.clock.val();
            self.mix[i].reset.next = self.reset.val();
            self.mix[i].is_there.next = self.summed.val().get_bit(i);
            self.mix[i].sum.next = self.sum.sums[i].val();
            self.rank[i].clock.next = self.clock.val();
            self.rank[i].reset.next = self.reset.val();
            self.rank[i].is_there.next = self.mix[i].is_hashed.val();
            self.rank[i].hash.next = self.mix[i].hash.val();
            self.lane[i].clock.next = self.clock.val();
            self.lane[i].reset.next = self.reset.val();
            self.lane[i].is_there.next = self.rank[i].is_ranked.val();
            self.lane[i].register.next = self.rank[i].register.val();
            self.lane[i].rank.next = self.rank[i].rank.val();
            self.lane[i].sweeps.next = self.step.q.val().is_there;
            self.lane[i].wipes.next = self.step.q.val().wipes;
            self.lane[i].at.next = self.step.q.val().at;
        }

        self.first_two.left.next = self.lane[0].word.val();
        self.first_two.right.next = self.lane[1].word.val();
        self.last_two.left.next = self.lane[2].word.val();
        self.last_two.right.next = self.lane[3].word.val();
        self.all_four.left.next = self.first_two.larger.val();
        self.all_four.right.next = self.last_two.larger.val();
        self.with_before.left.next = self.all_four.larger.val();
        self.with_before.right.next = self.merged.val();
        self.asked.d.next =
            (self.asked.q.val() << 1).replace_bit(0, self.sweep.val().is_there & self.sweep.val().reads);
        self.is_word.next = self.asked.q.val().get_bit(5);
        self.word.next = self.with_before.larger.val();
        if self.reset.val() {
            self.step.d.next.is_there = false;
            self.asked.d.next = 0.into();
        }
    }
}
