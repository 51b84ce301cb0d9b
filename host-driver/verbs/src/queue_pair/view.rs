//! A queue pair as the card knows it.

use std::{fmt, ops::Deref};

use stroma_abi::{
    Psn,
    desc::{self, QueuePairKind, QueuePairState, Statistics},
};
use stroma_control::inspect;

/// A queue pair as the card knows it: what it was set to, and what it is doing.
///
/// The two come from two questions, one behind the other. Attributes are read as if the view were they.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePairView {
    /// Its number.
    pub number: u32,
    /// State and attributes.
    pub attributes: desc::QueuePair,
    /// What it is doing, and its counters.
    pub live: Statistics,
}

impl Deref for QueuePairView {
    type Target = desc::QueuePair;

    fn deref(&self) -> &desc::QueuePair {
        &self.attributes
    }
}

impl QueuePairView {
    pub(crate) fn new(number: u32, attributes: desc::QueuePair, live: Statistics) -> Self {
        Self { number, attributes, live }
    }

    /// PSN of the next new request: the first of all, as long as none was sent.
    #[must_use]
    pub fn next_psn(&self) -> Psn {
        if self.live.has_sent { self.live.next_psn } else { self.attributes.send_psn }
    }

    /// PSN of the next request of the peer: the first of all, as long as none has come.
    #[must_use]
    pub fn expected_psn(&self) -> Psn {
        if self.live.has_received { self.live.expected_psn } else { self.attributes.receive_psn }
    }

    /// State, by the name that users of `rdma resource` know; a number if the card has gone mad.
    pub(crate) fn state_name(&self) -> String {
        let name = match QueuePairState::from_code(self.attributes.state) {
            Some(QueuePairState::Reset) => "RESET",
            Some(QueuePairState::Init) => "INIT",
            Some(QueuePairState::ReadyToReceive) => "RTR",
            Some(QueuePairState::ReadyToSend) => "RTS",
            Some(QueuePairState::Drained) => "SQD",
            Some(QueuePairState::SendError) => "SQE",
            Some(QueuePairState::Error) => "ERR",
            None => return self.attributes.state.to_string(),
        };
        name.to_owned()
    }

    pub(crate) fn kind_name(&self) -> String {
        let name = match QueuePairKind::from_code(self.attributes.kind) {
            Some(QueuePairKind::Reliable) => "RC",
            Some(QueuePairKind::Unreliable) => "UC",
            Some(QueuePairKind::Datagram) => "UD",
            Some(QueuePairKind::Local) => "LOCAL",
            Some(QueuePairKind::Raw) => "RAW",
            None => return self.attributes.kind.to_string(),
        };
        name.to_owned()
    }

    pub(crate) fn flags(&self) -> String {
        let live = &self.live;
        let flags = [
            (live.stopped, "stopped"),
            (live.resting, "resting"),
            (live.in_gap, "in-gap"),
            (live.refused, "refused"),
        ];
        let set: Vec<_> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
        if set.is_empty() { "-".to_owned() } else { set.join(",") }
    }
}

impl fmt::Display for QueuePairView {
    /// One line in the manner of `rdma resource` and `rdma statistic`: names and values, counters that are not zero behind.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        inspect::QueuePair::from(self).fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use stroma_abi::Qpn;

    use super::*;

    #[test]
    fn a_queue_pair_is_a_line_of_names_and_values() {
        let attributes = desc::QueuePair {
            state: QueuePairState::ReadyToSend as u8,
            kind: QueuePairKind::Reliable as u8,
            peer: Qpn::new(17),
            send_psn: Psn::new(100),
            receive_psn: Psn::new(200),
            ..desc::QueuePair::default()
        };
        let fresh = QueuePairView::new(3, attributes, Statistics::default());
        assert_eq!(
            fresh.to_string(),
            "lqpn 3 rqpn 17 type RC state RTS sq-psn 100 rq-psn 200 msn 0 unacked 0 reads 0 posted 0 flags -"
        );
        let live = Statistics {
            has_sent: true,
            next_psn: Psn::new(105),
            outstanding: 2,
            resting: true,
            has_received: true,
            expected_psn: Psn::new(201),
            in_gap: true,
            rnr_nak_retry_err: 4,
            ..Statistics::default()
        };
        assert_eq!(
            QueuePairView::new(3, attributes, live).to_string(),
            "lqpn 3 rqpn 17 type RC state RTS sq-psn 105 rq-psn 201 msn 0 unacked 2 reads 0 posted 0 \
             flags resting,in-gap rnr_nak_retry_err 4"
        );
    }
}
