//! Puts transactions together: a descriptor, and the payload moved up right behind it.

use rust_hdl::prelude::*;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::prepare::Recipe;
use crate::pcie::requester::{BEAT_DWORDS, RqBeat};

/// log2 of the beats that wait for the block.
const WAITING_LOG: usize = 3;
/// Beats that may come after the level was looked at.
const UNDER_WAY: usize = 4;
/// Steps of a turn: 16 dwords.
const TURNS: usize = 4;

record! {
    /// An [`RqBeat`] that knows whether a burst ends with it.
    pub struct Outgoing {
        /// As there.
        pub data: Bits<512>,
        /// As there.
        pub keep: Bits<16>,
        /// As there.
        pub first_be: Bits<4>,
        /// As there.
        pub last_be: Bits<4>,
        /// As there.
        pub sequence: Bits<6>,
        /// As there.
        pub last: Bit,
        /// Nothing of its burst follows.
        pub ends: Bit,
    }
}

block! {
    /// Makes transactions of recipes and beats.
    ///
    /// Each step turns one beat round by the same number of dwords, so that a dword of the outcome has two places to come from: this
    /// step's beat, or the one before.
    ///
    /// - **Ports** `recipes`: transactions, all beats of which have come or are about to; `beats`: theirs; `room`, `sequence`: one may begin, with this
    ///   number; `starts`, `ends`, `is_empty`: one does, or a burst without any has passed. `rq`: the transactions, each without a gap;
    ///   `leaves`: nothing is left of a burst.
    /// - **Latency** 2 cycles from `beats` to `rq`. **Rate** 1 beat of `rq` per cycle, without a gap between transactions but for those that begin behind
    ///   dword 4 of a beat, which take one cycle more.
    /// - **Backpressure** stalls `beats` and `recipes` when more than 4 beats wait; `rq.ready` is cut, `starts` and both `ready` follow `room`,
    ///   `recipes` and `beats` combinationally.
    /// - **Reset** empties it.
    pub struct Assemble {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub recipes: StreamSink<Recipe>,
        pub beats: StreamSink<Bits<512>>,
        pub room: Signal<In, Bit>,
        pub sequence: Signal<In, Bits<6>>,
        pub starts: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub is_empty: Signal<Out, Bit>,
        pub rq: StreamSource<RqBeat>,
        pub leaves: Signal<Out, Bit>,
        pub is_idle: Signal<Out, Bit>,
        step: Reg<Bits<5>>,
        /// The step whose beat begins with the descriptor.
        head_step: Signal<Local, Bits<5>>,
        /// Its number, from the first step on.
        number: Reg<Bits<6>>,
        has_room: Reg<Bit>,
        waiting: Fifo<Outgoing, WAITING_LOG>,
        recipe: Signal<Local, Recipe>,
        is_first: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        wants: Signal<Local, Bit>,
        may: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        is_quiet: Signal<Local, Bit>,
        turned: [Signal<Local, Bits<512>>; TURNS + 1],
        // The step taken before.
        some: Reg<Bit>,
        heads: Reg<Bit>,
        now: Reg<Bits<512>>,
        before: Reg<Bits<512>>,
        from_before: Reg<Bits<16>>,
        descriptor: Reg<Bits<128>>,
        rest: Reg<Outgoing>,
        picked: Signal<Local, Bits<512>>,
        whole: Signal<Local, Bits<512>>,
        room_below: Constant<Bits<16>> = number((1 << WAITING_LOG) - UNDER_WAY),
        every: Constant<Bits<16>> = number(0xffff_u64),
        up: [Constant<Bits<10>>; TURNS] = constants(|turn| (32_u64 << turn).into()),
        down: [Constant<Bits<10>>; TURNS] = constants(|turn| (512 - (32_u64 << turn)).into()),
        dword: [Constant<Bits<512>>; BEAT_DWORDS] = constants(|at| Bits::<512>::from(0xffff_ffff_u64) << Bits::<10>::from(32 * at as u64)),
        descriptor_bits: Constant<Bits<10>> = number(128_u64),
    }
}

impl Logic for Assemble {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "two steps and the record between them")]
    fn update(&mut self) {
        clock!(self, clock, waiting);
        dff_setup!(
            self,
            clock,
            step,
            number,
            has_room,
            some,
            heads,
            now,
            before,
            from_before,
            descriptor,
            rest
        );
        self.waiting.reset.next = self.reset.val();

        self.recipe.next = self.recipes.payload.val();
        self.is_first.next = !self.step.q.val().any();
        self.is_last.next = self.step.q.val() == self.recipe.val().last_step;
        self.wants.next = self.step.q.val() < self.recipe.val().beats;
        self.has_room.d.next = self.waiting.level.val() <= self.room_below.val();
        self.may.next = self.recipes.valid.val()
            & !self.recipe.val().is_empty
            & self.has_room.q.val()
            & (self.room.val() | !self.is_first.val());
        self.moves.next = self.may.val() & (self.beats.valid.val() | !self.wants.val());
        self.beats.ready.next = self.may.val() & self.wants.val();
        // What went before has to be gone when a burst without bytes is said to be.
        self.is_quiet.next = !self.some.q.val() & !self.waiting.source.valid.val();
        self.passes.next =
            self.recipes.valid.val() & self.recipe.val().is_empty & self.room.val() & self.is_quiet.val();
        self.recipes.ready.next = (self.moves.val() & self.is_last.val()) | self.passes.val();
        self.starts.next = (self.moves.val() & self.is_first.val()) | self.passes.val();
        self.ends.next = self.recipe.val().ends;
        self.is_empty.next = self.recipe.val().is_empty;

        self.turned[0].next = self.beats.payload.val();
        for i in 0..TURNS {
            self.turned[i + 1].next = self.turned[i].val();
            if self.recipe.val().turn.get_bit(i) {
                self.turned[i + 1].next =
                    (self.turned[i].val() << self.up[i].val()) | (self.turned[i].val() >> self.down[i].val());
            }
        }
        self.some.d.next = self.moves.val() & !(self.recipe.val().is_late & self.is_first.val());
        self.head_step.next = 0.into();
        if self.recipe.val().is_late {
            self.head_step.next = 1.into();
        }
        if self.moves.val() {
            self.step.d.next = self.step.q.val() + 1;
            if self.is_last.val() {
                self.step.d.next = 0.into();
            }
            self.heads.d.next = self.step.q.val() == self.head_step.val();
            self.now.d.next = self.turned[4].val();
            self.before.d.next = self.now.q.val();
            self.from_before.d.next = !(self.every.val() << self.recipe.val().turn);
            self.descriptor.d.next = self.recipe.val().descriptor;
            self.rest.d.next.keep = self.every.val();
            if self.is_last.val() {
                self.rest.d.next.keep = self.recipe.val().keep;
            }
            self.rest.d.next.first_be = self.recipe.val().first_be;
            self.rest.d.next.last_be = self.recipe.val().last_be;
            self.rest.d.next.sequence = self.number.q.val();
            if self.is_first.val() {
                self.rest.d.next.sequence = self.sequence.val();
                self.number.d.next = self.sequence.val();
            }
            self.rest.d.next.last = self.is_last.val();
            self.rest.d.next.ends = self.is_last.val() & self.recipe.val().ends;
        }

        self.picked.next = self.now.q.val();
        for i in 0..BEAT_DWORDS {
            if self.from_before.q.val().get_bit(i) {
                self.picked.next =
                    (self.picked.val() & !self.dword[i].val()) | (self.before.q.val() & self.dword[i].val());
            }
        }
        self.whole.next = self.picked.val();
        if self.heads.q.val() {
            self.whole.next = ((self.picked.val() >> self.descriptor_bits.val())
                << self.descriptor_bits.val())
                | bit_cast::<512, 128>(self.descriptor.q.val());
        }
        self.waiting.sink.valid.next = self.some.q.val();
        self.waiting.sink.payload.next = self.rest.q.val();
        self.waiting.sink.payload.next.data = self.whole.val();

        self.rq.valid.next = self.waiting.source.valid.val();
        self.rq.payload.next.data = self.waiting.source.payload.val().data;
        self.rq.payload.next.keep = self.waiting.source.payload.val().keep;
        self.rq.payload.next.first_be = self.waiting.source.payload.val().first_be;
        self.rq.payload.next.last_be = self.waiting.source.payload.val().last_be;
        self.rq.payload.next.sequence = self.waiting.source.payload.val().sequence;
        self.rq.payload.next.last = self.waiting.source.payload.val().last;
        self.waiting.source.ready.next = self.rq.ready.val();
        self.leaves.next = self.passes.val()
            | (self.waiting.source.valid.val()
                & self.rq.ready.val()
                & self.waiting.source.payload.val().ends);
        self.is_idle.next = self.is_quiet.val();
        if self.reset.val() {
            self.step.d.next = 0.into();
            self.has_room.d.next = false;
            self.some.d.next = false;
        }
    }
}
