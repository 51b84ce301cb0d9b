//! What is to become of a command.

use rust_hdl::prelude::*;
use stroma_abi::desc::{CommandStatus, Verb};

use super::creation::{BODY_BITS, Creation};
use crate::constant::number;
use crate::record;

record! {
    /// What to do, and how to reply.
    pub struct Verdict {
        /// The reply's status.
        pub status: Bits<16>,
        /// The reply's field.
        pub field: Bits<16>,
        /// The region begins.
        pub begins: Bit,
        /// The region ends.
        pub ends: Bit,
        /// It was a window that is bound.
        pub parts: Bit,
        /// The region is to be shown.
        pub shows: Bit,
    }
}

block! {
    /// Judges one command against the region or window it names. The first cause that applies refuses it.
    ///
    /// - **Ports** `verb`, `attributes`, `body`: of the command; `exists`, `is_bound`, `in_use`, `beyond`: what the table shows of
    ///   its region, that it is a bound window, that windows are bound to it, and that the table has no such place;
    ///   `verdict`; `stored`: the region to be stored if it `begins`.
    /// - **Latency** 2 cycles, in which the inputs from the command stay as they are; from what the table shows 0.
    /// - **Reset** none: nothing is kept.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub verb: Signal<In, Bits<8>>,
        pub attributes: Signal<In, Bits<64>>,
        pub body: Signal<In, Bits<BODY_BITS>>,
        pub exists: Signal<In, Bit>,
        pub is_bound: Signal<In, Bit>,
        pub in_use: Signal<In, Bit>,
        pub beyond: Signal<In, Bit>,
        pub verdict: Signal<Out, Verdict>,
        pub stored: Signal<Out, Bits<BODY_BITS>>,
        creation: Creation,
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        exists_already: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        held: Constant<Bits<16>> = number(CommandStatus::InUse as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, creation);
        self.creation.body.next = self.body.val();
        self.stored.next = self.creation.stored.val();
        self.verdict.next.status = self.done.val();
        self.verdict.next.field = 0.into();
        self.verdict.next.begins = false;
        self.verdict.next.ends = false;
        self.verdict.next.parts = false;
        self.verdict.next.shows = false;
        if self.verb.val() == self.create.val() {
            if self.beyond.val() {
                self.verdict.next.status = self.out_of_range.val();
            } else if self.exists.val() {
                self.verdict.next.status = self.exists_already.val();
            } else if self.attributes.val().any() {
                self.verdict.next.status = self.bad_attribute.val();
            } else if self.creation.refused.val() {
                self.verdict.next.status = self.bad_field.val();
                self.verdict.next.field = self.creation.field.val();
            } else {
                self.verdict.next.begins = true;
            }
        } else if (self.verb.val() != self.query.val()) & (self.verb.val() != self.destroy.val()) {
            self.verdict.next.status = self.unknown_verb.val();
        } else if !self.exists.val() {
            self.verdict.next.status = self.no_object.val();
        } else if self.verb.val() == self.query.val() {
            self.verdict.next.shows = true;
        } else if self.in_use.val() {
            self.verdict.next.status = self.held.val();
        } else {
            self.verdict.next.ends = true;
            self.verdict.next.parts = self.is_bound.val();
        }
    }
}
