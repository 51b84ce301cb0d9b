//! Two cards, one card with itself, and one with two peers.

use stroma_abi::Qpn;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::Mac;
use stroma_sim::link::LinkConfig;
use stroma_sim::model::Path;
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, Pair, address, pattern};
use stroma_tests::widths;
use stroma_verbs::Grh;
use stroma_verilate::Options;

use crate::stage::{
    GOLDEN, GoldenEnd, LENGTHS, Stage, check, header, key, name, path, post_receive, queue_pair, send, way,
};

#[test]
fn two_cards_exchange_datagrams_of_every_length() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let ends = &pair.ends;
        (0..2).for_each(|index| name(&ends[index], index));
        let pairs = [0, 1].map(|index| queue_pair(&ends[index], index));
        let numbers = pairs.each_ref().map(|pair| Qpn::new(pair.number()));
        let mut count = 0;
        for (slot, length) in LENGTHS.into_iter().enumerate() {
            for from in 0..2 {
                let (near, far, to) = (&ends[from], &ends[1 - from], 1 - from);
                for (is_ipv6, immediate) in [(false, Some(77)), (true, None)] {
                    let handle = near.domain.address_handle(&way(to, is_ipv6)).expect("a handle");
                    let payload = pattern(count, length);
                    near.put(0, &payload);
                    post_receive(far, &pairs[to], slot, Grh::LEN + length);
                    let batch = pairs[from].start().wr_id(1).signaled().to(&handle, numbers[to], key(to));
                    send(batch, &[near.piece(0, length)], immediate).post().expect("room");
                    near.expect(1);
                    let expected = header(&path(from, to, is_ipv6), immediate, &payload);
                    check(far, slot, numbers[from], immediate, &expected, &payload);
                    count += 1;
                }
            }
        }
        let silent = [&counters::RX_UNWANTED, &counters::UC_DROPPED, &counters::RETRANSMITTED];
        for end in ends {
            assert_eq!(silent.map(|counter| end.count(counter)), [0; 3], "{profile:?}");
            assert_eq!(end.count(&counters::TX_FRAMES), count / 2, "{profile:?}: nobody answers");
        }
    }
}

#[test]
fn many_datagrams_in_a_row_arrive_in_order() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let pairs = [queue_pair(near, 0), queue_pair(far, 1)];
        let handle = near.domain.address_handle(&way(1, false)).expect("a handle");
        let payload = pattern(1, 32 * 700);
        near.put(0, &payload);
        (0..32).for_each(|slot| post_receive(far, &pairs[1], slot, Grh::LEN + 700));
        let mut batch = pairs[0].start();
        for slot in 0..32 {
            batch = batch.wr_id(slot as u64).signaled().to(&handle, Qpn::new(pairs[1].number()), key(1));
            batch =
                batch.send_imm(&[near.piece(slot * 700, 700 - slot)], u32::try_from(slot).expect("small"));
        }
        batch.post().expect("room for all of them");
        for slot in 0..32 {
            near.expect(slot as u64);
            let sent = &payload[slot * 700..][..700 - slot];
            let immediate = Some(u32::try_from(slot).expect("small"));
            let expected = header(&path(0, 1, false), immediate, sent);
            check(far, slot, Qpn::new(pairs[0].number()), immediate, &expected, sent);
        }
    }
}

#[test]
fn a_card_sends_datagrams_to_itself() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair: first, .. } = &stage;
        let second = queue_pair(end, 1);
        let own = end.device.port().own_address().expect("it has one");
        let handle = end.domain.address_handle(&own).expect("a handle");
        let mac = Mac(address(0).mac);
        let (hop_limit, traffic_class) = (own.hop_limit, own.traffic_class);
        let expected = Path { hop_limit, traffic_class, ..path(0, 0, false) };
        assert_eq!((expected.local, expected.remote), (mac, mac));
        // To another queue pair of the card, and to the one that sends.
        for (slot, (to, q_key)) in [(&second, key(1)), (first, key(0))].into_iter().enumerate() {
            let payload = pattern(slot as u64, 1234);
            end.put(0, &payload);
            post_receive(end, to, slot, 2000);
            let batch = first.start().to(&handle, Qpn::new(to.number()), q_key);
            batch.send(&[end.piece(0, 1234)]).post().expect("room");
            let found = check(end, slot, stage.number(), None, &header(&expected, None, &payload), &payload);
            assert_eq!(found.queue_pair, to.number());
        }
        stage.settle();
        let counts = [&counters::TX_TURNED, &counters::TX_FRAMES].map(|counter| end.count(counter));
        assert_eq!(counts, [2, 0], "{profile:?}: nothing leaves");
        assert_eq!(golden.ask(|golden| golden.dropped().to_vec()), []);
    }
}

#[test]
fn one_queue_pair_speaks_to_two_peers() {
    for profile in widths!() {
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(profile, 2, &options).expect("two cards");
        let station = world.add_peer(Box::new(Golden::default()));
        world.switch(&[0, 1, station], LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let [near, far] = [0, 1].map(|index| End::open(&shared, index, 256));
        let golden = GoldenEnd::new(&shared, station, &[]);
        let pairs = [queue_pair(&near, 0), queue_pair(&far, 1)];
        let numbers = pairs.each_ref().map(|pair| Qpn::new(pair.number()));
        let handles = [1, station].map(|to| near.domain.address_handle(&way(to, false)).expect("a handle"));
        for slot in 0..8 {
            let payload = pattern(slot as u64, 100 + slot);
            near.put(slot * 1024, &payload);
            let batch = pairs[0].start().wr_id(slot as u64).signaled();
            let batch = if slot % 2 == 0 {
                post_receive(&far, &pairs[1], slot, 1000);
                batch.to(&handles[0], numbers[1], key(1))
            } else {
                golden.post_receive(slot, 1000);
                batch.to(&handles[1], GOLDEN, key(station))
            };
            batch.send(&[near.piece(slot * 1024, 100 + slot)]).post().expect("room");
        }
        for slot in 0..8 {
            near.expect(slot as u64);
            let payload = pattern(slot as u64, 100 + slot);
            let to = if slot % 2 == 0 { 1 } else { station };
            let expected = header(&path(0, to, false), None, &payload);
            if slot % 2 == 0 {
                check(&far, slot, numbers[0], None, &expected, &payload);
            } else {
                golden.check(slot, numbers[0], None, &expected, &payload);
            }
        }
    }
}
