//! Writes and reads on their way into the block, in turn.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::RqBeat;
use super::fields::READ_SEQUENCE;

/// Cycles in which the block may not yet have counted a read that it took. PG213 speaks of a pipeline without its length; a read is small.
const UNSEEN_CYCLES: usize = 8;

block! {
    /// Passes on transactions whole, one of either kind after the other if both wait.
    ///
    /// A read waits until the writes that were accepted before it have gone: `stamp` says how many bursts those were, `left` how many have. It waits
    /// for a credit of the far end, too, with one to spare, for the block would hold it and all writes behind it; a read of the last eight cycles
    /// may not be missing from `credits` yet, so each of those needs one more. And it waits until its answer `fits` the block. Writes do not wait for reads.
    ///
    /// - **Ports** `writes`, `reads`: transactions, those of reads one beat each; `stamp`: of the read on offer; `fits`: there is room for its answer, and was in the cycle before it goes; `left`: bursts that `writes` has
    ///   given; `is_master`: any may begin; `credits`: non-posted headers, 15 stands for more; `rq`: the block. `sends_write`, `sends_read`: the block has taken one. `is_between`: none is half
    ///   sent or on offer.
    /// - **Latency** 1 cycle for writes, 2 for reads. **Rate** 1 beat per cycle; a read every second cycle at most.
    /// - **Backpressure** holds two beats; no combinational path from port to port but `valid` of one kind to `ready` of the other.
    /// - **Reset** empties it.
    /// - **Limits** 2^31 bursts must not overtake a read.
    pub struct Merge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub writes: StreamSink<RqBeat>,
        pub reads: StreamSink<RqBeat>,
        pub stamp: Signal<In, Bits<32>>,
        pub fits: Signal<In, Bit>,
        pub left: Signal<In, Bits<32>>,
        pub is_master: Signal<In, Bit>,
        pub credits: Signal<In, Bits<4>>,
        pub rq: StreamSource<RqBeat>,
        pub sends_write: Signal<Out, Bit>,
        pub sends_read: Signal<Out, Bit>,
        pub is_between: Signal<Out, Bit>,
        cut: Skid<RqBeat>,
        may_begin: Reg<Bit>,
        credit: Reg<Bits<4>>,
        /// The read on offer may go.
        is_due: Reg<Bit>,
        /// A write has begun and not ended.
        inside: Reg<Bit>,
        read_first: Reg<Bit>,
        /// Reads in the cut, and those of the last cycles.
        held: Reg<Bits<2>>,
        recent: Reg<Bits<UNSEEN_CYCLES>>,
        recent_count: Reg<Bits<5>>,
        forgets: Signal<Local, Bit>,
        ahead: Signal<Local, Bits<32>>,
        spent: Signal<Local, Bits<5>>,
        has_credit: Signal<Local, Bit>,
        wants_write: Signal<Local, Bit>,
        wants_read: Signal<Local, Bit>,
        is_read: Signal<Local, Bit>,
        enters_write: Signal<Local, Bit>,
        enters_read: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        leaves_read: Signal<Local, Bit>,
        read_sequence: Constant<Bits<6>> = number(READ_SEQUENCE),
    }
}

impl Logic for Merge {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, may_begin, credit, is_due, inside, read_first, held, recent, recent_count);
        self.cut.reset.next = self.reset.val();
        self.may_begin.d.next = self.is_master.val();
        self.credit.d.next = self.credits.val();

        self.ahead.next = self.stamp.val() - self.left.val();
        self.spent.next = bit_cast::<5, 2>(self.held.q.val()) + self.recent_count.q.val() + 2;
        self.has_credit.next = bit_cast::<5, 4>(self.credit.q.val()) >= self.spent.val();

        self.wants_write.next = self.writes.valid.val() & (self.inside.q.val() | self.may_begin.q.val());
        self.wants_read.next = self.is_due.q.val() & !self.inside.q.val() & self.may_begin.q.val();
        self.is_read.next = self.wants_read.val() & (self.read_first.q.val() | !self.wants_write.val());
        self.enters_read.next = self.is_read.val() & self.cut.sink.ready.val();
        self.enters_write.next = self.wants_write.val() & !self.is_read.val() & self.cut.sink.ready.val();
        self.is_due.d.next = self.reads.valid.val()
            & !self.enters_read.val()
            & self.has_credit.val()
            & self.fits.val()
            & (!self.ahead.val().any() | self.ahead.val().get_bit(31));
        self.reads.ready.next = self.is_read.val() & self.cut.sink.ready.val();
        self.writes.ready.next =
            !self.is_read.val() & (self.inside.q.val() | self.may_begin.q.val()) & self.cut.sink.ready.val();
        self.cut.sink.valid.next = self.is_read.val() | self.wants_write.val();
        self.cut.sink.payload.next = self.writes.payload.val();
        if self.is_read.val() {
            self.cut.sink.payload.next = self.reads.payload.val();
            if self.cut.sink.ready.val() {
                self.read_first.d.next = false;
            }
        }
        if self.enters_write.val() {
            self.inside.d.next = !self.writes.payload.val().last;
            self.read_first.d.next = true;
        }

        self.rq.valid.next = self.cut.source.valid.val();
        self.rq.payload.next = self.cut.source.payload.val();
        self.cut.source.ready.next = self.rq.ready.val();
        self.leaves.next =
            self.cut.source.valid.val() & self.rq.ready.val() & self.cut.source.payload.val().last;
        self.leaves_read.next =
            self.leaves.val() & (self.cut.source.payload.val().sequence == self.read_sequence.val());
        self.sends_read.next = self.leaves_read.val();
        self.is_between.next = !self.inside.q.val() & !self.cut.source.valid.val();
        self.sends_write.next = self.leaves.val() & !self.leaves_read.val();
        self.recent.d.next = self.recent.q.val() << 1;
        self.forgets.next = self.recent.q.val().get_bit(7);
        if self.leaves_read.val() {
            self.recent.d.next = (self.recent.q.val() << 1) | 1;
            if !self.forgets.val() {
                self.recent_count.d.next = self.recent_count.q.val() + 1;
            }
        } else if self.forgets.val() {
            self.recent_count.d.next = self.recent_count.q.val() - 1;
        }
        if self.enters_read.val() & !self.leaves_read.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if !self.enters_read.val() & self.leaves_read.val() {
            self.held.d.next = self.held.q.val() - 1;
        }
        if self.reset.val() {
            self.may_begin.d.next = false;
            self.is_due.d.next = false;
            self.inside.d.next = false;
            self.read_first.d.next = false;
            self.held.d.next = 0.into();
            self.recent.d.next = 0.into();
            self.recent_count.d.next = 0.into();
        }
    }
}
