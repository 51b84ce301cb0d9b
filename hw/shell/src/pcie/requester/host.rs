//! A host for the tests: memory, and answers to reads in any order, in pieces, late, and wrong.

use std::collections::{BTreeMap, VecDeque};

use stroma_verilate::SplitMix64;

use super::RcBeat;
use super::fields;
use super::model::{Completion, encode};
use super::rig::below;

/// What goes wrong with a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Unsupported request, or another status.
    Status,
    /// A status that the block has no error code for, and that it does not call the last completion.
    StatusAlone,
    Poisoned,
    /// Poison that the block has no error code for.
    PoisonAlone,
    BlockTimeout,
    FunctionReset,
    Mismatch,
    Address,
    ByteCount,
    Length,
    Odd,
    Discontinued,
    Truncated,
    /// One of the pieces is missing.
    Skipped,
    /// The last piece does not say that it is, and another one does.
    NotCompleted,
    /// Nothing comes at all.
    Lost,
}

pub(super) const FAULTS: [Fault; 15] = [
    Fault::Status,
    Fault::StatusAlone,
    Fault::Poisoned,
    Fault::PoisonAlone,
    Fault::BlockTimeout,
    Fault::FunctionReset,
    Fault::Mismatch,
    Fault::Address,
    Fault::ByteCount,
    Fault::Length,
    Fault::Odd,
    Fault::Discontinued,
    Fault::Truncated,
    Fault::Skipped,
    Fault::NotCompleted,
];

struct Answer {
    tag: u8,
    packets: VecDeque<Vec<RcBeat>>,
    beats: usize,
    due: u64,
}

pub(super) struct Host {
    memory: BTreeMap<u64, u8>,
    answers: Vec<Answer>,
    pub(super) random: SplitMix64,
    /// Pieces end at multiples of this.
    pub(super) boundary: usize,
    /// Each read is answered in one piece.
    pub(super) in_one: bool,
    /// Nothing is answered.
    pub(super) holds: bool,
    /// Until the answer, at most.
    pub(super) delay: u64,
    /// Credits for reads that are free, and when others will be.
    pub(super) credits: u64,
    pub(super) credit_delay: u64,
    returning: Vec<u64>,
    shown: VecDeque<u64>,
}

impl Host {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            memory: BTreeMap::new(),
            answers: Vec::new(),
            random: SplitMix64::new(seed),
            boundary: 64,
            in_one: false,
            holds: false,
            delay: 200,
            credits: 64,
            credit_delay: 30,
            returning: Vec::new(),
            shown: VecDeque::from([0; 3]),
        }
    }

    /// What `pcie_tfc_nph_av` shows in this cycle, which is what was free a few cycles before.
    pub(super) fn credit_pin(&mut self, now: u64) -> u64 {
        let count = self.returning.len();
        self.returning.retain(|due| *due > now);
        self.credits += (count - self.returning.len()) as u64;
        self.shown.push_back(self.credits.min(15));
        self.shown.pop_front().expect("three values are under way")
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) {
        self.memory.extend((address..).zip(bytes.iter().copied()));
    }

    pub(super) fn byte(&self, address: u64) -> u8 {
        let fresh = address.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0];
        self.memory.get(&address).copied().unwrap_or(fresh)
    }

    /// A read comes, and is answered later. Returns what it will give.
    pub(super) fn read(
        &mut self,
        now: u64,
        address: u64,
        length: usize,
        tag: u8,
        fault: Option<Fault>,
    ) -> Vec<u8> {
        assert!(self.credits > 0, "a read without credit");
        self.credits -= 1;
        self.returning.push(now + 1 + self.random.below(self.credit_delay + 1));
        assert!(self.answers.iter().all(|answer| answer.tag != tag), "tag {tag} is under way");
        let data: Vec<u8> = (address..).take(length).map(|address| self.byte(address)).collect();
        let due = now + 5 + self.random.below(self.delay + 1);
        let packets = self.packets(address, &data, tag, fault).into();
        self.answers.push(Answer { tag, packets, beats: length / 64, due });
        data
    }

    /// Requests that are under way.
    pub(super) fn under_way(&self) -> usize {
        self.answers.iter().filter(|answer| !answer.packets.is_empty()).count()
    }

    /// Completions that the block may hold at worst: of requests whose last one it has not given away, one for each beat.
    pub(super) fn held(&self) -> usize {
        self.answers.iter().filter(|answer| !answer.packets.is_empty()).map(|answer| answer.beats).sum()
    }

    /// Forgets a request that nobody waits for any more.
    pub(super) fn forget(&mut self) {
        self.answers.retain(|answer| !answer.packets.is_empty());
    }

    /// The next packet, of any request whose time has come.
    pub(super) fn packet(&mut self, now: u64) -> Option<Vec<RcBeat>> {
        let is_due = |answer: &Answer| !self.holds && answer.due <= now && !answer.packets.is_empty();
        let ready: Vec<usize> = (0..self.answers.len()).filter(|at| is_due(&self.answers[*at])).collect();
        if ready.is_empty() {
            return None;
        }
        let at = ready[below(&mut self.random, ready.len())];
        let packet = self.answers[at].packets.pop_front();
        if self.answers[at].packets.is_empty() {
            self.answers.remove(at);
        }
        packet
    }

    fn cuts(&mut self, address: u64, length: usize) -> Vec<(usize, usize)> {
        let mut cuts = Vec::new();
        let mut from = 0;
        while from < length {
            let mut to = length;
            if !self.in_one && self.random.below(3) > 0 {
                let next =
                    usize::try_from(address).expect("it fits") + from + 1 + below(&mut self.random, length);
                to = (next.next_multiple_of(self.boundary) - usize::try_from(address).expect("it fits"))
                    .min(length);
            }
            cuts.push((from, to - from));
            from = to;
        }
        cuts
    }

    fn packets(&mut self, address: u64, data: &[u8], tag: u8, fault: Option<Fault>) -> Vec<Vec<RcBeat>> {
        let length = data.len();
        let cuts = self.cuts(address, length);
        let chosen = below(&mut self.random, cuts.len());
        let mut packets = Vec::new();
        for (at, (from, count)) in cuts.iter().copied().enumerate() {
            let mut head = Completion {
                tag,
                byte_count: (length - from) as u64,
                dword_count: count as u64 / 4,
                error: fields::ERROR_NONE,
                status: 0,
                poisoned: false,
                completed: from + count == length,
            };
            let payload = &data[from..from + count];
            let Some(fault) = fault.filter(|_| at == chosen) else {
                packets.push(encode(head, payload));
                continue;
            };
            let ends = |head: Completion| encode(Completion { dword_count: 0, ..head }, &[]);
            match fault {
                Fault::Status => {
                    let status = [1, 2, 4][below(&mut self.random, 3)];
                    packets.push(ends(Completion {
                        status,
                        error: fields::ERROR_STATUS,
                        completed: true,
                        ..head
                    }));
                    return packets;
                }
                Fault::StatusAlone => {
                    packets.push(ends(Completion { status: 1, completed: false, ..head }));
                    return packets;
                }
                Fault::BlockTimeout | Fault::FunctionReset => {
                    let error = [fields::ERROR_TIMEOUT, fields::ERROR_FUNCTION_RESET]
                        [usize::from(fault == Fault::FunctionReset)];
                    let completed = self.random.below(2) == 0;
                    let byte_count = self.random.below(4097);
                    packets.push(ends(Completion { byte_count, error, completed, ..head }));
                    return packets;
                }
                Fault::Lost => return Vec::new(),
                Fault::Skipped if cuts.len() > 1 => {
                    // Not the last one: it has to be said that it is.
                    if at + 1 == cuts.len() {
                        packets.pop();
                        packets.push(encode(head, payload));
                    }
                    continue;
                }
                Fault::NotCompleted => {
                    packets.push(encode(Completion { completed: !head.completed, ..head }, payload));
                    if head.completed {
                        packets.push(ends(head));
                    } else {
                        return packets;
                    }
                    continue;
                }
                Fault::Poisoned => (head.error, head.poisoned) = (fields::ERROR_POISONED, true),
                Fault::PoisonAlone => head.poisoned = true,
                Fault::Mismatch => head.error = fields::ERROR_MISMATCH,
                Fault::Address => head.error = fields::ERROR_ADDRESS,
                Fault::ByteCount | Fault::Skipped => {
                    head.byte_count =
                        (head.byte_count + [64, 4096 - 64, 1, 4095][below(&mut self.random, 4)]) % 4096;
                }
                Fault::Length => {
                    head.dword_count =
                        (head.dword_count + [16, 2048 - 16][below(&mut self.random, 2)]) % 2048;
                }
                Fault::Odd => head.dword_count -= 1,
                Fault::Discontinued | Fault::Truncated => {}
            }
            let mut packet = encode(head, payload);
            let place = below(&mut self.random, packet.len());
            if fault == Fault::Discontinued {
                packet[place].discontinue = true;
            }
            if fault == Fault::Truncated {
                packet.truncate(place.max(1));
                packet.last_mut().expect("one is left").last = true;
            }
            packets.push(packet);
        }
        packets
    }
}
