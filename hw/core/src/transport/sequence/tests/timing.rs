//! When the sequence gives, and that it starts afresh.

use stroma_abi::wire::opcode;
use stroma_verilate::Pause;

use super::corners::request;
use super::{Peer, converse};
use crate::host::work::QpChange;
use crate::testing::read;
use crate::transport::records::Arrival;
use crate::transport::sequence::rig::{QPS, Rig};

fn writes(count: u64) -> Vec<Arrival> {
    (0..count).map(|at| request(opcode::RC_WRITE_ONLY, 0xff_fffe + at, 8, 8)).collect()
}

#[test]
fn the_latency_and_the_rate_are_those_promised() {
    let mut rig = Rig::new();
    let start = rig.bench.cycle();
    rig.send(&writes(1));
    while !read::<bool>(&rig.bench, "errand$valid") {
        assert!(rig.bench.cycle() < start + 100, "nothing comes");
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 3);

    // A receive is taken a cycle before.
    let mut rig = Rig::new();
    rig.world.post(false, 1, 1);
    let start = rig.bench.cycle();
    rig.send(&[request(opcode::RC_SEND_ONLY, 0xff_fffe, 0, 8)]);
    while !read::<bool>(&rig.bench, "took") {
        assert!(rig.bench.cycle() < start + 100, "nothing is taken");
        rig.step();
    }
    // It shows when its cycle, the third, is over.
    assert_eq!(rig.bench.cycle() - start, 3);

    let cycles = |count| {
        let mut rig = Rig::new();
        let start = rig.bench.cycle();
        rig.send(&writes(count));
        rig.settle();
        rig.bench.cycle() - start
    };
    assert_eq!(cycles(30) - cycles(20), 10 * 2);
}

#[test]
fn requests_of_one_queue_pair_back_to_back_find_what_the_one_before_left() {
    let mut rig = Rig::new();
    rig.world.post(false, 1, 3);
    // Each takes a receive until there is none, and each PSN is the next.
    let sends: Vec<Arrival> = (0..5).map(|at| request(opcode::RC_SEND_ONLY, 0xff_fffe + at, 0, 8)).collect();
    rig.send(&sends);
    rig.settle();
    let outcomes = rig.compare();
    assert_eq!(
        outcomes.iter().map(|outcome| outcome.takes).collect::<Vec<_>>(),
        [true, true, true, false, false]
    );
    assert!(outcomes[3].rnr && outcomes[4].early, "told once to send later");

    // Behind a reset everything is the first.
    let change = QpChange { qpn: 1_u64.into(), resets: true, ..QpChange::default() };
    rig.bench[rig.errand].pause(Pause::Always);
    rig.send_changes(&[change]);
    rig.send(&writes(2));
    rig.bench[rig.errand].pause(Pause::None);
    rig.settle();
    assert!(rig.compare().iter().all(|outcome| outcome.errand.is_awaited));
}

#[test]
fn four_errands_wait_and_changes_do_not_wait_for_them() {
    let mut rig = Rig::new();
    rig.bench[rig.errand].pause(Pause::Always);
    rig.send(&writes(6));
    for _ in 0..60 {
        rig.step();
    }
    assert_eq!(rig.bench[rig.arrival].sent(), 4);
    rig.send_changes(&[QpChange::default(); 5]);
    for _ in 0..15 {
        rig.step();
    }
    assert_eq!(rig.bench[rig.change].sent(), 5);
    rig.bench[rig.errand].pause(Pause::None);
    rig.settle();
    rig.compare();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    let mut peer = Peer::new(3);
    // At each step of an operation, with a message under way, and with a full FIFO.
    for cycles in [1, 2, 3, 4, 5, 60] {
        converse(&mut rig, &mut peer, 2, 20);
        rig.bench[rig.errand].pause(Pause::Always);
        let requests: Vec<Arrival> = (0..8).map(|_| peer.request(100)).collect();
        rig.send(&requests);
        for _ in 0..cycles {
            rig.step();
        }
        rig.bench[rig.errand].pause(Pause::None);
        rig.bench.reset(1);
        rig.forget();
        for port in ["errand$valid", "duplicates", "naks", "rnr_naks", "ready"] {
            assert!(!read::<bool>(&rig.bench, port), "{port} after {cycles} cycles");
        }
        for row in 0..1 << QPS {
            assert!(rig.is_busy() && !read::<bool>(&rig.bench, "ready"), "row {row} is to be scrubbed");
            rig.step();
        }
        assert!(read::<bool>(&rig.bench, "ready"));
        // What was sent before and not taken comes now, and every queue pair begins anew.
        rig.settle();
        rig.compare();
        peer.listen(&rig);
    }
}
