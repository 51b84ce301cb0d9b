mod corners;

use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::INLINE_MAX;
use stroma_verilate::{Pause, SplitMix64};

use super::Mover;
use super::model::{BROKEN, Item, REFUSED, Task};
use super::rig::{QPS, Rig};
use crate::verilog::differential::{assert_agree, differential};

const NEVER: Pause = Pause::None;

fn always() -> Pause {
    Pause::Script(vec![true])
}

/// The protection domain of a test's keys is their low half.
const PD: u16 = 0x1234;
const KEY: u32 = 0x1234;

fn item(task: Task) -> Item {
    Item {
        task,
        qpn: 1,
        index: 7,
        cq: 3,
        pd: PD,
        is_signaled: true,
        remote: 0x7_0000_0000,
        key: KEY,
        claims: None,
        missing: 0,
    }
}

fn sge(address: u64, local_key: u32, length: u32) -> Sge {
    Sge { address, local_key, length }
}

/// A key of the domain; `risk` in a hundred have pages that fail.
fn key(rng: &mut SplitMix64, risk: u64) -> u32 {
    let kind = if rng.below(100) < risk { [REFUSED, BROKEN][usize::from(rng.below(2) == 1)] } else { 0 };
    kind | u32::try_from(rng.below(4)).expect("small") << 20 | KEY
}

/// Works of all kinds; entries short and long, aligned and not, some of them empty.
fn works(seed: u64, count: u16, risk: u64) -> Vec<Item> {
    let mut rng = SplitMix64::new(seed);
    let mut next = |index: u16| {
        let entries = |rng: &mut SplitMix64| {
            let one = |rng: &mut SplitMix64| {
                let longest = [1, 16, 100, 4096, 9000][usize::try_from(rng.below(5)).expect("small")];
                let length = u32::try_from(rng.below(longest)).expect("small");
                let address = 0x5555_0000_0000 + rng.below(1 << 30);
                let address = if rng.below(2) == 0 { address } else { address & !0x3f };
                sge(address, key(rng, risk), length)
            };
            let most = [1, 3, 16][usize::try_from(rng.below(3)).expect("small")];
            let list: Vec<Sge> = (0..=rng.below(most)).map(|_| one(rng)).collect();
            // Up to 20 KiB: long lists have to share them.
            let share = 20_480 / u32::try_from(list.len()).expect("small");
            list.into_iter().map(|sge| Sge { length: sge.length.min(share), ..sge }).collect::<Vec<_>>()
        };
        let task = match rng.below(20) {
            0 => Task::Nop,
            1 if risk > 0 => Task::Refused([2, 4, 5, 21][usize::try_from(rng.below(4)).expect("small")], 9),
            2..5 => Task::End(rng.below(2) == 1),
            5..9 => {
                let len = rng.below(INLINE_MAX as u64 + 1);
                Task::Inline((0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect())
            }
            9..15 => Task::Gather(entries(&mut rng)),
            _ => Task::Scatter(entries(&mut rng)),
        };
        Item {
            task,
            qpn: u32::try_from(rng.below(1 << QPS)).expect("small"),
            index,
            cq: rng.next_u32() >> 8,
            pd: PD,
            is_signaled: rng.below(3) > 0,
            // Often just before the end of a page.
            remote: 0x7fff_0000_1000 + rng.below(1 << 24) * 4096 - rng.below(600),
            key: key(&mut rng, risk),
            ..item(Task::Nop)
        }
    };
    (0..count).map(&mut next).collect()
}

fn agree<const D: usize, const LOG: usize>(rounds: u64) {
    let mut rig = Rig::<D, LOG>::new();
    for seed in 0..rounds {
        rig.send(&works(seed, 40, if seed % 4 == 0 { 0 } else { 10 }));
        rig.finish();
        (0..1 << QPS).for_each(|qpn| rig.change(qpn, qpn % 3 != 0));
        rig.run(20);
    }
}

#[test]
fn agrees_with_the_model() {
    agree::<64, 9>(8);
    agree::<512, 8>(16);
}

/// Both ends at every place in a beat, over the end of a page at either, and inline data cut at every byte.
fn every_alignment<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    for place in 0..64 {
        let at = |task, remote| Item { remote, ..item(task) };
        let data: Vec<u8> = (0..).take(INLINE_MAX).map(|at: u32| at.to_le_bytes()[0] ^ 0x35).collect();
        let cut = |cut: u64| at(Task::Inline(data.clone()), 0x8000_1000 - cut);
        let list = vec![sge(0x9000_0fc0 + place, KEY, 200), sge(0xa000_0000 + place, KEY, 5000)];
        let mut items: Vec<_> = (0..8).map(|part| cut(place * 8 + part)).collect();
        // Of lists, every place in a beat is enough.
        if place < D as u64 / 8 {
            for lane in [0, 1, 3] {
                items.push(at(Task::Gather(list.clone()), 0x8000_0f80 + place * lane));
                items.push(at(Task::Scatter(list.clone()), 0x8000_0f80 + place * lane));
            }
        }
        items.extend(
            [1, 31, 32, 33, 95, 96, 97].map(|len| at(Task::Inline(data[..len].to_vec()), 0x1000 + place)),
        );
        rig.send(&items);
        rig.finish();
    }
}

#[test]
fn every_byte_may_begin_a_page() {
    every_alignment::<64, 9>();
    every_alignment::<512, 8>();
}

fn survive<const D: usize, const LOG: usize>(rounds: usize) {
    let mut rig = Rig::<D, LOG>::new();
    let slow = |seed| Pause::Random { seed, percent: 80 };
    let half = |seed| Pause::Random { seed, percent: 50 };
    let bursts = |go, pause| Pause::Burst { go, pause };
    let mut stalls = vec![(0..10).map(half).collect::<Vec<_>>()];
    stalls.push((0..10).map(|port| bursts(3 + 7 * port, 90 - 8 * port)).collect());
    for port in 0..10 {
        let mut one = vec![NEVER; 10];
        one[port] = slow(8);
        stalls.push(one);
    }
    rig.xlat_latency = (1, 60);
    rig.read_latency = (1, 300);
    for (seed, stall) in (100..).zip(stalls.into_iter().take(rounds)) {
        rig.pause(stall.try_into().expect("ten pauses"));
        rig.send(&works(seed, 30, 8));
        // Drains now and then, as soon as the one before is answered.
        for turn in 0..200 {
            rig.run(20);
            if rig.drained == turn {
                rig.drain();
                rig.step();
            } else {
                break;
            }
        }
        rig.finish();
        rig.drained = 0;
        (0..1 << QPS).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn survives_stalls() {
    survive::<64, 9>(12);
    survive::<512, 8>(12);
}

#[test]
fn long_copies_keep_the_writer_busy() {
    let mut rig = Rig::<512, 8>::new();
    rig.read_latency = (225, 226);
    let copy = |at: u64| Item {
        remote: 0x1_0000_0000 + at * 0x1_0000,
        ..item(Task::Gather(vec![sge(0x2_0000_0000 + at * 0x1_0000, KEY, 0x1_0000)]))
    };
    rig.send(&(0..8).map(copy).collect::<Vec<_>>());
    rig.finish();
    let (first, last) = (rig.data_cycles[0], rig.data_cycles[rig.data_cycles.len() - 1]);
    assert_eq!(rig.data_cycles.len(), 8 * 1024);
    assert_eq!(last - first + 1, 8 * 1024, "a beat in every cycle");
}

/// Cycles from one completion, or beat, to the next, when many follow each other.
fn pace(cycles: &[u64]) -> u64 {
    let [first, last] = [cycles.len() - 41, cycles.len() - 1].map(|at| cycles[at]);
    assert!((last - first).is_multiple_of(40), "40 take {} cycles", last - first);
    (last - first) / 40
}

#[test]
fn small_works_follow_each_other_closely() {
    let mut rig = Rig::<512, 8>::new();
    let mut many = |work: Item, count| {
        rig.send(&vec![work; count]);
        rig.finish();
        (pace(&rig.done_cycles), rig.data_cycles.clone())
    };
    assert_eq!(many(item(Task::Nop), 100).0, 2);
    assert_eq!(many(item(Task::Gather(vec![sge(0x1000, KEY, 64)])), 100).0, 3);
    assert_eq!(many(item(Task::Inline(vec![7; 32])), 100).0, 3);
    // Entries of a beat each: two cycles an entry.
    let list = (0..14).map(|at| sge(0x1000 * at, KEY, 64)).collect::<Vec<_>>();
    rig.send(&vec![item(Task::Scatter(list)); 20]);
    rig.finish();
    let cycles = rig.data_cycles[279] - rig.data_cycles[140];
    assert_eq!(rig.data_cycles.len(), 280);
    assert_eq!(cycles, 139 * 2 + 9, "a cycle more for each of the works between");
}

#[test]
fn a_nop_takes_as_long_as_promised() {
    let mut rig = Rig::<64, 9>::new();
    rig.finish();
    let start = rig.bench[rig.work].sent();
    rig.send(&[item(Task::Nop)]);
    while rig.bench[rig.work].sent() == start {
        rig.step();
    }
    let moved = rig.bench.cycle();
    rig.finish();
    assert_eq!(rig.done_cycles, [moved + 7]);
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "mover",
        Mover::<64, 2, 9>::default,
        clock,
        [
            work.payload,
            work.valid,
            units.payload,
            units.valid,
            xlat.ready,
            answer.payload,
            answer.valid,
            read.ready,
            read_data.payload,
            read_data.valid,
            write.ready,
            write_data.ready,
            done.ready,
            error.ready,
            change.payload,
            change.valid,
            drain
        ]
    );
    assert_agree([case], 100);
}
