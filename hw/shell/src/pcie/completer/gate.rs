//! The gate: only whole requests that are what they say come in.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::prim::stream_ram::StreamRam;
use stroma_hw::record;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::descriptor::Descriptor;
use super::fields::{BEAT_DWORDS, MAX_DWORDS, REQUEST_DWORDS};

/// `2^LOG` beats fit: the longest request has 65, so one that comes in always has room behind what has to leave first.
const LOG: usize = 7;

record! {
    /// A beat of `m_axis_cq`.
    pub struct CqBeat {
        /// Descriptor and payload.
        pub data: Bits<512>,
        /// Which dwords count.
        pub keep: Bits<16>,
        /// Byte enables of the first dword of payload; in the first beat.
        pub first_be: Bits<4>,
        /// Of the last; in the first beat.
        pub last_be: Bits<4>,
        /// The transaction is to be thrown away.
        pub discontinue: Bit,
        /// The last beat of a transaction.
        pub last: Bit,
    }
}

record! {
    /// A beat of a request that is good.
    pub struct Whole {
        /// Descriptor and payload.
        pub data: Bits<512>,
        /// Byte enables of the first dword of payload; in the first beat.
        pub first_be: Bits<4>,
        /// Of the last; in the first beat.
        pub last_be: Bits<4>,
        /// The last beat of a request.
        pub last: Bit,
    }
}

block! {
    /// Keeps a request until its last beat has come, and drops it if it is broken.
    ///
    /// The hard block says with the last beat that something of the payload was lost. A store that has been carried out cannot be taken back, so
    /// none is until then.
    ///
    /// - **Ports** `cq`: what the hard block gives; `source`: requests that are good, beat for beat; `errors`: how many were not. Good is a request
    ///   without `discontinue`, with a whole descriptor and without holes; reads and writes of memory are of 1 to 1024 dwords, and a write has as
    ///   many as it says. Of other kinds nothing is believed behind the descriptor.
    /// - **Latency** 4 cycles from the last beat to the first. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `cq` when 128 beats wait; `cq.ready` is a register. What is longer than any request is swallowed.
    /// - **Reset** empties it and clears `errors`; the next beat begins a request. `errors` wraps.
    pub struct Gate {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub cq: StreamSink<CqBeat>,
        pub source: StreamSource<Whole>,
        pub errors: Signal<Out, Bits<32>>,
        cut: Skid<CqBeat>,
        memory: StreamRam<Whole, LOG>,
        descriptor: Descriptor,
        write_at: Reg<Bits<LOG>>,
        commit_at: Reg<Bits<LOG>>,
        read_at: Reg<Bits<LOG>>,
        held: Reg<Bits<8>>,
        committed: Reg<Bits<8>>,
        error_count: Reg<Bits<32>>,
        is_inside: Reg<Bit>,
        is_bad: Reg<Bit>,
        /// dwords so far, those that there have to be, and whether there have to be so many.
        sum: Reg<Bits<12>>,
        due: Reg<Bits<12>>,
        is_counted: Reg<Bit>,
        beat: Signal<Local, CqBeat>,
        is_full: Signal<Local, Bit>,
        accepts: Signal<Local, Bit>,
        counted: [Signal<Local, Bits<5>>; 6],
        is_odd: Signal<Local, Bit>,
        is_short: Signal<Local, Bit>,
        sum_now: Signal<Local, Bits<12>>,
        due_now: Signal<Local, Bits<12>>,
        is_counted_now: Signal<Local, Bit>,
        is_bad_now: Signal<Local, Bit>,
        held_left: Signal<Local, Bits<8>>,
        committed_left: Signal<Local, Bits<8>>,
        write_next: Signal<Local, Bits<LOG>>,
        nothing: Constant<Bits<5>> = number(0_u64),
        head: Constant<Bits<12>> = number(REQUEST_DWORDS),
        longest: Constant<Bits<12>> = number(MAX_DWORDS + REQUEST_DWORDS),
        most: Constant<Bits<11>> = number(MAX_DWORDS),
        capacity: Constant<Bits<8>> = number(1_u64 << LOG),
        weight: [Constant<Bits<16>>; 5] = constants(weight),
    }
}

/// The bits of `keep` whose parity is bit `bit` of their count, if they are ones without a hole: every `2^bit`-th.
fn weight(bit: usize) -> Bits<16> {
    let places = (0..BEAT_DWORDS).filter(|place| (place + 1).is_multiple_of(1 << bit));
    places.fold(Bits::default(), |all, place| all.replace_bit(place, true))
}

impl Logic for Gate {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut, memory);
        dff_setup!(self, clock, write_at, commit_at, read_at, held, committed, error_count);
        dff_setup!(self, clock, is_inside, is_bad, sum, due, is_counted);
        self.cut.reset.next = self.reset.val();
        StreamSink::<CqBeat>::link(&mut self.cq, &mut self.cut.sink);
        self.errors.next = self.error_count.q.val();
        self.beat.next = self.cut.source.payload.val();
        self.is_full.next = self.held.q.val() == self.capacity.val();
        self.cut.source.ready.next = !self.is_full.val();
        self.accepts.next = self.cut.source.valid.val() & !self.is_full.val();

        self.counted[0].next = self.nothing.val();
        for i in 0..5 {
            self.counted[i + 1].next =
                self.counted[i].val().replace_bit(i, (self.beat.val().keep & self.weight[i].val()).xor());
        }
        self.is_odd.next = (self.beat.val().keep & (self.beat.val().keep + 1)).any()
            | (!self.beat.val().last & !self.beat.val().keep.all());
        self.descriptor.bits.next = bit_cast::<128, 512>(self.beat.val().data);
        self.sum_now.next = self.sum.q.val() + bit_cast::<12, 5>(self.counted[5].val());
        self.due_now.next = self.due.q.val();
        self.is_counted_now.next = self.is_counted.q.val();
        self.is_short.next = false;
        if !self.is_inside.q.val() {
            self.sum_now.next = bit_cast::<12, 5>(self.counted[5].val());
            self.due_now.next = bit_cast::<12, 11>(self.descriptor.count.val()) + self.head.val();
            self.is_counted_now.next = self.descriptor.is_write.val();
            self.is_short.next = (bit_cast::<12, 5>(self.counted[5].val()) < self.head.val())
                | ((self.descriptor.is_write.val() | self.descriptor.is_read.val())
                    & (!self.descriptor.count.val().any() | (self.descriptor.count.val() > self.most.val())));
        }
        self.is_bad_now.next = (self.is_bad.q.val() & self.is_inside.q.val())
            | self.is_odd.val()
            | self.is_short.val()
            | self.beat.val().discontinue
            | (self.sum_now.val() > self.longest.val())
            | (self.beat.val().last & self.is_counted_now.val() & (self.sum_now.val() != self.due_now.val()));

        self.memory.reset.next = self.reset.val();
        self.memory.write_enable.next = self.accepts.val() & !self.is_bad_now.val();
        self.memory.write_at.next = self.write_at.q.val();
        self.memory.write_data.next.data = self.beat.val().data;
        self.memory.write_data.next.first_be = self.beat.val().first_be;
        self.memory.write_data.next.last_be = self.beat.val().last_be;
        self.memory.write_data.next.last = self.beat.val().last;
        self.memory.some.next = self.committed.q.val().any();
        self.memory.read_at.next = self.read_at.q.val();
        StreamSource::<Whole>::link(&mut self.source, &mut self.memory.source);

        self.held_left.next = self.held.q.val();
        self.committed_left.next = self.committed.q.val();
        if self.memory.taken.val() {
            self.held_left.next = self.held.q.val() - 1;
            self.committed_left.next = self.committed.q.val() - 1;
            self.read_at.d.next = self.read_at.q.val() + 1;
        }
        self.held.d.next = self.held_left.val();
        self.committed.d.next = self.committed_left.val();
        self.write_next.next = self.write_at.q.val() + 1;
        if self.accepts.val() {
            self.is_inside.d.next = !self.beat.val().last;
            self.is_bad.d.next = self.is_bad_now.val();
            self.sum.d.next = self.sum_now.val();
            self.due.d.next = self.due_now.val();
            self.is_counted.d.next = self.is_counted_now.val();
            if self.is_bad_now.val() {
                // What came of it before is forgotten at once.
                self.write_at.d.next = self.commit_at.q.val();
                self.held.d.next = self.committed_left.val();
                if self.beat.val().last {
                    self.error_count.d.next = self.error_count.q.val() + 1;
                }
            } else {
                self.write_at.d.next = self.write_next.val();
                self.held.d.next = self.held_left.val() + 1;
                if self.beat.val().last {
                    self.commit_at.d.next = self.write_next.val();
                    self.committed.d.next = self.held_left.val() + 1;
                }
            }
        }
        if self.reset.val() {
            self.write_at.d.next = 0.into();
            self.commit_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.held.d.next = 0.into();
            self.committed.d.next = 0.into();
            self.error_count.d.next = 0.into();
            self.is_inside.d.next = false;
        }
    }
}
