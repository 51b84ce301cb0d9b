//! Atomics: read, compared or added, and written back at the peer, once, whatever is lost on the way.

use stroma_abi::regs::map::counters;
use stroma_sim::host::timing::Timing;
use stroma_sim::link::{Chance, Faults};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Attributes, QueuePair, QueuePairState, Status, WorkOp};

/// The word at the far end.
const WORD: usize = 4096;
/// Where the near end keeps what it was told.
const RESULTS: usize = 65_536;

fn word(end: &End, offset: usize) -> u64 {
    u64::from_le_bytes(end.bytes(offset, 8).try_into().expect("eight bytes"))
}

#[test]
fn a_word_is_swapped_when_it_is_what_was_expected_and_else_not() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        far.put(WORD, &5_u64.to_le_bytes());
        for (compare, swap, after) in
            [(5, 0x1122_3344_5566_7788, 0x1122_3344_5566_7788), (5, 9, 0x1122_3344_5566_7788)]
        {
            let before = word(far, WORD);
            // The result may lie anywhere, and across a page.
            let result = near.piece(RESULTS - 3, 8);
            let batch = sender.start().wr_id(1).signaled();
            batch.compare_swap(result, far.at(WORD), far.memory.rkey(), compare, swap).post().unwrap();
            let found = near.expect(1);
            assert_eq!((found.op, found.length), (WorkOp::CmpSwap, 8));
            assert_eq!((word(near, RESULTS - 3), word(far, WORD)), (before, after), "{profile:?}");
        }
    }
}

/// Posts `count` additions of 1 on each queue pair, 16 open at a time, and returns what they found.
fn add(near: &End, far: &End, senders: &[QueuePair], count: usize) -> Vec<u64> {
    let (mut posted, mut done) = (vec![0; senders.len()], 0);
    while done < count * senders.len() {
        for (index, sender) in senders.iter().enumerate() {
            while posted[index] < count && posted[index] * senders.len() < done + 16 * senders.len() {
                let at = RESULTS + 8 * (index * count + posted[index]);
                let batch = sender.start().wr_id(index as u64).signaled();
                let batch = batch.fetch_add(near.piece(at, 8), far.at(WORD), far.memory.rkey(), 1);
                batch.post().unwrap();
                posted[index] += 1;
            }
        }
        let found = near.complete();
        assert_eq!((found.status, found.op), (Status::Success, WorkOp::FetchAdd));
        done += 1;
    }
    (0..count * senders.len()).map(|index| word(near, RESULTS + 8 * index)).collect()
}

fn contend(profile: Profile, percent: u32) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let connect = |_| pair.connect_with(64, |_, connection| connection.timeout = 8);
    let pairs: Vec<_> = (0..4).map(connect).collect();
    let (senders, _receivers): (Vec<_>, Vec<_>) = pairs.into_iter().map(|[near, far]| (near, far)).unzip();
    far.put(WORD, &100_u64.to_le_bytes());
    for station in 0..2 {
        let chance = Chance::percent(percent);
        let seed = 3 + station as u64;
        pair.shared.world().line(station).set_faults(Faults {
            seed,
            loss: chance,
            duplication: chance,
            reordering: chance,
            ..Faults::default()
        });
    }
    let mut found = add(near, far, &senders, 50);
    found.sort_unstable();
    assert_eq!(found, (100..300).collect::<Vec<u64>>(), "{profile:?}: every sum was seen once");
    assert_eq!(word(far, WORD), 300);
    if percent > 0 {
        assert!(far.count(&counters::DUPLICATES) > 0, "some came twice");
    } else {
        assert_eq!((near.count(&counters::RETRANSMITTED), far.count(&counters::NAKS)), (0, 0));
    }
}

#[test]
fn four_queue_pairs_add_to_one_word() {
    for profile in widths!() {
        contend(profile, 0);
    }
}

#[test]
fn lost_and_doubled_atomics_are_applied_once() {
    for profile in widths!() {
        contend(profile, 3);
    }
}

#[test]
fn what_follows_an_atomic_takes_effect_after_it() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        far.put(WORD, &[0; 16]);
        near.put(0, &7_u64.to_le_bytes());
        let key = far.memory.rkey();
        for round in 0..20 {
            far.put(WORD, &[0; 16]);
            receiver.receives().unwrap().receive(9, &[far.piece(0, 8)]).post().unwrap();
            // The WRITE would be there at once; the addition takes a read of the host. In the other order the sum is lost.
            let batch =
                sender.start().wr_id(1).signaled().fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, 1);
            let batch = batch.wr_id(2).signaled().write(&[near.piece(0, 8)], far.at(WORD), key);
            let batch = batch.wr_id(3).signaled().read(&[near.piece(RESULTS + 8, 8)], far.at(WORD), key);
            batch.wr_id(4).signaled().send(&[near.piece(0, 8)]).post().unwrap();
            far.received(9, 8);
            assert_eq!(word(far, WORD), 7, "{profile:?}, round {round}");
            for wr_id in 1..5 {
                near.expect(wr_id);
            }
            assert_eq!((word(near, RESULTS), word(near, RESULTS + 8)), (0, 7));
        }
    }
}

/// The far host takes 20 us for a read.
fn slow(pair: &Pair) {
    pair.shared.world().card(1).set_timing(Timing { read_ns: 20_000, ..Timing::ALVEO_GEN3X16 });
}

#[test]
fn what_follows_an_atomic_needs_no_retry_and_no_timer() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let change = |_, connection: &mut stroma_verbs::Connection| {
            (connection.retry, connection.timeout) = (0, 0);
        };
        let [sender, receiver] = pair.connect_with(256, change);
        slow(&pair);
        near.put(0, &pattern(5, 3000));
        near.put(3000, &9_u64.to_le_bytes());
        let key = far.memory.rkey();
        for round in 0..3 {
            far.put(WORD, &[0; 16]);
            for wr_id in [8, 9] {
                receiver.receives().unwrap().receive(wr_id, &[far.piece(20_000, 3000)]).post().unwrap();
            }
            let batch =
                sender.start().wr_id(1).signaled().fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, 4);
            let batch = batch.wr_id(2).signaled().write(&[near.piece(0, 3000)], far.at(10_000), key);
            let batch = batch.wr_id(3).signaled().write(&[near.piece(3000, 8)], far.at(WORD), key);
            let batch = batch.wr_id(4).signaled().send(&[near.piece(0, 3000)]);
            let swap = near.piece(RESULTS + 8, 8);
            let batch = batch.wr_id(5).signaled().compare_swap(swap, far.at(WORD), key, 9, 11);
            let batch = batch.wr_id(6).signaled().send(&[near.piece(0, 70)]);
            let batch = batch.wr_id(7).signaled().read(&[near.piece(RESULTS + 16, 8)], far.at(WORD), key);
            batch.post().unwrap();
            far.received(8, 3000);
            far.received(9, 70);
            for wr_id in 1..8 {
                near.expect(wr_id);
            }
            let results = [0, 8, 16].map(|at| word(near, RESULTS + at));
            assert_eq!(results, [0, 9, 11], "{profile:?}, round {round}");
            assert_eq!(far.bytes(10_000, 3000), pattern(5, 3000));
            assert_eq!(far.bytes(20_070, 2930), pattern(5, 3000)[70..]);
        }
        assert_eq!(far.count(&counters::NAKS), 0, "{profile:?}");
        assert_eq!((near.count(&counters::RETRANSMITTED), near.count(&counters::TIMEOUTS)), (0, 0));
    }
}

#[test]
fn nobody_else_waits_for_what_follows_an_atomic() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [slow_sender, _other] = pair.connect();
        let [sender, _receiver] = pair.connect();
        slow(&pair);
        let key = far.memory.rkey();
        let batch = slow_sender.start().wr_id(1).signaled();
        let batch = batch.fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, 1);
        let batch = batch.wr_id(2).signaled().write(&[near.piece(0, 4000)], far.at(10_000), key);
        batch.wr_id(3).signaled().write(&[near.piece(0, 4000)], far.at(20_000), key).post().unwrap();
        for wr_id in 10..30 {
            let batch = sender.start().wr_id(wr_id).signaled();
            batch.write(&[near.piece(0, 2000)], far.at(30_000), key).post().unwrap();
        }
        for wr_id in (10..30).chain(1..4) {
            near.expect(wr_id);
        }
        assert_eq!(far.count(&counters::NAKS), 0, "{profile:?}");
    }
}

#[test]
fn more_than_the_card_can_keep_after_an_atomic_arrives_as_well() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        slow(&pair);
        let key = far.memory.rkey();
        near.put(0, &pattern(6, 600_000));
        let batch = sender.start().wr_id(1).signaled();
        let batch = batch.fetch_add(near.piece(700_000, 8), far.at(700_000), key, 1);
        batch.wr_id(2).signaled().write(&[near.piece(0, 600_000)], far.at(0), key).post().unwrap();
        near.expect(1);
        near.expect(2);
        assert_eq!(far.bytes(0, 600_000), pattern(6, 600_000), "{profile:?}");
    }
}

#[test]
fn what_is_deferred_ends_with_its_queue_pair() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        slow(&pair);
        let key = far.memory.rkey();
        far.put(10_000, &[0; 64]);
        near.put(0, &[1; 64]);
        let batch = sender.start().wr_id(1).signaled();
        let batch = batch.fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, 1);
        batch.wr_id(2).signaled().write(&[near.piece(0, 64)], far.at(10_000), key).post().unwrap();
        // It is there, and waits.
        pair.run(2500);
        for (end, queue_pair) in [(far, &receiver), (near, &sender)] {
            queue_pair.modify(&Attributes::default().state(QueuePairState::Error)).unwrap();
            queue_pair.modify(&Attributes::default().state(QueuePairState::Reset)).unwrap();
            while end.poll().is_some() {}
        }
        pair.reconnect([&sender, &receiver]);
        near.put(0, &[2; 64]);
        sender.start().wr_id(3).signaled().write(&[near.piece(0, 64)], far.at(10_100), key).post().unwrap();
        near.expect(3);
        pair.run(20_000);
        assert_eq!((far.bytes(10_000, 64), far.bytes(10_100, 64)), (vec![0; 64], vec![2; 64]), "{profile:?}");
        assert_eq!(far.count(&counters::RX_UNWANTED), 1, "{profile:?}");
    }
}

#[test]
fn an_atomic_sees_what_was_written_before_it() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        let key = far.memory.rkey();
        for round in 1..20_u64 {
            near.put(0, &(1000 * round).to_le_bytes());
            let batch = sender.start().write(&[near.piece(0, 8)], far.at(WORD), key);
            let batch = batch.wr_id(round).signaled();
            batch.fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, round).post().unwrap();
            near.expect(round);
            assert_eq!((word(near, RESULTS), word(far, WORD)), (1000 * round, 1001 * round), "{profile:?}");
        }
    }
}

#[test]
fn a_word_that_is_not_aligned_is_refused() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        let batch = sender.start().wr_id(1).signaled();
        batch.fetch_add(near.piece(0, 8), far.at(WORD + 4), far.memory.rkey(), 1).post().unwrap();
        assert_eq!(near.complete().status, Status::RemoteInvalid);
        assert_eq!(far.bytes(WORD, 16), [0; 16]);
    }
}

#[test]
fn what_is_to_be_refused_after_an_atomic_is_refused_after_it() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        slow(&pair);
        let key = far.memory.rkey();
        let batch = sender.start().wr_id(1).signaled();
        let batch = batch.fetch_add(near.piece(RESULTS, 8), far.at(WORD), key, 1);
        let batch = batch.wr_id(2).signaled();
        batch.fetch_add(near.piece(RESULTS, 8), far.at(WORD + 4), key, 1).post().unwrap();
        near.expect(1);
        assert_eq!(near.complete().status, Status::RemoteInvalid, "{profile:?}");
        assert_eq!((far.count(&counters::NAKS), far.count(&counters::DUPLICATES)), (1, 0), "{profile:?}");
        assert_eq!(near.count(&counters::TIMEOUTS), 0, "{profile:?}");
    }
}
