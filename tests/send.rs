//! SEND: bytes of one host appear where the other has said it wants its next message, with or without immediate data.

use stroma_abi::regs::map::counters;
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Status, WorkOp};

/// Sizes around every boundary that matters, the path MTU's and the page's among them.
const SIZES: [usize; 14] = [0, 1, 7, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 20_000];
/// Where receives of the far end go.
const INBOX: usize = 1 << 16;

fn sizes_and_alignments(profile: Profile, path_mtu: u8) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [sender, receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = path_mtu);
    let mut expected = pattern(9, 1 << 17);
    far.put(0, &expected);
    for (round, size) in (0..).zip(SIZES) {
        let (from, to) = (4096 + round * 13 % 64, INBOX + round * 29 % 128);
        let data = pattern(round as u64, size);
        near.put(from, &data);
        // Room for more than comes: what is behind the message stays as it is.
        receiver.receives().unwrap().receive(round as u64, &[far.piece(to, size + 9)]).post().unwrap();
        let pieces = if size == 0 { vec![] } else { vec![near.piece(from, size)] };
        sender.start().wr_id(100 + round as u64).signaled().send(&pieces).post().unwrap();
        let found = far.received(round as u64, size);
        assert_eq!((found.op, found.immediate, found.is_solicited), (WorkOp::Send, None, false));
        assert_eq!(near.expect(100 + round as u64).op, WorkOp::Send);
        expected[to..to + size].copy_from_slice(&data);
        assert!(far.bytes(0, 1 << 17) == expected, "{profile:?}: {size} bytes from {from} to {to}");
    }
    assert_eq!((near.count(&counters::RETRANSMITTED), far.count(&counters::RNR_NAKS)), (0, 0));
}

#[test]
fn every_size_and_alignment_arrives_10g() {
    (1..=5).for_each(|path_mtu| sizes_and_alignments(Profile::TenGig, path_mtu));
}

#[test]
fn every_size_and_alignment_arrives_100g() {
    (1..=5).for_each(|path_mtu| sizes_and_alignments(Profile::HundredGig, path_mtu));
}

#[test]
fn a_message_fills_the_pieces_of_its_receive_one_behind_the_other() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
        for (round, lengths) in
            [vec![3, 0, 300, 1, 4096, 17, 64], vec![5000], vec![1; 16], vec![0, 0, 700, 0]].iter().enumerate()
        {
            let total: usize = lengths.iter().sum();
            let data = pattern(round as u64, total);
            near.put(0, &data);
            // Gathered from two pieces, scattered to many.
            let out = [near.piece(0, total / 3), near.piece(total / 3, total - total / 3)];
            let places: Vec<usize> = (0..lengths.len()).map(|index| 8192 * (index + 1) - 7 * index).collect();
            let list: Vec<_> = places.iter().zip(lengths).map(|(at, len)| far.piece(*at, *len)).collect();
            receiver.receives().unwrap().receive(1, &list).post().unwrap();
            sender.start().wr_id(2).signaled().send(&out).post().unwrap();
            far.received(1, total);
            near.expect(2);
            let found: Vec<u8> =
                places.iter().zip(lengths).flat_map(|(at, len)| far.bytes(*at, *len)).collect();
            assert!(found == data, "{profile:?}: pieces of {lengths:?}");
        }
    }
}

#[test]
fn immediate_data_comes_with_a_send_and_with_a_write() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        near.put(0, &pattern(1, 9000));
        for size in [0, 100, 9000] {
            let pieces = if size == 0 { vec![] } else { vec![near.piece(0, size)] };
            let posted = receiver.receives().unwrap().receive(1, &[far.piece(INBOX, 9000)]);
            posted.receive(2, &[]).post().unwrap();
            let batch = sender.start().wr_id(3).signaled().solicited().send_imm(&pieces, 0x1234_5678);
            let key = far.memory.rkey();
            batch.wr_id(4).signaled().write_imm(&pieces, far.at(0), key, 0xfedc_ba98).post().unwrap();
            let sent = far.received(1, size);
            assert_eq!(
                (sent.op, sent.immediate, sent.is_solicited),
                (WorkOp::SendImm, Some(0x1234_5678), true)
            );
            let written = far.received(2, size);
            assert_eq!(
                (written.op, written.immediate, written.is_solicited),
                (WorkOp::WriteImm, Some(0xfedc_ba98), false)
            );
            assert!(
                far.bytes(0, size) == near.bytes(0, size) && far.bytes(INBOX, size) == near.bytes(0, size)
            );
            assert_eq!((near.expect(3).op, near.expect(4).op), (WorkOp::SendImm, WorkOp::WriteImm));
        }
    }
}

#[test]
fn sends_writes_and_reads_keep_their_order() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        near.put(0, &pattern(1, 4000));
        far.put(4096, &[0; 4000]);
        receiver.receives().unwrap().receive(7, &[far.piece(INBOX, 4000)]).post().unwrap();
        let key = far.memory.rkey();
        let batch = sender.start().wr_id(1).signaled().write(&[near.piece(0, 4000)], far.at(4096), key);
        let batch = batch.wr_id(2).signaled().send(&[near.piece(0, 3000)]);
        let batch = batch.wr_id(3).signaled().read(&[near.piece(INBOX, 4000)], far.at(4096), key);
        batch.wr_id(4).signaled().inline_send(b"last").post().unwrap();
        far.received(7, 3000);
        // The last one has no receive yet: it waits, and nothing before it does.
        for wr_id in 1..4 {
            near.expect(wr_id);
        }
        assert_eq!(near.bytes(INBOX, 4000), pattern(1, 4000));
        receiver.receives().unwrap().receive(8, &[far.piece(0, 4)]).post().unwrap();
        far.received(8, 4);
        near.expect(4);
        assert_eq!(far.bytes(0, 4), b"last");
        assert!(far.count(&counters::RNR_NAKS) > 0);
    }
}

#[test]
fn a_message_too_long_for_its_receive_ends_both_ends() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
        far.put(INBOX, &[0xee; 2000]);
        let posted = receiver.receives().unwrap().receive(1, &[far.piece(INBOX, 1000)]);
        posted.receive(2, &[far.piece(0, 64)]).post().unwrap();
        let batch = sender.start().wr_id(3).signaled().send(&[near.piece(0, 1001)]);
        batch.wr_id(4).send(&[near.piece(0, 1)]).post().unwrap();
        let found = far.complete();
        assert_eq!((found.wr_id, found.status, found.is_receive), (1, Status::LocalLength, true));
        let found = far.complete();
        assert_eq!((found.wr_id, found.status, found.is_receive), (2, Status::Flushed, true));
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (3, Status::RemoteInvalid));
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (4, Status::Flushed));
        assert_eq!(far.bytes(INBOX + 1000, 1000), [0xee; 1000], "nothing behind the buffer");
        assert_eq!(far.count(&counters::NAKS), 1);
    }
}
