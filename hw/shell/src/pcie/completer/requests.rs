//! Requests, one at a time: writes become stores, and what wants an answer is handed on.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::record;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::bus::Store;
use super::descriptor::Descriptor;
use super::gate::Whole;

record! {
    /// A request that wants an answer.
    pub struct Head {
        /// Its descriptor.
        pub descriptor: Bits<128>,
        /// Byte enables of its first dword.
        pub first_be: Bits<4>,
        /// Of its last.
        pub last_be: Bits<4>,
        /// It is not supported, and the answer says so.
        pub is_refused: Bit,
    }
}

/// What becomes of the request.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// What is it?
    Look,
    /// Its payload is stored, eight bytes at a time.
    Store,
    /// It is handed on.
    Hand,
    /// Its answer goes.
    Wait,
    /// Beats that say nothing more.
    Skip,
}

block! {
    /// Cuts payload into stores of eight aligned bytes, and keeps requests in their order.
    ///
    /// ```text
    ///   address a multiple of 8     | 1 0 | 3 2 | 5 4 |      pairs of dwords as they lie in a beat are words of the card
    ///   four bytes behind one       | 0 . | 2 1 | 4 3 | . 5  a word is the upper half of one pair and the lower of the next
    /// ```
    ///
    /// - **Ports** `sink`: requests that are good; `stores`: what writes of memory to a BAR of ours store, eight aligned bytes at a time, without
    ///   those of which no byte is enabled; `heads`: reads, and refused requests that want an answer. Others are dropped. `unsupported`: how many were refused or
    ///   dropped. `stops`: none is to begin; `is_idle`: none is under way, and no store on offer.
    /// - **Order** the next request begins when the one before has gone to its last store, or when `heads` is ready again.
    /// - **Latency** 3 cycles to the first store. **Rate** 1 store per cycle, and 1 cycle for each further beat.
    /// - **Backpressure** stalls `sink`; nothing follows `stores.ready` or `heads.ready`.
    /// - **Reset** forgets the request; `sink` has to be reset with it.
    pub struct Requests {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Whole>,
        pub stores: StreamSource<Store>,
        pub heads: StreamSource<Head>,
        pub stops: Signal<In, Bit>,
        pub is_idle: Signal<Out, Bit>,
        pub unsupported: Signal<Out, Bits<32>>,
        cut: Skid<Store>,
        descriptor: Descriptor,
        step: Reg<Step>,
        head: Reg<Bits<128>>,
        first_be: Reg<Bits<4>>,
        last_be: Reg<Bits<4>>,
        is_refused: Reg<Bit>,
        /// The beat, and how many pairs of dwords are left of it; whether there is none behind it.
        beat: Reg<Bits<512>>,
        pairs: Reg<Bits<4>>,
        is_last: Reg<Bit>,
        /// The upper half of the pair before.
        carry: Reg<Bits<32>>,
        at: Reg<Bits<25>>,
        left: Reg<Bits<11>>,
        is_first: Reg<Bit>,
        is_shifted: Reg<Bit>,
        count: Reg<Bits<32>>,
        is_ours: Signal<Local, Bit>,
        pair: Signal<Local, Bits<64>>,
        low_be: Signal<Local, Bits<4>>,
        high_be: Signal<Local, Bits<4>>,
        strobe: Signal<Local, Bits<8>>,
        is_single: Signal<Local, Bit>,
        needs_pair: Signal<Local, Bit>,
        has_word: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        all: Constant<Bits<4>> = Constant::new(Bits::mask()),
        unaligned: Constant<Bits<25>> = Constant::new(7.into()),
    }
}

impl Logic for Requests {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "one request from its first beat to its last")]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, step, head, first_be, last_be, is_refused, beat, pairs, is_last);
        dff_setup!(self, clock, carry, at, left, is_first, is_shifted, count);
        self.cut.reset.next = self.reset.val();
        StreamSource::<Store>::link(&mut self.stores, &mut self.cut.source);
        self.unsupported.next = self.count.q.val();
        self.descriptor.bits.next = self.head.q.val();
        self.is_ours.next =
            self.descriptor.is_known.val() & (self.descriptor.is_write.val() | self.descriptor.is_read.val());

        self.low_be.next = self.all.val();
        self.high_be.next = self.all.val();
        if self.left.q.val() == 2 {
            self.high_be.next = self.last_be.q.val();
        }
        if self.left.q.val() == 1 {
            self.low_be.next = self.last_be.q.val();
            self.high_be.next = 0.into();
        }
        if self.is_first.q.val() {
            self.low_be.next = self.first_be.q.val();
            if self.is_shifted.q.val() {
                self.low_be.next = 0.into();
                self.high_be.next = self.first_be.q.val();
            }
        }
        self.strobe.next = bit_cast::<8, 4>(self.low_be.val()) | (bit_cast::<8, 4>(self.high_be.val()) << 4);
        self.is_single.next = (self.left.q.val() == 1) | (self.is_first.q.val() & self.is_shifted.q.val());
        // The last dword of a shifted payload may be in the carry already.
        self.needs_pair.next = !self.is_shifted.q.val() | (self.left.q.val() != 1);
        self.has_word.next = self.pairs.q.val().any() | !self.needs_pair.val();
        self.pair.next = self.beat.q.val().get_bits::<64>(0);

        self.sink.ready.next = false;
        self.heads.valid.next = false;
        self.heads.payload.next.descriptor = self.head.q.val();
        self.heads.payload.next.first_be = self.first_be.q.val();
        self.heads.payload.next.last_be = self.last_be.q.val();
        self.heads.payload.next.is_refused = self.is_refused.q.val();
        self.cut.sink.valid.next = false;
        self.cut.sink.payload.next.addr = self.at.q.val();
        self.cut.sink.payload.next.is_table = self.descriptor.is_table.val();
        self.cut.sink.payload.next.data = self.pair.val();
        if self.is_shifted.q.val() {
            self.cut.sink.payload.next.data =
                (self.pair.val() << 32) | bit_cast::<64, 32>(self.carry.q.val());
        }
        self.cut.sink.payload.next.strb = self.strobe.val();
        self.moves.next = self.has_word.val() & (self.cut.sink.ready.val() | !self.strobe.val().any());
        self.is_idle.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.is_idle.next = !self.cut.source.valid.val();
                self.sink.ready.next = !self.stops.val();
                self.head.d.next = bit_cast::<128, 512>(self.sink.payload.val().data);
                self.first_be.d.next = self.sink.payload.val().first_be;
                self.last_be.d.next = self.sink.payload.val().last_be;
                self.beat.d.next = self.sink.payload.val().data >> 128;
                self.is_last.d.next = self.sink.payload.val().last;
                self.pairs.d.next = 6.into();
                self.is_first.d.next = true;
                if self.sink.valid.val() & !self.stops.val() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                self.at.d.next = self.descriptor.place.val() & !self.unaligned.val();
                self.is_shifted.d.next = self.descriptor.place.val().get_bit(2);
                self.left.d.next = self.descriptor.count.val();
                self.is_refused.d.next = !self.is_ours.val();
                if !self.is_ours.val() {
                    self.count.d.next = self.count.q.val() + 1;
                }
                if !self.descriptor.is_posted.val() {
                    self.step.d.next = Step::Hand;
                } else if self.is_ours.val() {
                    self.step.d.next = Step::Store;
                } else {
                    self.step.d.next = Step::Skip;
                }
            }
            Step::Store => {
                self.cut.sink.valid.next = self.has_word.val() & self.strobe.val().any();
                if !self.has_word.val() {
                    self.sink.ready.next = true;
                    self.beat.d.next = self.sink.payload.val().data;
                    if self.sink.valid.val() {
                        self.is_last.d.next = self.sink.payload.val().last;
                        self.pairs.d.next = 8.into();
                    }
                }
                if self.moves.val() {
                    self.at.d.next = self.at.q.val() + 8;
                    self.is_first.d.next = false;
                    self.left.d.next = self.left.q.val() - 2;
                    if self.is_single.val() {
                        self.left.d.next = self.left.q.val() - 1;
                    }
                    if self.needs_pair.val() {
                        self.carry.d.next = self.pair.val().get_bits::<32>(32);
                        self.beat.d.next = self.beat.q.val() >> 64;
                        self.pairs.d.next = self.pairs.q.val() - 1;
                    }
                    if (self.left.q.val() == 1) | (!self.is_single.val() & (self.left.q.val() == 2)) {
                        self.step.d.next = Step::Skip;
                    }
                }
            }
            Step::Hand => {
                self.heads.valid.next = true;
                if self.heads.ready.val() {
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Wait => {
                if self.heads.ready.val() {
                    self.step.d.next = Step::Skip;
                }
            }
            Step::Skip => {
                self.sink.ready.next = !self.is_last.q.val();
                if self.is_last.q.val() {
                    self.step.d.next = Step::Idle;
                } else if self.sink.valid.val() {
                    self.is_last.d.next = self.sink.payload.val().last;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.count.d.next = 0.into();
        }
    }
}
