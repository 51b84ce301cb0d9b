//! What is known of a queue pair's requests after this one.

use rust_hdl::prelude::*;

use super::callee::Callee;
use super::classify::Kind;
use super::decide::Verdict;
use super::fit::Fit;
use super::measure::Measured;
use super::standing::Standing;
use crate::transport::records::Arrival;

block! {
    /// Moves a queue pair on. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`, `fit`, `measured`, `callee`, `verdict`: the request, and what becomes of it; `standing`: what is
    ///   known before it. `changed`: what is known behind it.
    pub struct Advance {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub measured: Signal<In, Measured>,
        pub callee: Signal<In, Callee>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub changed: Signal<Out, Standing>,
        goes_on: Signal<Local, Bit>,
        begins_call: Signal<Local, Bit>,
        breaks_off: Signal<Local, Bit>,
        resources: Signal<Local, Bits<5>>,
        step: Signal<Local, Bits<24>>,
        next_psn: Signal<Local, Bits<24>>,
        waits: Signal<Local, Bit>,
        va: Signal<Local, Bits<64>>,
    }
}

impl Logic for Advance {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "every field of what is known of a queue pair")]
    fn update(&mut self) {
        self.goes_on.next = self.verdict.val().sends | self.verdict.val().writes | self.verdict.val().calls;
        self.begins_call.next = self.verdict.val().calls & self.kind.val().begins;
        self.step.next = 1.into();
        if self.kind.val().is_read {
            self.step.next = self.measured.val().packets;
        }
        if self.kind.val().is_call & self.kind.val().ends {
            self.step.next = bit_cast::<24, 9>(self.callee.val().reserved);
        }
        self.next_psn.next = self.measured.val().expected + self.step.val();
        if self.kind.val().is_unreliable {
            self.next_psn.next = self.arrival.val().psn + 1;
        }
        // The message under way lacks something, and will not have it any more.
        self.breaks_off.next = self.verdict.val().drops
            | (self.kind.val().is_unreliable & self.verdict.val().carries_out & self.kind.val().begins);
        self.changed.next.started = true;
        self.changed.next.expected = self.measured.val().expected;
        if self.verdict.val().carries_out {
            self.changed.next.expected = self.next_psn.val();
        }
        self.changed.next.msn = self.standing.val().msn
            + (self.verdict.val().reads
                | self.verdict.val().applies
                | self.verdict.val().concludes
                | (self.goes_on.val() & self.kind.val().ends & !self.kind.val().ends_key));
        self.resources.next = self.standing.val().resources
            + (self.verdict.val().reads | self.verdict.val().applies | self.begins_call.val());
        self.changed.next.resources = self.resources.val();
        self.changed.next.atomics = self.standing.val().atomics + self.verdict.val().applies;

        self.va.next = self.standing.val().va;
        if self.kind.val().begins {
            self.va.next = self.arrival.val().va;
        }
        self.changed.next.in_write = self.standing.val().in_write & !self.breaks_off.val();
        self.changed.next.va = self.standing.val().va;
        self.changed.next.key = self.standing.val().key;
        self.changed.next.left = self.standing.val().left;
        if self.verdict.val().writes | self.verdict.val().calls {
            self.changed.next.left =
                self.fit.val().remaining - bit_cast::<32, 13>(self.arrival.val().payload_len);
        }
        if self.verdict.val().writes {
            self.changed.next.in_write = !self.kind.val().ends;
            self.changed.next.va = self.va.val() + bit_cast::<64, 13>(self.arrival.val().payload_len);
            if self.kind.val().begins {
                self.changed.next.key = self.arrival.val().rkey;
            }
        }

        self.changed.next.in_call = self.standing.val().in_call;
        self.changed.next.kernel = self.standing.val().kernel;
        self.changed.next.refusal = self.standing.val().refusal;
        self.changed.next.reserved = self.standing.val().reserved;
        self.changed.next.calls = self.standing.val().calls + self.begins_call.val();
        self.changed.next.calling = self.measured.val().is_calling;
        self.changed.next.last_call = self.standing.val().last_call;
        if self.verdict.val().calls {
            self.changed.next.in_call = !self.kind.val().ends;
            self.changed.next.kernel = self.callee.val().kernel;
            self.changed.next.refusal = self.callee.val().refusal;
            self.changed.next.reserved = self.callee.val().reserved;
            if self.kind.val().ends {
                self.changed.next.calling = true;
                self.changed.next.last_call = self.resources.val();
            }
        }

        self.changed.next.in_send = self.standing.val().in_send & !self.breaks_off.val();
        self.changed.next.holds = (self.standing.val().holds
            | (self.standing.val().in_send & self.breaks_off.val()))
            & !(self.verdict.val().carries_out & self.kind.val().takes)
            & !self.verdict.val().gives_up;
        self.changed.next.receive = self.standing.val().receive;
        if self.verdict.val().sends {
            self.changed.next.in_send = !self.kind.val().ends;
            if self.verdict.val().takes {
                self.changed.next.receive = self.measured.val().receive;
            }
        }
        if self.verdict.val().gives_up {
            self.changed.next.in_send = false;
        }
        self.changed.next.parting =
            self.standing.val().parting & !self.kind.val().is_parted & !self.verdict.val().gives_up;
        self.changed.next.solicited = self.standing.val().solicited;
        self.changed.next.owes = self.standing.val().owes | self.verdict.val().defers;
        if self.verdict.val().parts {
            self.changed.next.parting = true;
            self.changed.next.solicited = self.arrival.val().solicited;
            self.changed.next.owes = false;
            self.changed.next.key = self.arrival.val().imm;
        }
        self.changed.next.received = self.standing.val().received;
        if self.goes_on.val() {
            self.changed.next.received = self.fit.val().received;
        }

        // Requests that are deferred, and whether the next is one of them.
        self.changed.next.deferred = self.standing.val().deferred;
        if self.verdict.val().stays & !self.arrival.val().again {
            self.changed.next.deferred = self.standing.val().deferred + 1;
        }
        if !self.verdict.val().stays & self.arrival.val().again & self.standing.val().deferred.any() {
            self.changed.next.deferred = self.standing.val().deferred - 1;
        }
        self.waits.next = self.verdict.val().stays & !self.verdict.val().follows;
        self.changed.next.waits = self.waits.val()
            | (self.standing.val().waits & !(self.arrival.val().again & self.measured.val().is_next));
        self.changed.next.waits_long = self.standing.val().waits_long;
        if self.waits.val() {
            self.changed.next.waits_long = self.verdict.val().waits_long;
        }

        // Told to come again later, the peer knows of the gap that is left meanwhile.
        self.changed.next.gap_told = self.verdict.val().tells_gap
            | self.verdict.val().rests
            | (self.standing.val().gap_told
                & (!self.measured.val().is_next | self.kind.val().is_parted | self.verdict.val().follows));
        self.changed.next.last_early = self.standing.val().last_early;
        if self.verdict.val().is_early | self.verdict.val().rests {
            self.changed.next.last_early = self.arrival.val().psn;
        }
        self.changed.next.failed = self.standing.val().failed
            | self.verdict.val().refuses
            | self.verdict.val().denies
            | self.kind.val().is_recall;
        self.changed.next.last_told = self.standing.val().last_told | self.verdict.val().is_last_receive;
    }
}
