//! Collect: what was read goes to the card's memory, and its first words to whoever waits for them.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::SlotData;
use stroma_hw::stream::StreamSink;

use super::store::{LINE_BITS, beats_of};

block! {
    /// Stores the beats of a read, and fills up its last line with zeros.
    ///
    /// - **Ports** `line`: where the next read goes, from before its first beat to its last; `sink`: reads; `write_*`: beats to the memory. `is_there`: one cycle, `words`, the first
    ///   32 bytes, and `ending` are the last read's; they stay until the next one's first beat.
    /// - **Latency** 1 cycle from the last beat to `is_there`, none to `write_*`. **Rate** 1 beat per cycle.
    /// - **Backpressure** the next read waits while a line is filled up, at most 7 cycles with `D` = 64, none with 512.
    /// - **Reset** forgets the read under way; the next beat begins one.
    /// - **Limits** `D` is 64 or 512. Words that the read does not have are zero.
    pub struct Collect<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub line: Signal<In, Bits<LINE_BITS>>,
        pub sink: StreamSink<SlotData<D>>,
        pub write_enable: Signal<Out, Bit>,
        pub write_at: Signal<Out, Bits<LOG>>,
        pub write_data: Signal<Out, Bits<D>>,
        pub is_there: Signal<Out, Bit>,
        pub words: Signal<Out, Bits<256>>,
        pub ending: Signal<Out, Bits<2>>,
        /// The place behind the last beat.
        at: Reg<Bits<LOG>>,
        fills: Reg<Bit>,
        kept: Reg<Bits<256>>,
        /// Words kept, up to all four.
        have: Reg<Bits<3>>,
        has_ended: Reg<Bit>,
        how: Reg<Bits<2>>,
        moves: Signal<Local, Bit>,
        now: Signal<Local, Bits<LOG>>,
        is_last_of_line: Signal<Local, Bit>,
        place: Signal<Local, Bits<8>>,
        line_shift: Constant<Bits<4>> = number(LOG - LINE_BITS),
        line_mask: Constant<Bits<LOG>> = number(beats_of(1, D) - 1),
        is_whole: Constant<Bit> = Constant::new(D == 512),
        all: Constant<Bits<3>> = number(4),
    }
}

impl<const D: usize, const LOG: usize> Logic for Collect<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, fills, kept, have, has_ended, how);
        self.sink.ready.next = !self.fills.q.val();
        self.moves.next = self.sink.valid.val() & !self.fills.q.val();
        self.now.next = self.at.q.val();
        if self.sink.payload.val().sop & !self.fills.q.val() {
            self.now.next = bit_cast::<LOG, LINE_BITS>(self.line.val()) << self.line_shift.val();
        }
        self.is_last_of_line.next = (self.now.val() & self.line_mask.val()) == self.line_mask.val();
        self.write_enable.next = self.moves.val() | self.fills.q.val();
        self.write_at.next = self.now.val();
        self.write_data.next = self.sink.payload.val().data;
        if self.fills.q.val() {
            self.write_data.next = 0.into();
        }
        if self.moves.val() | self.fills.q.val() {
            self.at.d.next = self.now.val() + 1;
            self.fills.d.next =
                (self.fills.q.val() | self.sink.payload.val().eop) & !self.is_last_of_line.val();
        }

        self.place.next = bit_cast::<8, 2>(self.have.q.val().get_bits::<2>(0)) << 6;
        if self.moves.val() {
            self.how.d.next = self.sink.payload.val().err;
            if self.sink.payload.val().sop {
                self.kept.d.next = bit_cast::<256, D>(self.sink.payload.val().data);
                self.have.d.next = 1.into();
            } else if !self.is_whole.val() & (self.have.q.val() != self.all.val()) {
                self.kept.d.next = self.kept.q.val()
                    | (bit_cast::<256, D>(self.sink.payload.val().data) << self.place.val());
                self.have.d.next = self.have.q.val() + 1;
            }
        }
        self.has_ended.d.next = self.moves.val() & self.sink.payload.val().eop;
        self.is_there.next = self.has_ended.q.val();
        self.words.next = self.kept.q.val();
        self.ending.next = self.how.q.val();
        if self.reset.val() {
            self.fills.d.next = false;
            self.has_ended.d.next = false;
        }
    }
}
