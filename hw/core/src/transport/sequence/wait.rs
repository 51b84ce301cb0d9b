//! Would a request have to wait, and might it?

use rust_hdl::prelude::*;

use super::classify::Kind;
use super::measure::Measured;
use super::standing::Standing;
use crate::record;
use crate::transport::records::Arrival;

record! {
    /// What is known of a request's wait before it is known whether it keeps the rules and is the next.
    pub struct Reasons {
        /// The next request waits if it is to be refused.
        pub if_wrong: Bit,
        /// It waits if it is to be carried out.
        pub if_right: Bit,
        /// It waits for more than atomics.
        pub is_long: Bit,
        /// There is a place for the next request.
        pub may_stay: Bit,
        /// There is one for a request that is not, and it has to keep its order.
        pub may_follow: Bit,
    }
}

block! {
    /// Finds what a request would wait for, a cycle before it is judged. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`, `measured`: the request; `standing`: what is known of its queue pair; `roomy`: much room is left
    ///   for requests that are deferred. `reasons`: what it waits for.
    /// - **Limits** of what came again `may_stay` and `may_follow` mean nothing.
    pub struct Waiting {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub measured: Signal<In, Measured>,
        pub standing: Signal<In, Standing>,
        pub roomy: Signal<In, Bit>,
        pub reasons: Signal<Out, Reasons>,
        may_defer: Signal<Local, Bit>,
        is_long: Signal<Local, Bit>,
        follows: Signal<Local, Bit>,
    }
}

impl Logic for Waiting {
    #[hdl_gen]
    fn update(&mut self) {
        // While atomics are under way only atomics follow them: they alone wait for each other further on. What is to be refused waits,
        // too, or the refusal would go ahead of their answers, and that of RPCs. A key is not ended while the data of a READ, which
        // may be that key's, are owed; and nothing follows the SEND that ends one before its end.
        self.reasons.next.if_wrong =
            self.standing.val().parting | self.measured.val().is_applying | self.measured.val().is_calling;
        self.reasons.next.if_right = self.standing.val().parting
            | (self.measured.val().is_applying & !self.kind.val().is_atomic)
            | (self.kind.val().ends_key & (self.measured.val().is_answering | !self.measured.val().may_part));
        self.is_long.next = self.standing.val().parting | !self.measured.val().is_applying;
        self.reasons.next.is_long = self.is_long.val();

        // What has to wait is deferred, and so is what follows it. Atomics end by themselves, so the store always has room for what
        // waits for them. What waits for a key or an answer may need packets of other queue pairs, which come only while there is
        // room: it has half of the store. A request that was deferred has its place already.
        self.may_defer.next = !self.standing.val().failed
            & !self.kind.val().is_recall
            & !self.kind.val().is_parted
            & !self.kind.val().is_raw
            & !self.kind.val().is_unreliable;
        self.reasons.next.may_stay =
            self.may_defer.val() & (self.arrival.val().again | self.roomy.val() | !self.is_long.val());
        if self.arrival.val().again {
            self.follows.next = self.standing.val().waits | self.standing.val().parting;
        } else if self.standing.val().deferred.any() {
            self.follows.next = self.roomy.val() | !self.standing.val().waits_long;
        } else {
            self.follows.next = self.roomy.val() & self.standing.val().parting;
        }
        self.reasons.next.may_follow = self.may_defer.val() & self.follows.val();
    }
}
