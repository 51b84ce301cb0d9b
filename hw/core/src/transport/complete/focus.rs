//! What is worked on: a queue pair's row, and its first message that is not over.

use rust_hdl::prelude::*;

use super::rows::Answered;
use crate::prim::reg::Reg;
use crate::transport::records::Sent;

block! {
    /// Keeps the row that is worked on, its first message that is not over and the one behind that.
    ///
    /// When a message is over the one behind it is there already, and so the next step, of this arrival or of another for the
    /// same queue pair, has what it needs two cycles after this one. An arrival takes no message from here that was read before it
    /// began: what was not sent then may be there now, and counts.
    ///
    /// - **Ports** `loads`: `read_row` and `found`, its first message, are worked on from now on. `succeeds`: another arrival works on
    ///   what this step leaves; `found` is the message behind the first. `walks`: another step of the same arrival does. `after`: the row
    ///   from now on; `retires`: the first message is over, else `answered` is its first PSN that is not answered. In the cycle behind
    ///   one of the three `found` is the message behind the first, unless it was just found and nothing retired. `row`, `entry`: what
    ///   is worked on; `front`: packets of an RPC's request before its answer's first PSN, none of others; `unanswered`: the first PSN
    ///   that is not answered.
    /// - **Latency** 1 cycle. **Rate** one every 2 cycles. **Reset** none.
    /// - **Limits** a step that walks has retired a message.
    pub struct Focus {
        pub clock: Signal<In, Clock>,
        pub loads: Signal<In, Bit>,
        pub read_row: Signal<In, Answered>,
        pub found: Signal<In, Sent>,
        pub succeeds: Signal<In, Bit>,
        pub walks: Signal<In, Bit>,
        pub after: Signal<In, Answered>,
        pub retires: Signal<In, Bit>,
        pub answered: Signal<In, Bits<24>>,
        pub row: Signal<Out, Answered>,
        pub entry: Signal<Out, Sent>,
        pub front: Signal<Out, Bits<24>>,
        pub unanswered: Signal<Out, Bits<24>>,
        held_row: Reg<Answered>,
        first: Reg<Sent>,
        second: Reg<Sent>,
        psn: Reg<Bits<24>>,
        ahead: Reg<Bits<24>>,
        ahead_found: Signal<Local, Bits<24>>,
        ahead_second: Signal<Local, Bits<24>>,
        /// The message behind the first is found in this cycle.
        is_finding: Reg<Bit>,
    }
}

impl Logic for Focus {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held_row, first, second, psn, ahead, is_finding);
        self.ahead_found.next = 0.into();
        if self.found.val().answers.any() {
            self.ahead_found.next = self.found.val().packets - bit_cast::<24, 9>(self.found.val().answers);
        }
        self.ahead_second.next = 0.into();
        if self.second.q.val().answers.any() {
            self.ahead_second.next =
                self.second.q.val().packets - bit_cast::<24, 9>(self.second.q.val().answers);
        }
        if self.is_finding.q.val() {
            self.second.d.next = self.found.val();
        }
        self.is_finding.d.next = false;
        if self.loads.val() {
            self.held_row.d.next = self.read_row.val();
            self.first.d.next = self.found.val();
            self.ahead.d.next = self.ahead_found.val();
            self.psn.d.next = self.found.val().psn + self.read_row.val().progress;
            self.is_finding.d.next = true;
        }
        if self.succeeds.val() | self.walks.val() {
            self.held_row.d.next = self.after.val();
            self.psn.d.next = self.answered.val();
        }
        if self.succeeds.val() {
            if self.retires.val() {
                self.first.d.next = self.found.val();
                self.ahead.d.next = self.ahead_found.val();
                self.psn.d.next = self.found.val().psn;
                self.is_finding.d.next = true;
            } else {
                self.second.d.next = self.found.val();
            }
        }
        if self.walks.val() {
            self.first.d.next = self.second.q.val();
            self.ahead.d.next = self.ahead_second.val();
            self.psn.d.next = self.second.q.val().psn;
            self.is_finding.d.next = true;
        }
        self.row.next = self.held_row.q.val();
        self.entry.next = self.first.q.val();
        self.front.next = self.ahead.q.val();
        self.unanswered.next = self.psn.q.val();
    }
}
