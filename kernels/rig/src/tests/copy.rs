//! A kernel for the rig's own tests: copies its payload to the address in its parameters, and answers with the first beat it finds there.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{
    Ending, LENGTH_BITS, SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite, TRANSFER_MAX,
};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_kernel_models::{Failure, Invocation, Memory, Outcome};

use crate::Host;

/// Wrong on purpose, by the flags of the command.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    AnswersEarly = 1,
    WritesTooFew = 2,
    ReadsEarly = 3,
    WritesForAnother = 4,
    ChangesABit = 5,
}

/// Its model.
pub(super) fn model<const D: usize>(invocation: &Invocation, host: &mut Host) -> Outcome {
    let va = u64::from_le_bytes(invocation.parameters.block()[..8].try_into().expect("eight bytes"));
    let (key, data) = (invocation.command.key, &invocation.data);
    let mut carry_out = || -> Result<Vec<u8>, Failure> {
        for (piece, at) in data.chunks(TRANSFER_MAX).zip((va..).step_by(TRANSFER_MAX)) {
            host.write(key, at, piece)?;
        }
        if data.is_empty() { Ok(Vec::new()) } else { host.read(key, va, data.len().min(D / 8)) }
    };
    carry_out().map_or_else(Outcome::from, |data| Outcome { status: 0, data })
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Begin,
    Write,
    Move,
    Await,
    Drop,
    Read,
    Answer,
    Tell,
}

block! {
    /// One write at a time, of up to 4096 bytes, and one read behind the last.
    pub(super) struct CopyKernel<const D: usize> {
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
        step: Reg<Step>,
        task: Reg<SlotCommand>,
        va: Reg<Bits<64>>,
        left: Reg<Bits<32>>,
        beats: Reg<Bits<10>>,
        status: Reg<Bits<32>>,
        len: Reg<Bits<7>>,
        piece: Signal<Local, Bits<LENGTH_BITS>>,
        is_last: Signal<Local, Bit>,
        ending: Signal<Local, Bits<2>>,
        failure: Signal<Local, Bits<32>>,
        flags: Signal<Local, Bits<8>>,
        address: Constant<Bits<32>> = number(8),
        whole: Constant<Bits<32>> = number(TRANSFER_MAX),
        stride: Constant<Bits<64>> = number(TRANSFER_MAX),
        last_beat: Constant<Bits<10>> = number(TRANSFER_MAX * 8 / D - 1),
        beat: Constant<Bits<32>> = number(D / 8),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        answers_early: Constant<Bits<8>> = number(Fault::AnswersEarly as u8),
        writes_too_few: Constant<Bits<8>> = number(Fault::WritesTooFew as u8),
        reads_early: Constant<Bits<8>> = number(Fault::ReadsEarly as u8),
        writes_for_another: Constant<Bits<8>> = number(Fault::WritesForAnother as u8),
        changes_a_bit: Constant<Bits<8>> = number(Fault::ChangesABit as u8),
    }
}

impl<const D: usize> Logic for CopyKernel<D> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "ten streams and a state machine")]
    fn update(&mut self) {
        dff_setup!(self, clock, step, task, va, left, beats, status, len);
        self.flags.next = self.task.q.val().flags;
        self.command.ready.next = self.step.q.val() == Step::Begin;

        self.piece.next = self.left.q.val().get_bits::<LENGTH_BITS>(0);
        if self.left.q.val() > self.whole.val() {
            self.piece.next = self.whole.val().get_bits::<LENGTH_BITS>(0);
        }
        self.write.valid.next = self.step.q.val() == Step::Write;
        self.write.payload.next.ticket = self.task.q.val().ticket;
        self.write.payload.next.va = self.va.q.val();
        self.write.payload.next.key = self.task.q.val().key;
        self.write.payload.next.len = self.piece.val();
        if self.flags.val() == self.writes_too_few.val() {
            self.write.payload.next.len = self.piece.val() + 1;
        }
        if self.flags.val() == self.writes_for_another.val() {
            self.write.payload.next.ticket = self.task.q.val().ticket + 1;
        }

        self.is_last.next = self.data_in.payload.val().eop | (self.beats.q.val() == self.last_beat.val());
        self.write_data.valid.next = self.data_in.valid.val() & (self.step.q.val() == Step::Move);
        self.write_data.payload.next.data = self.data_in.payload.val().data;
        if (self.flags.val() == self.changes_a_bit.val()) & (self.beats.q.val() == 1) {
            self.write_data.payload.next.data = self.data_in.payload.val().data ^ 1;
        }
        self.write_data.payload.next.nbytes = self.data_in.payload.val().nbytes;
        self.write_data.payload.next.sop = !self.beats.q.val().any();
        self.write_data.payload.next.eop = self.is_last.val();
        self.write_data.payload.next.err = false;
        self.data_in.ready.next = (self.step.q.val() == Step::Drop)
            | ((self.step.q.val() == Step::Move) & self.write_data.ready.val());
        self.write_done.ready.next = true;

        self.read.valid.next = self.step.q.val() == Step::Read;
        self.read.payload.next.ticket = self.task.q.val().ticket;
        self.read.payload.next.va = self.task.q.val().parameters.get_bits::<64>(0);
        self.read.payload.next.key = self.task.q.val().key;
        self.read.payload.next.len =
            (self.task.q.val().request_len - self.address.val()).get_bits::<LENGTH_BITS>(0);
        if (self.task.q.val().request_len - self.address.val()) > self.beat.val() {
            self.read.payload.next.len = self.beat.val().get_bits::<LENGTH_BITS>(0);
        }
        self.data_out.valid.next = self.read_data.valid.val() & (self.step.q.val() == Step::Answer);
        self.read_data.ready.next = self.data_out.ready.val() & (self.step.q.val() == Step::Answer);
        self.data_out.payload.next.data = self.read_data.payload.val().data;
        self.data_out.payload.next.nbytes = self.read_data.payload.val().nbytes;
        self.data_out.payload.next.sop = true;
        self.data_out.payload.next.eop = true;
        self.data_out.payload.next.err = false;
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.q.val().ticket;
        self.response.payload.next.status = self.status.q.val();
        self.response.payload.next.len = bit_cast::<32, 7>(self.len.q.val());

        self.ending.next = self.write_done.payload.val().err;
        if self.step.q.val() == Step::Answer {
            self.ending.next = self.read_data.payload.val().err;
        }
        self.failure.next = 0.into();
        if self.ending.val() == self.refused.val() {
            self.failure.next = self.access.val();
        } else if self.ending.val().any() {
            self.failure.next = self.host.val();
        }
        match self.step.q.val() {
            Step::Begin => {
                self.task.d.next = self.command.payload.val();
                self.va.d.next = self.command.payload.val().parameters.get_bits::<64>(0);
                self.left.d.next = self.command.payload.val().request_len - self.address.val();
                self.status.d.next = 0.into();
                self.len.d.next = 0.into();
                if self.command.valid.val() {
                    self.step.d.next = Step::Write;
                    if self.command.payload.val().request_len == self.address.val() {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::Write => {
                self.beats.d.next = 0.into();
                if self.write.ready.val() {
                    self.step.d.next = Step::Move;
                }
            }
            Step::Move => {
                if self.data_in.valid.val() & self.write_data.ready.val() {
                    self.beats.d.next = self.beats.q.val() + 1;
                    if self.is_last.val() {
                        self.va.d.next = self.va.q.val() + self.stride.val();
                        self.left.d.next = self.left.q.val() - bit_cast::<32, LENGTH_BITS>(self.piece.val());
                        self.step.d.next = Step::Await;
                    }
                }
            }
            Step::Await => {
                if self.write_done.valid.val() {
                    self.status.d.next = self.failure.val();
                    self.step.d.next = Step::Read;
                    if self.left.q.val().any() {
                        self.step.d.next = Step::Write;
                    }
                    if self.failure.val().any() {
                        self.step.d.next = Step::Tell;
                        if self.left.q.val().any() {
                            self.step.d.next = Step::Drop;
                        }
                    }
                } else if self.flags.val() == self.answers_early.val() {
                    self.step.d.next = Step::Tell;
                } else if self.flags.val() == self.reads_early.val() {
                    self.step.d.next = Step::Read;
                }
            }
            Step::Drop => {
                if self.data_in.valid.val() & self.data_in.payload.val().eop {
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Read => {
                if self.read.ready.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                self.len.d.next = self.read_data.payload.val().nbytes;
                if self.read_data.valid.val() & self.data_out.ready.val() {
                    self.status.d.next = self.failure.val();
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Tell => {
                if self.response.ready.val() {
                    self.step.d.next = Step::Begin;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Begin;
        }
    }
}
