//! What is known of the job under way.

use rust_hdl::prelude::*;

use super::judge::Verdict;
use crate::host::work::Work;
use crate::prim::reg::Reg;

block! {
    /// Keeps account of a job from its first work to its end.
    ///
    /// - **Ports** `acts`, `work`, `verdict`, `bytes`: a work has been dealt with, and what it adds; `rewound`, `forgotten`,
    ///   `qpn`: a queue pair sends again, or begins anew. `total`: bytes admitted in this job, or all ones when there are
    ///   more; `blocked`: a work of it waits for the peer; `follows`: the next work's index is where the cursor goes on.
    /// - **Latency** 1 cycle. **Rate** 1 work per cycle; `acts` comes with neither `rewound` nor `forgotten`.
    /// - **Reset** forgets the job.
    pub struct Job {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub acts: Signal<In, Bit>,
        pub work: Signal<In, Work>,
        pub verdict: Signal<In, Verdict>,
        pub bytes: Signal<In, Bits<32>>,
        pub rewound: Signal<In, Bit>,
        pub forgotten: Signal<In, Bit>,
        pub qpn: Signal<In, Bits<24>>,
        pub total: Signal<Out, Bits<32>>,
        pub blocked: Signal<Out, Bit>,
        pub follows: Signal<Out, Bit>,
        sum: Reg<Bits<32>>,
        is_blocked: Reg<Bit>,
        is_followed: Reg<Bit>,
        owner: Reg<Bits<24>>,
        wide: Signal<Local, Bits<33>>,
        is_owner: Signal<Local, Bit>,
        all: Constant<Bits<32>> = Constant::new(Bits::mask()),
    }
}

impl Logic for Job {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sum, is_blocked, is_followed, owner);
        self.total.next = self.sum.q.val();
        self.blocked.next = self.is_blocked.q.val();
        self.follows.next = self.is_followed.q.val();
        self.wide.next = bit_cast::<33, 32>(self.sum.q.val()) + bit_cast::<33, 32>(self.bytes.val());
        self.is_owner.next = self.owner.q.val() == self.qpn.val();
        if self.acts.val() {
            self.owner.d.next = self.work.val().qpn;
            self.sum.d.next = bit_cast::<32, 33>(self.wide.val());
            if self.wide.val().get_bit(32) {
                self.sum.d.next = self.all.val();
            }
            self.is_blocked.d.next = self.is_blocked.q.val() | self.verdict.val().blocked;
            // A WQE that came with a status may not be as long as it says.
            self.is_followed.d.next = self.verdict.val().local & self.work.val().status.any();
            if self.work.val().ends {
                self.sum.d.next = 0.into();
                self.is_blocked.d.next = false;
            }
        }
        // A queue pair that sends again has to be in line, whatever blocked it before.
        if self.is_owner.val() & (self.rewound.val() | self.forgotten.val()) {
            self.is_blocked.d.next = false;
        }
        if self.is_owner.val() & self.forgotten.val() {
            self.is_followed.d.next = false;
        }
        if self.reset.val() {
            self.sum.d.next = 0.into();
            self.is_blocked.d.next = false;
            self.is_followed.d.next = false;
        }
    }
}
