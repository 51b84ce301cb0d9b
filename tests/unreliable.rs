//! Unreliable connections under chance: on a wire that loses, doubles and swaps frames whole messages arrive, never parts of them nor
//! mixtures, and nobody answers. Single cases stand in `conformance/unreliable.rs`.

use std::sync::Arc;

use stroma_abi::Psn;
use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Sge, SgeList};
use stroma_abi::regs::map::counters;
use stroma_abi::wire::Mac;
use stroma_sim::link::{Chance, Faults, Hold, LinkConfig};
use stroma_sim::model::{self, Addresses, Path, Received, Region, Settings, Work};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_tests::effort::share;
use stroma_tests::pair::{End, Pair, address, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Connection, QueuePair, QueuePairKind, QueuePairState, Status, WorkCompletion, WorkOp};
use stroma_verilate::{Options, SplitMix64};

/// Bytes that a message has for itself at either end, and where those of the receives begin.
const PLACE: usize = 4096;
const ROOM: usize = 1 << 19;
/// Receives that are posted at a time.
const RECEIVES: usize = 16;
/// Messages that are under way at a time.
const BURST: usize = 8;
/// 512 bytes a packet.
const PATH_MTU: u8 = 2;
const MTU: u32 = 512;
const PSN: Psn = Psn::new(0xff_ff80);
/// Number, key and base of memory at a golden end.
const GOLDEN: Qpn = Qpn::new(0x321);
const KEY: u32 = 0x55;
const BASE: u64 = 0x7000_0000;

fn bad(seed: u64, percent: u32) -> Faults {
    let chance = Chance::percent(percent);
    let hold = Hold { frames: 2, ns: 5000 };
    Faults { seed, loss: chance, duplication: chance, reordering: chance, hold, ..Faults::default() }
}

/// A message: which, of how many bytes, and what it is.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: u32,
    length: usize,
    op: WorkOp,
}

impl Message {
    fn any(number: u32, rng: &mut SplitMix64) -> Self {
        let of = |list: &[WorkOp], rng: &mut SplitMix64| {
            list[usize::try_from(rng.below(list.len() as u64)).expect("small")]
        };
        let op = of(&[WorkOp::Send, WorkOp::SendImm, WorkOp::Write, WorkOp::WriteImm], rng);
        let longest = [100, 600, 3000][usize::try_from(rng.below(3)).expect("small")];
        Self { number, length: 4 + usize::try_from(rng.below(longest)).expect("small"), op }
    }

    /// Its number, and bytes that no other has.
    fn bytes(self) -> Vec<u8> {
        let rest = pattern(u64::from(self.number) + 1000, self.length - 4);
        [&self.number.to_le_bytes()[..], &rest].concat()
    }

    /// Where it lies, and where a WRITE goes.
    fn place(self) -> usize {
        self.number as usize % BURST * PLACE
    }

    fn takes_receive(self) -> bool {
        self.op != WorkOp::Write
    }
}

/// What a receive has to say of one of the messages, and the bytes that came with it.
fn check(messages: &[Message], op: WorkOp, length: usize, immediate: Option<u32>, bytes: &[u8]) -> u32 {
    let number = immediate.unwrap_or_else(|| u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")));
    let message = messages[number as usize];
    assert_eq!((message.op, message.length), (op, length), "{message:?}");
    assert!(bytes == message.bytes(), "{message:?}: other bytes than sent");
    number
}

fn queue_pair(end: &End) -> QueuePair {
    let builder = end.domain.queue_pair(&end.completions).kind(QueuePairKind::Unreliable);
    builder.receive_entries(32).receive_pieces(1).send_units(64).build().expect("a queue pair")
}

fn post(end: &End, queue_pair: &QueuePair, message: Message, remote: u64, key: u32) {
    end.put(message.place(), &message.bytes());
    let list = [end.piece(message.place(), message.length)];
    let batch = queue_pair.start().wr_id(message.number.into()).signaled();
    let batch = match message.op {
        WorkOp::Send => batch.send(&list),
        WorkOp::SendImm => batch.send_imm(&list, message.number),
        WorkOp::Write => batch.write(&list, remote, key),
        _ => batch.write_imm(&list, remote, key, message.number),
    };
    batch.post().expect("room for a few");
}

fn post_receive(end: &End, queue_pair: &QueuePair, slot: u64) {
    let place = ROOM + usize::try_from(slot).expect("small") * PLACE;
    let batch = queue_pair.receives().expect("it is connected");
    batch.receive(slot, &[end.piece(place, PLACE)]).post().expect("room");
}

/// What came, of which message; its receive is posted again.
fn received(end: &End, queue_pair: &QueuePair, messages: &[Message], found: &WorkCompletion) -> u32 {
    assert_eq!((found.status, found.is_receive), (Status::Success, true), "{found:?}");
    let place = match found.op {
        WorkOp::WriteImm => messages[found.immediate.expect("it has one") as usize].place(),
        _ => ROOM + usize::try_from(found.wr_id).expect("small") * PLACE,
    };
    let bytes = end.bytes(place, found.length as usize);
    let number = check(messages, found.op, found.length as usize, found.immediate, &bytes);
    post_receive(end, queue_pair, found.wr_id);
    number
}

/// Of those that need a receive, so many arrived; on a bad wire not all, and yet most.
fn judge(messages: &[Message], arrived: &[u32], percent: u32) {
    let needed = messages.iter().filter(|message| message.takes_receive()).count();
    if percent == 0 {
        let sent: Vec<u32> =
            messages.iter().filter(|message| message.takes_receive()).map(|message| message.number).collect();
        assert_eq!(arrived, sent, "all of them, in order");
    } else {
        assert!(arrived.len() * 2 > needed, "{} of {needed} arrived", arrived.len());
        let lost =
            messages.iter().filter(|message| message.takes_receive() && !arrived.contains(&message.number));
        assert!(lost.count() > 3, "the wire was bad");
    }
}

fn two_cards(profile: Profile, seed: u64, percent: u32) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let pairs = [near, far].map(queue_pair);
    pair.join(pairs.each_ref(), |end, connection| {
        connection.path_mtu = PATH_MTU;
        *if end == 0 { &mut connection.send_psn } else { &mut connection.receive_psn } = PSN;
    });
    pair.shared.world().line(0).set_faults(bad(seed, percent));
    (0..RECEIVES as u64).for_each(|slot| post_receive(far, &pairs[1], slot));
    let mut rng = SplitMix64::new(seed);
    let messages: Vec<Message> =
        (0..u32::try_from(share(400)).expect("few")).map(|number| Message::any(number, &mut rng)).collect();
    let mut arrived = Vec::new();
    for burst in messages.chunks(BURST) {
        for message in burst {
            post(near, &pairs[0], *message, far.at(message.place()), far.memory.rkey());
        }
        for message in burst {
            near.expect(message.number.into());
        }
        pair.run(3000);
        while let Some(found) = far.poll() {
            arrived.push(received(far, &pairs[1], &messages, &found));
        }
    }
    judge(&messages, &arrived, percent);
    let silent = [&counters::NAKS, &counters::RNR_NAKS, &counters::DUPLICATES, &counters::TX_FRAMES];
    assert_eq!(silent.map(|counter| far.count(counter)), [0; 4], "nobody answers");
    assert_eq!((near.count(&counters::RETRANSMITTED), near.count(&counters::TIMEOUTS)), (0, 0));
    assert_eq!(far.count(&counters::UC_DROPPED) > 0, percent > 0);
    assert_eq!(pairs[1].query().expect("it lives").state, QueuePairState::ReadyToSend as u8);
}

#[test]
fn on_a_bad_wire_whole_messages_arrive_and_no_others() {
    for profile in widths!() {
        two_cards(profile, 11, 3);
    }
}

#[test]
fn on_a_perfect_wire_all_messages_arrive_in_order() {
    for profile in widths!() {
        two_cards(profile, 12, 0);
    }
}

/// A card and a golden endpoint, and a connection between them.
struct Mixed {
    shared: Arc<Shared>,
    end: End,
    queue_pair: QueuePair,
}

impl Mixed {
    fn new(profile: Profile, seed: u64, percent: u32) -> Self {
        let mut world = World::new(profile, 1, &Options { seed: 7, ..Options::default() }).expect("a card");
        let station = world.add_peer(Box::new(Golden::default()));
        world.cable(0, station, LinkConfig::cable(profile));
        for line in 0..2 {
            world.line(line).set_faults(bad(seed + line as u64, percent));
        }
        let shared = Shared::new(world);
        let end = End::open(&shared, 0, 256);
        let queue_pair = queue_pair(&end);
        let connection = Connection::new(address(1), GOLDEN, PSN, PSN);
        queue_pair.connect(&Connection { path_mtu: PATH_MTU, ..connection }).expect("a connection");
        let mixed = Self { shared, end, queue_pair };
        let path = Path {
            local: Mac(address(1).mac),
            remote: Mac(address(0).mac),
            tag: None,
            addresses: Addresses::V4 { local: [10, 0, 0, 2].into(), remote: [10, 0, 0, 1].into() },
            source_port: 0xc001,
            traffic_class: 2,
            hop_limit: 64,
        };
        let (send_psn, receive_psn) = (PSN, PSN);
        let settings = Settings::new(GOLDEN, Qpn::new(mixed.queue_pair.number()), path, MTU);
        let settings = Settings { unreliable: true, send_psn, receive_psn, ..settings };
        let rights = rights::REMOTE_WRITE | rights::LOCAL_WRITE;
        let region = Region { base: BASE, bytes: vec![0; ROOM + RECEIVES * PLACE], domain: 0, rights };
        mixed.golden(|golden| {
            golden.connect(settings);
            golden.memory().register(KEY, region);
            (0..RECEIVES as u64).for_each(|slot| golden.post_receive(GOLDEN, receive(slot)));
        });
        (0..RECEIVES as u64).for_each(|slot| post_receive(&mixed.end, &mixed.queue_pair, slot));
        mixed
    }

    fn golden<T>(&self, ask: impl FnOnce(&mut Golden) -> T) -> T {
        ask(self.shared.world().peer_mut(1))
    }

    /// What of the card's messages came to the golden end.
    fn taken(&self, messages: &[Message]) -> Vec<u32> {
        self.golden(|golden| {
            let mut arrived = Vec::new();
            while let Some(Received { id, status, operation, bytes, immediate, .. }) =
                golden.poll_receive(GOLDEN)
            {
                assert_eq!(status, Status::Success);
                let place = match operation {
                    WorkOp::WriteImm => messages[immediate.expect("it has one") as usize].place(),
                    _ => ROOM + usize::try_from(id).expect("small") * PLACE,
                };
                let length = bytes as usize;
                let found =
                    golden.memory().region(KEY).expect("it is registered").bytes[place..][..length].to_vec();
                arrived.push(check(messages, operation, length, immediate, &found));
                golden.post_receive(GOLDEN, receive(id));
            }
            arrived
        })
    }

    /// Posts at the golden end.
    fn post_golden(&self, message: Message) {
        let operation = match message.op {
            WorkOp::Send => model::Operation::Send,
            WorkOp::SendImm => model::Operation::SendImm(message.number),
            WorkOp::Write => model::Operation::Write,
            _ => model::Operation::WriteImm(message.number),
        };
        let (remote, key) = (self.end.at(message.place()), self.end.memory.rkey());
        self.golden(|golden| {
            let region = golden.memory().region_mut(KEY).expect("it is registered");
            // Beside what the card writes there.
            let at = BURST * PLACE + message.place();
            region.bytes[at..at + message.length].copy_from_slice(&message.bytes());
            let length = u32::try_from(message.length).expect("short");
            let piece = Sge { address: BASE + at as u64, local_key: KEY, length };
            golden.post(GOLDEN, Work::new(message.number.into(), operation, &[piece], key, remote));
        });
    }
}

fn receive(slot: u64) -> model::Receive {
    let length = u32::try_from(PLACE).expect("small");
    let piece = Sge { address: BASE + ROOM as u64 + slot * PLACE as u64, local_key: KEY, length };
    model::Receive { id: slot, pieces: SgeList::new(&[piece]).expect("one") }
}

fn with_golden(profile: Profile, seed: u64, percent: u32) {
    let mixed = Mixed::new(profile, seed, percent);
    let mut rng = SplitMix64::new(seed);
    let messages: Vec<Message> =
        (0..u32::try_from(share(400)).expect("few")).map(|number| Message::any(number, &mut rng)).collect();
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for burst in messages.chunks(BURST) {
        // Sources at the card lie beside what the golden end writes there.
        for message in burst {
            let remote = BASE + message.place() as u64;
            let beside = Message { number: message.number, ..*message };
            post_beside(&mixed, beside, remote);
            mixed.post_golden(*message);
        }
        let mut completed = 0;
        mixed.shared.world().run(4000);
        while let Some(found) = mixed.end.poll() {
            if found.is_receive {
                back.push(received(&mixed.end, &mixed.queue_pair, &messages, &found));
            } else {
                assert_eq!(found.status, Status::Success);
                completed += 1;
            }
        }
        assert_eq!(completed, burst.len(), "all have departed");
        there.extend(mixed.taken(&messages));
    }
    judge(&messages, &there, percent);
    judge(&messages, &back, percent);
}

fn post_beside(mixed: &Mixed, message: Message, remote: u64) {
    let at = BURST * PLACE + message.place();
    mixed.end.put(at, &message.bytes());
    let list = [mixed.end.piece(at, message.length)];
    let batch = mixed.queue_pair.start().wr_id(message.number.into()).signaled();
    let batch = match message.op {
        WorkOp::Send => batch.send(&list),
        WorkOp::SendImm => batch.send_imm(&list, message.number),
        WorkOp::Write => batch.write(&list, remote, KEY),
        _ => batch.write_imm(&list, remote, KEY, message.number),
    };
    batch.post().expect("room for a few");
}

#[test]
fn a_card_and_a_golden_endpoint_understand_each_other() {
    for profile in widths!() {
        with_golden(profile, 21, 0);
    }
}

#[test]
fn a_card_and_a_golden_endpoint_exchange_whole_messages_on_a_bad_wire() {
    for profile in widths!() {
        with_golden(profile, 22, 3);
    }
}

/// Of 700 bytes are two packets: the first fits, or neither does.
#[test]
fn a_receive_that_is_too_short_fails_alone_and_its_queue_pair_goes_on() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let pairs = [near, far].map(queue_pair);
        pair.join(pairs.each_ref(), |_, connection| connection.path_mtu = PATH_MTU);
        for (room, length, dropped) in [(699, 700, 1), (600, 700, 1), (512, 700, 1), (100, 700, 2), (0, 9, 1)]
        {
            let before = far.count(&counters::UC_DROPPED);
            let place = [far.piece(ROOM, room)];
            far.put(ROOM, &[0xa5; PLACE]);
            pairs[1].receives().expect("it is connected").receive(7, &place).post().expect("room");
            post_receive(far, &pairs[1], 1);
            near.put(0, &pattern(1, 700));
            pairs[0].start().wr_id(1).send(&[near.piece(0, length)]).post().expect("room");
            pairs[0].start().wr_id(2).signaled().send(&[near.piece(10, 50)]).post().expect("room");
            near.expect(2);
            let failed = far.complete();
            assert_eq!(
                (failed.wr_id, failed.status, failed.length),
                (7, Status::LocalLength, 0),
                "{profile:?}: {length} bytes for {room}"
            );
            far.received(1, 50);
            assert_eq!(far.bytes(ROOM + PLACE, 50), pattern(1, 60)[10..], "{profile:?}");
            assert_eq!(far.bytes(ROOM + room, 300), [0xa5; 300], "{profile:?}: nothing behind its end");
            assert_eq!(
                far.count(&counters::UC_DROPPED) - before,
                dropped,
                "{profile:?}: {length} for {room}"
            );
            assert_eq!(pairs[1].query().expect("it lives").state, QueuePairState::ReadyToSend as u8);
        }
        assert_eq!(far.poll(), None);
    }
}

/// What an unreliable connection does not know is refused by the card, and ends it.
#[test]
fn requests_that_need_an_answer_are_refused() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        for number in 0..3 {
            let pairs = [near, far].map(queue_pair);
            pair.reconnect(pairs.each_ref());
            let batch = pairs[0].start().wr_id(1).signaled();
            let (remote, key) = (far.at(0), far.memory.rkey());
            let batch = match number {
                0 => batch.read(&[near.piece(0, 8)], remote, key),
                1 => batch.fetch_add(near.piece(0, 8), remote, key, 1),
                _ => batch.compare_swap(near.piece(0, 8), remote, key, 1, 2),
            };
            batch.post().expect("the card judges");
            let found = near.complete();
            assert_eq!((found.wr_id, found.status), (1, Status::LocalQueuePair), "{profile:?}, {number}");
            assert_eq!(pairs[0].query().expect("it is there").state, QueuePairState::Error as u8);
        }
    }
}
