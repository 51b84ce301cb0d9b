//! Whole frames.

use stroma_abi::desc::{Cqe, WorkOp};

use super::Peer;
use crate::testing::read;
use crate::transport::records::{Answer, Arrival, List, Occasion};
use crate::transport::sequence::rig::Rig;

/// The queue pair that takes frames, of a peer with this seed.
const RAW: u64 = 2;

fn frame(length: u64) -> Arrival {
    let receive_cq = 9_u64.into();
    Arrival { payload_len: length.into(), receive_cq, ..Peer::new(1).frame(RAW) }
}

#[test]
fn each_frame_takes_a_receive_and_nobody_answers() {
    let mut rig = Rig::new();
    rig.world.post(false, RAW, 3);
    for (at, length) in (0..).zip([14, 4096, 60]) {
        let outcome = rig.judge(&frame(length));
        let errand = outcome.errand;
        assert!(outcome.raw_taken && outcome.takes && errand.places && errand.completes && errand.ends);
        assert_eq!(errand.answer.index(), Answer::None as usize);
        assert_eq!((errand.list.index(), errand.offset.index()), (List::Receive as usize, 0));
        assert_eq!(errand.index.index(), (0xfffd + 64 * 2 + at) % (1 << 16), "one after the other");
        assert_eq!((u64::from(errand.length), u64::from(errand.cq)), (length, 9));
        let told = (errand.opcode.index(), errand.flags.index(), errand.status.index());
        assert_eq!(told, (WorkOp::Send as usize, 1 << Cqe::RECEIVE.bit, 0));
    }
}

#[test]
fn a_frame_without_a_receive_is_lost_and_nobody_is_told() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        let outcome = rig.judge(&frame(60));
        let errand = outcome.errand;
        assert!(outcome.raw_lost && !outcome.rnr && !outcome.nak && !outcome.duplicate);
        assert!(!errand.places && !errand.completes && !errand.fails);
        assert_eq!((errand.payload_len.index(), errand.answer.index()), (60, Answer::None as usize));
    }
    rig.world.post(false, RAW, 1);
    assert!(rig.judge(&frame(60)).raw_taken);
}

#[test]
fn behind_a_recall_frames_are_lost() {
    let mut rig = Rig::new();
    rig.world.post(false, RAW, 2);
    let recall = Arrival {
        occasion: (Occasion::Recall as u64).into(),
        raw: false,
        payload_len: 0_u64.into(),
        ..frame(0)
    };
    assert!(rig.judge(&recall).errand.completes);
    assert!(rig.judge(&frame(60)).raw_lost);
}

#[test]
fn a_frame_takes_as_long_as_a_send() {
    let mut rig = Rig::new();
    let start = rig.bench.cycle();
    rig.send(&[frame(60)]);
    while !read::<bool>(&rig.bench, "errand$valid") {
        assert!(rig.bench.cycle() < start + 100, "nothing comes");
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 3);
}
