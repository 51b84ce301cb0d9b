//! Local copies against a model that copies slices: every alignment, every length, lists, inline data.

use stroma_abi::desc::{Body, Sge, Status, WorkOp, WqeHead, sge::SGE_MAX};
use stroma_tests::rig::{Buffer, Completions, Queue, Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

const SOURCE: u64 = 0x1000_0003_0000;
const TARGET: u64 = 0x2000_0005_0000;
/// A megabyte, and room for alignment.
const ROOM: usize = (1 << 20) + 8192;

/// Two buffers, and what they should hold.
struct Desk {
    rig: Rig,
    completions: Completions,
    queue: Queue,
    source: (Buffer, Vec<u8>, u32),
    target: (Buffer, Vec<u8>, u32),
}

fn small(random: &mut SplitMix64, below: usize) -> usize {
    usize::try_from(random.below(below as u64)).expect("small")
}

fn desk(profile: Profile) -> Desk {
    let mut rig = Rig::new(profile);
    let completions = rig.completions(0, 10, 0);
    let queue = rig.queue_of(5, &completions, 9, 10);
    let mut random = SplitMix64::new(3);
    let mut side = |number, base| {
        let buffer = rig.buffer(ROOM);
        let contents: Vec<u8> = (0..ROOM).map(|_| random.next_u64().to_le_bytes()[0]).collect();
        buffer.write(0, &contents);
        let key = rig.region(number, &Rig::direct(&buffer, base, 9));
        (buffer, contents, key)
    };
    let (source, target) = (side(1, SOURCE), side(2, TARGET));
    Desk { rig, completions, queue, source, target }
}

impl Desk {
    /// Puts a copy of `length` bytes into the ring and lets the model make it.
    fn gather(&mut self, from: &[(usize, usize)], to: usize) {
        let sge = |(at, length): &(usize, usize)| Sge {
            address: SOURCE + *at as u64,
            local_key: self.source.2,
            length: u32::try_from(*length).expect("a length"),
        };
        let list: Vec<Sge> = from.iter().map(sge).collect();
        let head = WqeHead { remote: TARGET + to as u64, key: self.target.2, ..head(WorkOp::Gather) };
        self.queue.put(head, pieces(&list));
        let mut place = to;
        for (at, length) in from {
            self.target.1[place..place + length].copy_from_slice(&self.source.1[*at..at + length]);
            place += length;
        }
    }

    /// The same the other way: one place to many.
    fn scatter(&mut self, from: usize, to: &[(usize, usize)]) {
        let sge = |(at, length): &(usize, usize)| Sge {
            address: TARGET + *at as u64,
            local_key: self.target.2,
            length: u32::try_from(*length).expect("a length"),
        };
        let list: Vec<Sge> = to.iter().map(sge).collect();
        let head = WqeHead { remote: SOURCE + from as u64, key: self.source.2, ..head(WorkOp::Scatter) };
        self.queue.put(head, pieces(&list));
        let mut place = from;
        for (at, length) in to {
            self.target.1[*at..at + length].copy_from_slice(&self.source.1[place..place + length]);
            place += length;
        }
    }

    fn inline(&mut self, data: &[u8], to: usize) {
        let head = WqeHead { remote: TARGET + to as u64, key: self.target.2, ..head(WorkOp::Gather) };
        self.queue.put(head, Body::Inline(data));
        self.target.1[to..to + data.len()].copy_from_slice(data);
    }

    /// Rings the doorbell, awaits `count` completions, and compares all of the memory.
    fn finish(&mut self, count: usize, what: &str) {
        self.rig.doorbell(&self.queue);
        for _ in 0..count {
            let cqe = self.rig.completion(&mut self.completions);
            assert_eq!(status(&cqe), Status::Success, "{what}: index {}", cqe.index);
        }
        self.rig.arm(&self.completions, 0);
        assert!(self.target.0.read(0, ROOM) == self.target.1, "{what}: the target differs");
        assert!(self.source.0.read(0, ROOM) == self.source.1, "{what}: the source has changed");
    }
}

fn alignments(profile: Profile) {
    let (mut desk, mut random) = (desk(profile), SplitMix64::new(11));
    for from in 0..64 {
        for to in 0..64 {
            // Mostly short; around the ends of a page.
            let length = small(&mut random, 150);
            let place = |random: &mut SplitMix64| small(random, 200) * 4096;
            let near = 4096 - 128;
            let source = place(&mut random) + if to % 2 == 0 { near } else { 0 } + from;
            let target = place(&mut random) + if from % 2 == 0 { near } else { 0 } + to;
            desk.gather(&[(source, length)], target);
        }
        desk.finish(64, &format!("{profile:?}, source at {from}"));
    }
}

#[test]
fn every_alignment_of_source_and_target() {
    widths!().into_iter().for_each(alignments);
}

fn lengths(profile: Profile) {
    let (mut desk, mut random) = (desk(profile), SplitMix64::new(12));
    let lengths = [
        0,
        1,
        63,
        64,
        65,
        2048,
        4095,
        4096,
        4097,
        8191,
        12_289,
        65_535,
        65_536,
        200_001,
        (1 << 20) - 1,
        1 << 20,
    ];
    for length in lengths {
        let (from, to) = (small(&mut random, 4096), small(&mut random, 4096));
        desk.gather(&[(from, length)], to);
        desk.finish(1, &format!("{profile:?}, {length} bytes from {from} to {to}"));
    }
}

#[test]
fn every_length_from_nothing_to_a_megabyte() {
    widths!().into_iter().for_each(lengths);
}

fn lists(profile: Profile) {
    let (mut desk, mut random) = (desk(profile), SplitMix64::new(13));
    for round in 0..12 {
        for _ in 0..8 {
            let count = 1 + small(&mut random, SGE_MAX);
            let longest = [5, 300, 9000][small(&mut random, 3)];
            let mut pieces: Vec<(usize, usize)> =
                (0..count).map(|_| (small(&mut random, ROOM - 9000), small(&mut random, longest))).collect();
            // 16 pieces of nothing cannot be said.
            pieces[0].1 += 1;
            let one = small(&mut random, ROOM - SGE_MAX * 9000);
            if random.below(2) == 0 { desk.gather(&pieces, one) } else { desk.scatter(one, &pieces) }
        }
        desk.finish(8, &format!("{profile:?}, round {round}"));
    }
}

#[test]
fn lists_are_gathered_and_scattered() {
    widths!().into_iter().for_each(lists);
}

fn inline(profile: Profile) {
    let (mut desk, mut random) = (desk(profile), SplitMix64::new(14));
    for round in 0..12_usize {
        for at in 0..40_usize {
            let data: Vec<u8> = (0..(round * 40 + at)).map(|_| random.next_u64().to_le_bytes()[0]).collect();
            let to = small(&mut random, ROOM - 480);
            desk.inline(&data, to);
        }
        desk.finish(40, &format!("{profile:?}, round {round}"));
    }
}

#[test]
fn inline_data_of_every_length() {
    widths!().into_iter().for_each(inline);
}
