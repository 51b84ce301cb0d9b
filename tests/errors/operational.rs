//! The responder fails, through no fault of its peer: a receive that is of no use, memory that cannot be read or written.

use stroma_abi::regs::map::counters;
use stroma_abi::wire::opcode::{RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_ONLY, RC_WRITE_ONLY};
use stroma_abi::wire::{NakCode, Syndrome};
use stroma_hw::state::access::Cause;
use stroma_sim::model::Packet;
use stroma_tests::pair::MEMORY;
use stroma_tests::widths;
use stroma_verbs::{Access, AsyncEvent, QueuePair, QueuePairState, Sge, Status};

use crate::packets::{Answer, addition, nak, packet, reth};
use crate::stage::{PEER_PSN, Stage, is, on};

/// A page of the memory that no receive uses.
const PAGE: usize = 0x8_0000;

/// A SEND of eight bytes finds that its receive is of no use.
fn receive_fails(stage: &Stage, queue_pair: &QueuePair, what: &str, status: Status, vendor: u8) {
    stage.send(queue_pair, &packet(RC_SEND_ONLY, PEER_PSN, 8));
    stage.answers(what, nak(NakCode::RemoteOperational, PEER_PSN));
    let found = stage.end.complete();
    let found = (found.wr_id, found.status, found.vendor, found.is_receive);
    assert_eq!(found, (1, status, vendor, true), "{what}");
    assert!(is(queue_pair, QueuePairState::Error), "{what}");
    stage.rests(what);
}

#[test]
fn a_receive_that_names_memory_it_may_not_have_fails_and_so_does_the_senders_request() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        let read_only = end.domain.allocate(4096, Access::LOCAL_READ).expect("a region");
        let other = end.device.protection_domain().expect("a domain");
        let foreign = other.allocate(4096, Access::LOCAL_WRITE).expect("a region");
        let good = end.piece(0, 64);
        let cases = [
            ("a receive with a wrong key", Sge { local_key: good.local_key ^ 1, ..good }, Cause::Key),
            ("a receive in another domain", foreign.piece(0, 64).expect("a piece"), Cause::Domain),
            ("a receive that may not be written", read_only.piece(0, 64).expect("a piece"), Cause::Rights),
            (
                "a receive behind its region",
                Sge { address: end.at(0) + MEMORY as u64, ..good },
                Cause::Bounds,
            ),
        ];
        for (name, piece, cause) in cases {
            let what = format!("{profile:?}, {name}");
            let queue_pair = stage.connect(|_| {});
            queue_pair.receives().expect("a queue").receive(1, &[piece]).post().expect("room");
            receive_fails(&stage, &queue_pair, &what, Status::LocalProtection, cause as u8);
        }
    }
}

#[test]
fn a_receive_that_contradicts_itself_or_cannot_be_read_fails_and_so_does_the_senders_request() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let connect = || {
            let queue_pair = stage.connect(|_| {});
            let ring = queue_pair.query().expect("a card").receive_base;
            let piece = stage.end.piece(0, 64);
            queue_pair.receives().expect("a queue").receive(1, &[piece]).post().expect("room");
            (queue_pair, ring)
        };
        // Its first byte is the number of its pieces, of which the queue's entries hold 16.
        let (queue_pair, ring) = connect();
        stage.poke(ring, &[17]);
        let what = on(profile, "a receive of more pieces than it has room for");
        receive_fails(&stage, &queue_pair, &what, Status::LocalQueuePair, 0);

        let (queue_pair, ring) = connect();
        stage.hide(ring, true);
        let what = on(profile, "a receive queue that cannot be read");
        receive_fails(&stage, &queue_pair, &what, Status::General, 0);
        stage.hide(ring, false);
    }
}

#[test]
fn a_page_list_that_cannot_be_read_fails_what_needs_it_and_is_no_fault_of_the_peer() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        let (region, list) = stage.listed();
        let address = |page: usize| region.address(page * 4096).expect("a page");
        stage.hide(list, true);

        let queue_pair = stage.connect(|_| {});
        let piece = region.piece(8 * 4096, 64).expect("a piece");
        queue_pair.receives().expect("a queue").receive(1, &[piece]).post().expect("room");
        let what = on(profile, "a receive whose page list cannot be read");
        receive_fails(&stage, &queue_pair, &what, Status::General, Cause::PageList as u8);

        for (index, opcode) in [RC_WRITE_ONLY, RC_READ_REQUEST, RC_FETCH_ADD].into_iter().enumerate() {
            let what = format!("{}, {}", on(profile, "a page list that cannot be read"), opcode.name);
            let queue_pair = stage.connect(|_| {});
            let target = address(16 + 8 * index);
            let extended = match opcode {
                RC_FETCH_ADD => addition(target, region.rkey()),
                _ => reth(target, region.rkey(), 8),
            };
            let payload = if opcode.payload { 8 } else { 0 };
            stage.send(&queue_pair, &Packet { extended, ..packet(opcode, PEER_PSN, payload) });
            stage.answers(&what, nak(NakCode::RemoteOperational, PEER_PSN));
            stage.tells_error(&what, &queue_pair, Status::General);
            assert!(is(&queue_pair, QueuePairState::Error), "{what}");
            stage.rests(&what);
        }
        assert!(end.count(&counters::DMA_ERRORS) > 0, "{profile:?}");
    }
}

#[test]
fn memory_that_cannot_be_read_fails_the_read_or_atomic_that_asks_for_it() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        stage.hide(stage.dma_base(&end.memory) + PAGE as u64, true);
        for opcode in [RC_READ_REQUEST, RC_FETCH_ADD] {
            let what = format!("{}, {}", on(profile, "memory that cannot be read"), opcode.name);
            let queue_pair = stage.connect(|_| {});
            let extended = match opcode {
                RC_FETCH_ADD => addition(end.at(PAGE), end.memory.rkey()),
                _ => reth(end.at(PAGE), end.memory.rkey(), 8),
            };
            stage.send(&queue_pair, &Packet { extended, ..packet(opcode, PEER_PSN, 0) });
            stage.answers(&what, nak(NakCode::RemoteOperational, PEER_PSN));
            stage.tells_error(&what, &queue_pair, Status::General);
            assert!(is(&queue_pair, QueuePairState::Error), "{what}");
            stage.rests(&what);
        }
    }
}

#[test]
fn memory_that_cannot_be_written_is_told_by_events_for_the_write_was_acknowledged() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        let hidden = stage.dma_base(&end.memory) + PAGE as u64;
        stage.hide(hidden, true);
        let what = on(profile, "memory that cannot be written");
        let queue_pair = stage.connect(|_| {});
        let extended = reth(end.at(PAGE), end.memory.rkey(), 8);
        stage.send(&queue_pair, &Packet { extended, ..packet(RC_WRITE_ONLY, PEER_PSN, 8) });
        stage.answers(&what, Answer { syndrome: Syndrome::Ack { credits: 31 }, psn: PEER_PSN });
        let events = [end.event(), end.event()];
        let is_told = |event: &AsyncEvent| match event {
            AsyncEvent::CardError { address } => *address == hidden,
            AsyncEvent::QueuePairError { queue_pair: of, .. } => *of == queue_pair.number(),
            _ => false,
        };
        assert!(events.iter().all(is_told) && events[0] != events[1], "{what}: {events:?}");
        assert!(is(&queue_pair, QueuePairState::Error), "{what}");
        stage.rests(&what);
    }
}
