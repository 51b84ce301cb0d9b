//! Walk: from bucket to bucket, to the objects, to the answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::get::{BUCKET_LEN, GetStatus};
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, SlotResponse};
use stroma_hw::stream::{StreamSink, StreamSource};

use super::choose::Candidate;
use super::parameters::Task;
use crate::ask::STRETCH_BITS;

/// How far the task has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it has just come.
    Begin,
    /// A bucket is awaited.
    Bucket,
    /// An object comes, and perhaps its value goes out.
    Object,
    /// The answer is told.
    Tell,
}

block! {
    /// Leads one task after the other through its buckets and objects.
    ///
    /// - **Ports** `task`: stays until its answer has gone, and is taken with it. `asks`: one cycle, `len` bytes at `va` are to be read. Buckets: `is_known`: one
    ///   cycle, the one that was asked for is judged; `bucket_ending`: of its read; `is_some`, `candidate`, `successor`: what is in it. Objects: `begins_object`: one cycle, with `asks`, the candidate is taken;
    ///   `is_object`: from then until it is over; `object_length`: what its entry says; `is_over`: it has come and its value has gone out; then
    ///   `object_ending`, `is_malformed`, `is_other`, `given` tell what came of it. `response`: how each task ended.
    /// - **Order** a failure of an object comes before its being malformed, that before its being another key's; a pointer of 0 before the limit of hops.
    /// - **Latency** no cycle from a task, a bucket or an object to `asks`, 1 to `response`. **Rate** one task at a time.
    /// - **Reset** forgets how far the task has come.
    pub struct Walk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub asks: Signal<Out, Bit>,
        pub va: Signal<Out, Bits<64>>,
        pub len: Signal<Out, Bits<STRETCH_BITS>>,
        pub is_known: Signal<In, Bit>,
        pub bucket_ending: Signal<In, Bits<2>>,
        pub is_some: Signal<In, Bit>,
        pub candidate: Signal<In, Candidate>,
        pub successor: Signal<In, Bits<64>>,
        pub begins_object: Signal<Out, Bit>,
        pub is_object: Signal<Out, Bit>,
        pub object_length: Signal<Out, Bits<32>>,
        pub is_over: Signal<In, Bit>,
        pub object_ending: Signal<In, Bits<2>>,
        pub is_malformed: Signal<In, Bit>,
        pub is_other: Signal<In, Bit>,
        pub given: Signal<In, Bits<STRETCH_BITS>>,
        pub response: StreamSource<SlotResponse>,
        step: Reg<Step>,
        /// Buckets asked for.
        hops: Reg<Bits<16>>,
        length: Reg<Bits<32>>,
        is_too_long: Reg<Bit>,
        status: Reg<Bits<32>>,
        answered: Reg<Bits<STRETCH_BITS>>,
        begins: Signal<Local, Bit>,
        /// The next entry, or else the next bucket, is to be looked at.
        goes_on: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        hops_on: Signal<Local, Bit>,
        ending: Signal<Local, Bits<2>>,
        failure: Signal<Local, Bits<32>>,
        bucket_len: Constant<Bits<STRETCH_BITS>> = number(BUCKET_LEN),
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        limit: Constant<Bits<32>> = number(RpcStatus::Limit as u32),
        not_found: Constant<Bits<32>> = number(GetStatus::NotFound as u32),
        bad_parameters: Constant<Bits<32>> = number(GetStatus::BadParameters as u32),
        malformed: Constant<Bits<32>> = number(GetStatus::Malformed as u32),
        too_long: Constant<Bits<32>> = number(GetStatus::TooLong as u32),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

impl Logic for Walk {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "each way to go on and each way to end has its lines")]
    fn update(&mut self) {
        dff_setup!(self, clock, step, hops, length, is_too_long, status, answered);
        self.is_object.next = self.step.q.val() == Step::Object;
        self.object_length.next = self.length.q.val();
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.payload.val().ticket;
        self.response.payload.next.status = self.status.q.val();
        self.response.payload.next.len = bit_cast::<32, STRETCH_BITS>(self.answered.q.val());
        self.task.ready.next = (self.step.q.val() == Step::Tell) & self.response.ready.val();

        self.ending.next = self.bucket_ending.val();
        if self.step.q.val() == Step::Object {
            self.ending.next = self.object_ending.val();
        }
        self.failure.next = self.host.val();
        if self.ending.val() == self.refused.val() {
            self.failure.next = self.access.val();
        }

        self.begins.next = false;
        self.goes_on.next = false;
        match self.step.q.val() {
            Step::Begin => {
                self.hops.d.next = 1.into();
                self.answered.d.next = 0.into();
                if self.task.valid.val() {
                    self.step.d.next = Step::Tell;
                    if self.task.payload.val().is_bad {
                        self.status.d.next = self.bad_parameters.val();
                    } else if self.task.payload.val().is_null {
                        self.status.d.next = self.not_found.val();
                    } else {
                        self.begins.next = true;
                        self.step.d.next = Step::Bucket;
                    }
                }
            }
            Step::Bucket => {
                if self.is_known.val() {
                    if self.bucket_ending.val().any() {
                        self.status.d.next = self.failure.val();
                        self.step.d.next = Step::Tell;
                    } else {
                        self.goes_on.next = true;
                    }
                }
            }
            Step::Object => {
                self.answered.d.next = self.given.val();
                if self.is_over.val() {
                    if self.object_ending.val().any() {
                        self.status.d.next = self.failure.val();
                        self.step.d.next = Step::Tell;
                    } else if self.is_malformed.val() {
                        self.status.d.next = self.malformed.val();
                        self.step.d.next = Step::Tell;
                    } else if self.is_other.val() {
                        self.goes_on.next = true;
                    } else {
                        self.status.d.next = self.good.val();
                        if self.is_too_long.q.val() {
                            self.status.d.next = self.too_long.val();
                        }
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::Tell => {
                if self.response.ready.val() {
                    self.step.d.next = Step::Begin;
                }
            }
        }

        self.takes.next = false;
        self.hops_on.next = false;
        if self.goes_on.val() {
            if self.is_some.val() {
                if self.candidate.val().is_too_short {
                    self.status.d.next = self.malformed.val();
                    self.step.d.next = Step::Tell;
                } else {
                    self.takes.next = true;
                    self.step.d.next = Step::Object;
                }
            } else if !self.successor.val().any() {
                self.status.d.next = self.not_found.val();
                self.step.d.next = Step::Tell;
            } else if self.hops.q.val() == self.task.payload.val().hop_limit {
                self.status.d.next = self.limit.val();
                self.step.d.next = Step::Tell;
            } else {
                self.hops_on.next = true;
                self.hops.d.next = self.hops.q.val() + 1;
                self.step.d.next = Step::Bucket;
            }
        }
        self.asks.next = self.begins.val() | self.takes.val() | self.hops_on.val();
        self.begins_object.next = self.takes.val();
        // Which of the three it is, is known before whether it is.
        self.va.next = self.successor.val();
        self.len.next = self.bucket_len.val();
        if self.step.q.val() == Step::Begin {
            self.va.next = self.task.payload.val().bucket;
        } else if self.is_some.val() {
            self.va.next = self.candidate.val().address;
            self.len.next = self.candidate.val().read_len;
        }
        if self.takes.val() {
            self.length.d.next = self.candidate.val().length;
            self.is_too_long.d.next = self.candidate.val().is_too_long;
        }
        if self.reset.val() {
            self.step.d.next = Step::Begin;
        }
    }
}
