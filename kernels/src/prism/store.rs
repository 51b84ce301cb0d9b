//! Store: the card's memory of a chain. Everything that comes is kept here, and everything long that goes is taken from here.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::LINE;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::stream_ram::StreamRam;
use stroma_hw::stream::StreamSource;

/// Bits of the number of a line.
pub const LINE_BITS: usize = 9;
/// Bits of a length in the memory: all results, and reports.
pub const SIZE_BITS: usize = 15;
/// Lines of the payload, the first of all.
pub const PAYLOAD_LINES: usize = 128;
/// Line at which data from memory begin, or a result that is to be redirected.
pub const ASIDE_LINE: usize = 128;
/// Line of what is read to find the way.
pub const SCRATCH_LINE: usize = 192;
/// Line at which the results of the answer begin.
pub const RESULT_LINE: usize = 256;

/// Beats of so many lines.
#[must_use]
pub const fn beats_of(lines: usize, width: usize) -> usize {
    lines * LINE * 8 / width
}

block! {
    /// Keeps 512 lines, and reads them as a stream.
    ///
    /// - **Ports** `write_*`: a beat and its place. `begins`: one cycle, `len` bytes from `line` on are wanted, 0 to 2^14; `source`: their beats. The stream of the last one has ended before.
    /// - **Latency** 3 cycles from `begins` to `source`. **Rate** 1 beat per cycle.
    /// - **Backpressure** stops reading. `source` is a register.
    /// - **Reset** forgets what was wanted, not what is kept.
    /// - **Limits** `D` is 512 and `LOG` 9, or 64 and 12. A beat is not read in the cycle in which it is written.
    pub struct Store<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub write_enable: Signal<In, Bit>,
        pub write_at: Signal<In, Bits<LOG>>,
        pub write_data: Signal<In, Bits<D>>,
        pub begins: Signal<In, Bit>,
        pub line: Signal<In, Bits<LINE_BITS>>,
        pub len: Signal<In, Bits<SIZE_BITS>>,
        pub source: StreamSource<Bits<D>>,
        memory: StreamRam<Bits<D>, LOG>,
        at: Reg<Bits<LOG>>,
        left: Reg<Bits<SIZE_BITS>>,
        rounded: Signal<Local, Bits<SIZE_BITS>>,
        line_shift: Constant<Bits<4>> = number(LOG - LINE_BITS),
        beat_bytes: Constant<Bits<SIZE_BITS>> = number(D / 8 - 1),
        beat_shift: Constant<Bits<4>> = number((D / 8).ilog2()),
    }
}

impl<const D: usize, const LOG: usize> Logic for Store<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, at, left);
        self.memory.reset.next = self.reset.val();
        self.memory.write_enable.next = self.write_enable.val();
        self.memory.write_at.next = self.write_at.val();
        self.memory.write_data.next = self.write_data.val();
        self.memory.some.next = self.left.q.val().any();
        self.memory.read_at.next = self.at.q.val();
        StreamSource::<Bits<D>>::link(&mut self.source, &mut self.memory.source);
        if self.memory.taken.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
        }
        self.rounded.next = self.len.val() + self.beat_bytes.val();
        if self.begins.val() {
            self.at.d.next = bit_cast::<LOG, LINE_BITS>(self.line.val()) << self.line_shift.val();
            self.left.d.next = self.rounded.val() >> self.beat_shift.val();
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
        }
    }
}
