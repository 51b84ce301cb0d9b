//! A card and a golden endpoint: every length, both kinds of addresses, inline data, pieces, shared receives, keys.

use stroma_abi::Qpn;
use stroma_abi::regs::map::counters;
use stroma_tests::pair::pattern;
use stroma_tests::widths;
use stroma_verbs::{Datagrams, Grh, OWN_KEY, QueuePairKind};

use crate::stage::{
    GOLDEN, INBOX, LENGTHS, ROOM, Stage, builder, check, header, key, path, post_receive, send, way,
};

#[test]
fn datagrams_of_every_length_are_understood_both_ways_over_both_kinds_of_addresses() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let before = [&counters::RX_ACCEPTED, &counters::TX_FRAMES].map(|counter| end.count(counter));
        let mut count = 0;
        for (slot, length) in LENGTHS.into_iter().enumerate() {
            for (is_ipv6, immediate) in
                [(false, None), (true, None), (false, Some(0x0102_0304)), (true, Some(u32::MAX))]
            {
                let handle = end.domain.address_handle(&way(1, is_ipv6)).expect("a handle");
                let payload = pattern(100 + count, length);
                end.put(0, &payload);
                golden.post_receive(slot, Grh::LEN + length);
                let batch = queue_pair.start().wr_id(count).signaled().to(&handle, GOLDEN, key(1));
                send(batch, &[end.piece(0, length)], immediate).post().expect("room");
                let done = end.expect(count);
                assert_eq!((done.is_receive, done.source_qp, done.has_grh), (false, None, false));
                let out = header(&path(0, 1, is_ipv6), immediate, &payload);
                golden.check(slot, stage.number(), immediate, &out, &payload);

                let payload = pattern(200 + count, length);
                post_receive(end, queue_pair, slot, Grh::LEN + length);
                let back = path(1, 0, is_ipv6);
                golden.send(back, stage.number(), key(0), immediate, &payload);
                check(end, slot, GOLDEN, immediate, &header(&back, immediate, &payload), &payload);
                count += 1;
            }
        }
        let after = [&counters::RX_ACCEPTED, &counters::TX_FRAMES].map(|counter| end.count(counter));
        assert_eq!([after[0] - before[0], after[1] - before[1]], [count; 2], "{profile:?}: nobody answers");
        assert_eq!(golden.ask(|golden| golden.dropped().to_vec()), [], "{profile:?}");
    }
}

#[test]
fn a_handle_to_answer_with_follows_from_what_came() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        for (slot, is_ipv6) in [false, true].into_iter().enumerate() {
            post_receive(end, queue_pair, slot, 100);
            golden.post_receive(slot, 100);
            golden.send(path(1, 0, is_ipv6), stage.number(), key(0), None, b"ping");
            let found = end.received(slot as u64, Grh::LEN + 4);
            let grh = Grh::read(&end.memory, INBOX + slot * ROOM).expect("a header");
            assert_eq!((grh.source, grh.destination), (way(1, is_ipv6).ip, way(0, is_ipv6).ip));
            let handle = end.domain.answer_handle(&grh, way(1, false).mac).expect("a handle");
            let batch = queue_pair.start().to(&handle, found.source_qp.expect("a datagram"), key(1));
            batch.inline_send(b"pong").post().expect("room");
            let mut back = path(0, 1, is_ipv6);
            (back.source_port, back.traffic_class) = (handle.address().source_port, 0);
            golden.check(slot, stage.number(), None, &header(&back, None, b"pong"), b"pong");
        }
    }
}

#[test]
fn inline_datagrams_arrive_too() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
        for (slot, length) in [0, 1, 32, 33, 96, 97, 480].into_iter().enumerate() {
            let payload = pattern(7, length);
            let immediate = (slot % 2 == 0).then_some(9);
            golden.post_receive(slot, 600);
            let batch = queue_pair.start().wr_id(1).signaled().to(&handle, GOLDEN, key(1));
            let batch = match immediate {
                Some(immediate) => batch.inline_send_imm(&payload, immediate),
                None => batch.inline_send(&payload),
            };
            batch.push(slot > 3).post().expect("room");
            end.expect(1);
            let out = header(&path(0, 1, false), immediate, &payload);
            golden.check(slot, stage.number(), immediate, &out, &payload);
        }
    }
}

#[test]
fn pieces_are_one_run_of_bytes_wherever_they_are_cut() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let payload = pattern(3, 1000);
        // The first three cuts are inside what stands in front of the payload, the fourth between the two.
        for (round, cuts) in
            [vec![1, 7, 39], vec![20], vec![40], vec![13, 40, 41, 600], vec![33, 700]].into_iter().enumerate()
        {
            let ends: Vec<usize> = cuts.into_iter().chain([Grh::LEN + 1000]).collect();
            let starts = [0].into_iter().chain(ends.iter().copied());
            // Pieces lie apart, each at an odd place of its own.
            let place = |index: usize| INBOX + index * ROOM + 5 * index + 3;
            let pieces: Vec<_> = starts
                .zip(&ends)
                .enumerate()
                .map(|(index, (start, end_at))| end.piece(place(index), end_at - start))
                .collect();
            let batch = queue_pair.receives().expect("a queue");
            batch.receive(round as u64, &pieces).post().expect("room");
            let back = path(1, 0, round % 2 == 1);
            golden.send(back, stage.number(), key(0), None, &payload);
            end.received(round as u64, Grh::LEN + 1000);
            let found: Vec<u8> = pieces
                .iter()
                .enumerate()
                .flat_map(|(index, piece)| end.bytes(place(index), piece.length as usize))
                .collect();
            assert_eq!(found[..Grh::LEN], header(&back, None, &payload), "{profile:?}, {round}");
            assert!(found[Grh::LEN..] == payload, "{profile:?}, {round}");

            // Out again, from the same pieces, GRH and all.
            golden.post_receive(round, 2000);
            let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
            let batch = queue_pair.start().wr_id(77).signaled().to(&handle, GOLDEN, key(1));
            batch.send(&pieces).post().expect("room");
            end.expect(77);
            golden.check(round, stage.number(), None, &header(&path(0, 1, false), None, &found), &found);
        }
    }
}

#[test]
fn queue_pairs_share_receives() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let end = &stage.end;
        let shared = end.domain.shared_receive_queue(16, 2).expect("a queue");
        let sharing = |_| {
            let builder = end.domain.queue_pair(&end.completions).kind(QueuePairKind::Datagram);
            let pair = builder.shared_receive_queue(&shared).build().expect("a queue pair");
            pair.activate_datagrams(&Datagrams::new(key(0))).expect("it is fresh");
            pair
        };
        let pairs = [0, 1, 2].map(sharing);
        for slot in 0..6 {
            let place = INBOX + slot * ROOM;
            let pieces = [end.piece(place, 17), end.piece(place + 17, 2000)];
            shared.receives().receive(slot as u64, &pieces).post().expect("room");
        }
        for (slot, at) in [0, 1, 2, 2, 0, 1].into_iter().enumerate() {
            let payload = pattern(slot as u64, 1500);
            let immediate = (slot % 2 == 1).then_some(5);
            golden.send(path(1, 0, false), Qpn::new(pairs[at].number()), key(0), immediate, &payload);
            let expected = header(&path(1, 0, false), immediate, &payload);
            let found = check(end, slot, GOLDEN, immediate, &expected, &payload);
            assert_eq!(found.queue_pair, pairs[at].number(), "{profile:?}");
        }
    }
}

#[test]
fn a_key_with_its_highest_bit_stands_for_the_queue_pairs_own() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let end = &stage.end;
        let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
        let same = builder(end).build().expect("a queue pair");
        same.activate_datagrams(&Datagrams::new(key(1))).expect("it is fresh");
        let out = header(&path(0, 1, false), None, b"known");
        for (slot, q_key) in [OWN_KEY, OWN_KEY | key(0), u32::MAX].into_iter().enumerate() {
            golden.post_receive(slot, 100);
            same.start().to(&handle, GOLDEN, q_key).inline_send(b"known").post().expect("room");
            golden.check(slot, Qpn::new(same.number()), None, &out, b"known");
        }
        // The key of this one is not the golden end's.
        golden.post_receive(3, 100);
        stage.queue_pair.start().to(&handle, GOLDEN, OWN_KEY).inline_send(b"unknown").post().expect("room");
        stage.settle();
        assert_eq!(golden.ask(|golden| golden.poll_receive(GOLDEN)), None);
        let wrong = stroma_sim::model::Dropped::Key { found: key(0), wanted: key(1) };
        assert_eq!(golden.ask(|golden| golden.dropped().to_vec()), [wrong], "{profile:?}");
    }
}
