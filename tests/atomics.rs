//! Atomics: read, compared or added, and written back at the peer, once, whatever is lost on the way.

use stroma_abi::regs::map::counters;
use stroma_sim::link::{Chance, Faults};
use stroma_tests::pair::{End, Pair};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{QueuePair, Status, WorkOp};

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
