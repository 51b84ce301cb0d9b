//! What is to become of a command.

use rust_hdl::prelude::*;
use stroma_abi::desc::{CommandStatus, QueuePair, QueuePairState, Verb};

use super::creation::Creation;
use super::modification::Modification;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// What to do, and how to reply.
    pub struct Verdict {
        /// The reply's status.
        pub status: Bits<16>,
        /// The reply's field.
        pub field: Bits<16>,
        /// The outcome is to be stored.
        pub writes: Bit,
        /// What was begun under the old row has to end.
        pub drains: Bit,
        /// With `drains`: it only goes to Drained, so it does not stop, and what it has written need not be visible.
        pub pauses: Bit,
        /// The sending side is to be told.
        pub changes: Bit,
        /// The queues begin anew.
        pub resets: Bit,
        /// It says that the queue pair stops.
        pub stops: Bit,
        /// The outcome is to be shown.
        pub shows: Bit,
    }
}

block! {
    /// Judges one command against the queue pair it names. The first cause that applies refuses it.
    ///
    /// - **Ports** `verb`, `attributes`, `body`: of the command; `present`, `beyond`: what the tables show; `cq_exists`, `srq_exists`: as
    ///   in [`Creation`]. `verdict`; `outcome`: the queue pair to be stored, all zero for none, or to be shown; it follows from
    ///   the verb alone, which is known early, and means nothing unless the verdict says so.
    /// - **Latency** 1 cycle, in which the inputs stay as they are: the checks are registered, for they are deep.
    /// - **Reset** none: nothing is kept.
    pub struct Judge<const CQS: usize, const PAGES: usize> {
        pub clock: Signal<In, Clock>,
        pub verb: Signal<In, Bits<8>>,
        pub attributes: Signal<In, Bits<64>>,
        pub body: Signal<In, Bits<896>>,
        pub present: Signal<In, Bits<896>>,
        pub beyond: Signal<In, Bit>,
        pub cq_exists: [Signal<In, Bit>; 2],
        pub srq_exists: Signal<In, Bit>,
        pub verdict: Signal<Out, Verdict>,
        pub outcome: Signal<Out, Bits<896>>,
        creation: Creation<CQS, PAGES>,
        modification: Modification,
        has_attributes: Reg<Bit>,
        is_refused: Reg<Bit>,
        creation_field: Reg<Bits<16>>,
        to: Reg<Bits<3>>,
        exists: Signal<Local, Bit>,
        is_modified: Signal<Local, Bit>,
        from: Signal<Local, Bits<3>>,
        is_reset: Signal<Local, Bit>,
        is_paused: Signal<Local, Bit>,
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        modify: Constant<Bits<8>> = number(Verb::Modify as u64),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        exists_already: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
        reset_state: Constant<Bits<3>> = number(QueuePairState::Reset as u64),
        ready_to_send: Constant<Bits<3>> = number(QueuePairState::ReadyToSend as u64),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u64),
        error_state: Constant<Bits<3>> = number(QueuePairState::Error as u64),
    }
}

impl<const CQS: usize, const PAGES: usize> Logic for Judge<CQS, PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, modification);
        dff_setup!(self, clock, has_attributes, is_refused, creation_field, to);
        self.creation.body.next = self.body.val();
        for i in 0..2 {
            self.creation.cq_exists[i].next = self.cq_exists[i].val();
        }
        self.creation.srq_exists.next = self.srq_exists.val();
        self.modification.present.next = self.present.val();
        self.modification.body.next = self.body.val();
        self.modification.attributes.next = self.attributes.val();
        self.has_attributes.d.next = self.attributes.val().any();
        self.is_refused.d.next = self.creation.refused.val();
        self.creation_field.d.next = self.creation.field.val();
        self.to.d.next = self.modification.to.val();

        self.exists.next =
            self.present.val().get_bits::<8>(self.kind_at.val().index()).any() & !self.beyond.val();
        self.is_modified.next = self.modification.status.val() == self.done.val();
        self.from.next = self.present.val().get_bits::<3>(self.state_at.val().index());
        self.is_reset.next = self.to.q.val() == self.reset_state.val();
        // Drained already, it has been told of before.
        self.is_paused.next =
            (self.to.q.val() == self.drained.val()) & (self.from.val() != self.drained.val());
        self.verdict.next.status = self.done.val();
        self.verdict.next.field = 0.into();
        self.verdict.next.writes = false;
        self.verdict.next.drains = false;
        self.verdict.next.pauses = false;
        self.verdict.next.changes = false;
        self.verdict.next.resets = false;
        self.verdict.next.stops = false;
        self.verdict.next.shows = false;
        self.outcome.next = 0.into();
        if self.verb.val() == self.create.val() {
            self.outcome.next = self.creation.stored.val();
        } else if self.verb.val() == self.modify.val() {
            self.outcome.next = self.modification.merged.val();
        } else if self.verb.val() == self.query.val() {
            self.outcome.next = self.present.val();
        }
        if self.verb.val() == self.create.val() {
            if self.beyond.val() {
                self.verdict.next.status = self.out_of_range.val();
            } else if self.exists.val() {
                self.verdict.next.status = self.exists_already.val();
            } else if self.has_attributes.q.val() {
                self.verdict.next.status = self.bad_attribute.val();
            } else if self.is_refused.q.val() {
                self.verdict.next.status = self.bad_field.val();
                self.verdict.next.field = self.creation_field.q.val();
            } else {
                self.verdict.next.writes = true;
                self.verdict.next.changes = true;
                self.verdict.next.resets = true;
            }
        } else if (self.verb.val() != self.modify.val())
            & (self.verb.val() != self.query.val())
            & (self.verb.val() != self.destroy.val())
        {
            self.verdict.next.status = self.unknown_verb.val();
        } else if !self.exists.val() {
            self.verdict.next.status = self.no_object.val();
        } else if self.verb.val() == self.modify.val() {
            self.verdict.next.status = self.modification.status.val();
            self.verdict.next.field = self.modification.field.val();
            self.verdict.next.writes = self.is_modified.val();
            self.verdict.next.drains = self.is_modified.val() & (self.is_reset.val() | self.is_paused.val());
            self.verdict.next.pauses = self.is_paused.val();
            self.verdict.next.resets = self.is_reset.val();
            self.verdict.next.stops = self.to.q.val() == self.error_state.val();
            // Ready to send, it sends; in error, it flushes; drained, it tells when it is empty.
            self.verdict.next.changes = self.is_modified.val()
                & (self.is_reset.val()
                    | self.is_paused.val()
                    | (self.to.q.val() == self.ready_to_send.val())
                    | (self.to.q.val() == self.error_state.val()));
        } else if self.verb.val() == self.query.val() {
            self.verdict.next.shows = true;
        } else {
            self.verdict.next.writes = true;
            self.verdict.next.drains = true;
        }
    }
}
