//! The sieve in plain Rust: how far each queue pair has really sent, in numbers without end.

use std::collections::BTreeMap;

use crate::transport::records::TxStep;

/// A step, and the number of its packet, of which its PSN has the low bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    pub(super) step: TxStep,
    pub(super) number: u64,
}

/// What comes of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// It goes on.
    pub(super) passed: Option<TxStep>,
    /// It was the last of a packet that is thrown away and frees: its colour.
    pub(super) dropped: Option<bool>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// By queue pair: the present epoch, and the number behind the last packet that has left, and was not stale.
    pub(super) epochs: BTreeMap<u64, u64>,
    pub(super) left: BTreeMap<u64, u64>,
    /// Of the packet under way: it is thrown away; it was sent before.
    begun: Option<(bool, bool)>,
    /// Packets that went on as stale ones.
    pub(super) excepted: usize,
}

impl Model {
    pub(super) fn epoch(&self, qpn: u64) -> u64 {
        self.epochs.get(&qpn).copied().unwrap_or(0)
    }

    /// How far a queue pair has sent.
    pub(super) fn left(&self, qpn: u64) -> u64 {
        self.left.get(&qpn).copied().unwrap_or(0)
    }

    pub(super) fn take(&mut self, Numbered { step, number }: &Numbered) -> Outcome {
        let qpn = u64::from(step.qpn);
        let (is_out, again) = self.begun.unwrap_or_else(|| {
            let is_stale = u64::from(step.epoch) != self.epoch(qpn);
            let again = *number < self.left(qpn);
            if !is_stale {
                self.left.insert(qpn, self.left(qpn).max(number + 1));
            }
            self.excepted += usize::from(is_stale && step.inline);
            (is_stale && !step.inline, again)
        });
        self.begun = (!step.last).then_some((is_out, again));
        Outcome {
            passed: (!is_out).then_some(TxStep { again, ..*step }),
            dropped: (is_out && step.last && step.frees).then_some(step.colour),
        }
    }
}
