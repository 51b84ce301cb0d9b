//! What the root has room for: a packet goes out when it has the credits for it, and they come back after a while.

use std::collections::VecDeque;

use stroma_verilate::Pause;

/// How much the root has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Writes.
    pub posted_headers: u32,
    /// Their data, in units of 16 bytes; enough for the largest payload.
    pub posted_data: u32,
    /// Reads.
    pub nonposted_headers: u32,
}

impl Default for Room {
    /// What a root port of a server has, in the small.
    fn default() -> Self {
        Self { posted_headers: 64, posted_data: 512, nonposted_headers: 32 }
    }
}

/// Cycles after which they are back.
const RETURN_CYCLES: u64 = 40;
/// Bytes that a data credit stands for.
const UNIT: usize = 16;

/// Credits of one kind of packet each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// A header, and data of so many bytes.
    Posted(usize),
    /// A header.
    Nonposted,
}

/// The credits that are left.
#[derive(Debug)]
pub(crate) struct Credits {
    left: Room,
    used: VecDeque<(u64, Cost)>,
    /// Cycles in which none come back.
    dry: Pause,
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).expect("a payload is small")
}

impl Credits {
    pub(crate) fn new(room: Room) -> Self {
        Self { left: room, used: VecDeque::new(), dry: Pause::None }
    }

    pub(crate) fn run_dry(&mut self, dry: Pause) {
        self.dry = dry;
    }

    /// Is none in use?
    pub(crate) fn are_whole(&self) -> bool {
        self.used.is_empty()
    }

    /// Takes back what has been used for long enough.
    pub(crate) fn refill(&mut self, now: u64) {
        while !self.dry.at(now)
            && let Some((_, cost)) = self.used.pop_front_if(|(due, _)| *due <= now)
        {
            match cost {
                Cost::Posted(bytes) => {
                    self.left.posted_headers += 1;
                    self.left.posted_data += units(bytes);
                }
                Cost::Nonposted => self.left.nonposted_headers += 1,
            }
        }
    }

    /// Spends credits on a packet, if there are enough.
    pub(crate) fn spend(&mut self, now: u64, cost: Cost) -> bool {
        let is_there = match cost {
            Cost::Posted(bytes) => self.left.posted_headers > 0 && self.left.posted_data >= units(bytes),
            Cost::Nonposted => self.left.nonposted_headers > 0,
        };
        if is_there {
            match cost {
                Cost::Posted(bytes) => {
                    self.left.posted_headers -= 1;
                    self.left.posted_data -= units(bytes);
                }
                Cost::Nonposted => self.left.nonposted_headers -= 1,
            }
            self.used.push_back((now + RETURN_CYCLES, cost));
        }
        is_there
    }

    /// Headers of reads, before those that wait in the block.
    pub(crate) fn nonposted(&self) -> u32 {
        self.left.nonposted_headers
    }
}
