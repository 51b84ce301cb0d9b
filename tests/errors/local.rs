//! Requests that fail before anything is sent: what is wrong with the WQE, or with the memory it names.

use stroma_abi::desc::wqe::BODY_AT;
use stroma_abi::desc::{Sge, WorkOp, WqeHead};
use stroma_hw::host::parse::Defect;
use stroma_hw::state::access::Cause;
use stroma_tests::pair::MEMORY;
use stroma_tests::widths;
use stroma_verbs::{Access, QueuePair, QueuePairState, Status};

use crate::stage::{Stage, is, on};

/// An address and a key at the peer, whose memory nobody looks at.
const ANYWHERE: (u64, u32) = (0x1000, 0x42);
/// Bytes of each request.
const LENGTH: usize = 64;

/// The request fails so, the next is flushed, nothing is sent and no event told.
fn fails(stage: &Stage, queue_pair: &QueuePair, what: &str, status: Status, vendor: u8) {
    let found = stage.end.complete();
    assert_eq!((found.wr_id, found.status, found.vendor), (1, status, vendor), "{what}");
    assert!(is(queue_pair, QueuePairState::Error), "{what}");
    queue_pair.start().wr_id(2).nop().post().expect("room");
    let found = stage.end.complete();
    assert_eq!((found.wr_id, found.status), (2, Status::Flushed), "{what}");
    stage.rests(what);
}

fn post_write(queue_pair: &QueuePair, piece: Sge) {
    let batch = queue_pair.start().wr_id(1).signaled().push(false);
    batch.write(&[piece], ANYWHERE.0, ANYWHERE.1).post().expect("room");
}

/// Spoils the head and the first entry of a WQE.
type Spoil = fn(&mut WqeHead, &mut Sge);

const MALFORMED: [(&str, Spoil, Status, Option<Defect>); 12] = [
    (
        "an op-code that there is not",
        |head, _| head.opcode = 0xee,
        Status::LocalQueuePair,
        Some(Defect::OpCode),
    ),
    ("the index of another lap", |head, _| head.index ^= 0x40, Status::LocalQueuePair, Some(Defect::Index)),
    ("no units", |head, _| head.units = 0, Status::LocalQueuePair, Some(Defect::Units)),
    ("more units than were posted", |head, _| head.units = 2, Status::LocalQueuePair, Some(Defect::Units)),
    ("a kernel of this card", |head, _| head.local = true, Status::LocalQueuePair, Some(Defect::Flags)),
    (
        "a READ with its data inline",
        |head, _| (head.opcode, head.inline, head.length) = (WorkOp::Read as u8, true, 8),
        Status::LocalQueuePair,
        Some(Defect::Flags),
    ),
    (
        "more inline data than it has room for",
        |head, _| (head.inline, head.length) = (true, 33),
        Status::LocalQueuePair,
        Some(Defect::InlineLength),
    ),
    (
        "more entries than it has room for",
        |head, _| head.sge_count = 3,
        Status::LocalQueuePair,
        Some(Defect::SgeCount),
    ),
    (
        "an atomic of more than eight bytes",
        |head, _| head.opcode = WorkOp::FetchAdd as u8,
        Status::LocalQueuePair,
        Some(Defect::SgeCount),
    ),
    (
        "entries shorter than the request",
        |head, _| head.length += 1,
        Status::LocalQueuePair,
        Some(Defect::Sum),
    ),
    (
        "entries longer than the request",
        |_, entry| entry.length += 1,
        Status::LocalQueuePair,
        Some(Defect::Sum),
    ),
    (
        "a message longer than 2 GiB",
        |head, entry| (head.length, entry.length) = ((1 << 31) + 1, (1 << 31) + 1),
        Status::LocalLength,
        None,
    ),
];

#[test]
fn a_request_that_contradicts_itself_fails_with_its_defect_and_nothing_is_sent() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        for (name, spoil, status, defect) in MALFORMED {
            let what = format!("{profile:?}, {name}");
            let queue_pair = stage.connect(|_| {});
            let ring = queue_pair.query().expect("a card").send_base;
            post_write(&queue_pair, stage.end.piece(0, LENGTH));
            // The doorbell is still under way, for no time has passed.
            let mut unit = stage.peek(ring, 64);
            let mut head = WqeHead::parse(&unit).expect("a head");
            let mut entry = Sge::parse(&unit[BODY_AT..]).expect("an entry");
            spoil(&mut head, &mut entry);
            head.emit(&mut unit);
            entry.emit(&mut unit[BODY_AT..]);
            stage.poke(ring, &unit);
            fails(&stage, &queue_pair, &what, status, defect.map_or(0, |defect| defect as u8));
        }
    }
}

#[test]
fn a_send_queue_that_cannot_be_read_fails_its_requests() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let what = on(profile, "a send queue that cannot be read");
        let queue_pair = stage.connect(|_| {});
        let ring = queue_pair.query().expect("a card").send_base;
        stage.hide(ring, true);
        post_write(&queue_pair, stage.end.piece(0, LENGTH));
        let found = stage.end.complete();
        let found = (found.wr_id, found.status, found.vendor);
        assert_eq!(found, (1, Status::General, Defect::Fetch as u8), "{what}");
        assert!(is(&queue_pair, QueuePairState::Error), "{what}");
        stage.rests(&what);
    }
}

#[test]
fn memory_that_a_request_may_not_have_fails_it_with_the_cause_and_nothing_is_sent() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        let read_only = end.domain.allocate(4096, Access::LOCAL_READ).expect("a region");
        let read_only = read_only.piece(0, LENGTH).expect("a piece");
        let other = end.device.protection_domain().expect("a domain");
        let foreign = other.allocate(4096, Access::LOCAL_WRITE).expect("a region");
        let foreign = foreign.piece(0, LENGTH).expect("a piece");
        let (listed, list) = stage.listed();
        let listed = listed.piece(8 * 4096, LENGTH).expect("a piece");
        stage.hide(list, true);
        let good = end.piece(0, LENGTH);
        let wrong = Sge { local_key: good.local_key ^ 1, ..good };
        let behind = Sge { address: end.at(0) + MEMORY as u64 - 1, ..good };
        let cases = [
            ("a key that the region does not have", wrong, Status::LocalProtection, Cause::Key),
            ("a region of another domain", foreign, Status::LocalProtection, Cause::Domain),
            ("a region that may not be written", read_only, Status::LocalProtection, Cause::Rights),
            ("a byte behind the region", behind, Status::LocalProtection, Cause::Bounds),
            ("a page list that cannot be read", listed, Status::General, Cause::PageList),
        ];
        for (name, piece, status, cause) in cases {
            for is_read in [false, true] {
                let queue_pair = stage.connect(|_| {});
                let (address, key) = ANYWHERE;
                let batch = queue_pair.start().wr_id(1).signaled();
                let batch = match (is_read, cause) {
                    // Reading it out is allowed.
                    (false, Cause::Rights) => continue,
                    (false, _) => batch.write(&[good, piece], address, key),
                    (true, _) => batch.read(&[good, piece], address, key),
                };
                batch.post().expect("room");
                let what = format!("{profile:?}, {name}, READ: {is_read}");
                fails(&stage, &queue_pair, &what, status, cause as u8);
            }
        }
    }
}

#[test]
fn a_read_or_atomic_where_none_may_be_open_fails_and_nothing_is_sent() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        for is_read in [false, true] {
            let what = on(
                profile,
                if is_read { "a READ where none may be open" } else { "an atomic where none may be open" },
            );
            let queue_pair = stage.connect(|connection| connection.reads_out = 0);
            let (address, key) = ANYWHERE;
            let (batch, piece) = (queue_pair.start().wr_id(1).signaled(), stage.end.piece(0, 8));
            let batch = if is_read {
                batch.read(&[piece], address, key)
            } else {
                batch.fetch_add(piece, address, key, 1)
            };
            batch.post().expect("room");
            fails(&stage, &queue_pair, &what, Status::LocalQueuePair, Defect::OpCode as u8);
        }
    }
}
