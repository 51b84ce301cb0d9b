//! Cut: an errand, the entries of its list, and what they make together.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use super::intake::Mark;
use super::spoil::Spoil;
use super::unfold::Entry;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Errand, List};

/// Bytes of the longest piece: it lies in two pages at most. Only a datagram, with what stands in front of it, is longer.
pub const PIECE_MAX: usize = 4096;

block! {
    /// Walks through the entries of each errand that has a list, and passes on all others.
    ///
    /// - **Ports** `errand`, `mark`: errands; `entry`: the lists of those that have one; `stops`: the entry that is taken is not the
    ///   last of its list, but no more are wanted; `piece`, `piece_is_request`: what comes of them.
    /// - **Rules** as [`Scatter`](super::Scatter) has them.
    /// - **Latency** 1 cycle. **Rate** an errand that passes, a piece, or an entry that is passed over, per cycle; 1 cycle more
    ///   for what a list has no room for.
    /// - **Limits** payload has less than 8192 bytes; a piece [`PIECE_MAX`] at most.
    /// - **Backpressure** two pieces wait, then `errand` and `entry`. No combinational path from `piece` to another port.
    /// - **Reset** forgets the errand under way, and the pieces on offer.
    pub struct Cut {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub mark: Signal<In, Mark>,
        pub entry: StreamSink<Entry>,
        pub stops: Signal<Out, Bit>,
        pub piece: StreamSource<Errand>,
        pub piece_is_request: Signal<Out, Bit>,
        pieces: Fifo<Errand, 1>,
        requests: Fifo<Bit, 1>,
        /// The errand has begun: bytes to pass over, bytes to place, and both.
        is_begun: Reg<Bit>,
        ahead: Reg<Bits<32>>,
        left: Reg<Bits<13>>,
        end: Reg<Bits<33>>,
        /// Its list is at its end, and bytes are left.
        is_spent: Reg<Bit>,
        spoil: Spoil,
        open: Signal<Local, Bit>,
        ahead_now: Signal<Local, Bits<32>>,
        left_now: Signal<Local, Bits<13>>,
        end_now: Signal<Local, Bits<33>>,
        length: Signal<Local, Bits<33>>,
        is_listed: Signal<Local, Bit>,
        has_entry: Signal<Local, Bit>,
        is_faulty: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        rest: Signal<Local, Bits<13>>,
        end_next: Signal<Local, Bits<33>>,
        fits: Signal<Local, Bit>,
        wanted: Signal<Local, Bits<13>>,
        is_left_long: Signal<Local, Bit>,
        is_rest_long: Signal<Local, Bit>,
        is_long: Signal<Local, Bit>,
        completes: Signal<Local, Bit>,
        bytes: Signal<Local, Bits<13>>,
        passes: Signal<Local, Bit>,
        skips: Signal<Local, Bit>,
        cuts: Signal<Local, Bit>,
        spoils: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        made: Signal<Local, Errand>,
        shared: Constant<Bits<2>> = number(List::Shared as u8),
        piece_max: Constant<Bits<13>> = number(PIECE_MAX),
        local_write: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
    }
}

impl Logic for Cut {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "an errand, from its first entry to its last piece")]
    fn update(&mut self) {
        clock!(self, clock, pieces, requests);
        dff_setup!(self, clock, is_begun, ahead, left, end, is_spent);
        self.pieces.reset.next = self.reset.val();
        self.requests.reset.next = self.reset.val();
        StreamSource::<Errand>::link(&mut self.piece, &mut self.pieces.source);
        self.piece_is_request.next = self.requests.source.payload.val();
        self.requests.source.ready.next = self.piece.ready.val();
        self.open.next = self.pieces.sink.ready.val() & self.requests.sink.ready.val();

        self.ahead_now.next = self.errand.payload.val().offset;
        self.left_now.next = self.errand.payload.val().payload_len;
        self.end_now.next = self.mark.val().end;
        if self.is_begun.q.val() {
            self.ahead_now.next = self.ahead.q.val();
            self.left_now.next = self.left.q.val();
            self.end_now.next = self.end.q.val();
        }
        self.is_faulty.next = self.entry.payload.val().fault.any();
        // An entry without bytes lies before everything.
        self.is_before.next = self.entry.payload.val().length <= self.ahead_now.val();
        self.length.next = bit_cast::<33, 32>(self.entry.payload.val().length);
        self.fits.next = self.end_now.val() <= self.length.val();
        self.end_next.next = self.end_now.val() - self.length.val();
        // Of what does not fit, this many do: fewer than a packet has.
        self.rest.next =
            bit_cast::<13, 32>(self.entry.payload.val().length) - bit_cast::<13, 32>(self.ahead_now.val());
        self.is_left_long.next = self.left_now.val() > self.piece_max.val();
        self.is_rest_long.next = self.rest.val() > self.piece_max.val();
        self.wanted.next = self.rest.val();
        self.is_long.next = self.is_rest_long.val();
        if self.fits.val() {
            self.wanted.next = self.left_now.val();
            self.is_long.next = self.is_left_long.val();
        }
        self.bytes.next = self.wanted.val();
        if self.is_long.val() {
            self.bytes.next = self.piece_max.val();
        }
        self.completes.next = self.fits.val() & !self.is_long.val();

        self.passes.next = self.errand.valid.val() & !self.mark.val().lists;
        self.is_listed.next = self.errand.valid.val() & self.mark.val().lists;
        // Behind the end of a list, the entry on offer is of the next one.
        self.has_entry.next = self.is_listed.val() & self.entry.valid.val() & !self.is_spent.q.val();
        self.skips.next = self.has_entry.val()
            & !self.is_faulty.val()
            & self.is_before.val()
            & !self.entry.payload.val().last;
        self.cuts.next = self.has_entry.val() & !self.is_faulty.val() & !self.is_before.val();
        self.spoils.next = self.is_listed.val()
            & (self.is_spent.q.val() | (self.has_entry.val() & !self.skips.val() & !self.cuts.val()));
        self.is_over.next = self.passes.val() | self.spoils.val() | (self.cuts.val() & self.completes.val());
        self.errand.ready.next = self.open.val() & self.is_over.val();
        // Of a long piece the rest goes to the same entry.
        self.entry.ready.next =
            self.open.val() & self.has_entry.val() & !(self.cuts.val() & self.is_long.val());
        self.stops.next =
            self.open.val() & self.cuts.val() & self.completes.val() & !self.entry.payload.val().last;

        if self.open.val() & self.skips.val() {
            self.is_begun.d.next = true;
            self.ahead.d.next = self.ahead_now.val() - self.entry.payload.val().length;
            self.left.d.next = self.left_now.val();
            self.end.d.next = self.end_next.val();
        }
        if self.open.val() & self.cuts.val() {
            self.is_begun.d.next = true;
            self.ahead.d.next = 0.into();
            self.left.d.next = bit_cast::<13, 33>(self.end_next.val());
            self.end.d.next = self.end_next.val();
            self.is_spent.d.next = self.entry.payload.val().last;
            if self.is_long.val() {
                self.ahead.d.next = self.ahead_now.val() + bit_cast::<32, 13>(self.piece_max.val());
                self.left.d.next = self.left_now.val() - self.piece_max.val();
                self.end.d.next = self.end_now.val();
                self.is_spent.d.next = false;
            }
        }
        if self.open.val() & self.is_over.val() {
            self.is_begun.d.next = false;
            self.is_spent.d.next = false;
        }

        self.spoil.errand.next = self.errand.payload.val();
        self.spoil.is_request.next = self.mark.val().is_request;
        self.spoil.rest.next = self.left_now.val();
        self.spoil.fault.next = self.entry.payload.val().fault;
        if self.is_spent.q.val() {
            self.spoil.fault.next = 0.into();
        }
        self.made.next = self.errand.payload.val();
        if self.spoils.val() {
            self.made.next = self.spoil.thrown.val();
        } else if self.mark.val().lists {
            self.made.next.payload_len = self.bytes.val();
            self.made.next.va = self.entry.payload.val().address + bit_cast::<64, 32>(self.ahead_now.val());
            self.made.next.key = self.entry.payload.val().key;
            self.made.next.need = self.local_write.val();
            self.made.next.span = bit_cast::<32, 13>(self.bytes.val());
            if self.errand.payload.val().list == self.shared.val() {
                self.made.next.pd = self.entry.payload.val().pd;
            }
            if !self.completes.val() {
                self.made.next.ends = false;
                self.made.next.answer = 0.into();
                self.made.next.completes = false;
                self.made.next.fails = false;
                self.made.next.retires = false;
                self.made.next.last_receive = false;
            }
        }
        self.gives.next = self.open.val() & (self.passes.val() | self.cuts.val() | self.spoils.val());
        self.pieces.sink.valid.next = self.gives.val();
        self.pieces.sink.payload.next = self.made.val();
        self.requests.sink.valid.next = self.gives.val();
        self.requests.sink.payload.next = self.mark.val().is_request;
        if self.reset.val() {
            self.is_begun.d.next = false;
            self.is_spent.d.next = false;
        }
    }
}
