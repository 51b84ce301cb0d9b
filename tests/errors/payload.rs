//! What goes wrong when a request is under way: its memory is gone, or its WQE is another.

use stroma_abi::desc::wqe::BODY_AT;
use stroma_abi::desc::{Sge, WqeHead};
use stroma_abi::wire::opcode::RC_READ_RESPONSE_ONLY;
use stroma_abi::wire::{Frame, Syndrome};
use stroma_hw::host::parse::Defect;
use stroma_hw::state::access::Cause;
use stroma_sim::model::Packet;
use stroma_tests::widths;
use stroma_verbs::{Access, MemoryRegion, QueuePair, QueuePairState, Status};

use crate::packets::{aeth, packet};
use crate::stage::{CARD_PSN, MTU, Stage, is, on};

const ANYWHERE: (u64, u32) = (0x1000, 0x42);
/// Bytes of a READ's data.
const LENGTH: usize = 64;

/// The first request that is not over fails so, and no event is told. What has left meanwhile.
fn fails(stage: &Stage, queue_pair: &QueuePair, what: &str, status: Status, vendor: u8) -> Vec<Vec<u8>> {
    let found = stage.end.complete();
    assert_eq!((found.wr_id, found.status, found.vendor), (1, status, vendor), "{what}");
    assert!(is(queue_pair, QueuePairState::Error), "{what}");
    let frames = stage.drain();
    stage.rests(what);
    frames
}

fn region(stage: &Stage) -> MemoryRegion {
    stage.end.domain.allocate(16 * 4096, Access::LOCAL_WRITE).expect("a region")
}

#[test]
fn payload_that_faults_in_the_middle_of_a_message_fails_it() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let what = on(profile, "payload that cannot be read");
        let region = region(&stage);
        let hidden = 2 * 4096..3 * 4096_usize;
        stage.hide(stage.dma_base(&region) + hidden.start as u64, true);
        let queue_pair = stage.connect(|_| {});
        let piece = region.piece(0, 16 * 4096).expect("a piece");
        queue_pair.start().wr_id(1).write(&[piece], ANYWHERE.0, ANYWHERE.1).post().expect("room");
        let frames = fails(&stage, &queue_pair, &what, Status::General, 0);
        // What stands before the gap has left, and some of what is behind it may: the peer throws that away.
        let sent = frames.iter().map(|frame| {
            let frame = Frame::parse(frame).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            MTU * (frame.bth.psn.value() - CARD_PSN) as usize
        });
        let sent: Vec<usize> = sent.collect();
        assert_eq!(sent.iter().filter(|at| **at < hidden.start).count(), hidden.start / MTU, "{what}");
        assert!(!sent.iter().any(|at| hidden.contains(at)), "{what}: sent what could not be read");
    }
}

#[test]
fn a_region_that_ends_before_its_message_is_sent_again_fails_it() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let what = on(profile, "payload that may not be read any more");
        let region = region(&stage);
        let queue_pair = stage.connect(|_| {});
        let piece = region.piece(0, 100).expect("a piece");
        queue_pair.start().wr_id(1).write(&[piece], ANYWHERE.0, ANYWHERE.1).post().expect("room");
        stage.next(&what);
        drop(region.deregister().expect("a card that answers"));
        fails(&stage, &queue_pair, &what, Status::LocalProtection, Cause::Key as u8);
    }
}

#[test]
fn a_request_that_was_changed_when_it_is_sent_again_fails() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let what = on(profile, "a WQE that was changed");
        let queue_pair = stage.connect(|_| {});
        let ring = queue_pair.query().expect("a card").send_base;
        let batch = queue_pair.start().wr_id(1).push(false);
        batch.write(&[stage.end.piece(0, 100)], ANYWHERE.0, ANYWHERE.1).post().expect("room");
        stage.next(&what);
        let mut unit = stage.peek(ring, 64);
        let mut head = WqeHead::parse(&unit).expect("a head");
        let mut entry = Sge::parse(&unit[BODY_AT..]).expect("an entry");
        (head.length, entry.length) = (600, 600);
        head.emit(&mut unit);
        entry.emit(&mut unit[BODY_AT..]);
        stage.poke(ring, &unit);
        fails(&stage, &queue_pair, &what, Status::LocalQueuePair, Defect::Index as u8);
    }
}

/// A READ is asked for; something happens; its data come.
fn read(stage: &Stage, pieces: &[Sge], what: &str, happens: impl FnOnce(&QueuePair)) -> QueuePair {
    let queue_pair = stage.connect(|_| {});
    let batch = queue_pair.start().wr_id(1).push(false);
    batch.read(pieces, ANYWHERE.0, ANYWHERE.1).post().expect("room");
    stage.next(what);
    happens(&queue_pair);
    let extended = aeth(Syndrome::Ack { credits: 31 });
    let data = packet(RC_READ_RESPONSE_ONLY, CARD_PSN, LENGTH);
    stage.send(&queue_pair, &Packet { extended, ack_request: false, ..data });
    queue_pair
}

#[test]
fn data_of_a_read_that_find_no_place_fail_it() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let what = on(profile, "a region that is gone when READ data come");
        let region = region(&stage);
        let piece = region.piece(0, LENGTH).expect("a piece");
        let mut memory = None;
        let queue_pair = read(&stage, &[piece], &what, |_| {
            memory = Some(region.deregister().expect("a card that answers"));
        });
        fails(&stage, &queue_pair, &what, Status::LocalProtection, Cause::Key as u8);
        let mut bytes = [0xee; LENGTH];
        memory.expect("it was given back").read(0, &mut bytes).expect("inside");
        assert_eq!(bytes, [0; LENGTH], "{what}: placed");

        let what = on(profile, "a list that cannot be read when READ data come");
        let halves = [stage.end.piece(0, LENGTH / 2), stage.end.piece(100, LENGTH / 2)];
        let mut ring = 0;
        let queue_pair = read(&stage, &halves, &what, |queue_pair| {
            ring = queue_pair.query().expect("a card").send_base;
            stage.hide(ring, true);
        });
        fails(&stage, &queue_pair, &what, Status::General, 0);
        stage.hide(ring, false);

        let what = on(profile, "a list of another request when READ data come");
        let queue_pair = read(&stage, &halves, &what, |queue_pair| {
            let ring = queue_pair.query().expect("a card").send_base;
            let mut unit = stage.peek(ring, 64);
            let mut head = WqeHead::parse(&unit).expect("a head");
            head.index ^= 0x40;
            head.emit(&mut unit);
            stage.poke(ring, &unit);
        });
        fails(&stage, &queue_pair, &what, Status::LocalQueuePair, 0);
    }
}
