//! Which vector goes next, and what becomes of its message.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::StreamSink;

use super::first::First;

/// Cycles before a message is tried again that could not be sent: whatever stood against it needs time to change.
const REST_CYCLES: usize = 255;

/// What becomes of the message.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// Is there one?
    Look,
    /// Which is the first behind the last?
    Choose,
    /// Where to?
    Address,
    /// With what data?
    Data,
    /// It goes, if it still may.
    Give,
    /// Has it been sent?
    Wait,
    /// It has not.
    Rest,
}

block! {
    /// Keeps vectors until their messages have been sent, and sends one at a time.
    ///
    /// - **Ports** `irq`: vectors to raise; `pending`: those whose messages have not gone; `masks`, `mask`, `enable`: of single vectors, of all, and whether there may be
    ///   messages at all. `row`, `word`: asks for a word of the table, and has it in the same cycle. `address`, `data`: stay from `gives`, which lasts a cycle, until
    ///   `sent` or `fail`. `failures`: how often it was `fail`.
    /// - **Order** vectors take turns, beginning behind the last.
    /// - **Latency** 7 cycles from `irq` to `gives`. **Rate** a message every 6 cycles, and what the block needs.
    /// - **Backpressure** none.
    /// - **Reset** nothing is pending, and no message is under way.
    pub struct Messages {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub irq: StreamSink<Bits<5>>,
        pub pending: Signal<Out, Bits<32>>,
        pub masks: Signal<In, Bits<32>>,
        pub mask: Signal<In, Bit>,
        pub enable: Signal<In, Bit>,
        pub row: Signal<Out, Bits<6>>,
        pub word: Signal<In, Bits<64>>,
        pub address: Signal<Out, Bits<64>>,
        pub data: Signal<Out, Bits<32>>,
        pub gives: Signal<Out, Bit>,
        pub sent: Signal<In, Bit>,
        pub fail: Signal<In, Bit>,
        pub failures: Signal<Out, Bits<32>>,
        first: First,
        step: Reg<Step>,
        waiting: Reg<Bits<32>>,
        /// Those that may go now.
        open: Reg<Bits<32>>,
        /// The same, from the one on that comes first now.
        turned: Reg<Bits<32>>,
        foremost: Reg<Bits<5>>,
        /// The one whose turn it is.
        vector: Reg<Bits<5>>,
        to: Reg<Bits<64>>,
        what: Reg<Bits<32>>,
        gives_now: Reg<Bit>,
        rest: Reg<Bits<8>>,
        failed: Reg<Bits<32>>,
        chosen: Signal<Local, Bits<32>>,
        twice: Signal<Local, Bits<64>>,
        raised: Signal<Local, Bits<32>>,
        kept: Signal<Local, Bits<32>>,
        one: Constant<Bits<32>> = number(1_u64),
        rests: Constant<Bits<8>> = number(REST_CYCLES),
    }
}

impl Logic for Messages {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, waiting, open, turned, foremost, vector, to, what, gives_now, rest, failed
        );
        self.irq.ready.next = true;
        self.pending.next = self.waiting.q.val();
        self.address.next = self.to.q.val();
        self.data.next = self.what.q.val();
        self.gives.next = self.gives_now.q.val();
        self.failures.next = self.failed.q.val();

        self.chosen.next = self.one.val() << self.vector.q.val();
        self.row.next = bit_cast::<6, 5>(self.vector.q.val()) << 1;

        self.twice.next =
            bit_cast::<64, 32>(self.open.q.val()) | (bit_cast::<64, 32>(self.open.q.val()) << 32);
        self.turned.d.next = bit_cast::<32, 64>(self.twice.val() >> self.foremost.q.val());
        self.first.bits.next = self.turned.q.val();

        self.open.d.next = 0.into();
        if self.enable.val() & !self.mask.val() {
            self.open.d.next = self.waiting.q.val() & !self.masks.val();
        }
        self.gives_now.d.next = false;
        self.kept.next = self.waiting.q.val();
        match self.step.q.val() {
            Step::Look => {
                if self.open.q.val().any() {
                    self.step.d.next = Step::Choose;
                }
            }
            Step::Choose => {
                self.vector.d.next = self.foremost.q.val() + self.first.index.val();
                self.step.d.next = Step::Address;
            }
            Step::Address => {
                self.foremost.d.next = self.vector.q.val() + 1;
                self.to.d.next = self.word.val();
                self.step.d.next = Step::Data;
            }
            Step::Data => {
                self.row.next = (bit_cast::<6, 5>(self.vector.q.val()) << 1) | 1;
                self.what.d.next = self.word.val().get_bits::<32>(0);
                self.step.d.next = Step::Give;
            }
            Step::Give => {
                self.step.d.next = Step::Look;
                // What the host has masked since may not go.
                if (self.chosen.val() & self.open.q.val() & !self.masks.val()).any() {
                    self.gives_now.d.next = true;
                    self.kept.next = self.waiting.q.val() & !self.chosen.val();
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Wait => {
                self.rest.d.next = self.rests.val();
                if self.sent.val() {
                    self.step.d.next = Step::Look;
                } else if self.fail.val() {
                    self.failed.d.next = self.failed.q.val() + 1;
                    self.kept.next = self.waiting.q.val() | self.chosen.val();
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Rest => {
                self.rest.d.next = self.rest.q.val() - 1;
                if !self.rest.q.val().any() {
                    self.step.d.next = Step::Look;
                }
            }
        }
        self.raised.next = 0.into();
        if self.irq.valid.val() {
            self.raised.next = self.one.val() << self.irq.payload.val();
        }
        self.waiting.d.next = self.kept.val() | self.raised.val();
        if self.reset.val() {
            self.step.d.next = Step::Look;
            self.waiting.d.next = 0.into();
            self.foremost.d.next = 0.into();
            self.open.d.next = 0.into();
            self.gives_now.d.next = false;
            self.failed.d.next = 0.into();
        }
    }
}
