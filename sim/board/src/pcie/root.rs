//! The root complex: takes requests off the link, reaches memory, and gives completions when their time has come.
//!
//! - Writes and messages become visible in the order they were taken.
//! - A read sees memory half a round trip after it was taken, and never before a write that was taken earlier.
//! - Completions of different tags come in any order; those of one tag from the first byte to the last, cut at multiples of
//!   the read completion boundary, as chance has it.

use std::collections::VecDeque;

use stroma_sim::host::iommu::Iommu;
use stroma_sim::host::timing::Timing;
use stroma_verilate::SplitMix64;

use super::bits::bytes;
use super::completion::{Completion, Outcome};
use super::config::Config;
use super::messages::Message;
use super::request::{Kind, Request};
use super::{DWORD, PAGE};

/// Bytes on the link around a packet's payload. The link's rate is given for the payload of packets of 256 bytes.
const AROUND: u64 = 24;
const RATED_PACKET: u64 = 256;

#[derive(Debug)]
enum Posted {
    Write { address: u64, runs: Vec<(u64, Vec<u8>)> },
    Message(Message),
}

/// What a read has seen of memory.
#[derive(Debug)]
enum Seen {
    Nothing,
    /// It may not look.
    Refused,
    /// The words that are left.
    Words(Vec<u8>),
}

#[derive(Debug)]
struct Read {
    tag: u8,
    /// Of the next byte.
    address: u64,
    left: usize,
    sample_at: u64,
    due: u64,
    seen: Seen,
}

/// Host memory behind an IOMMU, at the other end of the link.
pub(crate) struct Root {
    pub(crate) iommu: Iommu,
    read_cycles: u64,
    write_cycles: u64,
    bytes_per_mebicycle: u64,
    /// Time, in 2^-20 cycles, until which the link is taken: away from the card, and towards it.
    taken_until: [u64; 2],
    random: SplitMix64,
    posted: VecDeque<(u64, Posted)>,
    reads: Vec<Read>,
    messages: VecDeque<Message>,
    visible: u64,
}

/// The bytes that are enabled, as runs by distance from the start.
fn runs(request: &Request, payload: &[u32]) -> Vec<(u64, Vec<u8>)> {
    let enabled = request.enables.nibbles(request.dwords);
    let enabled = enabled.iter().flat_map(|nibble| (0..DWORD).map(move |bit| nibble >> bit & 1 == 1));
    let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
    for ((at, byte), _) in (0..).zip(bytes(payload)).zip(enabled).filter(|(_, is_enabled)| *is_enabled) {
        match runs.last_mut() {
            Some((start, run)) if *start + run.len() as u64 == at => run.push(byte),
            _ => runs.push((at, vec![byte])),
        }
    }
    runs
}

impl Root {
    pub(crate) fn new(timing: &Timing, clock_khz: u32, seed: u64) -> Self {
        Self {
            iommu: Iommu::default(),
            read_cycles: Timing::cycles(timing.read_ns, clock_khz),
            write_cycles: Timing::cycles(timing.write_ns, clock_khz),
            bytes_per_mebicycle: timing.bytes_per_mebicycle(clock_khz) * (RATED_PACKET + AROUND)
                / RATED_PACKET,
            taken_until: [0; 2],
            random: SplitMix64::new(seed),
            posted: VecDeque::new(),
            reads: Vec::new(),
            messages: VecDeque::new(),
            visible: 0,
        }
    }

    /// Forgets what is under way.
    pub(crate) fn reset(&mut self) {
        self.posted.clear();
        self.reads.clear();
        self.messages.clear();
    }

    /// Forgets the reads under way; their tags.
    pub(crate) fn take_reads(&mut self) -> Vec<u8> {
        self.reads.drain(..).map(|read| read.tag).collect()
    }

    fn is_free(&self, way: usize, now: u64) -> bool {
        self.taken_until[way] <= (now + 1) << 20
    }

    fn carry(&mut self, way: usize, now: u64, payload: usize) {
        let bytes = payload as u64 + AROUND;
        self.taken_until[way] =
            self.taken_until[way].max(now << 20) + (bytes << 40) / self.bytes_per_mebicycle;
    }

    /// Can the link carry another packet of the card in this cycle?
    pub(crate) fn takes(&self, now: u64) -> bool {
        self.is_free(0, now)
    }

    /// Takes a request off the link.
    pub(crate) fn take(&mut self, now: u64, request: &Request) {
        match &request.kind {
            Kind::Write { payload } => {
                self.carry(0, now, payload.len() * DWORD);
                let write = Posted::Write { address: request.address, runs: runs(request, payload) };
                self.posted.push_back((now + self.write_cycles, write));
            }
            Kind::Read { tag } => {
                self.carry(0, now, 0);
                let (start, left) = request.enables.span(request.dwords);
                let sample_at = now + self.write_cycles.max(self.read_cycles / 2);
                self.reads.push(Read {
                    tag: *tag,
                    address: request.address + start as u64,
                    left,
                    sample_at,
                    due: sample_at.max(now + self.read_cycles),
                    seen: Seen::Nothing,
                });
            }
        }
    }

    /// Takes a message off the link, behind every write before it.
    pub(crate) fn take_message(&mut self, now: u64, message: Message) {
        self.posted.push_back((now + self.write_cycles, Posted::Message(message)));
    }

    /// The cycle in which all that was written so far is visible.
    pub(crate) fn written_by(&self) -> u64 {
        self.posted.back().map_or(0, |(due, _)| *due)
    }

    /// A message that has reached the processor.
    pub(crate) fn message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// Writes and messages that have become visible.
    pub(crate) fn visible(&self) -> u64 {
        self.visible
    }

    /// Is nothing under way?
    pub(crate) fn is_idle(&self) -> bool {
        self.posted.is_empty() && self.reads.is_empty()
    }

    /// Lets everything happen that is due by `now`: first writes become visible, then reads see memory.
    pub(crate) fn settle(&mut self, now: u64) {
        while let Some((_, posted)) = self.posted.pop_front_if(|(due, _)| *due <= now) {
            self.visible += 1;
            match posted {
                Posted::Write { address, runs } => {
                    // A request stays inside a page, so all of it is let through or nothing.
                    let _ = runs.iter().all(|(offset, run)| self.iommu.write(address + offset, run));
                }
                Posted::Message(message) => self.messages.push_back(message),
            }
        }
        for read in
            self.reads.iter_mut().filter(|read| read.sample_at <= now && matches!(read.seen, Seen::Nothing))
        {
            let start = read.address & !3;
            let end = (read.address + read.left as u64).next_multiple_of(DWORD as u64);
            debug_assert!(start / PAGE == (end - 1) / PAGE, "requests are checked");
            let words = self.iommu.read(start, usize::try_from(end - start).expect("a page"));
            read.seen = words.map_or(Seen::Refused, Seen::Words);
        }
    }

    /// A completion, if one is due and the link can carry it in this cycle.
    pub(crate) fn completion(&mut self, now: u64, config: &Config) -> Option<Completion> {
        let due: Vec<usize> = (0..self.reads.len()).filter(|at| self.reads[*at].due <= now).collect();
        if due.is_empty() || !self.is_free(1, now) {
            return None;
        }
        let chosen = due[usize::try_from(self.random.below(due.len() as u64)).expect("an index")];
        let chance = self.random.next_u64();
        let read = &mut self.reads[chosen];
        let (address, byte_count) = (read.address, read.left);
        let outcome = match &mut read.seen {
            Seen::Nothing => return None,
            Seen::Refused => {
                read.left = 0;
                Outcome::Refused
            }
            Seen::Words(words) => {
                let length = piece(address, byte_count, config, chance);
                let rest = words.split_off(
                    (usize::try_from(address % 4).expect("small") + length).next_multiple_of(DWORD),
                );
                let data = std::mem::replace(words, rest);
                read.address += length as u64;
                read.left -= length;
                Outcome::Data(data)
            }
        };
        let is_last = read.left == 0;
        let completion = Completion { tag: read.tag, address, byte_count, is_last, outcome };
        if is_last {
            self.reads.remove(chosen);
        }
        self.carry(1, now, completion.len());
        Some(completion)
    }
}

/// Bytes of the next completion: to the end, or to some boundary before it.
fn piece(address: u64, left: usize, config: &Config, chance: u64) -> usize {
    let (boundary, end) = (u64::from(config.boundary), address + left as u64);
    let start = address & !(boundary - 1);
    let most = start + u64::from(config.max_payload);
    let cuts = (1..=u64::from(config.max_payload) / boundary).map(|count| start + count * boundary);
    let mut ends: Vec<u64> = cuts.filter(|cut| *cut < end).collect();
    if end <= most {
        ends.push(end);
    }
    let at = usize::try_from(chance % ends.len() as u64).expect("an index");
    usize::try_from(ends[at] - address).expect("at most a page")
}
