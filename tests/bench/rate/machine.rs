//! How fast this machine simulates two cards. Wall-clock time: of this machine and this run.

use std::time::Instant;

use stroma_tests::pair::{MEMORY, Pair, pattern};
use stroma_top::Profile;

use super::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;

/// How long a WRITE of 2 MiB takes, both cards and the cable between them simulated, and how many cycles that are a second.
pub(crate) fn wall(report: &mut Report) {
    let pair = Pair::new(PROFILE);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect();
    near.put(0, &pattern(1, MEMORY));
    let (started, from) = (Instant::now(), pair.now());
    let batch = (0..2).fold(sender.start(), |batch, index| {
        let batch = batch.wr_id(index).signaled();
        batch.write(&[near.piece(0, MEMORY)], far.at(0), far.memory.rkey())
    });
    batch.post().expect("room in the queue");
    for index in 0..2 {
        near.expect(index);
    }
    let (seconds, cycles) = (started.elapsed().as_secs_f64(), pair.now() - from);
    assert!(far.bytes(0, MEMORY) == pattern(1, MEMORY), "what was written");
    let how =
        format!("two WRITEs of 1 MiB on one queue pair, post to completion, {cycles} cycles of two cards");
    report.add("write.wall.2MiB", Metric::Wall, seconds, PROFILE, &how);
    let how = "two cards and the cable between them, during the same";
    report.add("sim.speed.loaded", Metric::Speed, number(cycles) / seconds, PROFILE, how);
}

/// How fast time passes in which nothing happens; how much faster when it is skipped, alone and with a little to do in between;
/// how much slower when every stream is checked.
pub(crate) fn quiet(report: &mut Report) {
    let (ticking, skipping) = (idle(false, false), idle(true, false));
    let how = "two idle cards, every cycle evaluated";
    report.add("sim.speed.idle", Metric::Speed, ticking, PROFILE, how);
    let how = "cycles a second with streams unchecked and steady over those with `check_streams`; two idle cards, every cycle evaluated";
    report.add("sim.steady", Metric::SpeedRatio, ticking / idle(false, true), PROFILE, how);
    let how = format!(
        "cycles a second with quiet time skipped over those without; two idle cards, stretches of {STRETCH} cycles, each \
         card looked at behind each"
    );
    report.add("sim.quiet", Metric::SpeedRatio, skipping / ticking, PROFILE, &how);
    let ([ticking, _], [skipping, share]) = (sparse(false), sparse(true));
    let how = format!("the same with a WRITE of 64 bytes every 20 us, {share:.1} % skipped by both cards");
    report.add("sim.sparse", Metric::SpeedRatio, skipping / ticking, PROFILE, &how);
}

/// Cycles in which nothing happens, at a time.
const STRETCH: u64 = 5000;

/// Simulated cycles a second of this machine, in which nothing happens.
fn idle(skips: bool, checks: bool) -> f64 {
    let pair = Pair::new(PROFILE);
    for card in 0..2 {
        pair.shared.world().card(card).check_streams(checks);
    }
    pair.run(STRETCH);
    pair.shared.world().skip_quiet_time(skips);
    let (started, from) = (Instant::now(), pair.now());
    // Few where a cycle takes long.
    let stretches = match (skips, checks) {
        (true, _) => 20_000,
        (false, false) => 10,
        (false, true) => 3,
    };
    for _ in 0..stretches {
        pair.run(STRETCH);
        // A card that nobody looks at would stay behind.
        let cycles = [0, 1].map(|card| pair.shared.world().card(card).cycle());
        assert_eq!(cycles, [pair.now(); 2], "both cards have come along");
    }
    number(pair.now() - from) / started.elapsed().as_secs_f64()
}

/// Simulated cycles a second of this machine, and per cent of them skipped.
fn sparse(skips: bool) -> [f64; 2] {
    let pair = Pair::new(PROFILE);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect();
    pair.shared.world().skip_quiet_time(skips);
    let skipped = || pair.shared.world().skipped();
    let (started, from, skipped_before) = (Instant::now(), pair.now(), skipped());
    for index in 0..6 {
        let batch = sender.start().wr_id(index).signaled();
        batch.write(&[near.piece(0, 64)], far.at(0), far.memory.rkey()).post().expect("room in the queue");
        near.expect(index);
        pair.run(STRETCH);
    }
    let cycles = number(pair.now() - from);
    [cycles / started.elapsed().as_secs_f64(), number(skipped() - skipped_before) / cycles * 100.0]
}
