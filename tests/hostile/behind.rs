//! What stands behind a failed request is flushed, local work too, whoever else fails at the same time.

use stroma_abi::desc::{Body, QueuePairState, Sge, SgeList, Status, WorkOp, WqeHead};
use stroma_tests::rig::{Completions, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;

use super::hairpin::{self, Port};
use super::memory::Memory;
use super::wqes::{encode, nop};

/// A key of no region.
const NO_KEY: u32 = 9 << 8;
/// The one that its peer refuses, its peer, and the one that this side refuses.
const NUMBERS: [u32; 3] = [10, 11, 12];
/// Cycles around the moment at which both fail together.
const AROUND: u64 = 40;

/// A WRITE with these keys, and a NOP behind it.
fn put(port: &mut Port, local_key: u32, key: u32) {
    let list = [Sge { address: Memory::BASE, local_key, length: 4 }];
    let write = WqeHead { index: port.producer, remote: Memory::BASE, key, ..head(WorkOp::Write) };
    port.put(&encode(write, &Body::Gather(SgeList::new(&list).expect("one"))));
    port.put(&nop(port.producer));
}

/// Takes four completions: how the NOPs ended, and when the WRITEs did.
fn finish(rig: &Rig, completions: &mut Completions) -> ([Status; 2], [u64; 2]) {
    let (mut behind, mut times) = ([Status::General; 2], [0; 2]);
    for _ in 0..4 {
        let cqe = rig.completion(completions);
        rig.arm(completions, 0);
        let end = usize::from(cqe.queue_pair.value() == NUMBERS[2]);
        if cqe.index == 0 { times[end] = cqe.timestamp } else { behind[end] = status(&cqe) }
    }
    (behind, times)
}

/// Lets one queue pair fail earlier and earlier against the other: the delays at which a NOP was not flushed.
fn sweep(profile: Profile) -> Vec<(u64, [Status; 2])> {
    let mut rig = hairpin::rig(profile);
    let memory = Memory::new(&mut rig, 1);
    let mut completions = rig.completions(0, 6, 0);
    let mut ports = NUMBERS.map(|number| hairpin::make(&mut rig, number, &completions, None));
    let mut trial = |delay: u64| {
        for (port, peer) in ports.iter_mut().zip([NUMBERS[1], NUMBERS[0], NUMBERS[1]]) {
            hairpin::connect(&rig, port, peer);
        }
        put(&mut ports[0], memory.open_key, NO_KEY);
        put(&mut ports[2], NO_KEY, memory.open_key);
        rig.settle();
        ports[0].ring(&rig);
        rig.run(delay);
        ports[2].ring(&rig);
        let found = finish(&rig, &mut completions);
        rig.settle();
        for port in &ports {
            rig.state(port.number, QueuePairState::Reset);
        }
        found
    };
    let (_, [remote, local]) = trial(0);
    let apart = remote - local;
    (apart.saturating_sub(AROUND)..apart + AROUND)
        .map(|delay| (delay, trial(delay).0))
        .filter(|(_, behind)| *behind != [Status::Flushed; 2])
        .collect()
}

#[test]
fn what_stands_behind_a_failed_request_is_flushed_whoever_else_fails() {
    let wrong: Vec<_> = widths!().into_iter().flat_map(sweep).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
