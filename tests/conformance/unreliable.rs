//! Unreliable connections: whatever becomes of packets, whole messages arrive or none, nobody is told, and the next one finds all in order. Of
//! 700 bytes are a First, a Middle and a Last.

use stroma_abi::Psn;
use stroma_abi::regs::map::counters;
use stroma_tests::pair::{End, Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{QueuePair, QueuePairKind, Status};

use crate::operation::Operation::{self, Send, SendImm, Write, WriteImm, WriteWrongKey};
use crate::operation::{Received, post};
use crate::run::{script, settle};

/// PSN of the first request: the numbers wrap on the way.
const PSN: u32 = 0xff_fffe;
/// Where the receives lie in the far end's memory, and bytes of each.
const ROOM: usize = 1 << 19;
const PLACE: usize = 4096;
/// What stands there before.
const BEFORE: u8 = 0xee;

/// What goes wrong, and what arrives all the same.
struct Loss {
    /// A sentence.
    name: &'static str,
    /// Posted together.
    operations: &'static [Operation],
    /// Script of the line that leaves the near end.
    script: &'static str,
    /// Receives that are posted.
    receives: usize,
    /// The operations that are carried out, in order, as often as they are.
    arrives: &'static [usize],
    /// Packets that are thrown away.
    dropped: u64,
}

const fn loss(name: &'static str, operations: &'static [Operation], script: &'static str) -> Loss {
    Loss { name, operations, script, receives: 5, arrives: &[], dropped: 0 }
}

impl Loss {
    const fn arrives(mut self, arrives: &'static [usize], dropped: u64) -> Self {
        (self.arrives, self.dropped) = (arrives, dropped);
        self
    }

    const fn receives(mut self, receives: usize) -> Self {
        self.receives = receives;
        self
    }
}

const TWO: &[Operation] = &[Send(700), SendImm(100)];
const WRITES: &[Operation] = &[WriteImm(700), WriteImm(100)];

const LOSSES: &[Loss] = &[
    loss("nothing is lost", &[Send(700), WriteImm(700), Write(700), SendImm(100), Send(0)], "")
        .arrives(&[0, 1, 2, 3, 4], 0),
    loss("a SEND of one packet is lost", &[Send(100), Send(90), Send(80)], "drop the 2nd SEND")
        .arrives(&[0, 2], 0),
    loss("the First of a SEND is lost", TWO, "drop the next SEND First").arrives(&[1], 2),
    loss("the Middle of a SEND is lost", TWO, "drop the next SEND Middle").arrives(&[1], 1),
    loss("the Last of a SEND is lost", TWO, "drop the next SEND Last").arrives(&[1], 0),
    loss("the First of a WRITE is lost", WRITES, "drop the next WRITE First").arrives(&[1], 2),
    loss("the Middle of a WRITE is lost", WRITES, "drop the next WRITE Middle").arrives(&[1], 1),
    loss("the Last of a WRITE is lost", WRITES, "drop the next WRITE Last").arrives(&[1], 0),
    loss("a SEND is broken off by a WRITE", &[Send(700), WriteImm(700)], "drop the next SEND Last")
        .arrives(&[1], 0),
    loss("a WRITE is broken off by a SEND", &[WriteImm(700), Send(700)], "drop the next WRITE Last")
        .arrives(&[1], 0),
    loss(
        "First of one and Last of the next are lost",
        &[Send(700), Send(700)],
        "drop the next SEND First\ndrop the 2nd SEND Last",
    )
    .arrives(&[], 2),
    loss("a SEND of one packet comes twice", TWO, "duplicate the next SEND Only").arrives(&[0, 1, 1], 0),
    loss("every packet of a SEND comes twice", TWO, "duplicate SENDs 1 to 3").arrives(&[1], 3),
    loss("Middle and Last of a SEND change places", TWO, "swap the 2nd and the 3rd SEND").arrives(&[1], 2),
    loss("a Middle is broken, and the FCS tells", TWO, "corrupt byte 80 of the next SEND Middle")
        .arrives(&[1], 1),
    loss("there is no receive", &[Send(700), Send(100), Write(100)], "").receives(0).arrives(&[2], 4),
    loss("there is one receive less than messages", &[Send(100), SendImm(700), Write(700)], "")
        .receives(1)
        .arrives(&[0, 2], 3),
    loss("immediate data without a receive", &[WriteImm(700), Write(100)], "").receives(0).arrives(&[1], 1),
    loss("a key that no region has", &[WriteWrongKey, Write(700)], "").arrives(&[1], 1),
];

/// A connection that nobody answers on.
fn connect(pair: &Pair) -> [QueuePair; 2] {
    let pairs = [0, 1].map(|end: usize| {
        let End { domain, completions, .. } = &pair.ends[end];
        let builder = domain.queue_pair(completions).kind(QueuePairKind::Unreliable);
        builder.receive_entries(16).receive_pieces(1).send_units(64).build().expect("a queue pair")
    });
    pair.join(pairs.each_ref(), |end, connection| {
        connection.path_mtu = 1;
        *if end == 0 { &mut connection.send_psn } else { &mut connection.receive_psn } = Psn::new(PSN);
    });
    pairs
}

/// How far the counters of both cards stand that must not move, and the one that may.
fn counts(pair: &Pair) -> ([u64; 5], u64) {
    let [near, far] = &pair.ends;
    let still = [
        far.count(&counters::TX_FRAMES),
        far.count(&counters::NAKS),
        far.count(&counters::RNR_NAKS),
        near.count(&counters::RETRANSMITTED),
        near.count(&counters::TIMEOUTS),
    ];
    (still, far.count(&counters::UC_DROPPED))
}

/// Receives complete in the order of posting, each with a message that has arrived, and all of that.
fn check_receives(far: &End, loss: &Loss) {
    let taking =
        loss.arrives.iter().filter_map(|index| Some((*index, loss.operations[*index].received(*index)?)));
    for (number, (index, wanted)) in taking.enumerate() {
        let found = far.complete();
        let says = Received { op: found.op, length: found.length as usize, immediate: found.immediate };
        assert_eq!(
            (found.wr_id, found.status, says),
            (number as u64, Status::Success, wanted),
            "{}",
            loss.name
        );
        let room = loss.operations[index].room();
        let came = far.bytes(ROOM + number * PLACE, room);
        assert!(
            came == pattern(index as u64, room),
            "{}: receive {number}: other bytes than sent",
            loss.name
        );
    }
    assert_eq!(far.poll(), None, "{}: one more completion", loss.name);
}

fn suffer(pair: &Pair, loss: &Loss) {
    let [near, far] = &pair.ends;
    let [sender, receiver] = connect(pair);
    far.put(ROOM, &vec![BEFORE; 8 * PLACE]);
    for number in 0..loss.receives {
        let piece = [far.piece(ROOM + number * PLACE, PLACE)];
        receiver.receives().expect("it is connected").receive(number as u64, &piece).post().expect("room");
    }
    (0..).zip(loss.operations).for_each(|(index, operation)| operation.prepare(pair, index));
    let before = counts(pair);
    script(pair, 0, loss.script);
    post(pair, &sender, loss.operations);
    for wr_id in 0..loss.operations.len() {
        near.expect(wr_id as u64);
    }
    settle(pair);
    check_receives(far, loss);
    for index in loss.arrives {
        if let Write(_) | WriteImm(_) = loss.operations[*index] {
            assert!(loss.operations[*index].is_done(pair, *index), "{}: WRITE {index}", loss.name);
        }
    }
    let after = counts(pair);
    assert_eq!((after.0, after.1 - before.1), (before.0, loss.dropped), "{}", loss.name);
    script(pair, 0, "");

    // The next message arrives, in the next receive.
    let used =
        loss.arrives.iter().filter(|index| loss.operations[**index].received(**index).is_some()).count();
    let (place, wr_id) = if used < loss.receives { (used, used as u64) } else { (7, 77) };
    if wr_id == 77 {
        let piece = [far.piece(ROOM + place * PLACE, PLACE)];
        receiver.receives().expect("it is connected").receive(wr_id, &piece).post().expect("room");
    }
    near.put(0, &pattern(9, 600));
    sender.start().wr_id(99).signaled().send(&[near.piece(0, 600)]).post().expect("room");
    near.expect(99);
    far.received(wr_id, 600);
    assert!(far.bytes(ROOM + place * PLACE, 600) == pattern(9, 600), "{}: afterwards", loss.name);
}

#[test]
fn whole_messages_arrive_or_none_10g() {
    let pair = Pair::new(Profile::TenGig);
    for loss in LOSSES {
        suffer(&pair, loss);
    }
}

#[test]
fn whole_messages_arrive_or_none_100g() {
    let pair = Pair::new(Profile::HundredGig);
    for loss in LOSSES {
        suffer(&pair, loss);
    }
}
