//! Inline data: from the units of a WQE to packets.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::{BODY_AT, UNIT};

use super::entries::InlineUnit;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::strip::Strip;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// The next bytes of the inline data, as one packet.
    pub struct Piece {
        /// How many, 1 to 480.
        pub len: Bits<13>,
        /// Last of its WQE.
        pub last: Bit,
    }
}

block! {
    /// Holds the units of one WQE and gives its inline data, piece by piece.
    ///
    /// A piece that begins where a page of the destination does can begin at any byte of the data; so the units are kept
    /// as rows of the path's width and each piece passes a [`Strip`].
    ///
    /// - **Ports** `units`: of one WQE after the other; `piece`: what is wanted of it; `source`: one packet for each piece.
    /// - **Latency** to the first beat of a WQE 5 cycles from its last unit. **Rate** 1 row per cycle in, 1 row per cycle
    ///   out, one after the other; 32 beats are made ahead of `source`.
    /// - **Backpressure** `units` of the next WQE wait until all pieces of this one have left the rows.
    ///   No combinational path from port to port.
    /// - **Reset** empties it; the next unit is the first of a WQE.
    /// - **Limits** `D` is 64 or 512. The pieces of a WQE lie within its units.
    pub struct Inline<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub units: StreamSink<InlineUnit>,
        pub piece: StreamSink<Piece>,
        pub source: StreamSource<Beat<D>>,
        pieces: Fifo<Piece, 3>,
        /// The units, in rows of `D` bits: of the narrowest path all 64 are used.
        rows: LutRam<Bits<D>, 6>,
        strip: Strip<D>,
        made: Fifo<Beat<D>, 5>,
        /// All units are there.
        is_full: Reg<Bit>,
        /// The row to be written, or to be read.
        row: Reg<Bits<6>>,
        /// A piece has begun, and `row` is one of its rows.
        is_begun: Reg<Bit>,
        /// Byte of the WQE that the next piece begins with.
        at: Reg<Bits<13>>,
        slice: Signal<Local, Bits<6>>,
        fills: Signal<Local, Bit>,
        is_whole_unit: Signal<Local, Bit>,
        end: Signal<Local, Bits<13>>,
        row_now: Signal<Local, Bits<6>>,
        is_last_row: Signal<Local, Bit>,
        reads: Signal<Local, Bit>,
        body_at: Constant<Bits<13>> = number(BODY_AT),
        beat_len: Constant<Bits<7>> = number(D / 8),
        within_beat: Constant<Bits<8>> = number(D / 8 - 1),
        log_bytes: Constant<Bits<4>> = number((D / 8).ilog2()),
        log_bits: Constant<Bits<4>> = number(D.ilog2()),
        last_slice: Constant<Bits<6>> = number(UNIT * 8 / D - 1),
    }
}

impl<const D: usize> Logic for Inline<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, pieces, rows, strip, made);
        dff_setup!(self, clock, is_full, row, is_begun, at);
        self.pieces.reset.next = self.reset.val();
        self.strip.reset.next = self.reset.val();
        self.made.reset.next = self.reset.val();
        StreamSink::<Piece>::link(&mut self.piece, &mut self.pieces.sink);

        // In: a unit stays on offer until its last row is written.
        self.slice.next = self.row.q.val() & self.last_slice.val();
        self.is_whole_unit.next = self.slice.val() == self.last_slice.val();
        self.fills.next = self.units.valid.val() & !self.is_full.q.val();
        self.units.ready.next = !self.is_full.q.val() & self.is_whole_unit.val();
        self.rows.write_enable.next = self.fills.val();
        self.rows.write_address.next = self.row.q.val();
        self.rows.write_data.next = bit_cast::<D, 512>(
            self.units.payload.val().data >> (bit_cast::<10, 6>(self.slice.val()) << self.log_bits.val()),
        );
        if self.fills.val() {
            self.row.d.next = self.row.q.val() + 1;
            self.is_full.d.next = self.is_whole_unit.val() & self.units.payload.val().last;
            self.at.d.next = self.body_at.val();
        }

        // Out: the rows that a piece touches.
        self.row_now.next = bit_cast::<6, 13>(self.at.q.val() >> self.log_bytes.val());
        if self.is_begun.q.val() {
            self.row_now.next = self.row.q.val();
        }
        self.end.next = self.at.q.val() + self.pieces.source.payload.val().len;
        self.is_last_row.next =
            self.row_now.val() == bit_cast::<6, 13>((self.end.val() - 1) >> self.log_bytes.val());
        self.rows.read_address.next = self.row_now.val();
        self.strip.skip.next = bit_cast::<8, 13>(self.at.q.val()) & self.within_beat.val();
        self.strip.keep.next = self.pieces.source.payload.val().len;
        self.strip.sink.valid.next = self.is_full.q.val() & self.pieces.source.valid.val();
        self.strip.sink.payload.next.data = self.rows.read_data.val();
        self.strip.sink.payload.next.nbytes = self.beat_len.val();
        self.strip.sink.payload.next.sop = !self.is_begun.q.val();
        self.strip.sink.payload.next.eop = self.is_last_row.val();
        self.strip.sink.payload.next.err = false;
        self.reads.next = self.is_full.q.val() & self.pieces.source.valid.val() & self.strip.sink.ready.val();
        self.pieces.source.ready.next = self.reads.val() & self.is_last_row.val();
        if self.reads.val() {
            self.is_begun.d.next = !self.is_last_row.val();
            self.row.d.next = self.row_now.val() + 1;
            if self.is_last_row.val() {
                self.at.d.next = self.end.val();
                if self.pieces.source.payload.val().last {
                    self.is_full.d.next = false;
                    self.row.d.next = 0.into();
                }
            }
        }
        StreamSource::<Beat<D>>::join(&mut self.strip.source, &mut self.made.sink);
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.made.source);
        if self.reset.val() {
            self.is_full.d.next = false;
            self.is_begun.d.next = false;
            self.row.d.next = 0.into();
        }
    }
}
