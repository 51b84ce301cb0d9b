//! Answers: what a read wants is loaded, and goes back in completions.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::record;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::bus::{Load, RegAnswer};
use super::descriptor::Descriptor;
use super::fields::{BEAT_DWORDS, BOUNDARY_DWORDS};
use super::opening::Opening;
use super::requests::Head;

/// `2^LOG` beats wait for the last of their completion, which has three at most.
const BEATS_LOG: usize = 2;

record! {
    /// A beat of `s_axis_cc`.
    pub struct CcBeat {
        /// Descriptor and payload.
        pub data: Bits<512>,
        /// Which dwords count.
        pub keep: Bits<16>,
        /// The first beat of a completion.
        pub is_first: Bit,
        /// The last.
        pub last: Bit,
        /// The last dword that counts.
        pub end_at: Bits<4>,
    }
}

/// What becomes of the request.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// How much does it want?
    Measure,
    /// A completion begins.
    Begin,
    /// Eight bytes are asked for.
    Load,
    /// They are awaited.
    Wait,
    /// Four of them go into the beat.
    Put,
    /// The beat goes.
    Give,
}

block! {
    /// Answers one request at a time.
    ///
    /// A read of nothing, by which a host makes sure that its writes have arrived, loads nothing and gets zeros. Completions end at multiples of 128 bytes, which
    /// is the rule for endpoints, so a request that crosses none has one completion.
    ///
    /// - **Ports** `heads`: who wants an answer, ready when the one before has its own; `loads`, `loaded`: eight bytes at a time; `cc`: completions, each without a pause between its beats.
    /// - **Latency** 5 cycles and a load, for four bytes. **Rate** four bytes a cycle, besides loads.
    /// - **Backpressure** stalls what is under way; nothing follows `cc.ready`.
    /// - **Reset** forgets the request and its answer; whoever loads has to be reset with it.
    /// - **Limits** byte enables that PCIe forbids (none for the first or last of several dwords) give counts of no meaning, and all data.
    pub struct Answers {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub heads: StreamSink<Head>,
        pub loads: StreamSource<Load>,
        pub loaded: StreamSink<RegAnswer>,
        pub cc: StreamSource<CcBeat>,
        /// The beats of a completion wait here for its last: the hard block wants them without a pause.
        beats: Fifo<CcBeat, BEATS_LOG>,
        whole: Reg<Bits<3>>,
        ends: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        cut: Skid<CcBeat>,
        descriptor: Descriptor,
        opening: Opening,
        step: Reg<Step>,
        head: Reg<Head>,
        /// Where the next dword is, how many dwords and bytes are left, and how many dwords of the completion.
        at: Reg<Bits<25>>,
        left: Reg<Bits<11>>,
        bytes: Reg<Bits<13>>,
        span: Reg<Bits<11>>,
        /// Where the completion begins in its 128 bytes.
        begins: Reg<Bits<7>>,
        is_nothing: Reg<Bit>,
        word: Reg<Bits<64>>,
        dwords: [Reg<Bits<32>>; BEAT_DWORDS] = std::array::from_fn(|_| Reg::default()),
        keep: Reg<Bits<16>>,
        /// The next dword of the beat.
        place: Reg<Bits<4>>,
        is_first: Reg<Bit>,
        is_over: Reg<Bit>,
        tail_be: Signal<Local, Bits<4>>,
        lead: Signal<Local, Bits<2>>,
        trail: Signal<Local, Bits<2>>,
        room: Signal<Local, Bits<11>>,
        span_now: Signal<Local, Bits<11>>,
        value: Signal<Local, Bits<32>>,
        lifted: [Signal<Local, Bits<512>>; BEAT_DWORDS] = std::array::from_fn(|_| Signal::default()),
        joined: [Signal<Local, Bits<512>>; 17] = std::array::from_fn(|_| Signal::default()),
        boundary: Constant<Bits<11>> = number(BOUNDARY_DWORDS),
        boundary_bytes: Constant<Bits<13>> = number(4 * BOUNDARY_DWORDS),
        last_place: Constant<Bits<4>> = number(BEAT_DWORDS - 1),
        opened: Constant<Bits<16>> = number(0x7_u64),
        refused: Constant<Bits<16>> = number(0xff_u64),
        places: [Constant<Bits<4>>; BEAT_DWORDS] = constants(|place| (place as u64).into()),
        shifts: [Constant<Bits<9>>; BEAT_DWORDS] = constants(|place| (32 * place as u64).into()),
        nothing: Constant<Bits<512>> = number(0_u64),
    }
}

impl Logic for Answers {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "one answer from its request to its last beat")]
    fn update(&mut self) {
        clock!(self, clock, beats, cut);
        dff_setup!(self, clock, step, head, at, left, bytes, span, begins, is_nothing, word, keep, place);
        dff_setup!(self, clock, is_first, is_over, whole);
        for i in 0..16 {
            self.dwords[i].clock.next = self.clock.val();
            self.dwords[i].d.next = self.dwords[i].q.val();
        }
        self.beats.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        StreamSource::<CcBeat>::link(&mut self.cc, &mut self.cut.source);
        self.cut.sink.payload.next = self.beats.source.payload.val();
        self.cut.sink.valid.next = self.beats.source.valid.val() & self.whole.q.val().any();
        self.beats.source.ready.next = self.cut.sink.ready.val() & self.whole.q.val().any();
        self.leaves.next = self.beats.source.valid.val()
            & self.whole.q.val().any()
            & self.cut.sink.ready.val()
            & self.beats.source.payload.val().last;

        self.descriptor.bits.next = self.head.q.val().descriptor;
        self.tail_be.next = self.head.q.val().last_be;
        if self.descriptor.count.val() == 1 {
            self.tail_be.next = self.head.q.val().first_be;
        }
        // Bytes before the first that is enabled, and behind the last. A read of nothing counts as one byte.
        self.lead.next = 0.into();
        if !self.head.q.val().first_be.get_bit(0) & self.head.q.val().first_be.any() {
            self.lead.next = 3.into();
            if self.head.q.val().first_be.get_bit(1) {
                self.lead.next = 1.into();
            } else if self.head.q.val().first_be.get_bit(2) {
                self.lead.next = 2.into();
            }
        }
        self.trail.next = 3.into();
        if self.tail_be.val().get_bit(3) {
            self.trail.next = 0.into();
        } else if self.tail_be.val().get_bit(2) {
            self.trail.next = 1.into();
        } else if self.tail_be.val().get_bit(1) {
            self.trail.next = 2.into();
        }

        self.room.next = self.boundary.val() - bit_cast::<11, 5>(self.at.q.val().get_bits::<5>(2));
        self.span_now.next = self.room.val();
        if self.left.q.val() < self.room.val() {
            self.span_now.next = self.left.q.val();
        }
        self.opening.head.next = self.head.q.val();
        self.opening.count.next = self.span_now.val();
        self.opening.bytes.next = self.bytes.q.val();
        self.opening.begins.next = self.begins.q.val();

        self.value.next = self.word.q.val().get_bits::<32>(0);
        if self.at.q.val().get_bit(2) {
            self.value.next = self.word.q.val().get_bits::<32>(32);
        }
        self.joined[0].next = self.nothing.val();
        for i in 0..16 {
            self.lifted[i].next = self.dwords[i].q.val().get_bits::<512>(0);
            self.joined[i + 1].next = self.joined[i].val() | (self.lifted[i].val() << self.shifts[i].val());
        }
        self.beats.sink.payload.next.data = self.joined[16].val();
        self.beats.sink.payload.next.keep = self.keep.q.val();
        self.beats.sink.payload.next.is_first = self.is_first.q.val();
        self.beats.sink.payload.next.last = self.is_over.q.val();
        self.beats.sink.payload.next.end_at = self.place.q.val() - 1;

        self.heads.ready.next = false;
        self.loads.valid.next = false;
        self.loads.payload.next.addr = self.at.q.val();
        self.loads.payload.next.is_table = self.descriptor.is_table.val();
        self.loaded.ready.next = false;
        self.beats.sink.valid.next = false;
        self.ends.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.heads.ready.next = true;
                self.head.d.next = self.heads.payload.val();
                if self.heads.valid.val() {
                    self.step.d.next = Step::Measure;
                }
            }
            Step::Measure => {
                self.at.d.next = self.descriptor.place.val();
                self.left.d.next = self.descriptor.count.val();
                self.bytes.d.next = (bit_cast::<13, 11>(self.descriptor.count.val()) << 2)
                    - bit_cast::<13, 2>(self.lead.val())
                    - bit_cast::<13, 2>(self.trail.val());
                self.begins.d.next =
                    bit_cast::<7, 25>(self.descriptor.place.val()) | bit_cast::<7, 2>(self.lead.val());
                self.is_nothing.d.next =
                    (self.descriptor.count.val() == 1) & !self.head.q.val().first_be.any();
                self.step.d.next = Step::Begin;
            }
            Step::Begin => {
                for i in 0..8 {
                    self.dwords[i].d.next = self.opening.bits.val().get_bits::<32>(i * 32);
                }
                self.is_first.d.next = true;
                self.span.d.next = self.span_now.val();
                self.keep.d.next = self.opened.val();
                self.place.d.next = 3.into();
                self.step.d.next = Step::Load;
                if self.head.q.val().is_refused {
                    self.keep.d.next = self.refused.val();
                    self.place.d.next = 8.into();
                    self.left.d.next = 0.into();
                    self.is_over.d.next = true;
                    self.step.d.next = Step::Give;
                }
            }
            Step::Load => {
                self.loads.valid.next = !self.is_nothing.q.val();
                if self.is_nothing.q.val() {
                    self.word.d.next = 0.into();
                    self.step.d.next = Step::Put;
                } else if self.loads.ready.val() {
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Wait => {
                self.loaded.ready.next = true;
                self.word.d.next = self.loaded.payload.val().data;
                if self.loaded.valid.val() {
                    self.step.d.next = Step::Put;
                }
            }
            Step::Put => {
                for i in 0..16 {
                    if self.place.q.val() == self.places[i].val() {
                        self.dwords[i].d.next = self.value.val();
                    }
                }
                self.keep.d.next = (self.keep.q.val() << 1) | 1;
                self.place.d.next = self.place.q.val() + 1;
                self.at.d.next = self.at.q.val() + 4;
                self.left.d.next = self.left.q.val() - 1;
                self.span.d.next = self.span.q.val() - 1;
                self.is_over.d.next = self.span.q.val() == 1;
                if (self.span.q.val() == 1) | (self.place.q.val() == self.last_place.val()) {
                    self.step.d.next = Step::Give;
                } else if self.at.q.val().get_bit(2) {
                    self.step.d.next = Step::Load;
                }
            }
            Step::Give => {
                self.beats.sink.valid.next = true;
                if self.beats.sink.ready.val() {
                    self.ends.next = self.is_over.q.val();
                    self.is_first.d.next = false;
                    self.keep.d.next = 0.into();
                    self.place.d.next = 0.into();
                    if !self.is_over.q.val() {
                        self.step.d.next = Step::Load;
                        // The upper half of what was loaded is still to go.
                        if self.at.q.val().get_bit(2) {
                            self.step.d.next = Step::Put;
                        }
                    } else if self.left.q.val().any() {
                        self.bytes.d.next = self.bytes.q.val()
                            - (self.boundary_bytes.val() - bit_cast::<13, 7>(self.begins.q.val()));
                        self.begins.d.next = 0.into();
                        self.step.d.next = Step::Begin;
                    } else {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
        }
        if self.ends.val() & !self.leaves.val() {
            self.whole.d.next = self.whole.q.val() + 1;
        }
        if self.leaves.val() & !self.ends.val() {
            self.whole.d.next = self.whole.q.val() - 1;
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.whole.d.next = 0.into();
        }
    }
}
