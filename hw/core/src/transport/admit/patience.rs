//! Patience: a request that comes a little before the answer which makes room for it waits for that.

use rust_hdl::prelude::*;

use super::intake::Opening;
use super::rows::CursorRow;
use crate::constant::number;
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::transport::records::{AckedRow, OUTSTANDING_LOG};

/// log2 of the cycles for which requests wait, in all, from one message to the next.
pub const PATIENCE_LOG: usize = 6;
const _: () = {
    assert!(PATIENCE_LOG == 6, "bit 6 tells that they are over");
    assert!(OUTSTANDING_LOG == 5, "of six bits, the highest alone differs between the ends of a full ring");
};

block! {
    /// Keeps a request that has caught up from being judged, while as many messages are unanswered as may be.
    ///
    /// Jobs of one queue pair come about as fast as the answers to those before them, so that the first request of a job is
    /// often a few cycles early. Judged then, it would block its job, and all of that would be fetched again. Works of others wait
    /// behind it, so it does not wait long.
    ///
    /// - **Ports** `catching`: a work has caught up, or would; `work`, `opening`, `row`, `acked`: of it, as in
    ///   [`CatchUp`](super::catch_up::CatchUp); `hurries`: something else wants the desk; `admits`: a message goes. `keeps`: the work is to wait.
    /// - **Latency** 0 cycles. **Reset** forgets how long somebody waited.
    /// - **Limits** 64 cycles from one message to the next, whoever waits; nothing waits longer.
    pub struct Patience {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub catching: Signal<In, Bit>,
        pub work: Signal<In, Work>,
        pub opening: Signal<In, Opening>,
        pub row: Signal<In, CursorRow>,
        pub acked: Signal<In, AckedRow>,
        pub hurries: Signal<In, Bit>,
        pub admits: Signal<In, Bit>,
        pub keeps: Signal<Out, Bit>,
        waited: Reg<Bits<{ PATIENCE_LOG + 1 }>>,
        is_next: Signal<Local, Bit>,
        is_free: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        stays: Signal<Local, Bit>,
        most: Constant<Bits<6>> = number(1_u64 << OUTSTANDING_LOG),
    }
}

impl Logic for Patience {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waited);
        self.is_next.next = self.opening.val().is_request
            & !self.work.val().ends
            & !self.work.val().drains
            & (self.work.val().index == self.row.val().index)
            & (self.row.val().slot == self.row.val().head);
        self.is_free.next = !self.row.val().held
            & !self.row.val().stopped
            & !self.row.val().halted
            & !self.acked.val().failed;
        // The head is half the way around from the tail; the difference itself would take longer.
        self.is_full.next = (self.row.val().head ^ self.acked.val().tail) == self.most.val();
        self.stays.next = self.is_next.val()
            & self.is_free.val()
            & self.is_full.val()
            & !self.hurries.val()
            & !self.waited.q.val().get_bit(6);
        self.keeps.next = self.stays.val();
        if self.catching.val() & self.stays.val() {
            self.waited.d.next = self.waited.q.val() + 1;
        }
        if self.admits.val() | self.reset.val() {
            self.waited.d.next = 0.into();
        }
    }
}
