//! What becomes of a request.

use rust_hdl::prelude::*;

use super::measure::{Measured, Standing};
use crate::record;

record! {
    /// What becomes of a request: one of these, or nothing.
    pub struct Verdict {
        /// A WRITE is carried out.
        pub writes: Bit,
        /// A READ is.
        pub reads: Bit,
        /// It is refused, and there is no next one.
        pub refuses: Bit,
        /// A WRITE that came again is acknowledged again.
        pub acknowledges: Bit,
        /// A READ that came again is carried out again.
        pub repeats: Bit,
        /// The peer is told that a request is missing.
        pub tells_gap: Bit,
        /// It came again; whether anything comes of it is another matter.
        pub is_duplicate: Bit,
    }
}

block! {
    /// Decides. Combinational.
    ///
    /// - **Ports** `measured`: the request; `standing`: what is known of its queue pair. `verdict`: what becomes of it.
    pub struct Decide {
        pub measured: Signal<In, Measured>,
        pub standing: Signal<In, Standing>,
        pub verdict: Signal<Out, Verdict>,
        is_next: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        reads: Signal<Local, Bit>,
    }
}

impl Logic for Decide {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_next.next = !self.standing.val().failed & self.measured.val().is_next;
        self.is_before.next = !self.standing.val().failed & self.measured.val().is_before;
        self.writes.next = self.measured.val().is_write & self.measured.val().may_write;
        self.reads.next =
            self.measured.val().is_read & self.measured.val().may_read & !self.standing.val().in_message;
        self.verdict.next.writes = self.is_next.val() & self.writes.val();
        self.verdict.next.reads = self.is_next.val() & self.reads.val();
        self.verdict.next.refuses = self.is_next.val() & !self.writes.val() & !self.reads.val();
        self.verdict.next.is_duplicate = self.is_before.val();
        self.verdict.next.acknowledges = self.is_before.val() & self.measured.val().is_write;
        // Which READs were carried out is not kept: one that would answer beyond the next request is none of them. All
        // that was asked of the first is asked of its repetition.
        self.verdict.next.repeats = self.is_before.val()
            & self.measured.val().is_read
            & self.measured.val().may_read
            & (self.measured.val().packets <= self.measured.val().behind);
        // One NAK for a gap: more would make the peer begin again more often than once.
        self.verdict.next.tells_gap = !self.standing.val().failed
            & !self.measured.val().is_next
            & !self.measured.val().is_before
            & !self.standing.val().gap_told;
    }
}
