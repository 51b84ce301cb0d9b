//! `kernel_name`: a kernel. [`call`] tells what it does, [`model`] does it in plain Rust, and here it is as hardware.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

pub mod call;
pub mod model;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{
    LENGTH_BITS, PARAMETER_BITS, SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite,
};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_kernel_parts::reply::{REPLY_BITS, Reply};

use call::{KernelName, KernelNameStatus, WORD_LEN};

/// How far an invocation has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Begin,
    /// It is looked at.
    Judge,
    /// The word is asked for.
    Read,
    /// It comes.
    Compare,
    /// The larger one is to be written.
    Write,
    /// It goes.
    Store,
    /// It is not visible yet.
    Wait,
}

block! {
    /// The kernel. What it does is told in [`call`].
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says. `data_in` is taken and forgotten: a request with payload is refused.
    /// - **Latency** 2 cycles from a command to its read, or to the response if it is refused; 1 from the word to the answer's beat, or to its write.
    /// - **Rate** one invocation at a time.
    /// - **Reset** forgets the invocation; what its DMA brings must not come any more.
    pub struct KernelNameKernel<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub write_done: StreamSink<SlotDone>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        reply: Reply<D>,
        step: Reg<Step>,
        asked: Reg<SlotCommand>,
        old: Reg<Bits<64>>,
        text: Signal<Local, Bits<PARAMETER_BITS>>,
        address: Signal<Local, Bits<64>>,
        value: Signal<Local, Bits<64>>,
        is_bad: Signal<Local, Bit>,
        answers: Signal<Local, Bit>,
        found: Signal<Local, Bits<64>>,
        address_at: Constant<Bits<9>> = number(KernelName::ADDRESS.offset()),
        value_at: Constant<Bits<9>> = number(KernelName::VALUE.offset()),
        parameter_words: Constant<Bits<8>> = number(KernelName::LEN / 4),
        parameter_bytes: Constant<Bits<32>> = number(KernelName::LEN),
        answer_len: Constant<Bits<7>> = number(WORD_LEN),
        least_room: Constant<Bits<32>> = number(WORD_LEN),
        word_len: Constant<Bits<LENGTH_BITS>> = number(WORD_LEN),
        bad_request: Constant<Bits<32>> = number(KernelNameStatus::BadRequest as u32),
    }
}

impl<const D: usize> Logic for KernelNameKernel<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, reply);
        dff_setup!(self, clock, step, asked, old);
        self.reply.reset.next = self.reset.val();
        self.text.next = self.asked.q.val().parameters;
        self.address.next = self.text.val().get_bits::<64>(self.address_at.val().index());
        self.value.next = self.text.val().get_bits::<64>(self.value_at.val().index());
        self.is_bad.next = (self.asked.q.val().parameter_words != self.parameter_words.val())
            | (self.asked.q.val().request_len != self.parameter_bytes.val())
            | (self.asked.q.val().response_max < self.least_room.val())
            | self.asked.q.val().flags.any();

        // What each stream offers, and takes.
        self.command.ready.next = (self.step.q.val() == Step::Begin) & self.reply.is_idle.val();
        self.data_in.ready.next = true;
        self.read.valid.next = self.step.q.val() == Step::Read;
        self.read.payload.next.ticket = self.asked.q.val().ticket;
        self.read.payload.next.va = self.address.val();
        self.read.payload.next.key = self.asked.q.val().key;
        self.read.payload.next.len = self.word_len.val();
        self.read_data.ready.next = true;
        self.write.valid.next = self.step.q.val() == Step::Write;
        self.write.payload.next.ticket = self.asked.q.val().ticket;
        self.write.payload.next.va = self.address.val();
        self.write.payload.next.key = self.asked.q.val().key;
        self.write.payload.next.len = self.word_len.val();
        self.write_data.valid.next = self.step.q.val() == Step::Store;
        self.write_data.payload.next.data = bit_cast::<D, 64>(self.value.val());
        self.write_data.payload.next.nbytes = self.answer_len.val();
        self.write_data.payload.next.sop = true;
        self.write_data.payload.next.eop = true;
        self.write_data.payload.next.err = false;
        self.write_done.ready.next = true;

        // From one step to the next.
        self.found.next = self.read_data.payload.val().data.get_bits::<64>(0);
        self.answers.next = false;
        self.reply.status.next = 0.into();
        self.reply.ending.next = 0.into();
        match self.step.q.val() {
            Step::Begin => {
                self.asked.d.next = self.command.payload.val();
                if self.command.valid.val() & self.reply.is_idle.val() {
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                self.step.d.next = Step::Read;
                if self.is_bad.val() {
                    self.reply.status.next = self.bad_request.val();
                    self.answers.next = true;
                }
            }
            Step::Read => {
                if self.read.ready.val() {
                    self.step.d.next = Step::Compare;
                }
            }
            Step::Compare => {
                self.old.d.next = self.found.val();
                self.reply.ending.next = self.read_data.payload.val().err;
                if self.read_data.valid.val() {
                    self.step.d.next = Step::Write;
                    self.answers.next =
                        self.read_data.payload.val().err.any() | (self.value.val() <= self.found.val());
                }
            }
            Step::Write => {
                if self.write.ready.val() {
                    self.step.d.next = Step::Store;
                }
            }
            Step::Store => {
                if self.write_data.ready.val() {
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Wait => {
                self.found.next = self.old.q.val();
                self.reply.ending.next = self.write_done.payload.val().err;
                self.answers.next = self.write_done.valid.val();
            }
        }

        // The answer: the word as it was.
        self.reply.begins.next = self.answers.val();
        self.reply.ticket.next = self.asked.q.val().ticket;
        self.reply.len.next = self.answer_len.val();
        self.reply.data.next = bit_cast::<REPLY_BITS, 64>(self.found.val());
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.reply.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.reply.response);
        if self.answers.val() | self.reset.val() {
            self.step.d.next = Step::Begin;
        }
    }
}
