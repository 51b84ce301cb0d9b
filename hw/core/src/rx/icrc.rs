//! Invariant CRC check, and with it the verdict on a frame.

use rust_hdl::prelude::*;
use stroma_abi::wire::{Class, Ethernet};

use super::invariant::Invariant;
use super::place::class;
use super::settle::Plan;
use crate::constant::number;
use crate::crc::{Matrix, data_masks, residue_after};
use crate::prim::fifo::Fifo;
use crate::prim::linear::Linear;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

/// The ICRC ends at one of this many places in the widest beat: behind the Ethernet header everything is words.
const ENDS: usize = 16;

record! {
    /// What became of a frame.
    pub struct Verdict {
        /// Its class, final.
        pub class: Bits<4>,
        /// Its headers promised a payload, so a payload packet is on its way, good or bad.
        pub paid: Bit,
    }
}

record! {
    /// What travels beside a beat through the CRC.
    pub struct Note {
        pub first: Bit,
        pub last: Bit,
        pub live: Bit,
        /// With `last`: the class if the CRC is right.
        pub class: Bits<4>,
        pub paid: Bit,
        /// The state that a right CRC leaves.
        pub residue: Bits<32>,
    }
}

block! {
    /// Judges frames.
    ///
    /// ```text
    ///   sink ─ Invariant ─▮─ data masks ─▮─ state ─▮─ compare ─ FIFO ─ source
    /// ```
    ///
    /// - **Ports** `sink`: beats of frames; `plan`: that of the frame on offer, for all its beats; `source`: one
    ///   [`Verdict`] per frame, in order.
    /// - **Latency** 4 cycles from `eop`. **Rate** 1 beat per cycle.
    /// - **Backpressure** the pipeline never stops; `sink` is refused while eight verdicts wait, and there is room
    ///   for those under way. No combinational path from port to port.
    /// - **Reset** forgets everything; the next beat begins a frame.
    pub struct Icrc<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub plan: Signal<In, Plan>,
        pub source: StreamSource<Verdict>,
        invariant: Invariant<D>,
        valid: [Reg<Bit>; 3],
        note: [Reg<Note>; 3],
        masked: Reg<Bits<D>>,
        fold: Reg<Bits<32>>,
        state: Reg<Bits<32>>,
        waiting: Fifo<Verdict, 4>,
        moves: Signal<Local, Bit>,
        ready: Signal<Local, Bit>,
        end_in_beat: Signal<Local, Bits<13>>,
        zero: Constant<Bits<32>> = number(0_u64),
        within_beat: Constant<Bits<13>> = number(D / 8 - 1),
        data_matrix: Linear<D> = Linear::new(data_masks::<D>()),
        state_matrix: Linear<32> = Linear::new(Matrix::advance(D / 8).masks()),
        end: [Constant<Bits<13>>; ENDS] = std::array::from_fn(|word| number(end(word))),
        residue: [Constant<Bits<32>>; ENDS] = std::array::from_fn(|word| number(residue_after(fill::<D>(word)))),
        mac_error: Constant<Bits<4>> = class(Class::MacError),
        truncated: Constant<Bits<4>> = class(Class::Truncated),
        wrong_crc: Constant<Bits<4>> = class(Class::Icrc),
    }
}

/// Bytes of the last beat up to the end of the ICRC, for each place it can have.
const fn end(word: usize) -> usize {
    Ethernet::LEN % 4 + 4 * word
}

/// Bytes of the last beat behind it; narrow beats do not have the later places.
const fn fill<const D: usize>(word: usize) -> usize {
    (D / 8).saturating_sub(end(word))
}

impl<const D: usize> Logic for Icrc<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, invariant, waiting);
        dff_setup!(self, clock, masked, fold, state);
        for i in 0..3 {
            self.valid[i].clock.next = self.clock.val();
            self.note[i].clock.next = self.clock.val();
        }
        self.waiting.reset.next = self.reset.val();
        self.invariant.reset.next = self.reset.val();

        self.ready.next = self.waiting.level.val() < 8;
        self.sink.ready.next = self.ready.val();
        self.moves.next = self.sink.valid.val() & self.ready.val();
        self.invariant.beat.next = self.sink.payload.val();
        self.invariant.moves.next = self.moves.val();
        self.invariant.plan.next = self.plan.val();

        // The beat, masked, and all that is known of it.
        self.valid[0].d.next = self.moves.val();
        self.masked.d.next = self.invariant.data.val();
        self.note[0].d.next.first = self.invariant.is_first.val();
        self.note[0].d.next.last = self.sink.payload.val().eop;
        self.note[0].d.next.live = self.invariant.is_live.val();
        self.note[0].d.next.paid = self.plan.val().keep.any();
        self.note[0].d.next.class = self.plan.val().class;
        if self.sink.payload.val().err {
            self.note[0].d.next.class = self.mac_error.val();
        } else if !self.plan.val().class.any() & self.invariant.is_cut.val() {
            self.note[0].d.next.class = self.truncated.val();
        }
        self.end_in_beat.next = self.plan.val().end & self.within_beat.val();
        self.note[0].d.next.residue = self.zero.val();
        for i in 0..ENDS {
            if self.end_in_beat.val() == self.end[i].val() {
                self.note[0].d.next.residue = self.residue[i].val();
            }
        }

        // What the data alone does to the state.
        self.valid[1].d.next = self.valid[0].q.val();
        self.note[1].d.next = self.note[0].q.val();
        self.data_matrix.vector.next = self.masked.q.val();
        self.fold.d.next = self.data_matrix.image.val();

        // The state.
        self.valid[2].d.next = self.valid[1].q.val();
        self.note[2].d.next = self.note[1].q.val();
        self.state_matrix.vector.next = self.state.q.val();
        if self.valid[1].q.val() & self.note[1].q.val().live {
            self.state.d.next = self.state_matrix.image.val() ^ self.fold.q.val();
            if self.note[1].q.val().first {
                self.state.d.next = self.fold.q.val();
            }
        }

        // The verdict.
        self.waiting.sink.valid.next = self.valid[2].q.val() & self.note[2].q.val().last;
        self.waiting.sink.payload.next.paid = self.note[2].q.val().paid;
        self.waiting.sink.payload.next.class = self.note[2].q.val().class;
        if !self.note[2].q.val().class.any() & (self.state.q.val() != self.note[2].q.val().residue) {
            self.waiting.sink.payload.next.class = self.wrong_crc.val();
        }
        StreamSource::<Verdict>::link(&mut self.source, &mut self.waiting.source);
        if self.reset.val() {
            for i in 0..3 {
                self.valid[i].d.next = false;
            }
        }
    }
}
