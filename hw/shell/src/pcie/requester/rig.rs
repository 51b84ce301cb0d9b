//! What the tests of all requester blocks have in common: bursts, and the block's end of `rq`.

use std::collections::VecDeque;

use stroma_hw::host::axi::{WriteAddress, WriteBeat};
use stroma_hw::testing::{collect, push, read};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::RqBeat;
use super::fields::READ_SEQUENCE;
use super::model::{BEAT_BYTES, Request, Strobed, decode};

/// A write burst: its address and its beats.
pub(super) type Burst = (u64, Vec<Strobed>);

/// A number below `bound`, as an index.
pub(super) fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("an index")
}

/// A burst as the card makes them: `length` bytes from `address` on, in one page.
pub(super) fn burst(random: &mut SplitMix64, address: u64, length: u64) -> Burst {
    let start = address & !63;
    let beats = (address + length - start).div_ceil(64);
    let beat = |index: u64| {
        let from = start + 64 * index;
        let is_in = |at: &u64| (address..address + length).contains(&(from + at));
        let strobes = (0..64).filter(is_in).map(|at| 1_u64 << at).sum();
        (std::array::from_fn(|_| random.next_u32().to_le_bytes()[0]), strobes)
    };
    (start, (0..beats).map(beat).collect())
}

/// A burst of any length at any place in a few pages; one in sixteen begins or ends without strobes, or has none at all.
pub(super) fn any_burst(random: &mut SplitMix64) -> Burst {
    let page = 0x0012_3456_7000 + 4096 * random.below(3);
    let longest = [8, 64, 300, 4096][below(random, 4)];
    let length = 1 + random.below(longest);
    let place = page + random.below(4097 - length);
    let (start, mut beats) = burst(random, place, length);
    let (at, count) = (below(random, beats.len()), beats.len());
    match random.below(48) {
        0 => beats.iter_mut().for_each(|beat| beat.1 = 0),
        1 => beats[..at].iter_mut().for_each(|beat| beat.1 = 0),
        2 => beats[at..].iter_mut().for_each(|beat| beat.1 = 0),
        3 if count > 2 => beats[1 + at % (count - 2)].1 = 0,
        _ => {}
    }
    (start, beats)
}

/// Queues a burst.
pub(super) fn send(bench: &mut Bench, aw: SourceId, w: SourceId, (address, beats): &Burst) {
    let len = beats.len() as u64 - 1;
    push(bench, aw, &[WriteAddress { addr: (*address).into(), len: len.into() }]);
    for (at, (bytes, strobes)) in beats.iter().enumerate() {
        let data = num_bigint::BigUint::from_bytes_le(bytes).into();
        let beat =
            WriteBeat::<512, BEAT_BYTES> { data, strb: (*strobes).into(), last: at + 1 == beats.len() };
        push(bench, w, &[beat]);
    }
}

/// The block's end of `rq`: takes transactions, and reports them later.
pub(super) struct Far {
    rq: SinkId,
    held: Vec<RqBeat>,
    /// Numbers that are not reported, and when they may be.
    waiting: VecDeque<(u64, u64)>,
    /// Writes reported, and reports that are in order up to here.
    pub(super) delay: u64,
    /// Are reads reported as well?
    pub(super) reports_reads: bool,
    random: SplitMix64,
    /// Numbers reported in the last step.
    pub(super) reported: Vec<u64>,
    /// Beats taken so far, and the cycle of the last one.
    pub(super) beats: u64,
    pub(super) first_cycle: u64,
    pub(super) last_cycle: u64,
    /// Nothing is reported.
    pub(super) hold: bool,
}

impl Far {
    pub(super) fn new(rq: SinkId, seed: u64) -> Self {
        Self {
            rq,
            held: Vec::new(),
            waiting: VecDeque::new(),
            delay: 20,
            reports_reads: false,
            random: SplitMix64::new(seed),
            reported: Vec::new(),
            beats: 0,
            first_cycle: 0,
            last_cycle: 0,
            hold: false,
        }
    }

    /// Before a step: the reports of this cycle.
    pub(super) fn report(&mut self, bench: &mut Bench) {
        self.reported.clear();
        let mut lanes = [0; 2];
        let turned = below(&mut self.random, 2);
        for lane in 0..2 {
            let ready = self.waiting.iter().take(3).filter(|(_, due)| *due <= bench.cycle()).count();
            if ready > 0 && !self.hold && self.random.below(3) > 0 {
                let (number, _) = self.waiting.remove(below(&mut self.random, ready)).expect("it is there");
                lanes[lane ^ turned] = number | 1 << 6;
                self.reported.push(number);
            } else {
                // A number without `valid` says nothing.
                lanes[lane ^ turned] = self.random.below(64);
            }
        }
        for (lane, value) in lanes.into_iter().enumerate() {
            let port = bench.model().port(&format!("reports${lane}")).expect("the port exists");
            bench.model_mut().set(port, value);
        }
    }

    /// After a step: the transactions that became whole in it, with their numbers.
    pub(super) fn take(&mut self, bench: &mut Bench) -> Vec<(Request, u64)> {
        let mut whole = Vec::new();
        for beat in collect::<RqBeat>(bench, self.rq) {
            if self.beats == 0 {
                self.first_cycle = bench.cycle();
            }
            self.last_cycle = bench.cycle();
            self.beats += 1;
            self.held.push(beat);
            if beat.last {
                let (request, number) = decode(&std::mem::take(&mut self.held));
                assert_eq!(matches!(request, Request::Read { .. }), number == READ_SEQUENCE);
                if number != READ_SEQUENCE || self.reports_reads {
                    assert!(
                        number == READ_SEQUENCE || self.waiting.iter().all(|(other, _)| *other != number),
                        "number {number} is used twice"
                    );
                    let due = bench.cycle() + self.random.below(self.delay + 1);
                    self.waiting.push_back((number, due));
                }
                whole.push((request, number));
            }
        }
        // The block takes a gap for an error.
        assert!(self.held.is_empty() || read::<bool>(bench, "rq$valid"), "a gap in a transaction");
        whole
    }

    /// Forgets everything, and what was on its way.
    pub(super) fn reset(&mut self, bench: &mut Bench) {
        bench[self.rq].take();
        self.held.clear();
        self.waiting.clear();
    }

    /// The stream it takes.
    pub(super) fn sink(&self) -> SinkId {
        self.rq
    }

    /// Is everything reported?
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }
}
