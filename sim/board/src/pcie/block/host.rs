//! What the host does, and what it sees.

use stroma_sim::host::iommu::Iommu;

use super::{PciBlock, Weather};
use crate::pcie::completion::Outcome;
use crate::pcie::config::Config;
use crate::pcie::credits::Credits;
use crate::pcie::messages::Message;
use crate::pcie::processor::{Bar, LoadId};

impl PciBlock {
    /// The host begins a function-level reset: what the function had under way is gone.
    pub fn start_function_reset(&mut self) {
        self.config = Config { boundary: self.config.boundary, ..Config::RESET };
        self.out.flr_in_process = 1;
        self.processor.reset(self.now);
        for tag in self.root.take_reads() {
            self.push_failed(tag, Outcome::Reset);
        }
        self.show();
    }

    /// Is a function-level reset under way?
    #[must_use]
    pub fn is_resetting(&self) -> bool {
        self.out.flr_in_process != 0
    }

    /// The link goes down and comes up again: everything under way is lost. Mappings and settings stay.
    pub fn reset_link(&mut self) {
        self.rq.reset();
        self.cc.reset();
        self.messages.reset();
        self.root.reset();
        self.processor.reset(self.now);
        self.waiting.clear();
        self.tags.clear();
        self.reports.clear();
        self.completions.clear();
        self.rc.clear();
        self.cq.clear();
        self.credits = Credits::new(self.weather.room);
        self.credits.run_dry(self.weather.credits.clone());
        (self.out.message_sent, self.out.message_failed, self.out.flr_in_process) = (false, false, 0);
        self.show();
    }

    /// The host writes configuration space.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    /// What it has written there.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Chooses when the block and the link hold still.
    pub fn set_weather(&mut self, weather: Weather) {
        if self.credits.are_whole() {
            self.credits = Credits::new(weather.room);
        }
        self.credits.run_dry(weather.credits.clone());
        self.messages.fails = weather.messages.clone();
        self.weather = weather;
    }

    /// Chooses whether reads of configuration space by the shell are left without an answer.
    pub fn ignore_management(&mut self, ignore: bool) {
        self.management.is_deaf = ignore;
    }

    /// The processor stores bytes.
    pub fn store(&mut self, bar: Bar, offset: u64, bytes: &[u8]) {
        self.processor.store(self.now, bar, offset, bytes);
    }

    /// The processor loads bytes.
    pub fn load(&mut self, bar: Bar, offset: u64, length: usize) -> LoadId {
        self.processor.load(self.now, bar, offset, length)
    }

    /// What it got, once it has it.
    pub fn loaded(&mut self, load: LoadId) -> Option<Vec<u8>> {
        self.processor.loaded(self.now, load)
    }

    /// Stores and loads that have not arrived at the card.
    #[must_use]
    pub fn accesses_under_way(&self) -> usize {
        self.processor.under_way()
    }

    /// A message that has reached the processor.
    pub fn message(&mut self) -> Option<Message> {
        self.root.message()
    }

    /// Writes and messages that have become visible.
    #[must_use]
    pub fn visible(&self) -> u64 {
        self.root.visible()
    }

    /// Cycles in which a request of the card waited for credits.
    #[must_use]
    pub fn dry_cycles(&self) -> u64 {
        self.dry_cycles
    }

    /// Is no request of the card under way, and no completion?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.completions.is_empty() && self.rc.is_empty() && self.root.is_idle()
    }

    /// What of the host's memory the card may reach.
    pub fn iommu(&mut self) -> &mut Iommu {
        &mut self.root.iommu
    }

    /// Cycles so far.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }
}
