//! Cuts write bursts into transactions, and says how long each will be.

use rust_hdl::prelude::*;
use stroma_hw::constant::{constants, number};
use stroma_hw::host::axi::{WriteAddress, WriteBeat};
use stroma_hw::prim::block_fifo::BlockFifo;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use crate::pcie::requester::BEAT_DWORDS;

/// log2 of the beats that wait for their turn: 8 KiB, in block RAMs that hold 512 in any case.
const BEATS_LOG: usize = 7;
/// log2 of the transactions.
const PLANS_LOG: usize = 6;
/// Beats that may come after the levels were looked at.
const UNDER_WAY: usize = 4;

record! {
    /// A transaction whose beats have all come, or a burst that makes none.
    pub struct Plan {
        /// Of its first dword, in dwords.
        pub start: Bits<62>,
        /// Beats that hold it.
        pub beats: Bits<5>,
        /// The last one's last dword.
        pub last_at: Bits<4>,
        /// Bytes of the first dword.
        pub first_be: Bits<4>,
        /// Bytes of the last one.
        pub last_be: Bits<4>,
        /// Last of its burst.
        pub ends: Bit,
        /// There is nothing to write.
        pub is_empty: Bit,
    }
}

block! {
    /// Takes bursts, and gives their beats and a plan for each transaction.
    ///
    /// A transaction ends at a multiple of the largest payload, at the end of its burst, and before a beat without strobes. Such beats go no further.
    ///
    /// - **Ports** `aw`, `w`: bursts; `max_payload_log`: of the largest payload in bytes, less than 7 counts as 7 and more than 10 as 10;
    ///   `beats`: those with strobes; `plans`: one a transaction, behind the last of its beats, and one for a burst that would have none at its end.
    /// - **Latency** 4 cycles from `w` to `beats`, 3 from the beat that ends a transaction to `plans`. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `w` when 124 beats or 60 plans wait, or its address is not there; `aw` when 4 addresses wait. `w.ready`
    ///   and `aw.ready` are registers.
    /// - **Reset** empties it.
    /// - **Limits** strobes of neighbouring beats are one run, as the card makes them: what lies between two of them in one transaction is written.
    ///   A new largest payload counts for the next beat.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub max_payload_log: Signal<In, Bits<4>>,
        pub aw: StreamSink<WriteAddress>,
        pub w: StreamSink<WriteBeat<512, 64>>,
        pub beats: StreamSource<Bits<512>>,
        pub plans: StreamSource<Plan>,
        addresses: Fifo<WriteAddress, 2>,
        /// Beats the burst has had.
        given: Reg<Bits<6>>,
        has_room: Reg<Bit>,
        /// Beats of the largest payload, less one.
        within: Reg<Bits<6>>,
        moves: Signal<Local, Bit>,
        page_beat: Signal<Local, Bits<6>>,
        // The beat as it came.
        some: Reg<Bit>,
        held: Reg<WriteBeat<512, 64>>,
        held_at: Reg<Bits<58>>,
        held_closes: Reg<Bit>,
        words: Signal<Local, Bits<16>>,
        first_at: Signal<Local, Bits<4>>,
        last_at: Signal<Local, Bits<4>>,
        // What its strobes say.
        judged: Reg<Bit>,
        judged_any: Reg<Bit>,
        judged_at: Reg<Bits<62>>,
        judged_first_be: Reg<Bits<4>>,
        judged_last_at: Reg<Bits<4>>,
        judged_last_be: Reg<Bits<4>>,
        judged_ends: Reg<Bit>,
        judged_closes: Reg<Bit>,
        // The transaction under way.
        begun: Reg<Bit>,
        open: Reg<Plan>,
        now: Signal<Local, Plan>,
        gives: Signal<Local, Bit>,
        data: BlockFifo<Bits<512>, BEATS_LOG>,
        made: Fifo<Plan, PLANS_LOG>,
        data_room: Constant<Bits<16>> = number((1 << BEATS_LOG) - UNDER_WAY),
        plan_room: Constant<Bits<16>> = number((1 << PLANS_LOG) - UNDER_WAY),
        place: [Constant<Bits<4>>; BEAT_DWORDS] = constants(|at| (at as u64).into()),
        place_bits: [Constant<Bits<6>>; BEAT_DWORDS] = constants(|at| (4 * at as u64).into()),
        // The same from above.
        back: [Constant<Bits<4>>; BEAT_DWORDS] = constants(|at| (15 - at as u64).into()),
        back_bits: [Constant<Bits<6>>; BEAT_DWORDS] = constants(|at| (60 - 4 * at as u64).into()),
        page_log: Constant<Bits<4>> = number(12_u64),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, addresses, data, made);
        dff_setup!(self, clock, given, has_room, within, some, held, held_at, held_closes);
        dff_setup!(self, clock, judged, judged_any, judged_at, judged_first_be, judged_last_at);
        dff_setup!(self, clock, judged_last_be, judged_ends, judged_closes, begun, open);
        self.addresses.reset.next = self.reset.val();
        self.data.reset.next = self.reset.val();
        self.made.reset.next = self.reset.val();
        StreamSink::<WriteAddress>::link(&mut self.aw, &mut self.addresses.sink);
        StreamSource::<Bits<512>>::link(&mut self.beats, &mut self.data.source);
        StreamSource::<Plan>::link(&mut self.plans, &mut self.made.source);

        self.within.d.next = 1.into();
        if self.max_payload_log.val() > 7 {
            self.within.d.next = 3.into();
        }
        if self.max_payload_log.val() > 8 {
            self.within.d.next = 7.into();
        }
        if self.max_payload_log.val() > 9 {
            self.within.d.next = 15.into();
        }

        // A beat comes.
        self.has_room.d.next =
            (self.data.level.val() <= self.data_room.val()) & (self.made.level.val() <= self.plan_room.val());
        self.w.ready.next = self.has_room.q.val() & self.addresses.source.valid.val();
        self.moves.next = self.has_room.q.val() & self.addresses.source.valid.val() & self.w.valid.val();
        self.addresses.source.ready.next = self.moves.val() & self.w.payload.val().last;
        self.page_beat.next = self.addresses.source.payload.val().addr.get_bits::<6>(6) + self.given.q.val();
        self.some.d.next = self.moves.val();
        if self.moves.val() {
            self.given.d.next = self.given.q.val() + 1;
            if self.w.payload.val().last {
                self.given.d.next = 0.into();
            }
            self.held.d.next = self.w.payload.val();
            // Bursts stay in their page.
            self.held_at.d.next =
                (bit_cast::<58, 64>(self.addresses.source.payload.val().addr >> self.page_log.val()) << 6)
                    | bit_cast::<58, 6>(self.page_beat.val());
            self.held_closes.d.next = self.w.payload.val().last
                | ((self.page_beat.val() & self.within.q.val()) == self.within.q.val());
        }

        // Its strobes are read.
        self.words.next = 0.into();
        self.first_at.next = 0.into();
        self.last_at.next = 0.into();
        self.judged_first_be.d.next = 0.into();
        self.judged_last_be.d.next = 0.into();
        for i in 0..16 {
            self.words.next = self
                .words
                .val()
                .replace_bit(i, self.held.q.val().strb.get_bits::<4>(self.place_bits[i].val().index()).any());
        }
        for i in 0..16 {
            if self.words.val().get_bit(i) {
                self.last_at.next = self.place[i].val();
                self.judged_last_be.d.next =
                    self.held.q.val().strb.get_bits::<4>(self.place_bits[i].val().index());
            }
            if self.words.val().get_bit(self.back[i].val().index()) {
                self.first_at.next = self.back[i].val();
                self.judged_first_be.d.next =
                    self.held.q.val().strb.get_bits::<4>(self.back_bits[i].val().index());
            }
        }
        self.judged_last_at.d.next = self.last_at.val();
        self.judged.d.next = self.some.q.val();
        self.judged_any.d.next = self.words.val().any();
        self.judged_at.d.next =
            (bit_cast::<62, 58>(self.held_at.q.val()) << 4) | bit_cast::<62, 4>(self.first_at.val());
        self.judged_ends.d.next = self.held.q.val().last;
        self.judged_closes.d.next = self.held_closes.q.val();
        self.data.sink.valid.next = self.some.q.val() & self.words.val().any();
        self.data.sink.payload.next = self.held.q.val().data;

        // The transaction grows, or is whole.
        self.now.next = self.open.q.val();
        if !self.begun.q.val() {
            self.now.next.start = self.judged_at.q.val();
            self.now.next.first_be = self.judged_first_be.q.val();
            self.now.next.beats = 0.into();
        }
        if self.judged_any.q.val() {
            self.now.next.last_at = self.judged_last_at.q.val();
            self.now.next.last_be = self.judged_last_be.q.val();
            self.now.next.beats = self.now.val().beats + 1;
        }
        self.now.next.ends = self.judged_ends.q.val();
        self.now.next.is_empty = !self.begun.q.val() & !self.judged_any.q.val();
        self.gives.next = self.judged.q.val()
            & ((self.judged_any.q.val() & self.judged_closes.q.val())
                | (!self.judged_any.q.val() & (self.begun.q.val() | self.judged_ends.q.val())));
        self.made.sink.valid.next = self.gives.val();
        self.made.sink.payload.next = self.now.val();
        if self.judged.q.val() {
            self.open.d.next = self.now.val();
            self.begun.d.next = (self.begun.q.val() | self.judged_any.q.val()) & !self.gives.val();
        }
        if self.reset.val() {
            self.given.d.next = 0.into();
            self.has_room.d.next = false;
            self.some.d.next = false;
            self.judged.d.next = false;
            self.begun.d.next = false;
        }
    }
}
