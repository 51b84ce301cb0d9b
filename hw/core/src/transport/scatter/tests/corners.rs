//! Ends of rings, of strides and of lists.

use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::UNIT;
use stroma_abi::desc::{Receive, Status};
use stroma_abi::wire::{NakCode, Syndrome};
use stroma_verilate::SplitMix64;

use super::{entries, part};
use crate::transport::records::{Answer, Errand};
use crate::transport::scatter::model::{find, scatter};
use crate::transport::scatter::rig::{Poster, Rig};

/// Runs them through block and model; gives what the model says of each.
fn run(poster: Poster, errands: &[(Errand, bool)]) -> Vec<Vec<Errand>> {
    let mut rig = Rig::new();
    rig.world = poster.world;
    rig.send(errands);
    rig.finish();
    errands.iter().map(|(errand, is_request)| scatter(&rig.world, errand, *is_request).0).collect()
}

/// Where the bytes of an errand go: address, key and length of each piece.
fn targets(pieces: &[Errand]) -> Vec<(u64, u64, u64)> {
    pieces.iter().map(|piece| (piece.va.into(), piece.key.into(), piece.payload_len.into())).collect()
}

#[test]
fn every_stride_holds_as_many_entries_as_fit_and_not_one_more() {
    let mut rng = SplitMix64::new(1);
    let mut poster = Poster::default();
    let (mut all, mut fits) = (Vec::new(), Vec::new());
    for stride in 0..8_u64 {
        let most = ((1_usize << stride) - 1).min(SGE_MAX);
        for count in 0..=SGE_MAX + 1 {
            // Slots at every place of a unit, and the last one of the ring.
            for index in [0, 1, 2, 3, 15, 0xffff] {
                let list = entries(&mut rng, &vec![10; count.min(SGE_MAX)]);
                let said = u8::try_from(count).expect("few");
                let errand = poster.receive(&mut rng, index == 3, (4, index), stride, &list, said);
                all.push((part(&errand, 0, 10 * count.max(1) as u64), true));
                fits.push((1..=most).contains(&count));
            }
        }
    }
    for (pieces, fits) in run(poster, &all).iter().zip(fits) {
        assert_eq!(pieces.iter().all(|piece| piece.places), fits);
    }
}

#[test]
fn no_piece_has_more_than_4096_bytes() {
    let mut rng = SplitMix64::new(8);
    let mut poster = Poster::default();
    let (mut all, mut sizes) = (Vec::new(), Vec::new());
    // Entries, where the payload begins in them, its bytes, and those of the pieces.
    let cases: [(&[u64], u64, u64, &[u64]); 6] = [
        (&[4136], 0, 4136, &[4096, 40]),
        (&[9000], 100, 4136, &[4096, 40]),
        (&[40, 4096], 0, 4136, &[40, 4096]),
        (&[4097, 39], 0, 4136, &[4096, 1, 39]),
        (&[4096, 40], 0, 4136, &[4096, 40]),
        (&[4135], 0, 4136, &[4096, 39, 1]),
    ];
    for (index, (lengths, offset, bytes, pieces)) in (0..).zip(cases) {
        let list = entries(&mut rng, lengths);
        let errand =
            poster.receive(&mut rng, false, (4, index), 3, &list, u8::try_from(list.len()).expect("few"));
        all.push((Errand { ends: true, ..part(&errand, offset, bytes) }, true));
        sizes.push(pieces);
    }
    for (pieces, sizes) in run(poster, &all).iter().zip(sizes) {
        let found: Vec<u64> = pieces.iter().map(|piece| piece.payload_len.into()).collect();
        assert_eq!(found, sizes);
        let is_last: Vec<bool> = pieces.iter().map(|piece| piece.ends).collect();
        assert_eq!(is_last.iter().filter(|ends| **ends).count(), 1, "{is_last:?}");
        assert!(is_last.last().is_some_and(|ends| *ends));
    }
}

#[test]
fn a_wqe_may_go_over_the_rings_end_at_every_unit() {
    let mut rng = SplitMix64::new(2);
    let mut poster = Poster::default();
    let mut all = Vec::new();
    for log in [4, 5, 15] {
        for back in 0..7 {
            for count in 1..=SGE_MAX {
                let list = entries(&mut rng, &vec![7; count]);
                let index = (3_u64 << log).wrapping_sub(back) & 0xffff;
                let errand = poster.send(&mut rng, (log, index), &list, index);
                all.push((part(&errand, 0, 7 * count as u64), false));
            }
        }
    }
    for (pieces, (errand, _)) in run(poster, &all).iter().zip(&all) {
        assert_eq!(pieces.len() as u64 * 7, u64::from(errand.payload_len));
    }
}

#[test]
fn a_wqe_of_which_either_half_is_unreadable_is_not_used() {
    let mut rng = SplitMix64::new(3);
    let mut poster = Poster::default();
    let mut all = Vec::new();
    for bad in 0..6 {
        let list = entries(&mut rng, &[100; 16]);
        let errand = poster.send(&mut rng, (4, 14), &list, 14);
        let units: Vec<u64> = find(&poster.world, &errand)
            .reads
            .iter()
            .flat_map(|(iova, len)| (*iova..iova + len).step_by(UNIT))
            .collect();
        poster.world.bad.extend(units.get(bad));
        all.push((Errand { retires: bad % 2 == 0, ..part(&errand, 0, 300) }, false));
    }
    let pieces = run(poster, &all);
    for pieces in &pieces[..5] {
        assert_eq!(pieces.len(), 1);
        assert!(pieces[0].fails && !pieces[0].places && u64::from(pieces[0].span) == 0);
        assert_eq!(u64::from(pieces[0].status), Status::General as u64);
        assert_eq!(u64::from(pieces[0].answer), Answer::None as u64);
        assert!(pieces[0].completes || !pieces[0].retires, "a message that failed is told");
    }
    assert_eq!(pieces[5].len(), 3, "the next one is sound");
}

#[test]
fn one_byte_too_many_is_thrown_away_and_refused() {
    let mut rng = SplitMix64::new(4);
    let mut poster = Poster::default();
    let list = entries(&mut rng, &[100, 0, 50]);
    let errand = poster.plain(&mut rng, &list);
    let errand = Errand { counts: true, msn: 0.into(), ends: true, ..errand };
    let all = [
        (part(&errand, 0, 150), true),
        (part(&errand, 0, 151), true),
        (part(&errand, 150, 1), true),
        (part(&errand, u32::MAX.into(), 4096), true),
        (part(&errand, 99, 51), true),
        (part(&errand, 0, 151), false),
    ];
    let pieces = run(poster, &all);
    let key = |at: usize| u64::from(list[at].local_key);
    let address = |at: usize, within| list[at].address.wrapping_add(within);
    assert_eq!(targets(&pieces[0]), [(address(0, 0), key(0), 100), (address(2, 0), key(2), 50)]);
    assert!(!pieces[0][0].ends && pieces[0][1].ends);
    assert_eq!(targets(&pieces[1][..2]), targets(&pieces[0]));
    for (case, rest) in [(1, 1), (2, 1), (3, 4096)] {
        let end = pieces[case].last().expect("there is one");
        assert!(!end.places && end.fails && end.ends && !end.counts);
        assert_eq!(u64::from(end.payload_len), rest);
        assert_eq!(u64::from(end.status), Status::LocalLength as u64);
        assert_eq!(u64::from(end.answer), Answer::Acknowledge as u64);
        assert_eq!(u64::from(end.syndrome), u64::from(Syndrome::Nak(NakCode::InvalidRequest).encode()));
        assert_eq!(u64::from(end.msn), 0xff_ffff, "it is not counted");
    }
    assert_eq!(targets(&pieces[4]), [(address(0, 99), key(0), 1), (address(2, 0), key(2), 50)]);
    let end = pieces[5].last().expect("there is one");
    assert_eq!(u64::from(end.status), Status::LocalQueuePair as u64);
    assert_eq!((u64::from(end.answer), u64::from(end.msn)), (Answer::None as u64, 0));
}

#[test]
fn entries_without_bytes_are_passed_over_wherever_they_are() {
    let mut rng = SplitMix64::new(5);
    let mut poster = Poster::default();
    let mut all = Vec::new();
    for empty in 0..1_u32 << 6 {
        let lengths: Vec<u64> = (0..6).map(|at| if empty >> at & 1 == 1 { 0 } else { 9 }).collect();
        let list = entries(&mut rng, &lengths);
        let errand = poster.plain(&mut rng, &list);
        let total: u64 = lengths.iter().sum();
        all.push((part(&errand, 0, total.max(1)), true));
        all.push((part(&errand, total / 2, total.div_ceil(2).max(1)), true));
        all.push((part(&errand, 9, 9), true));
    }
    run(poster, &all);
}

#[test]
fn what_is_missing_or_contradicts_itself_is_refused_and_the_next_one_is_not() {
    let mut rng = SplitMix64::new(6);
    let mut poster = Poster::default();
    let list = entries(&mut rng, &[100; 3]);
    let mut all = Vec::new();
    let no_queue = poster.plain(&mut rng, &list);
    poster.world.rings.get_mut(&no_queue.qpn.into()).expect("posted").receive_log = 0.into();
    let no_pair = poster.plain(&mut rng, &list);
    poster.world.rings.remove(&no_pair.qpn.into());
    let no_shared = poster.receive(&mut rng, true, (3, 1), 2, &list, 3);
    poster.world.shareds.remove(&no_shared.srq.into());
    let too_many = poster.receive(&mut rng, false, (3, 1), 2, &list, 4);
    let far_too_many = poster.receive(&mut rng, false, (3, 1), 7, &list, 0x83);
    for errand in [no_queue, no_pair, no_shared, too_many, far_too_many] {
        all.push((part(&errand, 50, 100), true));
        let sound = poster.plain(&mut rng, &list);
        all.push((part(&sound, 50, 100), true));
    }
    let no_send = poster.send(&mut rng, (4, 9), &list, 9);
    poster.world.rings.remove(&no_send.qpn.into());
    let overwritten = poster.send(&mut rng, (4, 9), &list, 25);
    all.push((part(&no_send, 50, 100), false));
    all.push((part(&overwritten, 50, 100), false));
    let operational = u64::from(Syndrome::Nak(NakCode::RemoteOperational).encode());
    for (at, pieces) in run(poster, &all).iter().enumerate() {
        if at < 10 && at % 2 == 1 {
            assert_eq!(pieces.len(), 2, "{at} is sound");
            continue;
        }
        assert_eq!(pieces.len(), 1, "{at}");
        assert_eq!(u64::from(pieces[0].status), Status::LocalQueuePair as u64, "{at}");
        assert_eq!(u64::from(pieces[0].payload_len), 100, "{at}");
        if at < 10 {
            assert_eq!(u64::from(pieces[0].syndrome), operational, "{at}");
        }
    }
}

#[test]
fn pieces_of_a_shared_receive_have_its_protection_domain() {
    let mut rng = SplitMix64::new(7);
    let mut poster = Poster::default();
    let list = entries(&mut rng, &[64, 64]);
    let stride = Receive::stride_log(2).into();
    let errand = poster.receive(&mut rng, true, (3, 1), stride, &list, 2);
    let shared = poster.world.shared(errand.srq.into()).pd;
    let errand = Errand { pd: !shared, ..errand };
    let pieces = run(poster, &[(part(&errand, 0, 100), true)]);
    assert!(pieces[0].len() == 2 && pieces[0].iter().all(|piece| piece.pd == shared));
}
