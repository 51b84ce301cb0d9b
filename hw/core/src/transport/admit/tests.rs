mod calls;
mod corners;
mod differential;
mod jobs;
mod keys;
mod patience;
mod peer;
mod requests;
mod rests;
mod timing;

use stroma_abi::desc::WorkOp;

use super::rig::{QPS, Rig, Seen};
use crate::host::work::Work;
use crate::state::command::KeyVerb;
use crate::testing::stalls_of;
use crate::transport::records::Message;
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
    holds: usize,
    /// Messages in another epoch than the first.
    later: usize,
    fences: u64,
    drains: u64,
    /// Works on keys: binds, others, and both as flushed.
    keys: [usize; 3],
    /// Messages by op-code.
    ops: [usize; 16],
    failures: usize,
    flushes: usize,
    read_waits: u64,
    wraps: usize,
    /// RPCs that were asked for the rest of their answers.
    questions: usize,
}

impl Met {
    fn add(&mut self, seen: &Seen) {
        self.messages += seen.message.len();
        self.again += seen.message.iter().filter(|message| message.again).count();
        self.parts += seen.message.iter().filter(|message| message.skips.any()).count();
        self.locals += seen.local.iter().filter(|work| !work.ends).count();
        self.blocked += seen.progress.iter().filter(|progress| progress.blocked).count();
        self.rewinds += seen.progress.iter().filter(|progress| progress.rewinds).count();
        self.holds += seen.progress.iter().filter(|progress| progress.rewinds && progress.blocked).count();
        self.later += seen.message.iter().filter(|message| message.epoch.any()).count();
        for message in &seen.message {
            self.ops[message.opcode.index()] += 1;
        }
        let is_bind = |verb: u64| verb == KeyVerb::Bind as u64;
        let binds = seen.key.iter().filter(|job| is_bind(job.verb.into())).count();
        let keys = [WorkOp::Bind, WorkOp::Invalidate].map(|op| op as u64);
        let is_flushed = |work: &&Work| !work.ends && keys.contains(&u64::from(work.opcode));
        self.keys[0] += binds;
        self.keys[1] += seen.key.len() - binds;
        self.keys[2] += seen.local.iter().filter(is_flushed).count();
        let asks = |message: &&Message| message.opcode == WorkOp::Rpc as u64 && !message.length.any();
        self.questions += seen.message.iter().filter(asks).filter(|message| message.again).count();
        self.failures += seen.failures.len();
        self.flushes += seen.flushes.len();
        self.read_waits += seen.read_waits;
        self.wraps += seen.sent.iter().filter(|(_, row)| u64::from(row.frontier) < 0x100).count();
    }
}

fn drive(rig: &mut Rig, met: &mut Met, seed: u64, cycles: u64) -> Seen {
    let mut peers = Peers::new(seed, 1 << QPS);
    for _ in 0..cycles {
        peers.step(rig);
    }
    rig.finish();
    met.fences += rig.model.fenced;
    met.drains += rig.model.drained;
    let outcome = rig.outcome();
    met.add(&outcome);
    rig.reset();
    outcome
}

#[test]
fn agrees_with_the_model() {
    let (mut rig, mut met) = (Rig::new(), Met::default());
    for seed in 0..24 {
        drive(&mut rig, &mut met, seed, 4000);
    }
    assert!(met.messages > 2000 && met.again > 200 && met.parts > 100 && met.locals > 300, "{met:?}");
    assert!(met.blocked > 100 && met.rewinds > 100 && met.read_waits > 20, "{met:?}");
    assert!(met.failures > 5 && met.flushes > 20 && met.wraps > 50, "{met:?}");
    assert!(met.later > 200, "{met:?}");
    assert!(met.holds > 100 && met.fences > 50 && met.drains > 50, "{met:?}");
    assert!(met.keys.iter().all(|count| *count > 40), "{met:?}");
    let requests = WorkOp::Send as usize..=WorkOp::RpcWrite as usize;
    assert!(met.ops[requests].iter().all(|count| *count > 50) && met.questions > 20, "{met:?}");
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (seed, stall) in (100..).zip(stalls_of::<12>()) {
        rig.pause(&stall);
        let moved = drive(&mut rig, &mut Met::default(), seed, 1500);
        assert!(moved.message.len() + moved.local.len() > 20, "hardly anything moved under {stall:?}");
    }
}
