//! Three cards on a switch, with traffic between all of them: the same to the cycle whether quiet time is ticked or jumped
//! over, and whether the cards share a thread or each have one.

use stroma_abi::{Psn, Qpn};
use stroma_sim::link::LinkConfig;
use stroma_sim::{Shared, World};
use stroma_tests::faulty::faults;
use stroma_tests::pair::{End, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Connection, QueuePair};
use stroma_verilate::Options;

const CARDS: usize = 3;
const SIZE: usize = 3000;

/// What is seen of a run: completions with the card's clock, and frames of every line.
#[derive(Debug, PartialEq)]
struct Seen {
    completions: Vec<Vec<(u64, u64)>>,
    frames: Vec<u64>,
    memory: Vec<Vec<u8>>,
}

fn run(profile: Profile, skips: bool, threads: bool) -> Seen {
    let options = Options { seed: 7, ..Options::default() };
    let mut world = World::new(profile, CARDS, &options).unwrap_or_else(|error| panic!("{error}"));
    world.switch(&[0, 1, 2], LinkConfig::cable(profile));
    world.skip_quiet_time(skips);
    let shared = Shared::new(world);
    let ends: Vec<End> = (0..CARDS).map(|card| End::open(&shared, card, 64)).collect();
    let mut senders: Vec<(usize, usize, QueuePair)> = Vec::new();
    for near in 0..CARDS {
        for far in near + 1..CARDS {
            let pair = [ends[near].queue_pair(64), ends[far].queue_pair(64)];
            for (end, card, peer) in [(0, near, far), (1, far, near)] {
                let number = Qpn::new(pair[1 - end].number());
                let mut connection = Connection::new(ends[peer].address, number, Psn::new(3), Psn::new(3));
                (connection.timeout, connection.path_mtu) = (4, 3);
                pair[end].connect(&connection).expect("a connection");
                assert_ne!(card, peer);
            }
            let [one, other] = pair;
            senders.extend([(near, far, one), (far, near, other)]);
        }
    }
    for (card, end) in ends.iter().enumerate() {
        shared.world().line(card).set_faults(faults(card as u64, 2));
        end.put(0, &pattern(card as u64, SIZE));
    }
    for (near, far, sender) in &senders {
        let (from, to) = (&ends[*near], &ends[*far]);
        let at = 10_000 * (near + 1);
        let key = to.memory.rkey();
        let batch = sender.start().wr_id(1).signaled().write(&[from.piece(0, SIZE)], to.at(at), key);
        let landing = from.piece(100_000 + 10_000 * far, SIZE);
        batch.wr_id(2).signaled().read(&[landing], to.at(0), key).post().expect("room");
    }
    shared.world().threads(threads);
    shared.world().run(60_000);
    shared.world().threads(false);
    let completions: Vec<Vec<(u64, u64)>> = ends
        .iter()
        .map(|end| (0..4).map(|_| end.complete()).map(|found| (found.wr_id, found.timestamp)).collect())
        .collect();
    let memory: Vec<Vec<u8>> = ends.iter().map(|end| end.bytes(0, 200_000)).collect();
    for (near, far, _) in &senders {
        assert!(memory[*far][10_000 * (near + 1)..][..SIZE] == pattern(*near as u64, SIZE), "written");
        assert!(memory[*near][100_000 + 10_000 * far..][..SIZE] == pattern(*far as u64, SIZE), "read");
    }
    let frames = (0..CARDS).map(|card| shared.world().line(card).counters().pushed).collect();
    Seen { completions, frames, memory }
}

#[test]
fn ticking_jumping_and_threads_give_the_same_cycles() {
    for profile in widths!() {
        let jumped = run(profile, true, false);
        assert!(jumped.frames.iter().all(|frames| *frames > 10));
        for (skips, threads) in [(false, false), (true, true), (false, true)] {
            assert!(
                run(profile, skips, threads) == jumped,
                "{profile:?}: skipping {skips}, threads {threads}"
            );
        }
    }
}
