//! The port to configuration space: a read is held until it is done.

use stroma_verilate::SplitMix64;

use super::config::Config;
use super::pins::Management;

/// Registers of configuration space.
const REGISTERS: u16 = 1024;

#[derive(Debug)]
pub(crate) struct ManagementPort {
    under_way: Option<(u64, Management)>,
    was_done: bool,
    random: SplitMix64,
    /// Does the block answer?
    pub(crate) is_deaf: bool,
}

impl ManagementPort {
    pub(crate) fn new(seed: u64) -> Self {
        Self { under_way: None, was_done: false, random: SplitMix64::new(seed), is_deaf: false }
    }

    /// One cycle: the data of a read that is done.
    ///
    /// # Panics
    /// When the shell breaks a rule.
    pub(crate) fn cycle(&mut self, now: u64, pins: Management, config: &Config) -> Option<u32> {
        assert!(!pins.write, "cfg_mgmt_write: the shell has nothing to write to configuration space");
        assert!(
            !pins.read || (pins.function == 0 && pins.address < REGISTERS),
            "cfg_mgmt_read: no register {:#x} in function {}",
            pins.address,
            pins.function
        );
        if let Some((_, begun)) = self.under_way {
            assert!(!pins.read || pins == begun, "cfg_mgmt_addr changes during a read");
        }
        // The read may still be high in the cycle that shows it done.
        let is_new = pins.read && self.under_way.is_none() && !self.was_done;
        if is_new && !self.is_deaf {
            self.under_way = Some((now + 2 + self.random.below(8), pins));
        } else if !pins.read {
            self.under_way = None;
        }
        let done = self.under_way.take_if(|(due, _)| *due <= now);
        self.was_done = done.is_some();
        done.map(|(_, pins)| config.register(pins.address))
    }
}
