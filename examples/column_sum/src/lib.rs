//! `column_sum`: the sum of a column, over the rows of a table that pass a filter. [`call`] tells what is asked, [`model`] does it in plain
//! Rust, and here it is as hardware.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

pub mod call;
pub mod gather;
pub mod judge;
pub mod model;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, SlotData, SlotRead, SlotResponse};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_kernel_parts::reply::{REPLY_BITS, Reply};

use call::{ColumnSumStatus, Totals};
use gather::Gather;
use judge::{Judge, Task};

/// How far an invocation has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it is looked at.
    Begin,
    /// Its rows are read.
    Gather,
}

block! {
    /// The kernel. What it does is told in [`call`].
    ///
    /// ```text
    ///   command ── Judge ──────────────── Reply ── data_out, response
    ///                └── Gather ── sum ──────┘
    ///   read_data ────────┘└── read
    /// ```
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says, without writes. `data_in` is taken and forgotten: a request with payload is refused.
    /// - **Latency** 2 cycles from a command to its first read, 2 from the last word to the answer's first beat, and from a command that is refused to its response.
    /// - **Rate** one invocation at a time, a read in each cycle: a row every 2 cycles.
    /// - **Backpressure** none on `read_data`.
    /// - **Reset** forgets the invocation; data of its reads must not come any more.
    /// - **Limits** `D` is 64 or 512. How long many rows may take is the watchdog's affair.
    pub struct ColumnSumKernel<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        judge: Judge,
        gather: Gather<D>,
        reply: Reply<D>,
        step: Reg<Step>,
        task: Signal<Local, Task>,
        begins: Signal<Local, Bit>,
        answers: Signal<Local, Bit>,
        answer_len: Constant<Bits<7>> = number(Totals::LEN),
        matching_at: Constant<Bits<10>> = number(Totals::MATCHING.offset()),
        bad_request: Constant<Bits<32>> = number(ColumnSumStatus::BadRequest as u32),
    }
}

impl<const D: usize> Logic for ColumnSumKernel<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, judge, gather, reply);
        dff_setup!(self, clock, step);
        self.judge.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.reply.reset.next = self.reset.val();
        self.data_in.ready.next = true;
        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.judge.sink);
        self.task.next = self.judge.source.payload.val();

        // A good request is gathered for, a bad one is answered at once.
        self.begins.next = false;
        self.answers.next = false;
        self.reply.status.next = 0.into();
        self.reply.ending.next = self.gather.ending.val();
        match self.step.q.val() {
            Step::Begin => {
                self.reply.status.next = self.bad_request.val();
                self.reply.ending.next = 0.into();
                if self.judge.source.valid.val() & self.reply.is_idle.val() {
                    self.begins.next = !self.task.val().is_bad;
                    self.answers.next = self.task.val().is_bad;
                }
            }
            Step::Gather => {
                self.answers.next = self.gather.is_idle.val();
            }
        }
        if self.begins.val() {
            self.step.d.next = Step::Gather;
        }
        if self.answers.val() | self.reset.val() {
            self.step.d.next = Step::Begin;
        }
        self.judge.source.ready.next = self.answers.val();

        self.gather.begins.next = self.begins.val();
        self.gather.wanted.next = self.task.val();
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.gather.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data, &mut self.gather.read_data);

        self.reply.begins.next = self.answers.val();
        self.reply.ticket.next = self.task.val().ticket;
        self.reply.len.next = self.answer_len.val();
        self.reply.data.next = bit_cast::<REPLY_BITS, 64>(self.gather.sum.val())
            | (bit_cast::<REPLY_BITS, 32>(self.gather.matching.val()) << self.matching_at.val());
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.reply.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.reply.response);
    }
}
