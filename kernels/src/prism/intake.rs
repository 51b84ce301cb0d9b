//! Intake: the payload goes to the card's memory, its first lines to the judge.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{Beat, StreamSink};

use super::store::{PAYLOAD_LINES, beats_of};

block! {
    /// Takes one packet of payload when told to.
    ///
    /// - **Ports** `takes`: high from some time after the last packet until `ends` and longer, low for a cycle before the next packet; `sink`: payload; `write_*`: its beats, to the memory; `is_line`: one cycle, line
    ///   `number` of the payload is `line`; the first four only; `ends`: one cycle, the packet is over.
    /// - **Latency** 1 cycle from a beat to `is_line` and `ends`, none to `write_*`. **Rate** 1 beat per cycle.
    /// - **Backpressure** none within a packet.
    /// - **Reset** forgets the packet; the next beat begins one.
    /// - **Limits** `D` is 64 or 512. What does not fit the payload's part of the memory is taken and forgotten.
    pub struct Intake<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub takes: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub write_enable: Signal<Out, Bit>,
        pub write_at: Signal<Out, Bits<LOG>>,
        pub write_data: Signal<Out, Bits<D>>,
        pub is_line: Signal<Out, Bit>,
        pub line: Signal<Out, Bits<512>>,
        pub number: Signal<Out, Bits<2>>,
        pub ends: Signal<Out, Bit>,
        at: Reg<Bits<LOG>>,
        is_over: Reg<Bit>,
        words: Reg<Bits<512>>,
        has_line: Reg<Bit>,
        which: Reg<Bits<2>>,
        has_ended: Reg<Bit>,
        moves: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        line_at: Signal<Local, Bits<LOG>>,
        place: Signal<Local, Bits<LOG>>,
        room: Constant<Bits<LOG>> = number(beats_of(PAYLOAD_LINES, D)),
        line_shift: Constant<Bits<4>> = number(LOG - 9),
        last_of_line: Constant<Bits<LOG>> = number(beats_of(1, D) - 1),
        number_max: Constant<Bits<LOG>> = number(3),
        is_whole: Constant<Bit> = Constant::new(D == 512),
    }
}

impl<const D: usize, const LOG: usize> Logic for Intake<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, is_over, words, has_line, which, has_ended);
        self.sink.ready.next = self.takes.val() & !self.is_over.q.val();
        self.moves.next = self.sink.valid.val() & self.takes.val() & !self.is_over.q.val();
        self.has_room.next = self.at.q.val() != self.room.val();
        self.write_enable.next = self.moves.val() & self.has_room.val();
        self.write_at.next = self.at.q.val();
        self.write_data.next = self.sink.payload.val().data;

        self.line_at.next = self.at.q.val() >> self.line_shift.val();
        self.place.next = self.at.q.val() & self.last_of_line.val();
        self.has_line.d.next = self.moves.val()
            & (self.place.val() == self.last_of_line.val())
            & (self.line_at.val() <= self.number_max.val());
        self.has_ended.d.next = self.moves.val() & self.sink.payload.val().eop;
        if self.moves.val() {
            self.which.d.next = self.line_at.val().get_bits::<2>(0);
            if self.is_whole.val() {
                self.words.d.next = bit_cast::<512, D>(self.sink.payload.val().data);
            } else {
                self.words.d.next =
                    (bit_cast::<512, D>(self.sink.payload.val().data) << 448) | (self.words.q.val() >> 64);
            }
            if self.has_room.val() {
                self.at.d.next = self.at.q.val() + 1;
            }
            if self.sink.payload.val().eop {
                self.is_over.d.next = true;
            }
        }
        if !self.takes.val() {
            self.at.d.next = 0.into();
            self.is_over.d.next = false;
        }
        self.is_line.next = self.has_line.q.val();
        self.line.next = self.words.q.val();
        self.number.next = self.which.q.val();
        self.ends.next = self.has_ended.q.val();
        if self.reset.val() {
            self.at.d.next = 0.into();
            self.is_over.d.next = false;
            self.has_line.d.next = false;
            self.has_ended.d.next = false;
        }
    }
}
