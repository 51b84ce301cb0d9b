//! Shift: what follows the parameters moves to byte 0, however long it is.

use rust_hdl::prelude::*;

use crate::constant::{constants, number};
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Rotation stages: one for each bit of a place in the widest beat.
const STAGES: usize = 6;

block! {
    /// Gives `keep` bytes of a run of beats, from byte `skip` on, as one packet.
    ///
    /// As [`Strip`](crate::prim::strip), but for runs of 4 GiB, in steps of words, and of beats that may be those of several packets: all
    /// of them are full but the last.
    ///
    /// - **Ports** `starts`, `skip`, `keep`: a run begins, `skip` bytes of it are left out, a multiple of 4 and at most 64, and `keep`
    ///   bytes follow. `sink`: its beats. `gate`: the packet may be offered. `source`: the packet; none if `keep` is 0; bytes past `nbytes` are
    ///   zero. `is_idle`: nothing of it is inside.
    /// - **Latency** 1 cycle from the beat that completes another, 2 from one that needs none behind it. **Rate** 1 beat per cycle, in and out.
    /// - **Backpressure** stalls `sink`; no combinational path from port to port but from `gate` to `source.valid`.
    /// - **Reset** forgets the run.
    /// - **Limits** `D` is 64 or 512. A run `starts` when `is_idle`; beats beyond its bytes are thrown away.
    pub struct Shift<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub skip: Signal<In, Bits<7>>,
        pub keep: Signal<In, Bits<32>>,
        pub sink: StreamSink<Beat<D>>,
        pub gate: Signal<In, Bit>,
        pub source: StreamSource<Beat<D>>,
        pub is_idle: Signal<Out, Bit>,
        /// The beat that waits for its successor, rotated.
        waiting: Reg<Bits<D>>,
        waiting_valid: Reg<Bit>,
        /// Whole beats still to be left out; `skip` within a beat.
        ahead: Reg<Bits<7>>,
        offset: Reg<Bits<7>>,
        /// Bytes still to be given, and whether none was yet.
        left: Reg<Bits<32>>,
        is_first: Reg<Bit>,
        cut: Skid<Beat<D>>,
        rotated: [Signal<Local, Bits<D>>; STAGES + 1],
        is_tail: Signal<Local, Bit>,
        is_alone: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        accepts: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<32>>,
        from_waiting: Signal<Local, Bits<D>>,
        absent: Signal<Local, Bits<32>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_len: Constant<Bits<32>> = number(D / 8),
        within_beat: Constant<Bits<7>> = number(D / 8 - 1),
        log: Constant<Bits<4>> = number((D / 8).ilog2()),
        is_used: [Constant<Bit>; STAGES] = constants(|stage| 8 << stage < D && stage >= 2),
        down: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(8 << stage)),
        up: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(D.saturating_sub(8 << stage))),
    }
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Shift<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, waiting, waiting_valid, ahead, offset, left, is_first);
        self.cut.reset.next = self.reset.val();
        self.source.valid.next = self.cut.source.valid.val() & self.gate.val();
        self.source.payload.next = self.cut.source.payload.val();
        self.cut.source.ready.next = self.source.ready.val() & self.gate.val();
        self.is_idle.next = !self.waiting_valid.q.val() & !self.cut.source.valid.val();

        self.rotated[0].next = self.sink.payload.val().data;
        for i in 0..STAGES {
            self.rotated[i + 1].next = self.rotated[i].val();
            if self.is_used[i].val() {
                if self.offset.q.val().get_bit(i) {
                    self.rotated[i + 1].next = (self.rotated[i].val() >> self.down[i].val())
                        | (self.rotated[i].val() << self.up[i].val());
                }
            }
        }

        self.is_open.next = !self.waiting_valid.q.val() | self.cut.sink.ready.val();
        self.sink.ready.next = self.is_open.val();
        self.accepts.next = self.sink.valid.val() & self.is_open.val();
        self.is_tail.next = self.left.q.val() <= self.beat_len.val();
        self.is_alone.next = !self.offset.q.val().any()
            | (self.left.q.val() <= (self.beat_len.val() - bit_cast::<32, 7>(self.offset.q.val())));
        self.leaves.next = self.waiting_valid.q.val()
            & self.cut.sink.ready.val()
            & (self.is_alone.val() | self.sink.valid.val());

        // Rotated, the waiting beat's bytes are the low ones and its successor's the high ones.
        self.nbytes.next = self.beat_len.val();
        if self.is_tail.val() {
            self.nbytes.next = self.left.q.val();
        }
        self.from_waiting.next = self.whole.val() >> (bit_cast::<10, 7>(self.offset.q.val()) << 3);
        self.absent.next = self.beat_len.val() - self.nbytes.val();
        self.cut.sink.valid.next = self.leaves.val();
        self.cut.sink.payload.next.data = ((self.waiting.q.val() & self.from_waiting.val())
            | (self.rotated[6].val() & !self.from_waiting.val()))
            & (self.whole.val() >> (bit_cast::<10, 32>(self.absent.val()) << 3));
        self.cut.sink.payload.next.nbytes = bit_cast::<7, 32>(self.nbytes.val());
        self.cut.sink.payload.next.sop = self.is_first.q.val();
        self.cut.sink.payload.next.eop = self.is_tail.val();
        self.cut.sink.payload.next.err = false;

        if self.leaves.val() {
            self.waiting_valid.d.next = false;
            self.is_first.d.next = false;
            self.left.d.next = self.left.q.val() - self.nbytes.val();
        }
        if self.accepts.val() {
            if self.ahead.q.val().any() {
                self.ahead.d.next = self.ahead.q.val() - 1;
            } else if self.left.q.val().any() & !(self.leaves.val() & self.is_tail.val()) {
                self.waiting.d.next = self.rotated[6].val();
                self.waiting_valid.d.next = true;
            }
        }
        if self.starts.val() {
            self.ahead.d.next = self.skip.val() >> self.log.val();
            self.offset.d.next = self.skip.val() & self.within_beat.val();
            self.left.d.next = self.keep.val();
            self.is_first.d.next = true;
        }
        if self.reset.val() {
            self.waiting_valid.d.next = false;
            self.left.d.next = 0.into();
        }
    }
}
