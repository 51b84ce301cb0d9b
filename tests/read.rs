//! READ: bytes of the other host's memory come here, and nothing else changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stroma_abi::regs::map::counters;
use stroma_abi::wire::opcode;
use stroma_sim::link::{Faults, Verdict};
use stroma_tests::pair::{MEMORY, Pair, pattern};
use stroma_tests::widths;
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
    for profile in widths!() {
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
    for profile in widths!() {
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

/// Op-code of a packet over IPv4 without a tag.
const OPCODE_AT: usize = 14 + 20 + 8;

/// Packets with data of READs that leave the far end, from now on; the one of this number, from 0, is lost.
fn watched(pair: &Pair, lost: u64) -> Arc<AtomicU64> {
    let seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&seen);
    let answers = opcode::RC_READ_RESPONSE_FIRST.code..=opcode::RC_READ_RESPONSE_ONLY.code;
    let script = move |frame: &[u8]| {
        let is_answer = answers.contains(&frame[OPCODE_AT]);
        let is_lost = is_answer && counter.fetch_add(1, Ordering::Relaxed) == lost;
        if is_lost { Verdict::Drop } else { Verdict::Pass }
    };
    pair.shared.world().line(1).set_faults(Faults { script: Some(Box::new(script)), ..Faults::default() });
    seen
}

#[test]
fn a_packet_lost_of_a_long_answer_does_not_have_the_answer_sent_twice() {
    let pair = Pair::new(Profile::TenGig);
    let [near, far] = &pair.ends;
    let [sender, _responder] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
    far.put(0, &pattern(8, MEMORY));
    let seen = watched(&pair, 10);
    let piece = near.piece(0, MEMORY);
    sender.start().wr_id(1).signaled().read(&[piece], far.at(0), far.memory.rkey()).post().unwrap();
    near.expect(1);
    assert!(near.bytes(0, MEMORY) == pattern(8, MEMORY));
    // What is still on its way would come within this time.
    pair.run(20_000);
    let (whole, sent) = (MEMORY as u64 / 256, seen.load(Ordering::Relaxed));
    assert!((whole + 1..whole + 200).contains(&sent), "{sent} packets for {whole}");
    assert_eq!(near.count(&counters::TIMEOUTS), 0);
}
