mod corners;
mod differential;
mod peer;
mod timing;

use super::rig::{QPS, Rig, Seen};
use crate::testing::stalls_of;
use peer::Peers;

/// What a run has seen, so that a test that meets nothing is found out.
#[derive(Debug, Default)]
struct Met {
    messages: usize,
    again: usize,
    parts: usize,
    locals: usize,
    blocked: usize,
    rewinds: usize,
    failures: usize,
    flushes: usize,
    read_waits: u64,
    wraps: usize,
}

impl Met {
    fn add(&mut self, seen: &Seen) {
        self.messages += seen.message.len();
        self.again += seen.message.iter().filter(|message| message.again).count();
        self.parts += seen.message.iter().filter(|message| message.skips.any()).count();
        self.locals += seen.local.iter().filter(|work| !work.ends).count();
        self.blocked += seen.progress.iter().filter(|progress| progress.blocked).count();
        self.rewinds += seen.progress.iter().filter(|progress| progress.rewinds).count();
        self.failures += seen.failures.len();
        self.flushes += seen.flushes.len();
        self.read_waits += seen.read_waits;
        self.wraps += seen.sent.iter().filter(|(_, row)| u64::from(row.frontier) < 0x100).count();
    }
}

fn drive(rig: &mut Rig, seed: u64, cycles: u64) -> Seen {
    let mut peers = Peers::new(seed, 1 << QPS);
    for _ in 0..cycles {
        peers.step(rig);
    }
    rig.finish();
    let outcome = rig.outcome();
    rig.reset();
    outcome
}

#[test]
fn agrees_with_the_model() {
    let (mut rig, mut met) = (Rig::new(), Met::default());
    for seed in 0..12 {
        met.add(&drive(&mut rig, seed, 4000));
    }
    assert!(met.messages > 2000 && met.again > 200 && met.parts > 100 && met.locals > 300, "{met:?}");
    assert!(met.blocked > 100 && met.rewinds > 100 && met.read_waits > 20, "{met:?}");
    assert!(met.failures > 10 && met.flushes > 20 && met.wraps > 50, "{met:?}");
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (seed, stall) in (100..).zip(stalls_of::<11>()) {
        rig.pause(&stall);
        let moved = drive(&mut rig, seed, 1500);
        assert!(moved.message.len() + moved.local.len() > 20, "hardly anything moved under {stall:?}");
    }
}
