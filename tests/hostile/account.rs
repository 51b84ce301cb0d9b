//! The account: how many frames met which fate, as the story expects it and as the card's counters say.

use stroma_abi::regs::map::{counters, rx_classes};
use stroma_abi::wire::Class;
use stroma_tests::pair::End;

use super::fate::Fate;

/// Frames by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// By class; those of [`Class::Roce`] are told apart by what follows.
    pub classes: [u64; Class::COUNT],
    /// For nobody, or from a stranger.
    pub unwanted: u64,
    /// Congestion notifications.
    pub notices: u64,
    /// Requests that came again.
    pub duplicates: u64,
    /// Refusals and gaps that were told.
    pub naks: u64,
    /// Requests without a receive.
    pub rnr_naks: u64,
    /// Requests behind a gap, or among atomics.
    pub out_of_sequence: u64,
    /// Answers of which nothing came.
    pub stale: u64,
    /// Packets of unreliable connections that were thrown away.
    pub uc_dropped: u64,
    /// Requests in their turn, and answers that were waited for.
    pub accepted: u64,
}

impl Account {
    /// What the card has counted since it began.
    pub(crate) fn of(end: &End) -> Self {
        let class = |index| {
            let read = end.device.card().read_element(&rx_classes::BLOCK, &rx_classes::FRAMES, index);
            read.expect("a register")
        };
        Self {
            classes: std::array::from_fn(class),
            unwanted: end.count(&counters::RX_UNWANTED),
            notices: end.count(&counters::CNPS_RECEIVED),
            duplicates: end.count(&counters::DUPLICATES),
            naks: end.count(&counters::NAKS),
            rnr_naks: end.count(&counters::RNR_NAKS),
            out_of_sequence: end.count(&counters::OUT_OF_SEQUENCE),
            stale: end.count(&counters::ANSWERS_STALE),
            uc_dropped: end.count(&counters::UC_DROPPED),
            accepted: end.count(&counters::RX_ACCEPTED),
        }
    }

    /// Every good RoCE frame is in one of the counters, and in one alone; `naks` tells how some of them were answered.
    pub(crate) fn check(&self, story: &str) {
        let ends = [
            self.unwanted,
            self.notices,
            self.duplicates,
            self.rnr_naks,
            self.out_of_sequence,
            self.stale,
            self.uc_dropped,
            self.accepted,
        ];
        let came = self.classes[Class::Roce.index()];
        assert_eq!(ends.iter().sum::<u64>(), came, "{story}: frames without an end, or with two: {self:?}");
    }

    /// What was counted since then.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            classes: std::array::from_fn(|index| self.classes[index] - before.classes[index]),
            unwanted: self.unwanted - before.unwanted,
            notices: self.notices - before.notices,
            duplicates: self.duplicates - before.duplicates,
            naks: self.naks - before.naks,
            rnr_naks: self.rnr_naks - before.rnr_naks,
            out_of_sequence: self.out_of_sequence - before.out_of_sequence,
            stale: self.stale - before.stale,
            uc_dropped: self.uc_dropped - before.uc_dropped,
            accepted: self.accepted - before.accepted,
        }
    }

    /// Counts a frame.
    pub(crate) fn add(&mut self, fate: Fate) {
        let class = if let Fate::Rejected(class) = fate { class } else { Class::Roce };
        self.classes[class.index()] += 1;
        match fate {
            Fate::Unwanted => self.unwanted += 1,
            Fate::Notice => self.notices += 1,
            Fate::Repeated { refused } => {
                self.duplicates += 1;
                self.naks += u64::from(refused);
            }
            Fate::Gap { told } => {
                self.out_of_sequence += 1;
                self.naks += u64::from(told);
            }
            Fate::Refused => {
                self.accepted += 1;
                self.naks += 1;
            }
            Fate::NotReady => self.rnr_naks += 1,
            Fate::Stale => self.stale += 1,
            Fate::Done | Fate::Answer => self.accepted += 1,
            Fate::Rejected(_) => {}
        }
    }
}
