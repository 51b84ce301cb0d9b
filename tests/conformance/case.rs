//! One row of a table.

use stroma_verbs::Status;

use crate::counts::Counts;
use crate::operation::Operation;

/// What happens, and what has to come of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// A sentence.
    pub(crate) name: &'static str,
    /// Posted together, at the near end.
    pub(crate) operations: &'static [Operation],
    /// Script of the line that leaves the near end, and of the one that leaves the far end.
    pub(crate) scripts: [&'static str; 2],
    /// PSN of the first request, if it matters.
    pub(crate) psn: Option<u32>,
    /// How the operations complete; those behind the last that is named succeed.
    statuses: &'static [Status],
    /// How far the counters move.
    pub(crate) counts: Counts,
}

/// A row on which nothing goes wrong yet: all succeed, and no counter moves.
pub(crate) const fn case(name: &'static str, operations: &'static [Operation]) -> Case {
    Case { name, operations, scripts: [""; 2], psn: None, statuses: &[], counts: Counts::NONE }
}

/// Sets what a row says of a counter.
macro_rules! says {
    ($($name:ident $prose:literal;)*) => {$(
        #[doc = $prose]
        pub(crate) const fn $name(mut self, count: u64) -> Self {
            self.counts.$name = count;
            self
        }
    )*};
}

impl Case {
    /// What goes wrong with requests.
    pub(crate) const fn near(mut self, script: &'static str) -> Self {
        self.scripts[0] = script;
        self
    }

    /// What goes wrong with answers.
    pub(crate) const fn far(mut self, script: &'static str) -> Self {
        self.scripts[1] = script;
        self
    }

    /// PSN of the first request.
    pub(crate) const fn psn(mut self, psn: u32) -> Self {
        self.psn = Some(psn);
        self
    }

    /// How the operations complete.
    pub(crate) const fn ends(mut self, statuses: &'static [Status]) -> Self {
        self.statuses = statuses;
        self
    }

    says! {
        again "Packets that the near end sends again.";
        timeouts "Timers of the near end that run out.";
        naks "NAKs of the far end.";
        duplicates "Requests that the far end receives again.";
        icrc "Packets that either end finds broken by the ICRC.";
        fcs "Frames that the MAC of either end finds broken.";
        cnps "Congestion notifications that the far end sends and the near end receives.";
    }

    /// How each operation completes.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = Status> {
        let named = self.statuses.iter().copied().chain(std::iter::repeat(Status::Success));
        named.take(self.operations.len())
    }

    /// Does the connection outlive it?
    pub(crate) fn carries_on(&self) -> bool {
        self.statuses().all(|status| status == Status::Success)
    }
}
