//! Counters of all queue pairs that one block moves.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;

block! {
    /// Keeps `N` counters of 32 bits for each of `2^QPS` queue pairs; `W` is `32 * N`.
    ///
    /// A cycle reads the counters, the next writes those that count. So a source that counts every other cycle at most finds
    /// its tally free each time: there is no queue, nobody waits, and nothing is lost. In between, each of the two ports of the
    /// memory is free in at least one of two cycles that follow each other: that is when a look and a clearing have their turn.
    ///
    /// - **Ports** `counts`, `index`: of this queue pair the counters with a one count by one. `looks`, `look_index`: held for two
    ///   cycles, `shown` has the counters, the first lowest, two cycles behind the second and until the next look. `clears`,
    ///   `clear_index`: held for two cycles, the counters begin at zero; what counts in the first of them or later counts from there.
    /// - **Latency** what counts in a cycle is seen by a look that begins two cycles later. **Rate** one count every 2 cycles; a
    ///   look and a clearing meanwhile. Without a count around it, a cycle of clearing is enough.
    /// - **Backpressure** none.
    /// - **Reset** forgets a count under way; the owner clears the counters.
    /// - **Limits** of counts in two cycles that follow each other the second is lost. Counters go round.
    pub struct Tally<const QPS: usize, const N: usize, const W: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub counts: Signal<In, Bits<N>>,
        pub index: Signal<In, Bits<QPS>>,
        pub looks: Signal<In, Bit>,
        pub look_index: Signal<In, Bits<QPS>>,
        pub shown: Signal<Out, Bits<W>>,
        pub clears: Signal<In, Bit>,
        pub clear_index: Signal<In, Bits<QPS>>,
        memory: [BlockRam<Bits<32>, QPS>; N] = std::array::from_fn(|_| BlockRam::default()),
        /// What is written in this cycle, and whose; it was cleared while it was read.
        counting: Reg<Bits<N>>,
        counted: Reg<Bits<QPS>>,
        is_cleared: Reg<Bit>,
        /// A look was read.
        is_looking: Reg<Bit>,
        found: [Reg<Bits<32>>; N] = std::array::from_fn(|_| Reg::default()),
        begins: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        piece: Signal<Local, Bits<32>>,
        text: Signal<Local, Bits<W>>,
        top: Constant<Bits<10>> = number(W - 32),
    }
}

impl<const QPS: usize, const N: usize, const W: usize> Logic for Tally<QPS, N, W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, counting, counted, is_cleared, is_looking);
        self.writes.next = self.counting.q.val().any();
        self.begins.next = self.counts.val().any() & !self.writes.val();
        self.counting.d.next = 0.into();
        if self.begins.val() {
            self.counting.d.next = self.counts.val();
        }
        self.counted.d.next = self.index.val();
        // Read in the cycle of the clearing, they are what they were before.
        self.is_cleared.d.next = self.clears.val() & (self.clear_index.val() == self.index.val());
        self.is_looking.d.next = self.looks.val() & !self.begins.val();

        for i in 0..N {
            self.memory[i].clock.next = self.clock.val();
            self.memory[i].read_enable.next = self.begins.val() | self.looks.val();
            self.memory[i].read_address.next = self.look_index.val();
            if self.begins.val() {
                self.memory[i].read_address.next = self.index.val();
            }
            self.piece.next = self.memory[i].read_data.val();
            self.found[i].clock.next = self.clock.val();
            self.found[i].d.next = self.found[i].q.val();
            if self.is_looking.q.val() {
                self.found[i].d.next = self.piece.val();
            }
            self.memory[i].write_enable.next = self.clears.val();
            self.memory[i].write_address.next = self.clear_index.val();
            self.memory[i].write_data.next = 0.into();
            if self.writes.val() {
                self.memory[i].write_enable.next = self.counting.q.val().get_bit(i);
                self.memory[i].write_address.next = self.counted.q.val();
                self.memory[i].write_data.next = self.piece.val() + 1;
                if self.is_cleared.q.val() {
                    self.memory[i].write_data.next = 1.into();
                }
            }
        }
        self.text.next = 0.into();
        for i in 0..N {
            self.piece.next = self.found[i].q.val();
            self.text.next =
                (self.text.val() >> 32) | (bit_cast::<W, 32>(self.piece.val()) << self.top.val());
        }
        self.shown.next = self.text.val();
        if self.reset.val() {
            self.counting.d.next = 0.into();
        }
    }
}
