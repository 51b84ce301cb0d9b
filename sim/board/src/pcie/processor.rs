//! The processor: its stores and loads on their way to the card, and the values that come back.

use std::collections::{BTreeMap, VecDeque};

use stroma_sim::host::timing::Timing;

use super::access::{Access, Action};
use super::answer::{Load, tag};
use super::config::{BAR_BYTES, Config};
use super::stream::Packet;

/// A window of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// Registers.
    Bar0,
    /// Doorbells and push windows.
    Bar2,
    /// The table of MSI-X.
    Bar4,
}

impl Bar {
    /// Its number.
    pub(crate) fn id(self) -> u32 {
        match self {
            Self::Bar0 => 0,
            Self::Bar2 => 2,
            Self::Bar4 => 4,
        }
    }

    /// Where the host has put it.
    pub(crate) fn base(self) -> u64 {
        0x38_0000_0000 + u64::from(self.id()) * (16 << 20)
    }

    /// Its length.
    pub(crate) fn bytes(self) -> u64 {
        BAR_BYTES.iter().find(|(bar, _)| *bar == self).map_or(0, |(_, bytes)| *bytes)
    }
}

/// A load that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadId(u64);

/// Accesses of the processor to one card.
#[derive(Debug)]
pub(crate) struct Processor {
    store_cycles: u64,
    half_load_cycles: u64,
    /// What is under way, with the cycle in which it arrives.
    queue: VecDeque<(u64, Access)>,
    /// Loads that wait, by tag.
    waiting: BTreeMap<u8, (LoadId, Load)>,
    /// Values on their way back, with the cycle in which the processor has them.
    values: BTreeMap<LoadId, (u64, Vec<u8>)>,
    loads: u64,
    next_tag: u8,
}

impl Processor {
    pub(crate) fn new(timing: &Timing, clock_khz: u32) -> Self {
        Self {
            store_cycles: Timing::cycles(timing.store_ns, clock_khz),
            half_load_cycles: Timing::cycles(timing.load_ns, clock_khz).div_ceil(2),
            queue: VecDeque::new(),
            waiting: BTreeMap::new(),
            values: BTreeMap::new(),
            loads: 0,
            next_tag: 0,
        }
    }

    /// Forgets what is on its way to the card, and loads that wait read as ones.
    pub(crate) fn reset(&mut self, now: u64) {
        self.queue.clear();
        for (id, load) in std::mem::take(&mut self.waiting).into_values() {
            self.values.insert(id, (now, load.ones()));
        }
    }

    fn push(&mut self, now: u64, latency: u64, access: Access) {
        let end = access.offset + (access.dwords() * super::DWORD) as u64;
        assert!(end <= access.bar.bytes().next_multiple_of(4), "{access:?} leaves its BAR");
        // Nothing overtakes what was made before.
        let due = self.queue.back().map_or(0, |(due, _)| *due).max(now + latency);
        self.queue.push_back((due, access));
    }

    pub(crate) fn store(&mut self, now: u64, bar: Bar, offset: u64, bytes: &[u8]) {
        self.push(now, self.store_cycles, Access { bar, offset, action: Action::Store(bytes.to_vec()) });
    }

    pub(crate) fn load(&mut self, now: u64, bar: Bar, offset: u64, length: usize) -> LoadId {
        let mut tags = (0..=u8::MAX).map(|step| self.next_tag.wrapping_add(step));
        let tag = tags.find(|tag| !self.waiting.contains_key(tag)).expect("256 loads wait");
        self.next_tag = tag.wrapping_add(1);
        self.loads += 1;
        let (id, access) = (LoadId(self.loads), Access { bar, offset, action: Action::Load { length, tag } });
        self.waiting.insert(tag, (id, Load::new(access.clone())));
        self.push(now, self.half_load_cycles, access);
        id
    }

    /// The access that has arrived at the card, taken off the queue.
    pub(crate) fn arrived(&mut self, now: u64) -> Option<Access> {
        self.queue.pop_front_if(|(due, _)| *due <= now).map(|(_, access)| access)
    }

    /// Stores and loads that have not arrived.
    pub(crate) fn under_way(&self) -> usize {
        self.queue.len()
    }

    /// A completion of the card, which is behind all that is `written_by` some cycle.
    ///
    /// # Panics
    /// When nobody waits for it, or it is not right.
    pub(crate) fn answer(&mut self, now: u64, packet: &Packet<3>, config: &Config, written_by: u64) {
        let tag = tag(packet);
        let is_sent =
            !self.queue.iter().any(|(_, access)| access.action == Action::Load { length: access.len(), tag });
        let (id, load) = self
            .waiting
            .get_mut(&tag)
            .filter(|_| is_sent)
            .unwrap_or_else(|| panic!("s_axis_cc: a completion of tag {tag}, which no load has"));
        if let Some(value) = load.answer(packet, config) {
            let due = (now + self.half_load_cycles).max(written_by);
            self.values.insert(*id, (due, value));
            self.waiting.remove(&tag);
        }
    }

    /// The value of a load, once the processor has it.
    pub(crate) fn loaded(&mut self, now: u64, id: LoadId) -> Option<Vec<u8>> {
        self.values.get(&id).filter(|(due, _)| *due <= now)?;
        self.values.remove(&id).map(|(_, value)| value)
    }
}
