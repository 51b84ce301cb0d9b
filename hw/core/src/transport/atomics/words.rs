//! The words that atomics work on: each is read once, and whoever comes meanwhile goes on from its latest value.

pub mod slot;

use rust_hdl::prelude::*;

use slot::Slot;

use crate::constant::number;
use crate::host::work::HostWrite;
use crate::prim::reg::Reg;

/// log2 of the words at once.
pub const WORDS_LOG: usize = 4;
/// Words at once.
pub const WORDS: usize = 1 << WORDS_LOG;

block! {
    /// Knows by their addresses the words whose value host memory may not show yet.
    ///
    /// A write of somebody else to such a word comes between the atomics before it and those behind it. So it makes the
    /// word stale: nobody joins it any more, and who asks for it waits until it is gone, and reads it anew.
    ///
    /// - **Ports** `iova`: the word that is wanted, a multiple of 8; `looks`: it is looked for; `asks`: a cycle later or more, and
    ///   `granted`, `number`: it is joined, in this cycle; `begins`: and has to be read. `arrives`, `arrived_word`, `arrived_err`:
    ///   it was. `known`, `bad`: words that were, and that could not be. `goes`, `gone_word`, `gone_writes`: one that had joined
    ///   goes, and its write was taken in the cycle before. `issued`, `visible`: tickets of writes. `foreign`,
    ///   `foreign_write`: somebody else's is taken in this cycle. `some`: a word is here.
    /// - **Latency** 1 cycle from all to `known`, and from `foreign` to those who look in the same cycle or later. A word goes
    ///   when nobody waits for it and its last write is visible. **Rate** one of each kind per cycle.
    /// - **Backpressure** with 16 words, or with a stale one, `granted` waits for the end of a word.
    /// - **Reset** forgets all words.
    /// - **Limits** at most 31 wait for one word; fewer than 32,768 writes are on their way.
    pub struct Words {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub iova: Signal<In, Bits<64>>,
        pub looks: Signal<In, Bit>,
        pub asks: Signal<In, Bit>,
        pub granted: Signal<Out, Bit>,
        pub begins: Signal<Out, Bit>,
        pub number: Signal<Out, Bits<WORDS_LOG>>,
        pub arrives: Signal<In, Bit>,
        pub arrived_word: Signal<In, Bits<WORDS_LOG>>,
        pub arrived_err: Signal<In, Bit>,
        pub known: Signal<Out, Bits<WORDS>>,
        pub bad: Signal<Out, Bits<WORDS>>,
        pub goes: Signal<In, Bit>,
        pub gone_word: Signal<In, Bits<WORDS_LOG>>,
        pub gone_writes: Signal<In, Bit>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub foreign: Signal<In, Bit>,
        pub foreign_write: Signal<In, HostWrite>,
        pub some: Signal<Out, Bit>,
        slots: [Slot; WORDS],
        matched: Reg<Bits<WORDS>>,
        /// The foreign write of the cycle before: its first byte, and 7 more than its bytes.
        was_foreign: Reg<Bit>,
        first: Reg<Bits<64>>,
        reach: Reg<Bits<64>>,
        wanted: Signal<Local, Bits<WORDS>>,
        here: Signal<Local, Bits<WORDS>>,
        there: Signal<Local, Bits<WORDS>>,
        wrong: Signal<Local, Bits<WORDS>>,
        stale: Signal<Local, Bits<WORDS>>,
        held: Signal<Local, Bits<WORDS>>,
        is_new: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<WORDS>>,
        index: Signal<Local, Bits<WORDS_LOG>>,
        numbers: [Constant<Bits<WORDS_LOG>>; WORDS] = std::array::from_fn(number),
    }
}

impl Logic for Words {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, matched, was_foreign, first, reach);
        self.was_foreign.d.next = self.foreign.val() & self.foreign_write.val().len.any();
        self.first.d.next = self.foreign_write.val().iova;
        self.reach.d.next = bit_cast::<64, 13>(self.foreign_write.val().len) + 7;

        self.wanted.next = 0.into();
        self.here.next = 0.into();
        self.there.next = 0.into();
        self.wrong.next = 0.into();
        self.stale.next = 0.into();
        for i in 0..WORDS {
            self.wanted.next = self.wanted.val().replace_bit(i, self.slots[i].is_wanted.val());
            self.here.next = self.here.val().replace_bit(i, self.slots[i].here.val());
            self.there.next = self.there.val().replace_bit(i, self.slots[i].known.val());
            self.wrong.next = self.wrong.val().replace_bit(i, self.slots[i].bad.val());
            self.stale.next = self.stale.val().replace_bit(i, self.slots[i].stale.val());
        }
        self.known.next = self.there.val();
        self.bad.next = self.wrong.val();
        self.some.next = self.here.val().any();

        // The word itself, or else the first place that is free.
        if self.looks.val() {
            self.matched.d.next = self.wanted.val();
        }
        self.held.next = self.matched.q.val() & self.here.val();
        self.is_new.next = !self.held.val().any();
        self.chosen.next = self.held.val() & !self.stale.val();
        if self.is_new.val() {
            self.chosen.next = !self.here.val() & (self.here.val() + 1);
        }
        self.granted.next = self.chosen.val().any();
        self.begins.next = self.asks.val() & self.is_new.val() & self.chosen.val().any();
        self.index.next = 0.into();
        for i in 0..WORDS {
            if self.chosen.val().get_bit(i) {
                self.index.next = self.numbers[i].val();
            }
        }
        self.number.next = self.index.val();

        for i in 0..WORDS {
            self.slots[i].clock.next = self.clock.val();
            self.slots[i].reset.next = self.reset.val();
            self.slots[i].iova.next = self.iova.val();
            self.slots[i].joins.next = self.asks.val() & self.chosen.val().get_bit(i);
            self.slots[i].begins.next = self.asks.val() & self.chosen.val().get_bit(i) & self.is_new.val();
            self.slots[i].arrives.next = self.arrives.val() & (self.arrived_word.val().index() == i);
            self.slots[i].arrives_err.next = self.arrived_err.val();
            self.slots[i].leaves.next = self.goes.val() & (self.gone_word.val().index() == i);
            self.slots[i].leaves_writes.next = self.gone_writes.val();
            self.slots[i].issued.next = self.issued.val();
            self.slots[i].visible.next = self.visible.val();
            self.slots[i].writes.next = self.was_foreign.q.val();
            self.slots[i].first.next = self.first.q.val();
            self.slots[i].reach.next = self.reach.q.val();
        }
        if self.reset.val() {
            self.was_foreign.d.next = false;
        }
    }
}
