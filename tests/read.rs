//! READ: bytes of the other host's memory come here, and nothing else changes.

use stroma_abi::regs::map::counters;
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{WorkCompletion, WorkOp};

const SIZES: [usize; 14] = [0, 1, 7, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 20_000];

fn sizes_and_alignments(profile: Profile, path_mtu: u8) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [sender, _responder] = pair.connect_with(256, |_, connection| connection.path_mtu = path_mtu);
    let source = pattern(3, 1 << 17);
    far.put(0, &source);
    let mut expected = pattern(4, 1 << 17);
    near.put(0, &expected);
    for (round, size) in (0..).zip(SIZES) {
        let (from, to) = (8192 + round * 31 % 4096, 16_384 + round * 17 % 128);
        let piece = (size > 0).then(|| near.piece(to, size));
        sender
            .start()
            .wr_id(round as u64)
            .signaled()
            .read(piece.as_slice(), far.at(from), far.memory.rkey())
            .post()
            .unwrap();
        let WorkCompletion { op, length, .. } = near.expect(round as u64);
        assert_eq!((op, length as usize), (WorkOp::Read, size));
        expected[to..to + size].copy_from_slice(&source[from..from + size]);
        assert!(near.bytes(0, 1 << 17) == expected, "{profile:?}: {size} bytes from {from} to {to}");
    }
    assert_eq!(near.count(&counters::RETRANSMITTED), 0);
}

#[test]
fn every_size_and_alignment_comes_10g() {
    (1..=5).for_each(|path_mtu| sizes_and_alignments(Profile::TenGig, path_mtu));
}

#[test]
fn every_size_and_alignment_comes_100g() {
    (1..=5).for_each(|path_mtu| sizes_and_alignments(Profile::HundredGig, path_mtu));
}

#[test]
fn a_read_sees_what_the_write_before_it_placed() {
    for profile in Profile::ALL {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _responder] = pair.connect();
        for round in 0..8_u64 {
            let size = 1 + 700 * usize::try_from(round).expect("small");
            near.put(0, &pattern(round, size));
            let key = far.memory.rkey();
            let batch = sender.start().wr_id(1).signaled().write(&[near.piece(0, size)], far.at(100), key);
            batch.wr_id(2).signaled().read(&[near.piece(300_000, size)], far.at(100), key).post().unwrap();
            near.expect(1);
            near.expect(2);
            assert!(near.bytes(300_000, size) == pattern(round, size), "{profile:?}: {size} bytes");
        }
    }
}

#[test]
fn more_reads_than_may_be_in_flight_wait_their_turn() {
    for profile in Profile::ALL {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _responder] = pair.connect_with(256, |_, connection| connection.reads_out = 2);
        far.put(0, &pattern(5, 40 * 512));
        let mut batch = sender.start();
        for index in 0..40 {
            let (piece, from) = (near.piece(index * 512, 512), far.at(index * 512));
            batch = batch.wr_id(index as u64).signaled().read(&[piece], from, far.memory.rkey());
        }
        batch.post().unwrap();
        for index in 0..40 {
            near.expect(index);
        }
        assert!(near.bytes(0, 40 * 512) == pattern(5, 40 * 512), "{profile:?}");
        assert!(near.count(&counters::READS_WAITING) > 0);
    }
}
