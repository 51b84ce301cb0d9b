//! What is not for a queue pair, or finds no room there, is dropped without a word: counted, and nothing written.

use stroma_abi::Qpn;
use stroma_abi::regs::Reg;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::deth::GROUP_QP;
use stroma_abi::wire::{Deth, Frame, Ip, Mac};
use stroma_sim::peer::Raw;
use stroma_tests::pair::pattern;
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Attributes, Grh, QueuePairState, Status};

use crate::stage::{GOLDEN, INBOX, ROOM, Stage, builder, check, frame, header, key, path, post_receive};

/// A change to a datagram that was right.
type Change = fn(&mut Frame);

const UNWANTED: [(&str, Change); 11] = [
    ("another key", |frame| deth(frame).queue_key ^= 1),
    ("a key that differs in its highest bit", |frame| deth(frame).queue_key ^= 1 << 31),
    ("another partition", |frame| frame.bth.partition = 0x8001),
    ("an address of another", |frame| four(frame).destination = [10, 0, 0, 77].into()),
    ("a group that nobody has joined", |frame| four(frame).destination = [239, 0, 0, 1].into()),
    ("another station", |frame| frame.ethernet.destination = Mac([2, 0, 0, 0, 0, 0x77])),
    ("a queue pair that there is not", |frame| frame.bth.destination_qp = Qpn::new(200)),
    ("queue pair 0", |frame| frame.bth.destination_qp = Qpn::new(0)),
    ("queue pair 1, which there is not", |frame| frame.bth.destination_qp = Qpn::new(1)),
    ("all of a group, and the station's own address", |frame| frame.bth.destination_qp = GROUP_QP),
    ("a number beyond the table", |frame| frame.bth.destination_qp = Qpn::new(0x7f_ffff)),
];

fn deth<'f>(frame: &'f mut Frame) -> &'f mut Deth {
    frame.extended.deth.as_mut().expect("it is a datagram")
}

fn four<'f>(frame: &'f mut Frame) -> &'f mut stroma_abi::wire::Ipv4 {
    match &mut frame.ip {
        Ip::V4(ip) => ip,
        Ip::V6(_) => panic!("it was sent over IPv4"),
    }
}

/// A card, and a peer that sends any frames.
struct Forger {
    stage: Stage,
}

impl Forger {
    fn new(profile: Profile) -> Self {
        Self { stage: Stage::new(profile, Box::<Raw>::default()) }
    }

    /// A datagram that is right.
    fn good(&self, payload: &[u8]) -> Vec<u8> {
        let deth = Deth { queue_key: key(0), source_qp: GOLDEN, ..Deth::default() };
        frame(&path(1, 0, false), self.stage.number(), deth, None, payload)
    }

    /// The same, changed, with a right ICRC.
    fn changed(&self, payload: &[u8], change: Change) -> Vec<u8> {
        let bytes = self.good(payload);
        let mut frame = Frame::parse(&bytes).expect("a frame");
        change(&mut frame);
        frame.seal().and_then(|frame| frame.to_vec()).expect("a frame")
    }

    fn send(&self, frame: Vec<u8>) {
        self.stage.shared.world().peer_mut::<Raw>(1).send(frame);
        self.stage.settle();
    }

    fn counts(&self) -> [u64; 4] {
        let counters: [&Reg; 4] =
            [&counters::RX_UNWANTED, &counters::UC_DROPPED, &counters::RX_ACCEPTED, &counters::TX_FRAMES];
        counters.map(|counter| self.stage.end.count(counter))
    }

    /// What these counters have become more by since `before`.
    fn since(&self, before: [u64; 4]) -> [u64; 4] {
        let now = self.counts();
        std::array::from_fn(|index| now[index] - before[index])
    }

    /// A good datagram comes to the receive of this slot.
    fn accept(&self, slot: usize, payload: &[u8]) {
        self.send(self.good(payload));
        check(&self.stage.end, slot, GOLDEN, None, &header(&path(1, 0, false), None, payload), payload);
    }
}

#[test]
fn what_is_for_others_is_dropped_and_counted() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let Stage { end, queue_pair, .. } = &forger.stage;
        post_receive(end, queue_pair, 0, 1000);
        end.put(INBOX, &[0xa5; 1000]);
        for (story, change) in UNWANTED {
            let before = forger.counts();
            forger.send(forger.changed(&pattern(1, 100), change));
            assert_eq!(forger.since(before), [1, 0, 0, 0], "{profile:?}: {story}");
            assert_eq!(end.poll(), None, "{profile:?}: {story}");
            assert_eq!(end.bytes(INBOX, 1000), [0xa5; 1000], "{profile:?}: {story}");
        }
        let before = forger.counts();
        forger.accept(0, &pattern(2, 100));
        assert_eq!(forger.since(before), [0, 0, 1, 0], "{profile:?}");
        assert_eq!(end.bytes(INBOX + 140, 860), [0xa5; 860], "{profile:?}: nothing behind its end");
    }
}

#[test]
fn a_limited_member_of_the_partition_is_heard() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let Stage { end, queue_pair, .. } = &forger.stage;
        post_receive(end, queue_pair, 0, 1000);
        forger.send(forger.changed(b"limited", |frame| frame.bth.partition = 0x7fff));
        let found = end.received(0, Grh::LEN + 7);
        assert_eq!(found.source_qp, Some(GOLDEN), "{profile:?}");
    }
}

#[test]
fn any_address_of_the_port_will_do() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let Stage { end, queue_pair, .. } = &forger.stage;
        end.device.port().set_address(15, [10, 0, 0, 77].into()).expect("a register");
        post_receive(end, queue_pair, 0, 1000);
        forger.send(forger.changed(b"there", |frame| four(frame).destination = [10, 0, 0, 77].into()));
        end.received(0, Grh::LEN + 5);
        let grh = Grh::read(&end.memory, INBOX).expect("a header");
        let back = grh.answer(end.device.port(), [9; 6]).expect("it was for this port");
        assert_eq!(back.source_address, 15, "{profile:?}");
    }
}

#[test]
fn without_a_receive_a_datagram_is_lost_and_counted() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let Stage { end, queue_pair, .. } = &forger.stage;
        let before = forger.counts();
        forger.send(forger.good(b"too early"));
        assert_eq!(forger.since(before), [0, 1, 0, 0], "{profile:?}");
        assert_eq!(end.poll(), None);
        assert_eq!(queue_pair.query().expect("it lives").state, QueuePairState::ReadyToSend as u8);
        post_receive(end, queue_pair, 3, 1000);
        forger.accept(3, b"in time");
    }
}

#[test]
fn a_receive_that_is_too_short_fails_alone_and_its_queue_pair_goes_on() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let Stage { end, queue_pair, .. } = &forger.stage;
        // A byte too few for the payload, and too few for what stands in front of it.
        for (slot, room, payload) in [(0, 139, 100), (1, 39, 0), (2, 0, 0)] {
            let before = forger.counts();
            end.put(INBOX + slot * ROOM, &[0xa5; 256]);
            post_receive(end, queue_pair, slot, room);
            forger.send(forger.good(&pattern(1, payload)));
            assert_eq!(forger.since(before), [0, 1, 0, 0], "{profile:?}: {room} bytes");
            let found = end.poll().expect("it is told");
            assert_eq!(
                (found.wr_id, found.status, found.length),
                (slot as u64, Status::LocalLength, 0),
                "{profile:?}: {room} bytes"
            );
            let behind = end.bytes(INBOX + slot * ROOM + room, 256 - room);
            assert_eq!(behind, vec![0xa5; 256 - room], "{profile:?}: {room} bytes");
            assert_eq!(queue_pair.query().expect("it lives").state, QueuePairState::ReadyToSend as u8);
            post_receive(end, queue_pair, 3, 1000);
            forger.accept(3, b"as before");
        }
    }
}

#[test]
fn datagrams_are_taken_from_ready_to_receive_on() {
    for profile in widths!() {
        let forger = Forger::new(profile);
        let end = &forger.stage.end;
        let young = builder(end).build().expect("a queue pair");
        let number = Qpn::new(young.number());
        let deth = Deth { queue_key: key(0), source_qp: GOLDEN, ..Deth::default() };
        let bytes = frame(&path(1, 0, false), number, deth, None, b"hello");
        let before = forger.counts();
        forger.send(bytes.clone());
        young.to_init(Attributes::default().q_key(key(0)).p_key(0xffff)).expect("it is in Reset");
        post_receive(end, &young, 0, 100);
        forger.send(bytes.clone());
        assert_eq!(forger.since(before), [2, 0, 0, 0], "{profile:?}");
        young.to_rtr(Attributes::default()).expect("it is in Init");
        forger.send(bytes);
        let found = end.received(0, Grh::LEN + 5);
        assert_eq!(found.queue_pair, young.number(), "{profile:?}");
        assert_eq!(forger.since(before), [2, 0, 1, 0], "{profile:?}");
    }
}
