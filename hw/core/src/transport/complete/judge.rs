//! One step of an arrival: what becomes of the first message that is not over.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::kind::Kind;
use super::retry::{Resolve, Retry};
use super::rows::Answered;
use super::stand::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::Arrival;

record! {
    /// What a step leads to, the row apart.
    pub struct Verdict {
        /// Nothing comes of the arrival.
        pub is_vain: Bit,
        /// The message is over.
        pub retires: Bit,
        /// It gets a completion.
        pub completes: Bit,
        /// Its `Status`.
        pub status: Bits<8>,
        /// Detail of an error.
        pub vendor: Bits<8>,
        /// The queue pair fails.
        pub fails: Bit,
        /// The payload is the READ's or the RPC's, or what the atomic found.
        pub places: Bit,
        /// It ends an RPC: status and length of its answer are the arrival's.
        pub concludes: Bit,
        /// What is not answered is sent again.
        pub rewinds: Bit,
        /// But not yet: the queue pair rests.
        pub holds: Bit,
        /// From the message at this place on,
        pub slot: Bits<6>,
        /// from this PSN on,
        pub psn: Bits<24>,
        /// before which it has as many packets.
        pub skips: Bits<24>,
        /// The timer begins anew.
        pub alarms: Bit,
    }
}

block! {
    /// Judges a step. Logic only.
    ///
    /// An answer ends the messages before it, one a step. A READ, atomic or RPC before it misses its data, which is asked for
    /// again. Then the answer itself counts. A flush gives up one message a step, a failure those before the one it names.
    ///
    /// A queue pair that rests sends again when its timer runs out, from the first PSN that is not answered then. If nothing is
    /// left it rests no more, and the rewind that says so names its last message: there is no other that has a place.
    ///
    /// - **Ports** `standing`, `kind`, `arrival`: what came; `row`: how far its queue pair is answered; `is_signaled`,
    ///   `unanswered`: of its first message that is not over; `reach`: the first PSN that the arrival does not answer; `ahead`:
    ///   PSNs before it that were not answered; `here`, `base`: as in [`Measures`](super::measure::Measures); `follows`: it is not the arrival's first step. `verdict`; `after`: the row from
    ///   now on; `answered`: the first PSN that is not answered from now on, if the message goes on.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Judge {
        pub standing: Signal<In, Standing>,
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub is_signaled: Signal<In, Bit>,
        pub unanswered: Signal<In, Bits<24>>,
        pub reach: Signal<In, Bits<24>>,
        pub ahead: Signal<In, Bits<24>>,
        pub here: Signal<In, Bits<24>>,
        pub base: Signal<In, Bits<24>>,
        pub follows: Signal<In, Bit>,
        pub verdict: Signal<Out, Verdict>,
        pub after: Signal<Out, Answered>,
        pub answered: Signal<Out, Bits<24>>,
        retry: Retry,
        /// Packets of the message that the answer adds, without ending it.
        advance: Signal<Local, Bits<24>>,
        /// Likewise, with the data that it brings.
        gain: Signal<Local, Bits<24>>,
        /// Packets of the message that are answered before those.
        start: Signal<Local, Bits<24>>,
        resolve: Signal<Local, Resolve>,
        wakes: Signal<Local, Bit>,
        rewinds: Signal<Local, Bit>,
        fails: Signal<Local, Bit>,
        retires: Signal<Local, Bit>,
        /// Messages are left behind this one.
        is_left: Signal<Local, Bit>,
        success: Constant<Bits<8>> = number(Status::Success as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        bad_response: Constant<Bits<8>> = number(Status::BadResponse as u8),
        retry_exceeded: Constant<Bits<8>> = number(Status::RetryExceeded as u8),
        rnr_retry_exceeded: Constant<Bits<8>> = number(Status::RnrRetryExceeded as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.advance.next = 0.into();
        self.gain.next = 0.into();
        if self.standing.val().is_brought {
            self.gain.next = 1.into();
        }
        if self.standing.val().advances {
            self.advance.next = self.ahead.val();
            self.gain.next = self.ahead.val();
        }
        self.retry.standing.next = self.standing.val();
        self.retry.arrival.next = self.arrival.val();
        self.retry.row.next = self.row.val();
        self.resolve.next = self.retry.resolve.val();

        self.fails.next = self.resolve.val().gives_up
            | self.resolve.val().despairs
            | self.standing.val().is_wrong
            | self.standing.val().is_refused
            | self.standing.val().is_broken;
        self.retires.next = self.standing.val().is_over
            | self.standing.val().is_flushed
            | self.fails.val()
            | (self.standing.val().is_brought & self.kind.val().ends);
        self.is_left.next = !self.standing.val().is_only | !self.retires.val();
        self.wakes.next = self.standing.val().is_rested
            | (self.row.val().resting & self.standing.val().moves & !self.fails.val() & !self.is_left.val());
        self.rewinds.next = self.resolve.val().repeats | self.resolve.val().rests | self.wakes.val();

        self.verdict.next.is_vain = !self.follows.val()
            & !self.standing.val().moves
            & !self.standing.val().is_busy
            & !self.retires.val()
            & !self.rewinds.val();
        self.verdict.next.retires = self.retires.val();
        self.verdict.next.completes =
            self.retires.val() & (self.standing.val().is_flushed | self.fails.val() | self.is_signaled.val());
        self.verdict.next.status = self.success.val();
        self.verdict.next.vendor = 0.into();
        if self.standing.val().is_refused | self.standing.val().is_broken {
            self.verdict.next.status = self.kind.val().status;
        }
        if self.standing.val().is_broken {
            self.verdict.next.vendor = self.arrival.val().vendor;
        }
        if self.standing.val().is_flushed {
            self.verdict.next.status = self.flushed.val();
        }
        if self.standing.val().is_wrong {
            self.verdict.next.status = self.bad_response.val();
        }
        if self.resolve.val().gives_up {
            self.verdict.next.status = self.retry_exceeded.val();
        }
        if self.resolve.val().despairs {
            self.verdict.next.status = self.rnr_retry_exceeded.val();
        }
        self.verdict.next.fails = self.fails.val();
        self.verdict.next.places =
            self.standing.val().is_brought & (!self.kind.val().is_empty | self.kind.val().is_value);
        self.verdict.next.concludes =
            self.standing.val().is_brought & self.kind.val().is_result & self.kind.val().ends;
        self.verdict.next.rewinds = self.rewinds.val();
        self.verdict.next.holds = self.resolve.val().rests;
        self.verdict.next.slot = self.row.val().tail;
        self.verdict.next.psn = self.unanswered.val();
        self.answered.next = self.unanswered.val();
        self.start.next = self.row.val().progress;
        if self.standing.val().is_here {
            self.start.next = self.here.val();
            self.verdict.next.psn = self.base.val();
            self.answered.next = self.base.val() + self.standing.val().is_brought;
        }
        if self.standing.val().advances {
            self.verdict.next.psn = self.reach.val();
            self.answered.next = self.reach.val();
        }
        self.verdict.next.skips = self.start.val() + self.advance.val();
        // Steps before this one were progress, or nothing is left after it.
        self.verdict.next.alarms = self.rewinds.val()
            | self.standing.val().is_waiting
            | ((self.follows.val() | self.standing.val().moves | self.standing.val().is_busy)
                & !self.standing.val().continues
                & !self.row.val().resting
                & !self.fails.val()
                & self.is_left.val());

        self.after.next.tail = self.row.val().tail + self.retires.val();
        self.after.next.progress = self.start.val() + self.gain.val();
        if self.retires.val() {
            self.after.next.progress = 0.into();
        }
        self.after.next.reads = self.row.val().reads + (self.retires.val() & self.standing.val().fetches);
        self.after.next.used = self.resolve.val().used;
        self.after.next.recovering = self.resolve.val().recovering;
        self.after.next.rnr_used = self.resolve.val().rnr_used;
        self.after.next.resting = (self.row.val().resting & !self.wakes.val()) | self.resolve.val().rests;
        self.after.next.failed = self.row.val().failed | self.fails.val() | self.kind.val().flushes;
    }
}
