//! Gather: the headers of a frame in one piece, however many beats they came in.

use rust_hdl::prelude::*;

use crate::constant::{constants, number};
use crate::head::WINDOW_BYTES;
use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Beats of the narrowest stream that fill the window.
const LANES: usize = WINDOW_BYTES / 8;
/// Bits in which beats are put together: enough for two of the widest.
const ROOM: usize = 1024;

record! {
    /// The first bytes of a frame.
    pub struct Window {
        /// First byte on top; bytes the frame does not have are zero.
        pub bytes: Bits<896>,
        /// Bytes the frame had when the window was full or the frame over: exact below [`WINDOW_BYTES`].
        pub have: Bits<8>,
    }
}

const _: () = assert!(WINDOW_BYTES == 896 / 8, "the window's type holds WINDOW_BYTES");

block! {
    /// Gives one [`Window`] per frame, as soon as it is full or the frame over.
    ///
    /// - **Ports** `sink`: beats of frames; an `eop` beat may hold no byte at all. `source`: their windows, in order.
    /// - **Latency** 1 cycle from the beat that fills the window. **Rate** 1 beat per cycle, one-beat frames
    ///   included.
    /// - **Backpressure** stalls `sink`; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the frame under way; the next beat begins one.
    pub struct Gather<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub source: StreamSource<Window>,
        reverse: Reverse<D>,
        /// Which beat of the window comes next, one bit each; zero behind the window.
        lane: Reg<Bits<16>>,
        bytes: Reg<Bits<1024>>,
        have: Reg<Bits<8>>,
        full: Reg<Bit>,
        accept: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        turned: Signal<Local, Bits<1024>>,
        first_lane: Constant<Bits<16>> = number(1_u64),
        last_lane: Constant<Bits<16>> = number(1_u64 << (lanes::<D>() - 1)),
        is_used: [Constant<Bit>; LANES] = constants(|lane| lane < lanes::<D>()),
        lane_at: [Constant<Bits<10>>; LANES] = std::array::from_fn(|lane| number(ROOM.saturating_sub(D * (lane + 1)))),
        before: [Constant<Bits<8>>; LANES] = std::array::from_fn(|lane| number((lane * D / 8).min(WINDOW_BYTES))),
        earlier: [Constant<Bits<1024>>; LANES] = constants(|lane| top_bits(D * lane)),
    }
}

/// Beats that fill the window.
const fn lanes<const D: usize>() -> usize {
    (WINDOW_BYTES * 8).div_ceil(D)
}

/// Ones in the `count` highest bits.
fn top_bits(count: usize) -> Bits<1024> {
    if count == 0 { Bits::default() } else { Bits::<1024>::mask() << (ROOM - count.min(ROOM)) as u64 }
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Gather<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, lane, bytes, have, full);
        self.source.payload.next.bytes = self.bytes.q.val().get_bits::<896>(128);
        self.source.payload.next.have = self.have.q.val();
        self.source.valid.next = self.full.q.val();
        self.sink.ready.next = !self.full.q.val() | self.source.ready.val();
        self.accept.next = self.sink.valid.val() & (!self.full.q.val() | self.source.ready.val());
        self.ends.next = self.sink.payload.val().eop;

        self.reverse.forward.next = self.sink.payload.val().data;
        self.turned.next = bit_cast::<1024, D>(self.reverse.reversed.val());
        if self.source.ready.val() {
            self.full.d.next = false;
        }
        if self.accept.val() {
            for i in 0..LANES {
                if self.is_used[i].val() {
                    if self.lane.q.val().get_bit(i) {
                        self.bytes.d.next = (self.bytes.q.val() & self.earlier[i].val())
                            | (self.turned.val() << self.lane_at[i].val());
                        self.have.d.next =
                            self.before[i].val() + bit_cast::<8, 7>(self.sink.payload.val().nbytes);
                    }
                }
            }
            if self.lane.q.val().any() {
                self.full.d.next = self.ends.val() | (self.lane.q.val() & self.last_lane.val()).any();
            }
            self.lane.d.next = (self.lane.q.val() & !self.last_lane.val()) << 1;
            if self.ends.val() {
                self.lane.d.next = self.first_lane.val();
            }
        }
        if self.reset.val() {
            self.lane.d.next = self.first_lane.val();
            self.full.d.next = false;
        }
    }
}
