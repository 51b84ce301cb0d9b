//! One row of a table.

use stroma_verbs::Status;

use crate::connection::Terms;
use crate::counts::Counts;
use crate::operation::Operation;

/// When the far end posts the receives that the operations need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Before the first of them is posted.
    AtOnce,
    /// When it has refused so many requests because there was none.
    AfterRefusals(u64),
    /// Not at all.
    Never,
}

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
    /// What the ends have agreed on.
    pub(crate) terms: Terms,
    /// When there are receives.
    pub(crate) ready: Ready,
    /// Bytes of each receive; as many as its operation has, if the row does not say.
    pub(crate) room: Option<usize>,
    /// How the operations complete; those behind the last that is named succeed.
    statuses: &'static [Status],
    /// How the receives complete; those of operations that succeed do, if the row does not say.
    receive_statuses: Option<&'static [Status]>,
    /// How far the counters move.
    pub(crate) counts: Counts,
}

/// A row on which nothing goes wrong yet: all succeed, and no counter moves.
pub(crate) const fn case(name: &'static str, operations: &'static [Operation]) -> Case {
    Case {
        name,
        operations,
        scripts: [""; 2],
        psn: None,
        terms: Terms::USUAL,
        ready: Ready::AtOnce,
        room: None,
        statuses: &[],
        receive_statuses: None,
        counts: Counts::NONE,
    }
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

    /// What the ends have agreed on.
    pub(crate) const fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// When there are receives.
    pub(crate) const fn ready(mut self, ready: Ready) -> Self {
        self.ready = ready;
        self
    }

    /// Bytes of each receive.
    pub(crate) const fn room(mut self, room: usize) -> Self {
        self.room = Some(room);
        self
    }

    /// How the operations complete.
    pub(crate) const fn ends(mut self, statuses: &'static [Status]) -> Self {
        self.statuses = statuses;
        self
    }

    /// How the receives complete.
    pub(crate) const fn receives_end(mut self, statuses: &'static [Status]) -> Self {
        self.receive_statuses = Some(statuses);
        self
    }

    says! {
        again "Packets that the near end sends again.";
        timeouts "Timers of the near end that run out.";
        naks "NAKs of the far end.";
        rnr "Requests for which the far end has no receive.";
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

    /// How each receive completes, by the number of its operation.
    pub(crate) fn receives(&self) -> Vec<(usize, Status)> {
        let taking = self.operations.iter().enumerate().zip(self.statuses());
        let taking = taking.filter(|((index, operation), _)| operation.received(*index).is_some());
        let taking = taking.map(|((index, _), status)| (index, status));
        match self.receive_statuses {
            Some(statuses) => taking.map(|(index, _)| index).zip(statuses.iter().copied()).collect(),
            None => taking.filter(|(_, status)| *status == Status::Success).collect(),
        }
    }

    /// Does the connection outlive it?
    pub(crate) fn carries_on(&self) -> bool {
        self.statuses().all(|status| status == Status::Success)
    }
}
