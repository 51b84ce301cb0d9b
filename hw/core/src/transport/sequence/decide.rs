//! What becomes of a request.

use rust_hdl::prelude::*;

use super::callee::Callee;
use super::classify::Kind;
use super::fit::Fit;
use super::measure::Measured;
use super::standing::Standing;
use super::wait::Reasons;
use crate::record;

record! {
    /// What becomes of an arrival: one of the first nineteen, or nothing; and what that does to receives and keys.
    pub struct Verdict {
        /// It is the next request, and carried out: one of the next five.
        pub carries_out: Bit,
        /// A packet of a SEND is.
        pub sends: Bit,
        /// One of a WRITE is.
        pub writes: Bit,
        /// A READ is.
        pub reads: Bit,
        /// An atomic is.
        pub applies: Bit,
        /// A packet of an RPC is.
        pub calls: Bit,
        /// It is refused, and there is no next one.
        pub refuses: Bit,
        /// The peer is told to send again from the next request on.
        pub tells_gap: Bit,
        /// It is deferred, or stays so.
        pub stays: Bit,
        /// With `stays`: not for its own sake, but because another of its queue pair is.
        pub follows: Bit,
        /// With `stays`: it waits for more than atomics.
        pub waits_long: Bit,
        /// There is no receive, or no room at the kernel: the peer is told to send again later.
        pub rests: Bit,
        /// There is none for a frame, or none any more: it is thrown away, and nobody is told.
        pub loses: Bit,
        /// It is one of an unreliable connection, and not carried out: it is thrown away with all of its message, and nobody is told.
        pub drops: Bit,
        /// With `drops`: there was no receive.
        pub starves: Bit,
        /// A SEND or WRITE that came again, or a packet of an RPC but its last, is acknowledged again.
        pub acknowledges: Bit,
        /// A READ that came again is carried out again.
        pub repeats: Bit,
        /// An atomic that came again is answered again.
        pub replays: Bit,
        /// The last packet of an RPC came again, or more of its answer is asked for.
        pub calls_again: Bit,
        /// It came again; whether anything comes of it is another matter.
        pub is_duplicate: Bit,
        /// It came before its turn, and is not deferred: it is thrown away, told or not.
        pub is_early: Bit,
        /// Its queue pair has failed: it is thrown away.
        pub is_unwanted: Bit,
        /// A receive is taken.
        pub takes: Bit,
        /// One is completed.
        pub completes: Bit,
        /// It is a SEND, and the key that it names is to be ended.
        pub parts: Bit,
        /// That key has ended, and with it the SEND.
        pub concludes: Bit,
        /// It could not be ended: the SEND is refused, and there is no next one.
        pub denies: Bit,
        /// It is thrown away until that is known, for want of room: the peer has to send it again.
        pub defers: Bit,
        /// It is given up.
        pub gives_up: Bit,
        /// It is told that no more of an SRQ come back.
        pub is_last_receive: Bit,
    }
}

block! {
    /// Decides. Combinational.
    ///
    /// - **Ports** `kind`, `fit`, `measured`, `callee`, `reasons`: the request; `again`: it was deferred before; `standing`: what is known
    ///   of its queue pair. `verdict`: what becomes of it.
    pub struct Decide {
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub measured: Signal<In, Measured>,
        pub callee: Signal<In, Callee>,
        pub reasons: Signal<In, Reasons>,
        pub standing: Signal<In, Standing>,
        pub again: Signal<In, Bit>,
        pub verdict: Signal<Out, Verdict>,
        defers: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        is_ahead: Signal<Local, Bit>,
        is_wrong: Signal<Local, Bit>,
        must_wait: Signal<Local, Bit>,
        waits: Signal<Local, Bit>,
        follows: Signal<Local, Bit>,
        stays: Signal<Local, Bit>,
        bounces: Signal<Local, Bit>,
        lacks: Signal<Local, Bit>,
        may_go: Signal<Local, Bit>,
        is_refusable: Signal<Local, Bit>,
        is_late: Signal<Local, Bit>,
        carries_out: Signal<Local, Bit>,
        repeats: Signal<Local, Bit>,
        recalls_next: Signal<Local, Bit>,
        is_begun: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
        concludes: Signal<Local, Bit>,
        denies: Signal<Local, Bit>,
    }
}

impl Logic for Decide {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each thing that may become of an arrival")]
    fn update(&mut self) {
        self.is_before.next = self.fit.val().is_live & self.measured.val().is_before;

        // The next, and those that follow one that waits.
        self.is_wrong.next =
            !self.fit.val().keeps_rules | (self.kind.val().takes_resource & self.measured.val().is_spent);
        self.must_wait.next = (self.is_wrong.val() & self.reasons.val().if_wrong)
            | (!self.is_wrong.val() & self.reasons.val().if_right);
        self.waits.next = self.measured.val().is_next & self.reasons.val().may_stay & self.must_wait.val();
        self.follows.next = !self.measured.val().is_before
            & !(self.measured.val().is_next & self.again.val())
            & self.reasons.val().may_follow
            & !self.waits.val();
        self.stays.next = self.waits.val() | self.follows.val();
        self.verdict.next.stays = self.stays.val();
        self.verdict.next.follows = self.follows.val();
        self.verdict.next.waits_long = self.reasons.val().is_long;

        // What a message that was broken off had taken is for the next.
        self.lacks.next =
            (self.kind.val().takes & !self.measured.val().has_receive & !self.measured.val().has_spare)
                | self.callee.val().lacks_room;
        self.may_go.next = self.measured.val().is_next
            & !self.stays.val()
            & !self.is_wrong.val()
            & !self.must_wait.val()
            & !self.lacks.val();
        self.is_refusable.next = self.measured.val().is_next
            & !self.stays.val()
            & self.is_wrong.val()
            & !self.must_wait.val()
            & !self.kind.val().is_raw
            & !self.kind.val().is_unreliable;
        self.is_late.next = self.measured.val().is_next
            & !self.stays.val()
            & !self.is_wrong.val()
            & !self.must_wait.val()
            & self.lacks.val()
            & !self.kind.val().is_raw
            & !self.kind.val().is_unreliable;
        self.is_ahead.next = self.fit.val().is_live
            & !self.stays.val()
            & !self.measured.val().is_next
            & !self.measured.val().is_before
            & !self.kind.val().is_unreliable;
        self.bounces.next =
            self.fit.val().is_live & !self.stays.val() & self.measured.val().is_next & self.must_wait.val();
        self.carries_out.next = self.fit.val().is_live & self.may_go.val();
        self.verdict.next.carries_out = self.carries_out.val();
        self.verdict.next.sends = self.carries_out.val() & self.kind.val().is_send;
        self.verdict.next.writes = self.carries_out.val() & self.kind.val().is_write;
        self.verdict.next.reads = self.carries_out.val() & self.kind.val().is_read;
        self.verdict.next.applies = self.carries_out.val() & self.kind.val().is_atomic;
        self.verdict.next.calls = self.carries_out.val() & self.kind.val().is_call;
        self.verdict.next.refuses = self.fit.val().is_live & self.is_refusable.val();
        self.defers.next = self.fit.val().is_heard
            & !self.stays.val()
            & self.standing.val().parting
            & !self.measured.val().is_before;
        self.verdict.next.defers = self.defers.val();
        self.verdict.next.is_early = self.is_ahead.val() | self.bounces.val() | self.defers.val();
        self.verdict.next.is_unwanted = self.standing.val().failed
            & !self.kind.val().is_recall
            & !self.kind.val().is_parted
            & !self.kind.val().is_raw;
        self.verdict.next.rests = self.fit.val().is_live & self.is_late.val();
        self.verdict.next.drops = self.fit.val().is_live & self.kind.val().is_unreliable & !self.may_go.val();
        self.verdict.next.starves = self.fit.val().is_live
            & self.kind.val().is_unreliable
            & self.measured.val().is_next
            & !self.is_wrong.val()
            & self.lacks.val();
        self.verdict.next.loses = self.kind.val().is_raw & !self.carries_out.val();
        // One NAK for a gap: more would make the peer begin again more often than once. One more when what it sent again shows the
        // gap once more: the request that is missing, or the NAK, was lost. And one for each time that the next request bounces.
        self.concludes.next =
            self.kind.val().is_parted & self.standing.val().parting & !self.kind.val().is_denied;
        self.denies.next =
            self.kind.val().is_parted & self.standing.val().parting & self.kind.val().is_denied;
        self.verdict.next.parts = self.carries_out.val() & self.kind.val().ends_key;
        self.verdict.next.concludes = self.concludes.val();
        self.verdict.next.denies = self.denies.val();
        self.verdict.next.tells_gap = self.bounces.val()
            | (self.is_ahead.val() & (!self.standing.val().gap_told | self.measured.val().goes_back))
            | (self.concludes.val() & self.standing.val().owes);

        // What came again. An answer from among atomics that are under way would tell of them before they are done.
        self.repeats.next = self.is_before.val() & !self.measured.val().is_applying;
        self.verdict.next.is_duplicate = self.fit.val().is_heard & self.measured.val().is_before;
        self.verdict.next.acknowledges = self.repeats.val()
            & (self.kind.val().is_send
                | self.kind.val().is_write
                | (self.kind.val().is_call & !self.kind.val().ends));
        // Which READs were carried out is not kept: one that would answer beyond the next request is none of them. All
        // that was asked of the first is asked of its repetition.
        self.verdict.next.repeats = self.repeats.val()
            & self.kind.val().is_read
            & self.fit.val().may_repeat
            & (self.measured.val().packets <= self.measured.val().behind);
        self.verdict.next.replays = self.repeats.val() & self.kind.val().is_atomic;
        // Which RPC it was, and whether more than its answer is asked for, others know: nothing but its PSN counts.
        self.verdict.next.calls_again = self.repeats.val() & self.kind.val().is_call & self.kind.val().ends;

        // Receives. What a SEND has taken goes first; of an SRQ the others are not this queue pair's to give up, so
        // nothing is left after the first recall.
        self.is_begun.next =
            self.standing.val().in_send | self.standing.val().holds | self.standing.val().parting;
        self.recalls_next.next = self.kind.val().is_recall
            & !self.is_begun.val()
            & !self.kind.val().is_shared
            & self.measured.val().has_receive;
        self.gives_up.next = self.recalls_next.val() | (self.kind.val().is_recall & self.is_begun.val());
        self.verdict.next.gives_up = self.gives_up.val();
        self.verdict.next.takes = self.recalls_next.val()
            | (self.carries_out.val() & self.kind.val().takes & !self.measured.val().has_spare);
        self.verdict.next.completes = self.gives_up.val()
            | self.concludes.val()
            | self.denies.val()
            | (self.carries_out.val() & self.kind.val().completes);
        self.verdict.next.is_last_receive =
            self.kind.val().is_recall & self.kind.val().is_shared & !self.standing.val().last_told;
    }
}
