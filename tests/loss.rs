//! One frame goes wrong, any of them, either way: lost, doubled, or overtaken. The exchange ends as if it had not.

use stroma_sim::link::{Faults, Hold, Verdict};
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::QueuePair;

const WRITTEN: usize = 1000;
const READ: usize = 700;
const LAST: usize = 33;

/// A WRITE of four packets, a READ of three, and a WRITE of one, all posted at once.
fn exchange(pair: &Pair, sender: &QueuePair, round: u64) {
    let [near, far] = &pair.ends;
    let key = far.memory.rkey();
    near.put(0, &pattern(round, WRITTEN));
    far.put(10_000, &pattern(round + 1, READ));
    near.put(20_000, &pattern(round + 2, LAST));
    far.put(0, &[0; WRITTEN]);
    far.put(20_000, &[0; LAST]);
    near.put(10_000, &[0; READ]);
    let batch = sender.start().wr_id(1).signaled().write(&[near.piece(0, WRITTEN)], far.at(0), key);
    let batch = batch.wr_id(2).signaled().read(&[near.piece(10_000, READ)], far.at(10_000), key);
    batch.wr_id(3).signaled().write(&[near.piece(20_000, LAST)], far.at(20_000), key).post().unwrap();
    for wr_id in 1..=3 {
        near.expect(wr_id);
    }
    assert!(far.bytes(0, WRITTEN) == pattern(round, WRITTEN), "the first WRITE");
    assert!(near.bytes(10_000, READ) == pattern(round + 1, READ), "the READ");
    assert!(far.bytes(20_000, LAST) == pattern(round + 2, LAST), "the second WRITE");
    // What was doubled or late arrives, and completes nothing twice.
    pair.run(6000);
    assert_eq!(near.poll(), None, "a completion too many");
}

/// Frames that left each end so far.
fn sent(pair: &Pair) -> [u64; 2] {
    [0, 1].map(|end| pair.shared.world().line(end).counters().pushed)
}

fn every_frame(profile: Profile) {
    let pair = Pair::new(profile);
    let [sender, _responder] = pair.connect_with(256, |_, connection| {
        connection.path_mtu = 1;
        connection.timeout = 3;
    });
    let before = sent(&pair);
    exchange(&pair, &sender, 0);
    let frames = [0, 1].map(|end| sent(&pair)[end] - before[end]);
    assert!(frames[0] + frames[1] >= 10, "{frames:?} frames");
    let mut round = 10;
    for (end, count) in frames.into_iter().enumerate() {
        for number in 0..count {
            for verdict in [Verdict::Drop, Verdict::Duplicate, Verdict::Hold(Hold { frames: 1, ns: 3000 })] {
                let mut left = number;
                let script = move |_: &[u8]| {
                    let is_it = left == 0;
                    left = left.wrapping_sub(1);
                    if is_it { verdict } else { Verdict::Pass }
                };
                let faults = Faults { script: Some(Box::new(script)), ..Faults::default() };
                pair.shared.world().line(end).set_faults(faults);
                round += 10;
                exchange(&pair, &sender, round);
            }
        }
        pair.shared.world().line(end).set_faults(Faults::default());
    }
}

#[test]
fn any_one_frame_may_be_lost_doubled_or_overtaken_10g() {
    every_frame(Profile::TenGig);
}

#[test]
fn any_one_frame_may_be_lost_doubled_or_overtaken_100g() {
    every_frame(Profile::HundredGig);
}
