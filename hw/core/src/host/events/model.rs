//! The event queue in plain Rust: what an entry looks like, and when the vector fires.

use stroma_abi::desc::{Eqe, phase};

use super::Moderation;
use crate::host::work::{EntryWrite, EventRecord};

/// The shape of the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) base: u64,
    pub(super) log: u32,
}

impl Ring {
    /// Entry number `position`, of this event.
    pub(super) fn entry(&self, position: u32, event: &EventRecord) -> EntryWrite {
        let byte = |value: u64| u8::try_from(value).expect("eight bits");
        let eqe = Eqe {
            data: event.data.into(),
            object: u32::try_from(u64::from(event.object)).expect("24 bits"),
            kind: byte(event.kind.into()),
            subkind: byte(event.subkind.into()),
            phase: phase(position, self.log),
        };
        let slot = u64::from(position) % (1 << self.log);
        EntryWrite {
            iova: (self.base + slot * Eqe::LEN as u64).into(),
            data: crate::pack::from_bytes(&eqe.to_bytes()),
            long: false,
        }
    }
}

/// What the alarm sees in one cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) running: bool,
    pub(super) visible: u32,
    pub(super) consumer: u32,
    pub(super) stored: bool,
    pub(super) moderation: Moderation,
    pub(super) now: u64,
    pub(super) irq_taken: bool,
}

/// The alarm, a cycle at a time.
pub(super) struct Alarm {
    pub(super) clock_khz: u64,
    pub(super) taken: u32,
    pub(super) armed: bool,
    /// The end of the wait under way.
    deadline: Option<u64>,
    pub(super) irq: bool,
    stored: bool,
    rule: Moderation,
    /// Periods of the last cycles: the product is that late.
    periods: [u64; 3],
}

impl Alarm {
    pub(super) fn new(clock_khz: u64) -> Self {
        Self {
            clock_khz,
            taken: 0,
            armed: true,
            deadline: None,
            irq: false,
            stored: false,
            rule: Moderation::default(),
            periods: [0; 3],
        }
    }

    fn waits(&self, visible: u32) -> Option<u64> {
        let waits = i64::from(visible.wrapping_sub(self.taken).cast_signed());
        u64::try_from(waits).ok().filter(|waits| *waits > 0)
    }

    /// One cycle; did the vector fire?
    pub(super) fn step(&mut self, sight: &Sight) -> bool {
        let (count, period) = (u64::from(self.rule.count), u64::from(self.rule.period_us));
        let due = |waits| match (count, period) {
            (0, 0) => true,
            (0, _) => self.deadline.is_some_and(|end| sight.now >= end),
            (_, 0) => waits >= count,
            _ => waits >= count || self.deadline.is_some_and(|end| sight.now >= end),
        };
        let waits = self.waits(sight.visible);
        let fires = sight.running
            && self.armed
            && !self.rule.mask
            && waits.is_some_and(due)
            && !self.stored
            && !self.irq;
        if sight.irq_taken {
            self.irq = false;
        }
        if waits.is_some() && self.armed && self.deadline.is_none() {
            // A microsecond is rounded up to a sixteenth of a cycle.
            let sixteenths = self.periods[2] * (16 * self.clock_khz).div_ceil(1000);
            self.deadline = Some(sight.now.wrapping_add(sixteenths / 16 + 1));
        }
        if fires {
            self.irq = true;
            self.armed = false;
            self.deadline = None;
        }
        if self.stored {
            self.taken = sight.consumer;
        }
        if !sight.running {
            self.taken = 0;
        }
        if self.stored || !sight.running {
            self.armed = true;
            self.deadline = None;
        }
        self.stored = sight.stored;
        self.periods = [period, self.periods[0], self.periods[1]];
        self.rule = sight.moderation;
        fires
    }

    /// What `wake` shows after this cycle, by the entries then visible.
    pub(super) fn wake(&self, running: bool, visible: u32) -> u64 {
        let counts = running && self.armed && !self.rule.mask && self.rule.period_us.any();
        self.deadline.filter(|_| counts && self.waits(visible).is_some()).unwrap_or(u64::MAX)
    }
}
