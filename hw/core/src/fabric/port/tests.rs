//! The port against its model.

mod faults;
mod leaving;
mod streams;
mod timing;

use stroma_verilate::SplitMix64;
use stroma_verilate::effort::{one_width, share};

use super::rig::kernel::{Plan, noise_bytes};
use super::rig::{Manners, PEERS, Rig, ask, response, right};
use crate::slot::SlotCommand;
use crate::stream::{Beat, beats};
use crate::testing::stalls_of;

/// Speeds that differ from seed to seed.
fn manners(seed: usize) -> Manners {
    let speeds = [100, 30, 80, 10];
    Manners {
        reserves: speeds[seed % 4],
        takes: speeds[(seed / 4 + 1) % 4],
        gives: speeds[(seed / 2) % 4],
        delay: (0, [1, 40, 200][seed % 3]),
        memory: (0, [1, 60, 300][(seed / 3) % 3]),
    }
}

fn serves_at<const D: usize>() {
    for (seed, pauses) in stalls_of::<6>().into_iter().enumerate() {
        let mut rig = Rig::<D>::new();
        rig.rng = SplitMix64::new(seed as u64);
        rig.pause(pauses);
        rig.manners = manners(seed);
        let count = share(60);
        for _ in 0..count {
            rig.random_request();
        }
        rig.settle();
        assert_eq!(rig.pulses.invoked, count);
        assert_eq!(rig.pulses.answered_ok + rig.pulses.answered_failed, count);
        assert_eq!(rig.resets, 0);
    }
}

#[test]
fn a_kernel_that_does_right_is_served_under_stalls() {
    serves_at::<64>();
    serves_at::<512>();
}

fn recovers_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for seed in 0..12 {
        rig.rng = SplitMix64::new(seed);
        rig.manners = manners(1);
        (0..20).for_each(|_| rig.random_request());
        rig.run(100 + 37 * seed);
        assert!(rig.port("busy"), "nothing was inside when reset came");
        rig.reset();
        (0..5).for_each(|_| rig.random_request());
        rig.settle();
        assert_eq!(rig.pulses.invoked, 5);
        rig.reset();
    }
}

#[test]
fn recovers_from_reset() {
    recovers_at::<64>();
    recovers_at::<512>();
}

/// What a kernel may do, or something that it may not.
fn wild<const D: usize>(rng: &mut SplitMix64, command: &SlotCommand) -> Plan<D> {
    let plan = right::<D>(rng, command);
    let most = command.response_max.index();
    match rng.below(12) {
        0 => Plan { responses: Vec::new(), ..plan },
        1 => Plan { is_deaf: true, ..plan },
        2 => Plan { is_hasty: true, ..plan },
        3 => {
            let more = usize::try_from(rng.below(300)).expect("few");
            let bytes = noise_bytes(rng, most + 1 + more);
            Plan { beats: beats(&bytes), responses: vec![response(command, 0, 0)], ..plan }
        }
        4 => {
            let mut stray = ask(rng, command);
            stray.ticket = rng.below(16).into();
            stray.len = rng.below(1 << 13).into();
            Plan { reads: vec![stray; 4], writes: vec![stray; 4], ..plan }
        }
        5 => {
            let spoil = |beat: &Beat<D>, rng: &mut SplitMix64| match rng.below(8) {
                0 => Beat { nbytes: rng.below(128).into(), ..*beat },
                1 => Beat { eop: !beat.eop, ..*beat },
                _ => *beat,
            };
            Plan { beats: plan.beats.iter().map(|beat| spoil(beat, rng)).collect(), ..plan }
        }
        _ => plan,
    }
}

fn survives_at<const D: usize>() {
    let (mut expired, mut aborted, mut orphans) = (0, 0, 0);
    for (seed, pauses) in stalls_of::<6>().into_iter().enumerate() {
        let mut rig = Rig::<D>::new();
        rig.rng = SplitMix64::new(1000 + seed as u64);
        println!("seed {seed} at {D} bits");
        rig.planner = Box::new(wild);
        rig.is_strict = false;
        rig.pause(pauses);
        rig.manners = manners(seed);
        rig.set("limit", 9000);
        rig.set("patience", 4000);
        for _ in 0..share(16) {
            for _ in 0..8 {
                rig.random_request();
            }
            for peer in 0..PEERS {
                rig.peers[peer].is_still = rig.rng.below(4) == 0;
            }
            rig.run(300 + 300 * (seed as u64 % 5));
            let peer = usize::try_from(rig.rng.below(2 * PEERS as u64)).expect("few");
            if peer < PEERS {
                rig.stop(peer);
                rig.run(1);
            } else if rig.rng.below(2) == 0 {
                // What it has sent before it failed gives up on its way.
                let from = usize::try_from(rig.rng.below(3)).expect("few");
                rig.give_up(peer - PEERS, from);
            }
        }
        rig.peers.iter_mut().for_each(|peer| peer.is_still = false);
        rig.settle();
        expired += rig.pulses.expired;
        aborted += rig.pulses.aborted;
        orphans += rig.twin.orphans;
    }
    assert!(
        expired > share(10) && aborted > share(10) && orphans > share(10),
        "{expired} expired, {aborted} aborted, {orphans} orphans"
    );
}

#[test]
fn nothing_is_lost_whatever_kernels_and_callers_do() {
    one_width(survives_at::<64>, survives_at::<512>);
}
