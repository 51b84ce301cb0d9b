//! Cuts read bursts into requests.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::host::axi::ReadAddress;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

record! {
    /// What one request asks for.
    pub struct Piece {
        /// Of its first byte; a multiple of 64.
        pub addr: Bits<64>,
        /// Beats of 64 bytes, 1 to 8.
        pub beats: Bits<4>,
        /// The burst's.
        pub id: Bits<6>,
        /// Last of its burst.
        pub ends: Bit,
        /// The burst's.
        pub stamp: Bits<32>,
    }
}

block! {
    /// Gives the pieces of each burst.
    ///
    /// - **Ports** `ar`: bursts; `stamp`: a note that goes with the burst on offer; `max_read_log`: of the largest request in bytes, less than 7
    ///   counts as 7 and more than 9 as 9; `pieces`: each ends at a multiple of that, or with its burst.
    /// - **Latency** 0 cycles. **Rate** 1 piece per cycle.
    /// - **Backpressure** a burst leaves `ar` with its first piece; `ar.ready` follows `pieces.ready`, and `pieces.valid` follows `ar.valid`, combinationally.
    /// - **Reset** forgets the burst under way.
    /// - **Limits** a new largest request counts for the next piece.
    pub struct Split {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub max_read_log: Signal<In, Bits<4>>,
        pub ar: StreamSink<ReadAddress>,
        pub stamp: Signal<In, Bits<32>>,
        pub pieces: StreamSource<Piece>,
        /// Beats of the largest request, less one.
        within: Reg<Bits<9>>,
        running: Reg<Bit>,
        rest: Reg<Piece>,
        rest_beats: Reg<Bits<9>>,
        now: Signal<Local, Piece>,
        left: Signal<Local, Bits<9>>,
        space: Signal<Local, Bits<9>>,
        ends: Signal<Local, Bit>,
        beat_log: Constant<Bits<4>> = number(6_u64),
    }
}

impl Logic for Split {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, within, running, rest, rest_beats);
        self.within.d.next = 1.into();
        if self.max_read_log.val() > 7 {
            self.within.d.next = 3.into();
        }
        if self.max_read_log.val() > 8 {
            self.within.d.next = 7.into();
        }

        self.now.next = self.rest.q.val();
        self.left.next = self.rest_beats.q.val();
        if !self.running.q.val() {
            self.now.next.addr = self.ar.payload.val().addr;
            self.now.next.id = self.ar.payload.val().id;
            self.now.next.stamp = self.stamp.val();
            self.left.next = bit_cast::<9, 8>(self.ar.payload.val().len) + 1;
        }
        self.space.next = self.within.q.val() + 1
            - (bit_cast::<9, 64>(self.now.val().addr >> self.beat_log.val()) & self.within.q.val());
        self.ends.next = self.left.val() <= self.space.val();
        self.now.next.ends = self.ends.val();
        self.now.next.beats = bit_cast::<4, 9>(self.space.val());
        if self.ends.val() {
            self.now.next.beats = bit_cast::<4, 9>(self.left.val());
        }
        self.pieces.valid.next = self.running.q.val() | self.ar.valid.val();
        self.pieces.payload.next = self.now.val();
        self.ar.ready.next = self.pieces.ready.val() & !self.running.q.val();

        if self.pieces.ready.val() & (self.running.q.val() | self.ar.valid.val()) {
            self.running.d.next = !self.ends.val();
            self.rest.d.next = self.now.val();
            self.rest.d.next.addr =
                self.now.val().addr + (bit_cast::<64, 9>(self.space.val()) << self.beat_log.val());
            self.rest_beats.d.next = self.left.val() - self.space.val();
        }
        if self.reset.val() {
            self.running.d.next = false;
        }
    }
}
