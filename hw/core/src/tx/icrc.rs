//! Invariant CRC: computed beat by beat while the frame passes, and put into its last four bytes.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::crc::{Matrix, data_masks};
use crate::mask::{Kind, LANES, Mask};
use crate::prim::linear::Linear;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Zero bytes behind the data in every last beat: the ICRC's own four, and two because frames end two bytes off a word.
const LEAST_ZEROS: usize = 6;

block! {
    /// Fills in the ICRC of each frame.
    ///
    /// The state runs on over the ICRC's place and the fill of the last beat, all zeros; what they did to it is undone
    /// behind the last beat: six bytes already in the matrix that reads the data, the rest in steps of 4, 8, 16, 32 bytes.
    ///
    /// ```text
    ///   sink ─ Mask ─▮─ data matrix ─▮─ state ─▮─ undo 4, 8 ─▮─ undo 16, 32 ─▮─ fill in ─▮─ source
    /// ```
    ///
    /// - **Ports** `sink`: frames whose last four bytes are zero; `kind`: one a frame; `source`: the frames with their ICRC.
    /// - **Latency** 6 cycles; a beat waits for its successor, because the ICRC may begin in the last beat but one.
    ///   **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink`, drops nothing; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** empties it; the next beat begins a frame.
    /// - **Limits** frames end two bytes off a whole word, as they do behind an Ethernet header; others get a wrong ICRC.
    pub struct Icrc<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub kind: StreamSink<Kind>,
        pub source: StreamSource<Beat<D>>,
        valid: [Reg<Bit>; 5],
        beat: [Reg<Beat<D>>; 5],
        lane: Reg<Bits<LANES>>,
        held_kind: Reg<Kind>,
        masked: Reg<Bits<D>>,
        fold: Reg<Bits<32>>,
        state: Reg<Bits<32>>,
        undone: [Reg<Bits<32>>; 2],
        last: Reg<Beat<D>>,
        last_valid: Reg<Bit>,
        mask: Mask<D>,
        data_matrix: Linear<D> = Linear::new(read_ahead::<D>()),
        state_matrix: Linear<32> = Linear::new(Matrix::advance(D / 8).masks()),
        undo_4: Linear<32> = Linear::new(Matrix::advance(4).inverse().masks()),
        undo_8: Linear<32> = Linear::new(Matrix::advance(8).inverse().masks()),
        undo_16: Linear<32> = Linear::new(Matrix::advance(16).inverse().masks()),
        undo_32: Linear<32> = Linear::new(Matrix::advance(32).inverse().masks()),
        this_lane: Signal<Local, Bits<LANES>>,
        this_kind: Signal<Local, Kind>,
        has_kind: Signal<Local, Bit>,
        fill: Signal<Local, Bits<7>>,
        late_fill: Signal<Local, Bits<7>>,
        by_4: Signal<Local, Bits<32>>,
        by_16: Signal<Local, Bits<32>>,
        crc: Signal<Local, Bits<32>>,
        place: Signal<Local, Bits<10>>,
        straddles: Signal<Local, Bit>,
        offered: Signal<Local, Bit>,
        last_free: Signal<Local, Bit>,
        advance: Signal<Local, Bit>,
        first_lane: Constant<Bits<LANES>> = number(1_u64),
        fullest: Constant<Bits<7>> = number(D / 8 - 2),
        top_half: Constant<Bits<10>> = number(D - 16),
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
    fn update(&mut self) {
        dff_setup!(self, clock, lane, held_kind, masked, fold, state, last, last_valid);
        for i in 0..5 {
            self.valid[i].clock.next = self.clock.val();
            self.valid[i].d.next = self.valid[i].q.val();
            self.beat[i].clock.next = self.clock.val();
            self.beat[i].d.next = self.beat[i].q.val();
        }
        for i in 0..2 {
            self.undone[i].clock.next = self.clock.val();
            self.undone[i].d.next = self.undone[i].q.val();
        }

        // The way out: a beat leaves when its successor, and with it perhaps the ICRC, is known.
        self.straddles.next = self.beat[4].q.val().eop & (self.beat[4].q.val().nbytes < 4);
        self.crc.next = !self.undone[1].q.val();
        self.offered.next = self.last_valid.q.val() & (self.last.q.val().eop | self.valid[4].q.val());
        self.source.valid.next = self.offered.val();
        self.source.payload.next = self.last.q.val();
        if self.straddles.val() & !self.last.q.val().eop {
            self.source.payload.next.data = self.last.q.val().data
                | (bit_cast::<D, 16>(self.crc.val().get_bits::<16>(0)) << self.top_half.val());
        }
        self.last_free.next = !self.last_valid.q.val() | (self.offered.val() & self.source.ready.val());
        self.advance.next = !self.valid[4].q.val() | self.last_free.val();
        self.place.next = bit_cast::<10, 7>(self.beat[4].q.val().nbytes - 4) << 3;
        if self.last_free.val() {
            self.last_valid.d.next = self.valid[4].q.val();
            self.last.d.next = self.beat[4].q.val();
            if self.straddles.val() {
                self.last.d.next.data =
                    self.beat[4].q.val().data | bit_cast::<D, 16>(self.crc.val().get_bits::<16>(16));
            } else if self.beat[4].q.val().eop {
                self.last.d.next.data =
                    self.beat[4].q.val().data | (bit_cast::<D, 32>(self.crc.val()) << self.place.val());
            }
        }

        // The way in.
        self.this_lane.next = self.lane.q.val();
        self.this_kind.next = self.held_kind.q.val();
        if self.sink.payload.val().sop {
            self.this_lane.next = self.first_lane.val();
            self.this_kind.next = self.kind.payload.val();
        }
        self.has_kind.next = self.kind.valid.val() | !self.sink.payload.val().sop;
        self.sink.ready.next = self.advance.val() & self.has_kind.val();
        self.kind.ready.next = self.advance.val() & self.sink.valid.val() & self.sink.payload.val().sop;
        self.mask.lane.next = self.this_lane.val();
        self.mask.kind.next = self.this_kind.val();

        self.data_matrix.vector.next = self.masked.q.val();
        self.state_matrix.vector.next = self.state.q.val();
        self.fill.next = self.fullest.val() - self.beat[2].q.val().nbytes;
        self.undo_4.vector.next = self.state.q.val();
        self.by_4.next = self.state.q.val();
        if self.fill.val().get_bit(2) {
            self.by_4.next = self.undo_4.image.val();
        }
        self.undo_8.vector.next = self.by_4.val();
        self.late_fill.next = self.fullest.val() - self.beat[3].q.val().nbytes;
        self.undo_16.vector.next = self.undone[0].q.val();
        self.by_16.next = self.undone[0].q.val();
        if self.late_fill.val().get_bit(4) {
            self.by_16.next = self.undo_16.image.val();
        }
        self.undo_32.vector.next = self.by_16.val();

        if self.advance.val() {
            self.valid[0].d.next = self.sink.valid.val() & self.has_kind.val();
            self.beat[0].d.next = self.sink.payload.val();
            self.masked.d.next = (self.sink.payload.val().data & self.mask.keep.val()) ^ self.mask.flip.val();
            if self.sink.valid.val() & self.has_kind.val() {
                self.lane.d.next = self.this_lane.val() << 1;
                self.held_kind.d.next = self.this_kind.val();
            }
            for i in 0..4 {
                self.valid[i + 1].d.next = self.valid[i].q.val();
                self.beat[i + 1].d.next = self.beat[i].q.val();
            }
            self.fold.d.next = self.data_matrix.image.val();
            if self.valid[1].q.val() {
                self.state.d.next = self.state_matrix.image.val() ^ self.fold.q.val();
                if self.beat[1].q.val().sop {
                    self.state.d.next = self.fold.q.val();
                }
            }
            self.undone[0].d.next = self.by_4.val();
            if self.fill.val().get_bit(3) {
                self.undone[0].d.next = self.undo_8.image.val();
            }
            self.undone[1].d.next = self.by_16.val();
            if self.late_fill.val().get_bit(5) {
                self.undone[1].d.next = self.undo_32.image.val();
            }
        }
        if self.reset.val() {
            self.last_valid.d.next = false;
            for i in 0..5 {
                self.valid[i].d.next = false;
            }
        }
    }
}
