//! Requests that break a rule of the transport: each is refused as invalid, and ends the queue pair.

use stroma_abi::wire::opcode::{
    RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_FIRST, RC_SEND_LAST, RC_SEND_MIDDLE, RC_SEND_ONLY, RC_WRITE_FIRST,
    RC_WRITE_LAST, RC_WRITE_MIDDLE, RC_WRITE_ONLY,
};
use stroma_abi::wire::{Extended, Header, NakCode, Opcode};
use stroma_sim::model::Packet;
use stroma_tests::pair::pattern;
use stroma_tests::widths;
use stroma_verbs::{Access, Connection, QueuePairState, Status};

use crate::packets::{addition, nak, packet, reth};
use crate::stage::{MTU, PEER_PSN, Stage, is};

/// One more than the longest message that the specification knows.
const TOO_LONG: u32 = (1 << 31) + 1;
/// The memory that requests go to, and that of receives.
const TARGET: usize = 4096;
const INBOX: usize = 8192;

/// A request: op-code, length in its RETH if it has one, bytes of payload.
type Request = (Opcode, u32, usize);

struct Case {
    name: &'static str,
    /// The last is refused, those before are not.
    requests: &'static [Request],
    /// What the peer may do, and how many READs and atomics at a time.
    agreed: fn(&mut Connection),
}

const fn case(name: &'static str, requests: &'static [Request]) -> Case {
    Case { name, requests, agreed: |_| {} }
}

/// Bytes of the longest payload that the receive front end takes, more than a packet of this path has.
const WIDE: usize = MTU + 4;

const CASES: &[Case] = &[
    // The place in the message.
    case("a WRITE Middle without a First", &[(RC_WRITE_MIDDLE, 0, MTU)]),
    case("a WRITE Last without a First", &[(RC_WRITE_LAST, 0, 8)]),
    case("a SEND Middle without a First", &[(RC_SEND_MIDDLE, 0, MTU)]),
    case("a SEND Last without a First", &[(RC_SEND_LAST, 0, 8)]),
    case("a WRITE First within a WRITE", &[(RC_WRITE_FIRST, 700, MTU), (RC_WRITE_FIRST, 700, MTU)]),
    case("a WRITE Only within a WRITE", &[(RC_WRITE_FIRST, 700, MTU), (RC_WRITE_ONLY, 8, 8)]),
    case("a SEND Only within a SEND", &[(RC_SEND_FIRST, 0, MTU), (RC_SEND_ONLY, 0, 8)]),
    case("a SEND Middle within a WRITE", &[(RC_WRITE_FIRST, 700, MTU), (RC_SEND_MIDDLE, 0, MTU)]),
    case("a WRITE Last within a SEND", &[(RC_SEND_FIRST, 0, MTU), (RC_WRITE_LAST, 0, 8)]),
    case("a READ within a WRITE", &[(RC_WRITE_FIRST, 700, MTU), (RC_READ_REQUEST, 8, 0)]),
    case("an atomic within a SEND", &[(RC_SEND_FIRST, 0, MTU), (RC_FETCH_ADD, 0, 0)]),
    // The length of the packet.
    case("a WRITE First that is not full", &[(RC_WRITE_FIRST, 700, MTU - 4)]),
    case("a WRITE Middle that is not full", &[(RC_WRITE_FIRST, 700, MTU), (RC_WRITE_MIDDLE, 0, MTU - 4)]),
    case("a SEND First that is not full", &[(RC_SEND_FIRST, 0, MTU - 4)]),
    case("a SEND First longer than the path MTU", &[(RC_SEND_FIRST, 0, WIDE)]),
    case("a SEND Only longer than the path MTU", &[(RC_SEND_ONLY, 0, WIDE)]),
    case("a WRITE Only longer than the path MTU", &[(RC_WRITE_ONLY, 260, WIDE)]),
    case("a SEND Last without bytes", &[(RC_SEND_FIRST, 0, MTU), (RC_SEND_LAST, 0, 0)]),
    // The length of the message.
    case("a WRITE Only with fewer bytes than it says", &[(RC_WRITE_ONLY, 9, 8)]),
    case("a WRITE Only with more bytes than it says", &[(RC_WRITE_ONLY, 7, 8)]),
    case("a WRITE First that says it is the whole", &[(RC_WRITE_FIRST, 256, MTU)]),
    case("a WRITE Last before its end", &[(RC_WRITE_FIRST, 700, MTU), (RC_WRITE_LAST, 0, 100)]),
    case("a WRITE Middle beyond its end", &[(RC_WRITE_FIRST, 500, MTU), (RC_WRITE_MIDDLE, 0, MTU)]),
    case("a WRITE longer than 2 GiB", &[(RC_WRITE_FIRST, TOO_LONG, MTU)]),
    case("a READ longer than 2 GiB", &[(RC_READ_REQUEST, TOO_LONG, 0)]),
    // What the queue pair lets its peer do.
    Case {
        name: "a WRITE without the queue pair's right",
        requests: &[(RC_WRITE_ONLY, 8, 8)],
        agreed: |connection| connection.rights = Access::REMOTE_READ,
    },
    Case {
        name: "a READ without the queue pair's right",
        requests: &[(RC_READ_REQUEST, 8, 0)],
        agreed: |connection| connection.rights = Access::REMOTE_WRITE,
    },
    Case {
        name: "an atomic without the queue pair's right",
        requests: &[(RC_FETCH_ADD, 0, 0)],
        agreed: |connection| connection.rights = Access::REMOTE_WRITE | Access::REMOTE_READ,
    },
    Case {
        name: "a READ where none may be open",
        requests: &[(RC_READ_REQUEST, 8, 0)],
        agreed: |connection| connection.reads_in = 0,
    },
    Case {
        name: "an atomic where none may be open",
        requests: &[(RC_FETCH_ADD, 0, 0)],
        agreed: |connection| connection.reads_in = 0,
    },
];

fn request(stage: &Stage, (opcode, length, payload): Request, psn: u32) -> Packet {
    let (address, key) = (stage.end.at(TARGET), stage.end.memory.rkey());
    let extended = match opcode.headers {
        [] => Extended::default(),
        [Header::AtomicEth] => addition(address, key),
        _ => reth(address, key, length),
    };
    Packet { extended, ..packet(opcode, psn, payload) }
}

fn refused(stage: &Stage, case: &Case, what: &str) {
    let end = &stage.end;
    let queue_pair = stage.connect(case.agreed);
    let receives = queue_pair.receives().expect("a receive queue");
    receives.receive(1, &[end.piece(INBOX, 2048)]).post().expect("room");
    let before = end.bytes(0, 1 << 14);
    let (last, early) = case.requests.split_last().expect("a request");
    for (one, psn) in early.iter().zip(PEER_PSN..) {
        stage.send(&queue_pair, &Packet { ack_request: false, ..request(stage, *one, psn) });
    }
    let psn = PEER_PSN + u32::try_from(early.len()).expect("few");
    stage.send(&queue_pair, &request(stage, *last, psn));
    stage.answers(what, nak(NakCode::InvalidRequest, psn));
    stage.tells_error(what, &queue_pair, Status::RemoteInvalid);
    let found = end.complete();
    assert_eq!((found.wr_id, found.status, found.is_receive), (1, Status::Flushed, true), "{what}");
    assert!(is(&queue_pair, QueuePairState::Error), "{what}");
    stage.rests(what);
    // What came before was placed, and nothing of the refused one.
    let mut expected = before;
    for ((opcode, ..), psn) in early.iter().zip(PEER_PSN..) {
        let place = if opcode.headers.is_empty() { INBOX } else { TARGET };
        expected[place..place + MTU].copy_from_slice(&pattern(u64::from(psn), MTU));
    }
    assert!(end.bytes(0, 1 << 14) == expected, "{what}: something else moved");
}

#[test]
fn a_request_that_breaks_a_rule_is_refused_as_invalid_and_ends_the_queue_pair() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        for case in CASES {
            stage.end.put(0, &vec![0; 1 << 14]);
            refused(&stage, case, &format!("{profile:?}, {}", case.name));
        }
    }
}
