//! Interrupts as messages: one at a time, sent or failed.

use stroma_verilate::{Pause, SplitMix64};

use super::config::Config;
use super::pins::MessagePins;

/// Cycles in which the shell may not know yet that messages were switched off.
const GRACE: u64 = 32;
/// A message takes at most so many cycles through the block.
const SEND_CYCLES: u64 = 24;

/// What an interrupt writes, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The address.
    pub address: u64,
    /// The word.
    pub data: u32,
}

/// The way of messages through the block.
#[derive(Debug)]
pub(crate) struct Messages {
    was_high: bool,
    under_way: Option<(u64, Message)>,
    /// Since when they may not be sent.
    off_since: Option<u64>,
    random: SplitMix64,
    /// Cycles in which sending fails.
    pub(crate) fails: Pause,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent(Message),
    Failed,
}

impl Messages {
    pub(crate) fn new(seed: u64) -> Self {
        let random = SplitMix64::new(seed);
        Self { was_high: false, under_way: None, off_since: None, random, fails: Pause::None }
    }

    pub(crate) fn reset(&mut self) {
        (self.was_high, self.under_way) = (false, None);
    }

    /// One cycle.
    ///
    /// # Panics
    /// When the shell breaks a rule.
    pub(crate) fn cycle(&mut self, now: u64, pins: MessagePins, config: &Config) -> Option<Fate> {
        let is_off = !config.msix_enable || config.msix_mask;
        self.off_since = is_off.then(|| self.off_since.unwrap_or(now));
        if pins.int && !self.was_high {
            let MessagePins { address, data, .. } = pins;
            assert!(
                self.under_way.is_none(),
                "cfg_interrupt_msix_int: a message to {address:#x} before the last was sent or failed"
            );
            assert_eq!(address % 4, 0, "cfg_interrupt_msix_address {address:#x} is not aligned");
            assert!(
                self.off_since.is_none_or(|since| now - since < GRACE),
                "cfg_interrupt_msix_int: MSI-X is off or masked"
            );
            let due = now + 2 + self.random.below(SEND_CYCLES);
            self.under_way = Some((due, Message { address, data }));
        }
        self.was_high = pins.int;
        let (_, message) = self.under_way.take_if(|(due, _)| *due <= now)?;
        Some(if is_off || self.fails.at(now) { Fate::Failed } else { Fate::Sent(message) })
    }
}
