//! The far end of the card's AXI4 manager: takes bursts, answers them when their time has come.
//!
//! The contract the card builds on, asserted here:
//! - writes become visible in the order of their addresses, each as a whole, and are answered as they do;
//! - a read samples memory half a round trip after its address, and never before a write that was accepted earlier;
//! - reads of different IDs are answered in any order and interleaved, those of one ID in order;
//! - an access that the IOMMU stops moves nothing and is answered with a slave error.

use std::collections::VecDeque;

use stroma_verilate::SplitMix64;

use super::iommu::Iommu;
use super::timing::Timing;

/// AXI's answer to an access that went well.
pub const OKAY: u8 = 0;
/// AXI's answer to one that did not.
pub const SLAVE_ERROR: u8 = 2;
/// No burst crosses a multiple of this.
const BOUNDARY: u64 = 4096;

/// One beat of read data on its way to the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBeat {
    /// The burst it belongs to.
    pub id: u8,
    /// Its bytes.
    pub data: Vec<u8>,
    /// [`OKAY`] or [`SLAVE_ERROR`].
    pub response: u8,
    /// Last of its burst.
    pub last: bool,
}

struct Write {
    start: u64,
    beats_left: u64,
    /// What to store: runs of bytes, by distance from the start.
    runs: Vec<(u64, Vec<u8>)>,
    /// Bytes of the beats that came.
    length: u64,
    due: Option<u64>,
    response: Option<u8>,
}

struct Read {
    address: u64,
    beats_left: u64,
    id: u8,
    sample_at: u64,
    due: u64,
    data: Option<VecDeque<(Vec<u8>, u8)>>,
}

/// Host memory behind an IOMMU and a link, as one card sees it.
pub struct Port {
    /// What of the host's memory the card may reach.
    pub iommu: Iommu,
    timing: Timing,
    beat_bytes: u64,
    read_cycles: u64,
    write_cycles: u64,
    link: [Link; 2],
    random: SplitMix64,
    writes: VecDeque<Write>,
    reads: Vec<Read>,
    visible: u64,
    /// The first cycle in which [`settle`](Self::settle) has something to do.
    unsettled: u64,
}

/// One direction of the link: how much it may still carry.
#[derive(Clone, Copy)]
struct Link {
    bytes_per_mebicycle: u64,
    /// Time, in 2^-20 cycles, until which the link is taken.
    taken_until: u64,
}

impl Link {
    /// Can it take more in this cycle?
    fn is_free(&self, now: u64) -> bool {
        self.taken_until <= (now + 1) << 20
    }

    fn carry(&mut self, now: u64, bytes: u64) {
        self.taken_until = self.taken_until.max(now << 20) + (bytes << 40) / self.bytes_per_mebicycle;
    }
}

impl Port {
    /// A host with empty memory and nothing mapped. The seed chooses in which order reads are answered.
    #[must_use]
    pub fn new(timing: Timing, data_bits: usize, clock_khz: u32, seed: u64) -> Self {
        let link = Link { bytes_per_mebicycle: timing.bytes_per_mebicycle(clock_khz), taken_until: 0 };
        Self {
            iommu: Iommu::default(),
            timing,
            beat_bytes: data_bits as u64 / 8,
            read_cycles: Timing::cycles(timing.read_ns, clock_khz),
            write_cycles: Timing::cycles(timing.write_ns, clock_khz),
            link: [link; 2],
            random: SplitMix64::new(seed),
            writes: VecDeque::new(),
            reads: Vec::new(),
            visible: 0,
            unsettled: u64::MAX,
        }
    }

    /// Takes other times from now on.
    ///
    /// # Panics
    /// When something is under way.
    pub fn set_timing(&mut self, timing: Timing, clock_khz: u32) {
        assert!(self.is_idle(), "what is under way has its times already");
        (self.timing, self.read_cycles, self.write_cycles) =
            (timing, Timing::cycles(timing.read_ns, clock_khz), Timing::cycles(timing.write_ns, clock_khz));
        for link in &mut self.link {
            link.bytes_per_mebicycle = timing.bytes_per_mebicycle(clock_khz);
        }
    }

    /// Forgets what is under way, as a reset of the bridge does.
    pub fn reset(&mut self) {
        self.writes.clear();
        self.reads.clear();
        self.unsettled = u64::MAX;
    }

    /// Writes that have become visible since the port was made.
    #[must_use]
    pub fn visible(&self) -> u64 {
        self.visible
    }

    /// The first cycle from `now` on in which something is answered or becomes visible; `None` when nothing is under way
    /// but what waits for the card.
    #[must_use]
    pub fn next_due(&self, now: u64) -> Option<u64> {
        let writes = self.writes.iter().filter_map(|write| write.due);
        let reads = self.reads.iter().map(|read| if read.data.is_some() { read.due } else { read.sample_at });
        writes.chain(reads).min().map(|due| due.max(now))
    }

    /// Is there room for another read?
    #[must_use]
    pub fn takes_read(&self) -> bool {
        self.reads.len() < self.timing.reads
    }

    /// Is there room for another write?
    #[must_use]
    pub fn takes_write(&self) -> bool {
        self.writes.len() < self.timing.writes
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// A read burst's address, `beats` long.
    ///
    /// # Panics
    /// When the burst breaks the port's contract: see [`crate::host::port`].
    pub fn read(&mut self, now: u64, address: u64, beats: u64, id: u8) {
        self.check(address, beats);
        assert!(self.takes_read(), "a read beyond the {} in flight", self.timing.reads);
        // Not before any write that was whole by now is visible.
        let sample_at = now + self.write_cycles.max(self.read_cycles / 2);
        let due = sample_at.max(now + self.read_cycles);
        self.unsettled = self.unsettled.min(sample_at);
        self.reads.push(Read { address, beats_left: beats, id, sample_at, due, data: None });
    }

    /// A write burst's address, `beats` long.
    ///
    /// # Panics
    /// When the burst breaks the port's contract.
    pub fn write(&mut self, address: u64, beats: u64) {
        self.check(address, beats);
        assert!(self.takes_write(), "a write beyond the {} in flight", self.timing.writes);
        self.writes.push_back(Write {
            start: address,
            beats_left: beats,
            runs: Vec::new(),
            length: 0,
            due: None,
            response: None,
        });
    }

    /// Is a burst waiting for data, and can the link carry some in this cycle?
    #[must_use]
    pub fn takes_data(&self, now: u64) -> bool {
        // Data comes in the order of addresses: if any write waits for some, the last one does.
        self.link[0].is_free(now) && self.writes.back().is_some_and(|write| write.due.is_none())
    }

    /// A beat of write data; bit i of `strobe` is byte i.
    ///
    /// # Panics
    /// When data comes without an address, or `last` is not where the address says.
    pub fn write_data(&mut self, now: u64, data: &[u8], strobe: u64, last: bool) {
        assert_eq!(data.len() as u64, self.beat_bytes, "a beat is as wide as the port");
        let cycles = self.write_cycles;
        let write = self.writes.iter_mut().find(|write| write.due.is_none());
        let write = write.expect("write data follows its address");
        self.link[0].carry(now, self.beat_bytes);
        let mut at = 0;
        while at < data.len() {
            let rest = strobe >> at;
            let end = data.len().min(at + rest.trailing_ones() as usize);
            if end > at {
                let place = write.length + at as u64;
                match write.runs.last_mut() {
                    Some((start, run)) if *start + run.len() as u64 == place => {
                        run.extend_from_slice(&data[at..end]);
                    }
                    _ => write.runs.push((place, data[at..end].to_vec())),
                }
                at = end;
            } else {
                at += rest.trailing_zeros() as usize;
            }
        }
        write.length += self.beat_bytes;
        write.beats_left -= 1;
        assert_eq!(last, write.beats_left == 0, "`last` marks the last beat of a burst");
        if last {
            write.due = Some(now + cycles);
            self.unsettled = self.unsettled.min(now + cycles);
        }
    }

    /// Lets everything happen that is due by `now`: first writes become visible, then reads see memory.
    fn settle(&mut self, now: u64) {
        if now < self.unsettled {
            return;
        }
        let visible =
            |write: &&mut Write| write.response.is_none() && write.due.is_some_and(|due| due <= now);
        for write in self.writes.iter_mut().filter(visible) {
            // A burst stays inside a page, so all of it is let through or nothing.
            let mut is_let_through = true;
            for (offset, run) in &write.runs {
                is_let_through = is_let_through && self.iommu.write(write.start + offset, run);
            }
            write.response = Some(if is_let_through { OKAY } else { SLAVE_ERROR });
            self.visible += 1;
        }
        let beat = usize::try_from(self.beat_bytes).expect("a beat is small");
        for read in self.reads.iter_mut().filter(|read| read.sample_at <= now && read.data.is_none()) {
            let length = beat * usize::try_from(read.beats_left).expect("a burst is short");
            let (bytes, response) = match self.iommu.read(read.address, length) {
                Some(bytes) => (bytes, OKAY),
                None => (vec![0; length], SLAVE_ERROR),
            };
            read.data = Some(bytes.chunks(beat).map(|chunk| (chunk.to_vec(), response)).collect());
        }
        let writes =
            self.writes.iter().filter(|write| write.response.is_none()).filter_map(|write| write.due);
        let reads = self.reads.iter().filter(|read| read.data.is_none()).map(|read| read.sample_at);
        self.unsettled = writes.chain(reads).min().unwrap_or(u64::MAX);
    }

    /// The answer to the oldest write, once it is visible.
    pub fn write_response(&mut self, now: u64) -> Option<u8> {
        self.settle(now);
        let response = self.writes.front()?.response?;
        self.writes.pop_front();
        Some(response)
    }

    /// A beat of read data, if one is due and the link can carry it in this cycle.
    ///
    /// # Panics
    /// Never: one of the reads that are due is chosen.
    pub fn read_data(&mut self, now: u64) -> Option<ReadBeat> {
        self.settle(now);
        if self.reads.is_empty() || !self.link[1].is_free(now) {
            return None;
        }
        let reads = &self.reads;
        let is_first_of_id = |at: usize| reads[..at].iter().all(|earlier| earlier.id != reads[at].id);
        let mut due = (0..reads.len()).filter(|at| reads[*at].due <= now && is_first_of_id(*at));
        let count = due.clone().count() as u64;
        if count == 0 {
            return None;
        }
        let chosen = usize::try_from(self.random.below(count)).expect("an index");
        let chosen = due.nth(chosen).expect("as many are due");
        self.link[1].carry(now, self.beat_bytes);
        let read = &mut self.reads[chosen];
        let (data, response) = read.data.as_mut()?.pop_front()?;
        read.beats_left -= 1;
        let beat = ReadBeat { id: read.id, data, response, last: read.beats_left == 0 };
        if beat.last {
            self.reads.remove(chosen);
        }
        Some(beat)
    }

    fn check(&self, address: u64, beats: u64) {
        assert!((1..=256).contains(&beats), "a burst of {beats} beats");
        assert_eq!(address % self.beat_bytes, 0, "a burst at {address:#x} is not aligned to its beats");
        // The distance into the page, for there is no address behind the last page's end.
        let end = address % BOUNDARY + beats * self.beat_bytes;
        assert!(end <= BOUNDARY, "a burst at {address:#x} crosses 4 KiB");
    }
}

#[cfg(test)]
mod tests;
