//! A peer that answers everything wrongly. Each request of the card ends once and in order, the answers reach the bytes
//! that were asked for and no others, and the card serves others as before.

use std::collections::VecDeque;
use std::sync::Arc;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::regs::map::counters;
use stroma_abi::{Psn, Qpn};
use stroma_party::{target, task};
use stroma_sim::link::LinkConfig;
use stroma_sim::{Shared, World};
use stroma_tests::effort::{seeds, share};
use stroma_tests::pair::{End, LIMIT, MEMORY};
use stroma_top::Profile;
use stroma_verbs::{Connection, QueuePair, QueuePairState, Status, WorkOp};
use stroma_verilate::{Options, SplitMix64};

use super::account::Account;
use super::attacker::Attacker;
use super::forge::{below, noise, one_of};
use super::honest;
use super::stage::{CARD, STATION, attacker, ip, path};
use super::wrong::Wrong;

/// Queue pairs that call at once, and the first one's peer.
const CALLERS: usize = 12;
const PEER: u32 = 0x900;
/// Rounds of all of them, each with a few requests.
const ROUNDS: usize = 40;
const REQUESTS: usize = 6;
/// The honest connection has what is below; here a slot begins: what is sent, and a landing for each request.
const SLOTS: usize = 65_536;
const SLOT: usize = 8192;
const LANDING: usize = 1024;
/// A path MTU of 256 bytes.
const PATH_MTU: u8 = 1;
/// Where the requests go, in memory of a peer who has none.
const ANYWHERE: (u64, u32) = (0x1000, 0x77);

struct Stage {
    shared: Arc<Shared>,
    end: End,
    random: SplitMix64,
    queue_pairs: Vec<QueuePair>,
    /// What memory holds; bytes that an answer may change are taken over when it is over.
    expected: Vec<u8>,
    /// How requests ended: as successes, in error, flushed.
    ends: [usize; 3],
    /// Landings whose bytes have changed.
    placed: usize,
}

impl Stage {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut world = World::new(profile, 1, &Options { seed, ..Options::default() })
            .unwrap_or_else(|error| panic!("{error}"));
        world.card(0).set_timing(super::BRISK);
        let peer = Attacker { wrong: Some(Wrong::new(seed, path(false, None))), ..Attacker::default() };
        assert_eq!(world.add_peer(Box::new(peer)), STATION);
        world.cable(0, STATION, LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let end = End::open(&shared, 0, 1024);
        end.device.port().set_address(0, ip(CARD, false)).expect("a register");
        let mut random = SplitMix64::new(seed);
        let expected = noise(&mut random, MEMORY);
        end.put(0, &expected);
        let queue_pairs: Vec<QueuePair> = (0..CALLERS).map(|_| end.queue_pair(64)).collect();
        for (peer, queue_pair) in (PEER..).zip(&queue_pairs) {
            let mut world = shared.world();
            let wrong = &mut world.peer_mut::<Attacker>(STATION).wrong;
            wrong.as_mut().expect("it was given").connect(peer, queue_pair.number());
        }
        Self { shared, end, random, queue_pairs, expected, ends: [0; 3], placed: 0 }
    }

    fn connect(&mut self, index: usize) {
        let number = PEER + u32::try_from(index).expect("few");
        let psn = Psn::new(self.random.next_u32() & 0xff_ffff);
        let mut connection = Connection::new(attacker(false), Qpn::new(number), psn, Psn::new(7));
        connection.path_mtu = PATH_MTU;
        // 8 to 65 us: a peer that says nothing is waited for, seven times at most.
        connection.timeout = one_of(&mut self.random, &[1, 2, 3, 4]);
        connection.retry = one_of(&mut self.random, &[0, 1, 3, 7]);
        connection.rnr_retry = one_of(&mut self.random, &[0, 1, 3, 6]);
        connection.reads_out = one_of(&mut self.random, &[1, 2, 16]);
        self.queue_pairs[index].connect(&connection).expect("a connection");
    }

    /// Posts some requests: where the answer of each may go.
    fn post(&mut self, index: usize) -> VecDeque<(u64, std::ops::Range<usize>)> {
        let slot = SLOTS + index * SLOT;
        let mut posted = VecDeque::new();
        for at in 0..=below(&mut self.random, REQUESTS - 1) {
            let wr_id = (index * REQUESTS + at) as u64;
            let landing = slot + LANDING * (at + 1);
            let most = one_of(&mut self.random, &[0, 1, 8, 255, 256, 257, 512, 700, 1024]);
            let sent = self.end.piece(slot, most);
            let op = one_of(
                &mut self.random,
                &[
                    WorkOp::Send,
                    WorkOp::Write,
                    WorkOp::Read,
                    WorkOp::Read,
                    WorkOp::FetchAdd,
                    WorkOp::Rpc,
                    WorkOp::Rpc,
                ],
            );
            let (address, key) = ANYWHERE;
            let batch = self.queue_pairs[index].start().wr_id(wr_id).signaled();
            let (batch, length) = match op {
                WorkOp::Send => (batch.send(&[sent]), 0),
                WorkOp::Write => (batch.write(&[sent], address, key), 0),
                WorkOp::Read => (batch.read(&[self.end.piece(landing, most)], address, key), most),
                WorkOp::FetchAdd => (batch.fetch_add(self.end.piece(landing, 8), address, key, 1), 8),
                _ => {
                    let call = Traversal { value_length: 8, ..task(address) };
                    let parameters = Parameters::new(&call.to_bytes()).expect("whole words");
                    let target = target(u32::try_from(most).expect("small"));
                    (batch.rpc(self.end.piece(landing, most), &target, key, parameters), most)
                }
            };
            batch.post().expect("room");
            posted.push_back((wr_id, landing..landing + length));
        }
        posted
    }

    /// A round of requests of all queue pairs, until each request is over.
    fn round(&mut self, story: &str) {
        (0..CALLERS).for_each(|index| self.connect(index));
        let mut open: Vec<_> = (0..CALLERS).map(|index| self.post(index)).collect();
        let landings: Vec<_> = open.iter().flatten().map(|(_, landing)| landing.clone()).collect();
        let mut has_failed = [false; CALLERS];
        let last = self.shared.world().now() + LIMIT;
        while open.iter().any(|queue| !queue.is_empty()) {
            assert!(self.shared.world().now() < last, "{story}: never over: {open:?}");
            let Some(found) = self.end.poll() else {
                self.shared.world().run(500);
                continue;
            };
            let index = self.queue_pairs.iter().position(|of| of.number() == found.queue_pair);
            let index = index.unwrap_or_else(|| panic!("{story}: {found:?} is of nobody"));
            let (wr_id, _) =
                open[index].pop_front().unwrap_or_else(|| panic!("{story}: {found:?} was not posted"));
            assert_eq!(found.wr_id, wr_id, "{story}: {found:?} is not the oldest one's");
            let kind = match found.status {
                Status::Success => 0,
                Status::Flushed => 2,
                _ => 1,
            };
            assert_eq!(kind == 2, has_failed[index], "{story}: {found:?}, after a failure {has_failed:?}");
            has_failed[index] |= kind == 1;
            self.ends[kind] += 1;
        }
        for (queue_pair, has_failed) in self.queue_pairs.iter().zip(has_failed) {
            let expected = if has_failed { QueuePairState::Error } else { QueuePairState::ReadyToSend };
            let state = QueuePairState::from_code(queue_pair.query().expect("an answer").state);
            assert_eq!(state, Some(expected), "{story}: queue pair {}", queue_pair.number());
            queue_pair.reset().expect("a reset");
        }
        while self.end.device.poll_async_event().expect("a card that answers").is_some() {}
        assert!(self.end.poll().is_none(), "{story}: one that was not posted");
        let found = self.end.bytes(SLOTS, MEMORY - SLOTS);
        for landing in landings {
            let (now, before) =
                (&found[landing.start - SLOTS..landing.end - SLOTS], &mut self.expected[landing]);
            self.placed += usize::from(now != before);
            before.copy_from_slice(now);
        }
        let differs =
            found.iter().zip(&self.expected[SLOTS..]).position(|(found, expected)| found != expected);
        assert!(differs.is_none(), "{story}: byte {differs:?} of the slots was asked for by nobody");
    }
}

fn answered_wrongly(profile: Profile, seed: u64) {
    let mut stage = Stage::new(profile, seed);
    let before = Account::of(&stage.end);
    let rounds = share(ROUNDS);
    for round in 0..rounds {
        stage.round(&format!("{profile:?}, seed {seed:#x}, round {round}"));
    }
    let story = format!("{profile:?}, seed {seed:#x}");
    // What is still on the wire comes to queue pairs that have begun anew.
    stage.shared.world().run(50_000);
    let found = Account::of(&stage.end).since(&before);
    found.check(&story);
    let (requests, answers) = {
        let mut world = stage.shared.world();
        let wrong = world.peer_mut::<Attacker>(STATION).wrong.as_ref().expect("it was given");
        (wrong.requests, wrong.answers)
    };
    assert_eq!(
        found.classes.iter().sum::<u64>(),
        answers as u64,
        "{story}: answers that the card has not counted"
    );
    for counter in [&counters::RX_OVERRUN, &counters::DMA_ERRORS, &counters::CQ_OVERFLOWS] {
        assert_eq!(stage.end.count(counter), 0, "{story}: {}", counter.name);
    }
    let enough = rounds * CALLERS / 8;
    assert!(
        stage.ends.iter().all(|count| *count > enough)
            && stage.placed > enough
            && requests > rounds * CALLERS,
        "{story}: {requests} requests, {answers} answers, successes, errors and flushed: {:?}, {} placed",
        stage.ends,
        stage.placed
    );
    assert!(found.stale > 0 && found.unwanted > 0 && found.accepted > 0, "{story}: {found:?}");
    honest::works(&stage.shared, &stage.end, seed);
}

#[test]
fn a_peer_that_answers_everything_wrongly_reaches_only_what_it_was_asked_for_10g() {
    for seed in seeds(&[0xb1, 0xb2]) {
        answered_wrongly(Profile::TenGig, *seed);
    }
}

#[test]
fn a_peer_that_answers_everything_wrongly_reaches_only_what_it_was_asked_for_100g() {
    for seed in seeds(&[0xb3, 0xb4]) {
        answered_wrongly(Profile::HundredGig, *seed);
    }
}
