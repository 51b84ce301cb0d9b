//! Verdict: how an errand has to end.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};

use crate::constant::number;
use crate::state::access::Cause;
use crate::state::failures::Failure;
use crate::transport::records::{Answer, Errand};

block! {
    /// Says what is left of an errand that was refused, that fails, or whose queue pair has failed. Logic only.
    ///
    /// A refused range is the peer's fault if the peer named it, and this side's if a list did. What is this side's fault is
    /// told by a completion of the message it hit: at once if the errand ends that message, else it is kept until one
    /// does. Requests and answers have completions of their own, so it is kept for one of the two.
    ///
    /// On an unreliable connection the peer is told nothing. A range that it named and may not have ends the message, and nothing else: what comes of
    /// that afterwards is thrown away, and a receive that its end completes is completed with `RemoteAccess`. So does a receive that is too
    /// short for it: it is completed with `LocalLength` at the end of the message.
    ///
    /// - **Ports** `errand`, `is_request`; `refusal`: 0, or the [`Cause`] for which its range was refused; `failure`: of its queue pair.
    ///   `judged`: the errand as it has to end: `answer` is the task, `fails` the error, `completes` the completion,
    ///   `atomic` the operation; `untold`: of the error; `marks`, `failure_next`: the queue pair's failure changes; `denies`: the
    ///   peer is told a refusal; `throws`: nothing of its payload goes anywhere; `drops`: likewise, because of its message alone.
    /// - **Rules** as [`Place`](super::Place) has them.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Verdict {
        pub errand: Signal<In, Errand>,
        pub is_request: Signal<In, Bit>,
        pub refusal: Signal<In, Bits<3>>,
        pub failure: Signal<In, Failure>,
        pub judged: Signal<Out, Errand>,
        pub untold: Signal<Out, Bit>,
        pub marks: Signal<Out, Bit>,
        pub failure_next: Signal<Out, Failure>,
        pub denies: Signal<Out, Bit>,
        pub throws: Signal<Out, Bit>,
        pub drops: Signal<Out, Bit>,
        is_answered: Signal<Local, Bit>,
        is_spoiled: Signal<Local, Bit>,
        is_short: Signal<Local, Bit>,
        breaks: Signal<Local, Bit>,
        broken_by: Signal<Local, Bits<8>>,
        tells: Signal<Local, Bit>,
        is_kept: Signal<Local, Bit>,
        has_list: Signal<Local, Bit>,
        is_theirs: Signal<Local, Bit>,
        is_unread: Signal<Local, Bit>,
        local_status: Signal<Local, Bits<8>>,
        protection: Constant<Bits<8>> = number(Status::LocalProtection as u8),
        general: Constant<Bits<8>> = number(Status::General as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        remote_access: Constant<Bits<8>> = number(Status::RemoteAccess as u8),
        too_long: Constant<Bits<8>> = number(Status::LocalLength as u8),
        access_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteAccess).encode()),
        failed_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
        acknowledge: Constant<Bits<3>> = number(Answer::Acknowledge as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl Logic for Verdict {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line a field of each of five verdicts")]
    fn update(&mut self) {
        // A message that has failed is told, signaled or not, once it is over.
        self.tells.next = self.errand.val().completes | self.errand.val().retires;
        self.has_list.next = self.errand.val().list.any();
        self.is_theirs.next = self.is_request.val() & !self.has_list.val();
        self.is_unread.next = self.refusal.val() == self.page_list.val();
        self.local_status.next = self.protection.val();
        if self.is_unread.val() {
            self.local_status.next = self.general.val();
        }
        self.is_kept.next =
            self.failure.val().status.any() & (self.failure.val().of_request == self.is_request.val());

        self.judged.next = self.errand.val();
        self.is_answered.next = self.is_request.val() & !self.errand.val().unreliable;
        // What the peer is told does not depend on what became of a message that it hears nothing of.
        if self.refusal.val().any() {
            self.judged.next.answer = 0.into();
            self.judged.next.atomic = 0.into();
            if self.is_answered.val() {
                self.judged.next.answer = self.acknowledge.val();
                self.judged.next.syndrome = self.failed_nak.val();
                if self.is_theirs.val() & !self.is_unread.val() {
                    self.judged.next.syndrome = self.access_nak.val();
                }
                if self.errand.val().counts {
                    self.judged.next.msn = self.errand.val().msn - 1;
                }
            }
        } else if self.errand.val().fails & self.has_list.val() & !self.is_answered.val() {
            self.judged.next.answer = 0.into();
        }
        if self.failure.val().failed {
            self.judged.next.answer = 0.into();
            self.judged.next.atomic = 0.into();
        }

        self.untold.next = !self.errand.val().completes;
        self.is_spoiled.next =
            self.errand.val().unreliable & self.failure.val().spoiled & !self.errand.val().begins;
        // A message that is longer than its receive is no failure of this side where nobody waits for an answer.
        self.is_short.next = self.errand.val().unreliable
            & self.errand.val().fails
            & self.has_list.val()
            & (self.errand.val().status == self.too_long.val());
        self.breaks.next = self.is_short.val()
            | (self.is_spoiled.val() & !self.errand.val().fails)
            | (self.errand.val().unreliable & self.refusal.val().any() & !self.has_list.val());
        self.throws.next = self.failure.val().failed | self.is_spoiled.val();
        self.drops.next = false;
        // A request that fails with a completion of its own is the end of a key that could not be ended.
        self.denies.next = self.is_answered.val() & self.errand.val().fails & self.errand.val().completes;
        self.marks.next = self.errand.val().fails;
        self.broken_by.next = self.remote_access.val();
        self.failure_next.next.failed = true;
        self.failure_next.next.spoiled = false;
        self.failure_next.next.status = 0.into();
        self.failure_next.next.vendor = 0.into();
        self.failure_next.next.of_request = self.is_request.val();

        if self.failure.val().failed {
            self.denies.next = false;
            self.judged.next.fails = false;
            self.judged.next.completes = self.tells.val();
            self.judged.next.status = self.flushed.val();
            self.judged.next.vendor = 0.into();
            self.judged.next.length = 0.into();
            // What is told once is not told again.
            self.marks.next = self.is_kept.val() & self.tells.val();
            if self.is_kept.val() {
                self.judged.next.status = self.failure.val().status;
                self.judged.next.vendor = self.failure.val().vendor;
            }
        } else if self.breaks.val() {
            // What ends the message is told by its end, whatever else is wrong with the rest of it.
            if self.is_spoiled.val() {
                self.broken_by.next = self.failure.val().status;
            } else if self.is_short.val() {
                self.broken_by.next = self.too_long.val();
            }
            self.judged.next.fails = false;
            self.judged.next.status = self.broken_by.val();
            self.judged.next.length = 0.into();
            self.drops.next = true;
            self.marks.next = true;
            self.failure_next.next.failed = false;
            self.failure_next.next.spoiled = true;
            self.failure_next.next.status = self.broken_by.val();
        } else if self.refusal.val().any() {
            self.judged.next.fails = true;
            self.judged.next.completes = self.tells.val();
            self.judged.next.status = self.local_status.val();
            self.judged.next.vendor = bit_cast::<8, 3>(self.refusal.val());
            self.judged.next.length = 0.into();
            self.untold.next = false;
            self.marks.next = true;
            self.denies.next = self.is_answered.val();
            if self.is_theirs.val() {
                // The peer is told, and no receive: one that goes with it is flushed.
                self.untold.next = true;
                self.judged.next.vendor = 0.into();
                if !self.is_unread.val() {
                    self.judged.next.status = self.remote_access.val();
                }
            } else if !self.tells.val() {
                self.failure_next.next.status = self.local_status.val();
                self.failure_next.next.vendor = bit_cast::<8, 3>(self.refusal.val());
            }
        } else if self.errand.val().fails & self.has_list.val() {
            self.denies.next = self.is_answered.val();
            self.judged.next.completes = self.tells.val();
            self.judged.next.length = 0.into();
            self.untold.next = false;
            if !self.tells.val() {
                self.failure_next.next.status = self.errand.val().status;
                self.failure_next.next.vendor = self.errand.val().vendor;
            }
        } else if self.errand.val().unreliable & self.failure.val().spoiled {
            // Another message has begun.
            self.marks.next = true;
            self.failure_next.next.failed = false;
        }
    }
}
