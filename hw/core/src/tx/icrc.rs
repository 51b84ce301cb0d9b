//! Invariant CRC: computed beat by beat while the frame passes, and put into its last four bytes.

use rust_hdl::prelude::*;

use super::leave::Leave;
use super::undo::Undo;
use crate::constant::{constants, number};
use crate::crc::{Matrix, data_masks};
use crate::mask::{Kind, LANES, Mask};
use crate::prim::linear::Linear;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Zero bytes behind the data in every last beat: the ICRC's own four, and two because frames end two bytes off a word.
const LEAST_ZEROS: usize = 6;
/// Words of the widest beat.
const WORDS: usize = 16;

block! {
    /// Fills in the ICRC of each frame.
    ///
    /// The state runs on over the ICRC's place and the fill of the last beat, all zeros; what they did to it is undone with
    /// the last beat: six bytes already in the matrix that reads the data, then 0, 4, 8 or 12 bytes, then 0, 16, 32 or 48,
    /// all four side by side.
    ///
    /// ```text
    ///   sink ─ Mask, data matrix ─▮─ state, undo to 12 ─▮─ undo to 48, fill in ─ FIFO ─┬─ source
    ///                                                       └─ FIFO (halves) ──────────┘
    /// ```
    ///
    /// - **Ports** `sink`: frames whose last four bytes are zero; `kind`, `splits`: of the beat on offer there, what its frame
    ///   is, and that the next beat ends it with fewer than four bytes; `source`: the frames with their ICRC.
    /// - **Latency** 3 cycles; a beat that `splits` waits for its successor, because the ICRC begins in it: half of it is
    ///   put in on the way out. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink`, drops nothing: what has come moves on whatever happens, and eight places hold all of it.
    ///   `sink.ready` is a register; no combinational path from any port to any other.
    /// - **Reset** empties it; the next beat begins a frame.
    /// - **Limits** frames end two bytes off a whole word, as they do behind an Ethernet header; others get a wrong ICRC.
    pub struct Icrc<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub kind: Signal<In, Kind>,
        pub splits: Signal<In, Bit>,
        pub source: StreamSource<Beat<D>>,
        valid: [Reg<Bit>; 2],
        beat: [Reg<Beat<D>>; 2],
        split: [Reg<Bit>; 2],
        leave: Leave<D>,
        lane: Reg<Bits<LANES>>,
        fold: Reg<Bits<32>>,
        state: Reg<Bits<32>>,
        mask: Mask<D>,
        data_matrix: Linear<D> = Linear::new(read_ahead::<D>()),
        state_matrix: Linear<32> = Linear::new(Matrix::advance(D / 8).masks()),
        undo_4: Undo = Undo::new(4),
        undo_16: Undo = Undo::new(16),
        this_lane: Signal<Local, Bits<LANES>>,
        fill: [Signal<Local, Bits<7>>; 2],
        next_state: Signal<Local, Bits<32>>,
        crc: Signal<Local, Bits<32>>,
        filled: [Signal<Local, Bits<D>>; WORDS],
        enters: Signal<Local, Bit>,
        straddles: Signal<Local, Bit>,
        first_lane: Constant<Bits<LANES>> = number(1_u64),
        most_fill: Constant<Bits<7>> = number(D / 8 - 4),
        /// Where the ICRC stands in a last beat of so many whole words, two bytes before their end.
        is_word: [Constant<Bit>; WORDS] = constants(|word| word > 0 && word < D / 32),
        words: [Constant<Bits<5>>; WORDS] = constants(|word| (word as u64).into()),
        place: [Constant<Bits<10>>; WORDS] = constants(|word| (32 * word as u64).saturating_sub(16).into()),
    }
}

/// The matrix from a beat to the state, with [`LEAST_ZEROS`] undone. Powers of one matrix commute, so undoing before the
/// state has run is as good as after.
fn read_ahead<const D: usize>() -> [Bits<D>; 32] {
    let (rows, undo) = (data_masks::<D>(), Matrix::advance(LEAST_ZEROS).inverse().masks());
    undo.map(|picked| {
        let picked = (0..32).filter(|row| picked.get_bit(*row));
        picked.fold(Bits::default(), |sum, row| sum ^ rows[row])
    })
}

impl<const D: usize> Logic for Icrc<D> {
    #[hdl_gen]
    #[expect(clippy::collapsible_if, reason = "the outer condition is a constant, which the emitter folds")]
    fn update(&mut self) {
        clock!(self, clock, leave);
        dff_setup!(self, clock, lane, fold, state);
        self.leave.reset.next = self.reset.val();
        for i in 0..2 {
            self.valid[i].clock.next = self.clock.val();
            self.valid[i].d.next = self.valid[i].q.val();
            self.beat[i].clock.next = self.clock.val();
            self.beat[i].d.next = self.beat[i].q.val();
            self.split[i].clock.next = self.clock.val();
            self.split[i].d.next = self.split[i].q.val();
        }

        // What the zeros behind the data did, of the last beat.
        self.fill[1].next = !self.beat[1].q.val().nbytes & self.most_fill.val();
        self.undo_16.state.next = self.state.q.val();
        self.undo_16.times.next = self.fill[1].val().get_bits::<2>(4);
        self.crc.next = !self.undo_16.undone.val();

        self.straddles.next = self.beat[1].q.val().eop & !self.beat[1].q.val().nbytes.get_bits::<5>(2).any();
        self.filled[0].next = self.beat[1].q.val().data;
        if self.straddles.val() {
            self.filled[0].next =
                self.beat[1].q.val().data | bit_cast::<D, 16>(self.crc.val().get_bits::<16>(16));
        }
        for i in 0..15 {
            self.filled[i + 1].next = self.filled[i].val();
            if self.is_word[i + 1].val() {
                if self.beat[1].q.val().eop
                    & (self.beat[1].q.val().nbytes.get_bits::<5>(2) == self.words[i + 1].val())
                {
                    self.filled[i + 1].next =
                        self.filled[i].val() | (bit_cast::<D, 32>(self.crc.val()) << self.place[i + 1].val());
                }
            }
        }
        self.leave.some.next = self.valid[1].q.val();
        self.leave.beat.next = self.beat[1].q.val();
        self.leave.beat.next.data = self.filled[15].val();
        self.leave.splits.next = self.split[1].q.val();
        self.leave.straddles.next = self.straddles.val();
        self.leave.half.next = self.crc.val().get_bits::<16>(0);
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.leave.source);

        self.state_matrix.vector.next = self.state.q.val();
        self.next_state.next = self.state_matrix.image.val() ^ self.fold.q.val();
        if self.beat[0].q.val().sop {
            self.next_state.next = self.fold.q.val();
        }
        self.fill[0].next = !self.beat[0].q.val().nbytes & self.most_fill.val();
        self.undo_4.state.next = self.next_state.val();
        self.undo_4.times.next = self.fill[0].val().get_bits::<2>(2);
        self.valid[1].d.next = self.valid[0].q.val();
        self.beat[1].d.next = self.beat[0].q.val();
        self.split[1].d.next = self.split[0].q.val();
        if self.valid[0].q.val() {
            self.state.d.next = self.next_state.val();
            if self.beat[0].q.val().eop {
                self.state.d.next = self.undo_4.undone.val();
            }
        }

        // The way in.
        self.this_lane.next = self.lane.q.val();
        if self.sink.payload.val().sop {
            self.this_lane.next = self.first_lane.val();
        }
        self.mask.lane.next = self.this_lane.val();
        self.mask.kind.next = self.kind.val();
        self.data_matrix.vector.next =
            (self.sink.payload.val().data & self.mask.keep.val()) ^ self.mask.flip.val();
        self.sink.ready.next = self.leave.room.val();
        self.enters.next = self.sink.valid.val() & self.leave.room.val();
        self.valid[0].d.next = self.enters.val();
        self.beat[0].d.next = self.sink.payload.val();
        self.split[0].d.next = self.splits.val();
        self.fold.d.next = self.data_matrix.image.val();
        if self.enters.val() {
            self.lane.d.next = self.this_lane.val() << 1;
        }
        if self.reset.val() {
            for i in 0..2 {
                self.valid[i].d.next = false;
            }
        }
    }
}
