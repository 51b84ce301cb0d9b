//! How fast this machine simulates two cards. Wall-clock time: of this machine and this run.

use std::time::Instant;

use stroma_tests::pair::{MEMORY, Pair, pattern};
use stroma_top::Profile;

use super::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;

/// How long a WRITE of 2 MiB takes, both cards and the cable between them simulated.
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
}

/// How much faster two cards are simulated that have little to do, because quiet time is skipped.
pub(crate) fn quiet(report: &mut Report) {
    let ([ticking, _], [skipping, share]) = (sparse(false), sparse(true));
    let how = format!(
        "cycles a second with quiet time skipped over those without; a WRITE of 64 bytes every 20 us, {share:.1} % skipped"
    );
    report.add("sim.quiet", Metric::SpeedRatio, skipping / ticking, PROFILE, &how);
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
        pair.run(5000);
    }
    let cycles = number(pair.now() - from);
    [cycles / started.elapsed().as_secs_f64(), number(skipped() - skipped_before) / cycles * 100.0]
}
