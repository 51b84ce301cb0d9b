//! Moves each packet to the lanes its address asks for.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::axi::WriteBeat;
use crate::prim::fifo::Fifo;
use crate::prim::insert::turn::Turn;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the beats that wait for the host.
const WAITING_LOG: usize = 3;
/// Beats that have moved, or do, and that are not among those known to wait: in both stages, one that joins them, one that moves.
const UNDER_WAY: usize = 4;

record! {
    /// What the beats of a burst look like.
    pub struct Plan {
        /// Beats, less one.
        pub len: Bits<8>,
        /// By how many bytes the command's data move up.
        pub shift: Bits<6>,
        /// Bytes of the last beat up to the last one written.
        pub until: Bits<7>,
        /// First of its command.
        pub starts: Bit,
        /// Last of its command.
        pub ends: Bit,
    }
}

block! {
    /// Makes write beats of packets.
    ///
    /// A beat of data fills the upper lanes of one write beat and the lower lanes of the next, so each write beat takes one
    /// beat of data; but the last one of a command may find that all of its bytes came with the beat before. Lanes that are not
    /// written carry anything.
    ///
    /// The lanes never stop: what is on its way when the host pauses has room in a FIFO. A signal that stops 512 lanes in three
    /// stages would be the slowest of the block.
    ///
    /// - **Ports** `plan`: one a burst; `data`: one packet a command; `w`: the beats of the bursts.
    /// - **Latency** 3 cycles. **Rate** 1 beat of `w` per cycle, without a gap between bursts.
    /// - **Backpressure** stalls `plan` and `data` when more than 4 beats wait; `w.ready` is cut, `plan.ready` follows `data.valid` and `data.ready`
    ///   follows `plan.valid` combinationally.
    /// - **Reset** empties it; the next beat of `data` begins a packet.
    /// - **Limits** `D = 8 * K`, `K` a power of two, at most 64.
    pub struct Align<const D: usize, const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plan: StreamSink<Plan>,
        pub data: StreamSink<Beat<D>>,
        pub w: StreamSource<WriteBeat<D, K>>,
        /// Beats the burst under way has had.
        given: Reg<Bits<8>>,
        turn: Turn<D>,
        strobes: [Reg<Bits<K>>; 2],
        waiting: Fifo<WriteBeat<D, K>, WAITING_LOG>,
        has_room: Reg<Bit>,
        is_first: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        is_rest: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        until: Signal<Local, Bits<7>>,
        missing: Signal<Local, Bits<6>>,
        every: Constant<Bits<K>> = Constant::new(Bits::mask()),
        beat_bytes: Constant<Bits<7>> = number(K),
        room: Constant<Bits<16>> = number((1 << WAITING_LOG) - UNDER_WAY),
    }
}

impl<const D: usize, const K: usize> Logic for Align<D, K> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, waiting);
        dff_setup!(self, clock, given, has_room);
        for i in 0..2 {
            self.strobes[i].clock.next = self.clock.val();
        }
        self.turn.reset.next = self.reset.val();
        self.waiting.reset.next = self.reset.val();

        self.has_room.d.next = self.waiting.level.val() <= self.room.val();
        self.is_first.next = self.plan.payload.val().starts & !self.given.q.val().any();
        self.is_last.next = self.given.q.val() == self.plan.payload.val().len;
        // Never of a beat that is also the first: there the bytes begin at `shift`.
        self.is_rest.next = self.is_last.val()
            & self.plan.payload.val().ends
            & (self.plan.payload.val().until <= bit_cast::<7, 6>(self.plan.payload.val().shift));
        self.moves.next =
            self.has_room.q.val() & self.plan.valid.val() & (self.data.valid.val() | self.is_rest.val());
        self.plan.ready.next = self.moves.val() & self.is_last.val();
        self.data.ready.next = self.has_room.q.val() & self.plan.valid.val() & !self.is_rest.val();
        if self.moves.val() {
            self.given.d.next = self.given.q.val() + 1;
            if self.is_last.val() {
                self.given.d.next = 0.into();
            }
        }

        self.turn.advance.next = true;
        self.turn.some.next = self.moves.val();
        self.turn.header.next = 0.into();
        self.turn.shift.next = self.plan.payload.val().shift;
        self.turn.beat.next = self.data.payload.val();
        self.turn.beat.next.sop = self.is_first.val();
        self.turn.beat.next.eop = self.is_last.val();

        self.missing.next = 0.into();
        if self.is_first.val() {
            self.missing.next = self.plan.payload.val().shift;
        }
        self.until.next = self.beat_bytes.val();
        if self.is_last.val() {
            self.until.next = self.plan.payload.val().until;
        }
        self.strobes[0].d.next =
            (self.every.val() << self.missing.val()) & !(self.every.val() << self.until.val());
        self.strobes[1].d.next = self.strobes[0].q.val();

        self.waiting.sink.valid.next = self.turn.joined.val();
        self.waiting.sink.payload.next.data = self.turn.joined_beat.val().data;
        self.waiting.sink.payload.next.strb = self.strobes[1].q.val();
        self.waiting.sink.payload.next.last = self.turn.joined_beat.val().eop;
        StreamSource::<WriteBeat<D, K>>::link(&mut self.w, &mut self.waiting.source);
        if self.reset.val() {
            self.given.d.next = 0.into();
            self.has_room.d.next = false;
        }
    }
}
