//! Counters of both cards that a case is about.

use std::ops::Sub;

use stroma_abi::regs::map::{counters, rx_classes};
use stroma_abi::wire::Class;
use stroma_tests::pair::{End, Pair};

/// How far they have moved; [`Case`](crate::case::Case) says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) again: u64,
    pub(crate) timeouts: u64,
    pub(crate) naks: u64,
    pub(crate) rnr: u64,
    pub(crate) duplicates: u64,
    pub(crate) icrc: u64,
    pub(crate) fcs: u64,
    pub(crate) cnps: u64,
}

impl Counts {
    pub(crate) const NONE: Self =
        Self { again: 0, timeouts: 0, naks: 0, rnr: 0, duplicates: 0, icrc: 0, fcs: 0, cnps: 0 };

    /// What the cards have counted so far.
    pub(crate) fn of(pair: &Pair) -> Self {
        let [near, far] = &pair.ends;
        let class = |end: &End, class: Class| {
            let found =
                end.device.card().read_element(&rx_classes::BLOCK, &rx_classes::FRAMES, class.index());
            found.expect("a register")
        };
        let [icrc, fcs] = [Class::Icrc, Class::MacError].map(|found| class(near, found) + class(far, found));
        let cnps = near.count(&counters::CNPS_RECEIVED);
        assert_eq!(cnps, far.count(&counters::CNPS_SENT), "no case loses a notification");
        Self {
            again: near.count(&counters::RETRANSMITTED),
            timeouts: near.count(&counters::TIMEOUTS),
            naks: far.count(&counters::NAKS),
            rnr: far.count(&counters::RNR_NAKS),
            duplicates: far.count(&counters::DUPLICATES),
            icrc,
            fcs,
            cnps,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            again: self.again - before.again,
            timeouts: self.timeouts - before.timeouts,
            naks: self.naks - before.naks,
            rnr: self.rnr - before.rnr,
            duplicates: self.duplicates - before.duplicates,
            icrc: self.icrc - before.icrc,
            fcs: self.fcs - before.fcs,
            cnps: self.cnps - before.cnps,
        }
    }
}
