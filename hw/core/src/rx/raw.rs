//! Frames that are not RoCE: kept whole for the host, as far as there is room.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::wire::Class;
use stroma_abi::wire::classify::PAYLOAD_MAX;

use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSource};

/// log2 of the frames that wait at most.
const FRAMES_LOG: usize = 6;
/// Frames that may be judged before the first of them is seen to wait.
const ON_THE_WAY: usize = 4;

/// One bit a class: are its frames for the raw queue?
fn raw_classes() -> Constant<Bits<16>> {
    number(Class::RAW.iter().fold(0_u64, |mask, class| mask | 1 << class.index()))
}

block! {
    /// Keeps the frames whose class is one of [`Class::RAW`].
    ///
    /// ```text
    ///   beat ─ held ─ PacketFifo ─ payload
    ///            └─ length ─ FIFO ─ head
    /// ```
    ///
    /// The last beat of a frame may hold no byte; a beat is held until it is known whether it is the last that does.
    ///
    /// - **Ports** `moves`, `beat`: a beat of a frame passes, in this cycle; `frame_class`: of its frame, as far as the headers tell.
    ///   `enable`: frames are wanted; it counts in the cycle of a frame's first beat. `head`: one for each frame that is kept,
    ///   `raw` and its bytes in `payload_len`, zero elsewhere; `payload`: the frames, in the same order. `dropped`: high for a
    ///   cycle, a frame that was wanted is lost. One that the MAC calls bad is not wanted.
    /// - **Latency** 3 cycles from a frame's last beat to its head or to `dropped`, 4 to its payload. **Rate** 1 beat per cycle.
    /// - **Backpressure** none towards `beat`: a frame that finds no room, among `2^LOG` beats and 60 frames, is lost as a
    ///   whole.
    /// - **Reset** forgets everything; the next beat begins a frame.
    /// - **Limits** a frame has 1 to 4096 bytes; a longer one is lost. `2^LOG` beats hold one.
    pub struct Raw<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub moves: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub frame_class: Signal<In, Bits<4>>,
        pub enable: Signal<In, Bit>,
        pub head: StreamSource<Head>,
        pub payload: StreamSource<Beat<D>>,
        pub dropped: Signal<Out, Bit>,
        store: PacketFifo<D, LOG> = PacketFifo::new(true),
        lengths: Fifo<Bits<13>, FRAMES_LOG>,
        /// A frame is under way, and is wanted.
        is_open: Reg<Bit>,
        wants: Reg<Bit>,
        /// Bytes of it so far, or more than a frame may have.
        bytes: Reg<Bits<13>>,
        held: Reg<Beat<D>>,
        is_held: Reg<Bit>,
        /// If the held beat ends its frame: its bytes, and whether the MAC calls it bad.
        held_bytes: Reg<Bits<13>>,
        was_spoilt: Reg<Bit>,
        /// A frame that was wanted ended in the store in the cycle before.
        has_ended: Reg<Bit>,
        was_good: Reg<Bit>,
        ended_bytes: Reg<Bits<13>>,
        lost_before: Reg<Bits<32>>,
        was_dropped: Reg<Bit>,
        is_wanted: Signal<Local, Bit>,
        is_empty: Signal<Local, Bit>,
        before: Signal<Local, Bits<13>>,
        sum: Signal<Local, Bits<13>>,
        total: Signal<Local, Bits<13>>,
        is_bad: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        is_refused: Signal<Local, Bit>,
        is_spoilt: Signal<Local, Bit>,
        is_lost: Signal<Local, Bit>,
        classes: Constant<Bits<16>> = raw_classes(),
        longest: Constant<Bits<13>> = number(PAYLOAD_MAX),
        too_long: Constant<Bits<13>> = number(PAYLOAD_MAX + 1),
        room: Constant<Bits<16>> = number((1_usize << FRAMES_LOG) - ON_THE_WAY),
        nothing: Constant<Head> = Constant::new(Head::default()),
    }
}

impl<const D: usize, const LOG: usize> Logic for Raw<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, store, lengths);
        dff_setup!(self, clock, is_open, wants, bytes, held, is_held, held_bytes, was_spoilt);
        dff_setup!(self, clock, has_ended, was_good, ended_bytes, lost_before, was_dropped);
        self.store.reset.next = self.reset.val();
        self.lengths.reset.next = self.reset.val();

        // What passes.
        self.is_wanted.next = self.wants.q.val();
        self.before.next = self.bytes.q.val();
        if !self.is_open.q.val() {
            self.is_wanted.next =
                self.enable.val() & self.classes.val().get_bit(self.frame_class.val().index());
            self.before.next = 0.into();
        }
        self.sum.next = self.before.val() + bit_cast::<13, 7>(self.beat.val().nbytes);
        self.total.next = self.sum.val();
        if self.sum.val() > self.longest.val() {
            self.total.next = self.too_long.val();
        }
        self.is_empty.next = !self.beat.val().nbytes.any();
        self.is_bad.next = self.beat.val().err
            | (self.total.val() > self.longest.val())
            | (self.lengths.level.val() >= self.room.val());
        if self.moves.val() {
            self.is_open.d.next = !self.beat.val().eop;
            self.wants.d.next = self.is_wanted.val();
            self.bytes.d.next = self.total.val();
        }

        // The beat before goes on when another comes, or when it is the last. One without a byte ends the one before.
        self.closes.next =
            self.moves.val() & self.is_wanted.val() & self.beat.val().eop & self.is_empty.val();
        self.gives.next =
            self.is_held.q.val() & (self.held.q.val().eop | (self.moves.val() & self.is_wanted.val()));
        self.store.sink.valid.next = self.gives.val();
        self.store.sink.payload.next = self.held.q.val();
        self.ends.next = self.gives.val() & self.held.q.val().eop;
        self.is_refused.next = self.held.q.val().err;
        self.is_spoilt.next = self.was_spoilt.q.val();
        self.ended_bytes.d.next = self.held_bytes.q.val();
        if self.gives.val() & !self.held.q.val().eop & self.closes.val() {
            self.store.sink.payload.next.eop = true;
            self.store.sink.payload.next.err = self.is_bad.val();
            self.ends.next = true;
            self.is_refused.next = self.is_bad.val();
            self.is_spoilt.next = self.beat.val().err;
            self.ended_bytes.d.next = self.total.val();
        }
        if self.gives.val() {
            self.is_held.d.next = false;
        }
        if self.moves.val() & self.is_wanted.val() & !self.closes.val() {
            self.is_held.d.next = true;
            self.held.d.next = self.beat.val();
            self.held.d.next.sop = !self.is_open.q.val();
            self.held.d.next.err = self.beat.val().eop & self.is_bad.val();
            self.was_spoilt.d.next = self.beat.val().err;
            self.held_bytes.d.next = self.total.val();
        }

        // What the store had no room for it counts in the cycle behind the frame's end.
        self.has_ended.d.next = self.ends.val() & !self.is_spoilt.val();
        self.was_good.d.next = !self.is_refused.val();
        self.lost_before.d.next = self.store.overflowed.val();
        self.is_lost.next =
            !self.was_good.q.val() | (self.store.overflowed.val() != self.lost_before.q.val());
        self.lengths.sink.valid.next = self.has_ended.q.val() & !self.is_lost.val();
        self.lengths.sink.payload.next = self.ended_bytes.q.val();
        self.was_dropped.d.next = self.has_ended.q.val() & self.is_lost.val();
        self.dropped.next = self.was_dropped.q.val();

        self.head.valid.next = self.lengths.source.valid.val();
        self.head.payload.next = self.nothing.val();
        self.head.payload.next.raw = true;
        self.head.payload.next.payload_len = self.lengths.source.payload.val();
        self.lengths.source.ready.next = self.head.ready.val();
        StreamSource::<Beat<D>>::link(&mut self.payload, &mut self.store.source);
        if self.reset.val() {
            self.is_open.d.next = false;
            self.is_held.d.next = false;
            self.has_ended.d.next = false;
            self.was_dropped.d.next = false;
            self.lost_before.d.next = 0.into();
        }
    }
}
