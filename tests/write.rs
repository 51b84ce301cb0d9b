//! WRITE: bytes of one host appear in the other's memory, and nowhere else.

use stroma_abi::regs::map::counters;
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{WorkCompletion, WorkOp};

/// Sizes around every boundary that matters, the path MTU's and the page's among them.
const SIZES: [usize; 14] = [0, 1, 7, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 20_000];

fn sizes_and_alignments(profile: Profile, path_mtu: u8) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = path_mtu);
    far.put(0, &pattern(9, 1 << 17));
    let mut expected = pattern(9, 1 << 17);
    for (round, size) in (0..).zip(SIZES) {
        let (from, to) = (4096 + round * 13 % 64, 65_536 + round * 29 % 128);
        let data = pattern(round as u64, size);
        near.put(from, &data);
        let pieces = if size == 0 { vec![] } else { vec![near.piece(from, size)] };
        sender
            .start()
            .wr_id(round as u64)
            .signaled()
            .write(&pieces, far.at(to), far.memory.rkey())
            .post()
            .unwrap();
        let WorkCompletion { op, length, .. } = near.expect(round as u64);
        assert_eq!((op, length as usize), (WorkOp::Write, size));
        expected[to..to + size].copy_from_slice(&data);
        assert!(far.bytes(0, 1 << 17) == expected, "{profile:?}: {size} bytes from {from} to {to}");
    }
    assert_eq!(near.count(&counters::RETRANSMITTED), 0);
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
fn pieces_and_inline_data_arrive_in_order() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
        let sizes = [5, 0, 300, 4096, 1, 64, 17];
        let (mut pieces, mut expected) = (Vec::new(), Vec::new());
        for (index, size) in (0..).zip(sizes) {
            let data = pattern(index as u64, size);
            near.put(index * 8192 + index, &data);
            pieces.push(near.piece(index * 8192 + index, size));
            expected.extend(data);
        }
        sender.start().signaled().write(&pieces, far.at(77), far.memory.rkey()).post().unwrap();
        near.expect(0);
        assert!(far.bytes(77, expected.len()) == expected, "{profile:?}: pieces");
        for size in [0, 1, 32, 33, 96, 224, 256, 257, 480] {
            let data = pattern(size as u64, size);
            sender
                .start()
                .wr_id(1)
                .signaled()
                .inline_write(&data, far.at(500_001), far.memory.rkey())
                .post()
                .unwrap();
            near.expect(1);
            assert!(far.bytes(500_001, size) == data, "{profile:?}: {size} bytes inline");
        }
    }
}

#[test]
fn both_ends_write_at_once_over_several_connections() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let connections: Vec<_> = (0..4).map(|_| pair.connect()).collect();
        let size = 9000;
        for end in 0..2 {
            pair.ends[end].put(0, &pattern(end as u64, 4 * size));
            let peer = &pair.ends[1 - end];
            for (index, connection) in connections.iter().enumerate() {
                let piece = pair.ends[end].piece(index * size, size);
                let to = peer.at(500_000 + index * size);
                connection[end]
                    .start()
                    .wr_id(index as u64)
                    .signaled()
                    .write(&[piece], to, peer.memory.rkey())
                    .post()
                    .unwrap();
            }
        }
        for end in 0..2 {
            let mut ids: Vec<u64> = (0..4).map(|_| pair.ends[end].complete().wr_id).collect();
            ids.sort_unstable();
            assert_eq!(ids, [0, 1, 2, 3]);
        }
        for end in 0..2 {
            let expected = pattern(1 - end as u64, 4 * size);
            assert!(pair.ends[end].bytes(500_000, 4 * size) == expected, "{profile:?}: end {end}");
        }
    }
}
