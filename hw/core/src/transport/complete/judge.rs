//! One step of an arrival: what becomes of the first message that is not over.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::kind::Kind;
use super::measure::Measures;
use super::rows::Answered;
use super::stand::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::{Arrival, Sent};

record! {
    /// What a step leads to, the row apart.
    pub struct Verdict {
        /// Another step follows, for the next message.
        pub continues: Bit,
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
        /// The payload is the READ's.
        pub places: Bit,
        /// What is not answered is sent again.
        pub rewinds: Bit,
        /// From this PSN on.
        pub psn: Bits<24>,
        /// The timer begins anew.
        pub alarms: Bit,
    }
}

block! {
    /// Judges a step. Logic only.
    ///
    /// An answer ends the WRITEs before it, one a step. A READ before it misses its data, which is asked for again. Then the
    /// answer itself counts. A flush gives up one message a step, a failure those before the one it names. A queue pair
    /// that sends again since its last progress does so no more, unless time runs out.
    ///
    /// - **Ports** `standing`, `kind`, `arrival`: what came; `row`, `outstanding`: of its queue pair, how far it is answered
    ///   and how many messages are not over; `entry`, `measures`: of the first of those; `follows`: it is not the arrival's
    ///   first step. `verdict`; `after`: the row from now on.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Judge {
        pub standing: Signal<In, Standing>,
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub outstanding: Signal<In, Bits<6>>,
        pub entry: Signal<In, Sent>,
        pub measures: Signal<In, Measures>,
        pub follows: Signal<In, Bit>,
        pub verdict: Signal<Out, Verdict>,
        pub after: Signal<Out, Answered>,
        /// Packets of the message that the answer adds, without ending it.
        advance: Signal<Local, Bits<24>>,
        moves: Signal<Local, Bit>,
        used: Signal<Local, Bits<3>>,
        recovering: Signal<Local, Bit>,
        tries: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
        rewinds: Signal<Local, Bit>,
        fails: Signal<Local, Bit>,
        retires: Signal<Local, Bit>,
        /// Messages are left behind this one.
        is_left: Signal<Local, Bit>,
        continues: Signal<Local, Bit>,
        success: Constant<Bits<8>> = number(Status::Success as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        bad_response: Constant<Bits<8>> = number(Status::BadResponse as u8),
        retry_exceeded: Constant<Bits<8>> = number(Status::RetryExceeded as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.advance.next = 0.into();
        if self.standing.val().is_acknowledged
            | self.standing.val().is_wanted
            | self.standing.val().is_refused
            | self.standing.val().is_wrong
        {
            self.advance.next = self.measures.val().ahead;
        }
        self.moves.next =
            self.standing.val().is_over | self.standing.val().is_brought | self.advance.val().any();
        self.used.next = self.row.val().used;
        self.recovering.next = self.row.val().recovering;
        if self.moves.val() {
            self.used.next = 0.into();
            self.recovering.next = false;
        }

        self.tries.next = self.standing.val().is_late
            | ((self.standing.val().is_missing | self.standing.val().is_wanted) & !self.recovering.val());
        self.gives_up.next = self.tries.val() & (self.used.val() == self.arrival.val().retry);
        self.rewinds.next = self.tries.val() & !self.gives_up.val();
        self.fails.next = self.gives_up.val()
            | self.standing.val().is_wrong
            | self.standing.val().is_refused
            | self.standing.val().is_broken;
        self.retires.next = self.standing.val().is_over
            | self.standing.val().is_flushed
            | self.fails.val()
            | (self.standing.val().is_brought & self.kind.val().ends);
        self.is_left.next = (self.outstanding.val() != 1) | !self.retires.val();
        self.continues.next = (self.standing.val().is_over
            & !(self.kind.val().acknowledges & (self.measures.val().ahead == self.measures.val().left)))
            | (self.standing.val().is_flushed & self.is_left.val());

        self.verdict.next.continues = self.continues.val();
        self.verdict.next.retires = self.retires.val();
        self.verdict.next.completes = self.retires.val()
            & (self.standing.val().is_flushed | self.fails.val() | self.entry.val().signaled);
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
        if self.gives_up.val() {
            self.verdict.next.status = self.retry_exceeded.val();
        }
        self.verdict.next.fails = self.fails.val();
        self.verdict.next.places = self.standing.val().is_brought & self.arrival.val().payload_len.any();
        self.verdict.next.rewinds = self.rewinds.val();
        self.verdict.next.psn = self.measures.val().unanswered + self.advance.val();
        // Steps before this one were progress, or nothing is left after it.
        self.verdict.next.alarms = self.rewinds.val()
            | self.standing.val().is_waiting
            | ((self.follows.val() | self.moves.val())
                & !self.continues.val()
                & !self.fails.val()
                & self.is_left.val());

        self.after.next.tail = self.row.val().tail + self.retires.val();
        self.after.next.progress =
            self.row.val().progress + self.advance.val() + self.standing.val().is_brought;
        if self.retires.val() {
            self.after.next.progress = 0.into();
        }
        self.after.next.reads = self.row.val().reads + (self.retires.val() & self.standing.val().is_read);
        self.after.next.used = self.used.val() + self.rewinds.val();
        self.after.next.recovering = self.recovering.val() | self.rewinds.val();
        self.after.next.failed = self.row.val().failed | self.fails.val() | self.kind.val().flushes;
    }
}
