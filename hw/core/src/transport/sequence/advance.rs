//! What is known of a queue pair's requests after this one.

use rust_hdl::prelude::*;

use super::decide::Verdict;
use super::measure::{Measured, Standing};
use crate::transport::records::Arrival;

block! {
    /// Moves a queue pair on. Combinational.
    ///
    /// - **Ports** `arrival`, `measured`, `verdict`: the request, and what becomes of it; `standing`: what is known before it.
    ///   `changed`: what is known behind it.
    pub struct Advance {
        pub arrival: Signal<In, Arrival>,
        pub measured: Signal<In, Measured>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub changed: Signal<Out, Standing>,
        step: Signal<Local, Bits<24>>,
        va: Signal<Local, Bits<64>>,
    }
}

impl Logic for Advance {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.next = 0.into();
        if self.verdict.val().writes {
            self.step.next = 1.into();
        }
        if self.verdict.val().reads {
            self.step.next = self.measured.val().packets;
        }
        self.changed.next.started = true;
        self.changed.next.expected = self.measured.val().expected + self.step.val();
        self.changed.next.msn = self.standing.val().msn
            + (self.verdict.val().reads | (self.verdict.val().writes & self.measured.val().ends));

        self.va.next = self.standing.val().va;
        if self.measured.val().begins {
            self.va.next = self.arrival.val().va;
        }
        self.changed.next.in_message = self.standing.val().in_message;
        self.changed.next.va = self.standing.val().va;
        self.changed.next.key = self.standing.val().key;
        self.changed.next.left = self.standing.val().left;
        if self.verdict.val().writes {
            self.changed.next.in_message = !self.measured.val().ends;
            self.changed.next.va = self.va.val() + bit_cast::<64, 13>(self.arrival.val().payload_len);
            self.changed.next.left =
                self.measured.val().remaining - bit_cast::<32, 13>(self.arrival.val().payload_len);
            if self.measured.val().begins {
                self.changed.next.key = self.arrival.val().rkey;
            }
        }
        self.changed.next.gap_told =
            (self.standing.val().gap_told | self.verdict.val().tells_gap) & !self.measured.val().is_next;
        self.changed.next.failed = self.standing.val().failed | self.verdict.val().refuses;
    }
}
