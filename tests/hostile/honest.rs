//! The honest connection: whatever has happened to a card, a new queue pair writes and reads, both ways.

use std::sync::Arc;

use stroma_abi::desc::{Sge, region::rights};
use stroma_abi::{Psn, Qpn};
use stroma_sim::model::{Completion, Operation, Region, Settings, Work};
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, pattern};
use stroma_verbs::{Connection, Status};

use super::attacker::Attacker;
use super::stage::{STATION, attacker, path};

/// The honest endpoint's queue pair, its key, and where its memory begins.
const NUMBER: Qpn = Qpn::new(0x77);
const KEY: u32 = 0x1234;
const BASE: u64 = 0x7000_0123;
/// Bytes of each WRITE and READ: some packets.
const LEN: usize = 2500;
/// Places in the card's memory: what it sends, what it reads back, what the other side writes.
const PLACES: [usize; 3] = [0, 8192, 16_384];

/// A WRITE and a READ of each side, over a connection of their own, with the right bytes at the end.
pub(crate) fn works(shared: &Arc<Shared>, end: &End, seed: u64) {
    let queue_pair = end.queue_pair(16);
    let connection = Connection::new(attacker(false), NUMBER, Psn::new(5), Psn::new(9));
    queue_pair.connect(&connection).expect("a connection");
    let settings = Settings {
        send_psn: Psn::new(9),
        receive_psn: Psn::new(5),
        ..Settings::new(NUMBER, Qpn::new(queue_pair.number()), path(false, None), 4096)
    };
    let theirs = pattern(seed + 1, LEN);
    let memory = [vec![0; LEN], theirs.clone(), vec![0; LEN]].concat();
    let all = rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ;
    {
        let mut world = shared.world();
        let golden = &mut world.peer_mut::<Attacker>(STATION).golden;
        golden.connect(settings);
        golden.memory().register(KEY, Region { base: BASE, bytes: memory, domain: 0, rights: all });
    }

    let ours = pattern(seed, LEN);
    end.put(PLACES[0], &ours);
    let batch = queue_pair.start().wr_id(u64::MAX).signaled();
    let batch = batch.write(&[end.piece(PLACES[0], LEN)], BASE, KEY).wr_id(u64::MAX - 1).signaled();
    batch.read(&[end.piece(PLACES[1], LEN)], BASE, KEY).post().expect("room");
    end.expect(u64::MAX);
    end.expect(u64::MAX - 1);
    assert!(end.bytes(PLACES[1], LEN) == ours, "what was written is not what is read");

    let work = |id: u64, operation, local: usize| {
        let length = u32::try_from(LEN).expect("small");
        let piece = Sge { address: BASE + local as u64, local_key: KEY, length };
        Work::new(id, operation, &[piece], end.memory.rkey(), end.at(PLACES[2]))
    };
    let mut world = shared.world();
    let golden =
        |world: &mut World| -> Option<Completion> { world.peer_mut::<Attacker>(STATION).golden.poll(NUMBER) };
    for (id, operation, local) in [(1, Operation::Write, LEN), (2, Operation::Read, 2 * LEN)] {
        world.peer_mut::<Attacker>(STATION).golden.post(NUMBER, work(id, operation, local));
        let found = (0..100).find_map(|_| {
            world.run(1000);
            golden(&mut world)
        });
        assert_eq!(found.map(|found| (found.id, found.status)), Some((id, Status::Success)), "{operation:?}");
    }
    let region = world.peer_mut::<Attacker>(STATION).golden.memory().region(KEY).expect("registered");
    assert!(region.bytes[2 * LEN..] == theirs, "what the peer wrote is not what it reads");
    drop(world);
    assert!(end.bytes(PLACES[2], LEN) == theirs, "the peer's bytes are not there");
}
