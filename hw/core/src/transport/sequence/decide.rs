//! What becomes of a request.

use rust_hdl::prelude::*;

use super::classify::Kind;
use super::fit::Fit;
use super::measure::Measured;
use super::standing::Standing;
use crate::record;

record! {
    /// What becomes of an arrival: one of the first ten, or nothing; and what that does to receives.
    pub struct Verdict {
        /// A packet of a SEND is carried out.
        pub sends: Bit,
        /// One of a WRITE is.
        pub writes: Bit,
        /// A READ is.
        pub reads: Bit,
        /// An atomic is.
        pub applies: Bit,
        /// It is refused, and there is no next one.
        pub refuses: Bit,
        /// The peer is told to send again from the next request on.
        pub tells_gap: Bit,
        /// There is no receive: the peer is told to send again later.
        pub rests: Bit,
        /// A SEND or WRITE that came again is acknowledged again.
        pub acknowledges: Bit,
        /// A READ that came again is carried out again.
        pub repeats: Bit,
        /// An atomic that came again is answered again.
        pub replays: Bit,
        /// It came again; whether anything comes of it is another matter.
        pub is_duplicate: Bit,
        /// A receive is taken.
        pub takes: Bit,
        /// One is completed.
        pub completes: Bit,
        /// It is given up.
        pub gives_up: Bit,
        /// It is told that no more of an SRQ come back.
        pub is_last_receive: Bit,
    }
}

block! {
    /// Decides. Combinational.
    ///
    /// - **Ports** `kind`, `fit`, `measured`: the request; `standing`: what is known of its queue pair. `verdict`: what becomes
    ///   of it.
    pub struct Decide {
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub measured: Signal<In, Measured>,
        pub standing: Signal<In, Standing>,
        pub verdict: Signal<Out, Verdict>,
        is_live: Signal<Local, Bit>,
        is_next: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        is_ahead: Signal<Local, Bit>,
        is_wrong: Signal<Local, Bit>,
        bounces: Signal<Local, Bit>,
        rests: Signal<Local, Bit>,
        carries_out: Signal<Local, Bit>,
        repeats: Signal<Local, Bit>,
        recalls_next: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
    }
}

impl Logic for Decide {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_live.next = !self.standing.val().failed & !self.kind.val().is_recall;
        self.is_next.next = self.is_live.val() & self.measured.val().is_next;
        self.is_before.next = self.is_live.val() & self.measured.val().is_before;
        self.is_ahead.next =
            self.is_live.val() & !self.measured.val().is_next & !self.measured.val().is_before;

        // The next. While atomics are under way only atomics follow them: they alone wait for each other further on.
        self.is_wrong.next = !self.fit.val().keeps_rules
            | ((self.kind.val().is_read | self.kind.val().is_atomic) & self.measured.val().is_spent);
        self.bounces.next = self.is_next.val()
            & !self.is_wrong.val()
            & self.measured.val().is_applying
            & !self.kind.val().is_atomic;
        self.rests.next = self.is_next.val()
            & !self.is_wrong.val()
            & !self.bounces.val()
            & self.kind.val().takes
            & !self.measured.val().has_receive;
        self.carries_out.next =
            self.is_next.val() & !self.is_wrong.val() & !self.bounces.val() & !self.rests.val();
        self.verdict.next.sends = self.carries_out.val() & self.kind.val().is_send;
        self.verdict.next.writes = self.carries_out.val() & self.kind.val().is_write;
        self.verdict.next.reads = self.carries_out.val() & self.kind.val().is_read;
        self.verdict.next.applies = self.carries_out.val() & self.kind.val().is_atomic;
        self.verdict.next.refuses = self.is_next.val() & self.is_wrong.val();
        self.verdict.next.rests = self.rests.val();
        // One NAK for a gap: more would make the peer begin again more often than once. One for each time that the next
        // request bounces, though: nothing else would make the peer send it once more.
        self.verdict.next.tells_gap =
            self.bounces.val() | (self.is_ahead.val() & !self.standing.val().gap_told);

        // What came again. An answer from among atomics that are under way would tell of them before they are done.
        self.repeats.next = self.is_before.val() & !self.measured.val().is_applying;
        self.verdict.next.is_duplicate = self.is_before.val();
        self.verdict.next.acknowledges =
            self.repeats.val() & (self.kind.val().is_send | self.kind.val().is_write);
        // Which READs were carried out is not kept: one that would answer beyond the next request is none of them. All
        // that was asked of the first is asked of its repetition.
        self.verdict.next.repeats = self.repeats.val()
            & self.kind.val().is_read
            & self.fit.val().may_repeat
            & (self.measured.val().packets <= self.measured.val().behind);
        self.verdict.next.replays = self.repeats.val() & self.kind.val().is_atomic;

        // Receives. What a SEND has begun goes first; of an SRQ the others are not this queue pair's to give up, so
        // nothing is left after the first recall.
        self.recalls_next.next = self.kind.val().is_recall
            & !self.standing.val().in_send
            & !self.kind.val().is_shared
            & self.measured.val().has_receive;
        self.gives_up.next =
            self.recalls_next.val() | (self.kind.val().is_recall & self.standing.val().in_send);
        self.verdict.next.gives_up = self.gives_up.val();
        self.verdict.next.takes = self.recalls_next.val() | (self.carries_out.val() & self.kind.val().takes);
        self.verdict.next.completes =
            self.gives_up.val() | (self.carries_out.val() & self.kind.val().completes);
        self.verdict.next.is_last_receive =
            self.kind.val().is_recall & self.kind.val().is_shared & !self.standing.val().last_told;
    }
}
