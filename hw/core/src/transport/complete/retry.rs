//! How often a queue pair sends again before it gives up.

use rust_hdl::prelude::*;

use super::rows::Answered;
use super::stand::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::Arrival;

record! {
    /// At most one of the first four, and the counters from now on.
    pub struct Resolve {
        /// What is not answered is sent again.
        pub repeats: Bit,
        /// It was sent often enough.
        pub gives_up: Bit,
        /// The queue pair rests before it sends that again.
        pub rests: Bit,
        /// It has rested often enough.
        pub despairs: Bit,
        /// Retries since the last progress.
        pub used: Bits<3>,
        /// RNR NAKs since then.
        pub rnr_used: Bits<3>,
        /// It sends again since then.
        pub recovering: Bit,
    }
}

block! {
    /// Counts the retries of a step's queue pair. Logic only.
    ///
    /// Both counters begin anew with progress. An answer from after the one that is missing, while a repetition is under way, comes from
    /// the same loss and does not count, unless time runs out. But a NAK for a gap says that the repetition was lost, too, for a responder sends
    /// one for each time that it was shown the gap; and the end of an RPC's answer says that all of it can be had now. So after either all is sent again
    /// as long as there are retries, which they never use up for good. A peer that is busy is there, so retries begin anew. While the queue pair rests nothing counts, and the repetition at the end of
    /// the rest is none of its retries.
    ///
    /// - **Ports** `standing`, `arrival`: what came; `row`: of its queue pair. `resolve`.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Retry {
        pub standing: Signal<In, Standing>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub resolve: Signal<Out, Resolve>,
        used: Signal<Local, Bits<3>>,
        rnr_used: Signal<Local, Bits<3>>,
        recovering: Signal<Local, Bit>,
        tries: Signal<Local, Bit>,
        presses: Signal<Local, Bit>,
        is_last_try: Signal<Local, Bit>,
        defers: Signal<Local, Bit>,
        is_last_rest: Signal<Local, Bit>,
        for_ever: Constant<Bits<3>> = number(7),
    }
}

impl Logic for Retry {
    #[hdl_gen]
    fn update(&mut self) {
        self.used.next = self.row.val().used;
        self.rnr_used.next = self.row.val().rnr_used;
        self.recovering.next = self.row.val().recovering;
        if self.standing.val().moves {
            self.used.next = 0.into();
            self.rnr_used.next = 0.into();
            self.recovering.next = false;
        }
        if self.standing.val().is_busy {
            self.used.next = 0.into();
            self.recovering.next = false;
        }

        self.is_last_try.next = self.used.val() == self.arrival.val().retry;
        self.presses.next = (self.standing.val().is_complete | self.standing.val().is_wanted)
            & self.recovering.val()
            & !self.row.val().resting
            & !self.is_last_try.val();
        self.tries.next = self.standing.val().is_late
            | self.presses.val()
            | ((self.standing.val().is_missing | self.standing.val().is_wanted)
                & !self.recovering.val()
                & !self.row.val().resting);
        self.defers.next = self.standing.val().is_deferred & !self.row.val().resting;
        self.is_last_rest.next = (self.rnr_used.val() == self.arrival.val().rnr_retry)
            & (self.arrival.val().rnr_retry != self.for_ever.val());

        self.resolve.next.repeats = self.tries.val() & !self.is_last_try.val();
        self.resolve.next.gives_up = self.tries.val() & self.is_last_try.val();
        self.resolve.next.rests = self.defers.val() & !self.is_last_rest.val();
        self.resolve.next.despairs = self.defers.val() & self.is_last_rest.val();
        self.resolve.next.used = self.used.val() + (self.tries.val() & !self.is_last_try.val());
        self.resolve.next.rnr_used = self.rnr_used.val() + (self.defers.val() & !self.is_last_rest.val());
        self.resolve.next.recovering = self.recovering.val()
            | (self.tries.val() & !self.is_last_try.val())
            | self.standing.val().is_rested;
    }
}
