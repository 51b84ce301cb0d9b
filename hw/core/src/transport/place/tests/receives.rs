//! What goes to a list, and what a receive is told.

use stroma_abi::desc::{Cqe, Event, Status};
use stroma_verilate::Pause;

use super::corners::{
    EVEN, FLUSHED, GENERAL, NAK_ACCESS, NAK_OPERATION, ODD, PROTECTION, ends, refused, request, rng, write,
};
use super::errands::{blank, value};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::{Rig, STREAMS};
use crate::transport::records::{Errand, List};

/// A piece of a SEND, which has to be acknowledged.
fn piece(va: u64, key: u64) -> (Errand, Vec<u8>) {
    let (errand, bytes) = write(va, 64, key);
    (Errand { list: (List::Receive as u64).into(), ..errand }, bytes)
}

/// The last one: the receive is over.
fn last(va: u64, key: u64) -> (Errand, Vec<u8>) {
    let (errand, bytes) = piece(va, key);
    (Errand { completes: true, status: 0.into(), vendor: 0.into(), ..errand }, bytes)
}

/// A receive is given up.
fn recall() -> Visit {
    let status = FLUSHED.into();
    Visit::Request(vec![(Errand { completes: true, status, vendor: 0.into(), ..blank(&mut rng()) }, vec![])])
}

/// A message of this side is over.
fn over() -> Visit {
    let errand = Errand { completes: true, retires: true, ..blank(&mut rng()) };
    Visit::Response(vec![(errand, vec![])])
}

#[test]
fn a_completion_says_what_the_errand_says() {
    let mut rig = Rig::<64>::new();
    let (errand, bytes) = last(EVEN, 7);
    let cqe = Cqe { receive: true, has_immediate: true, ..Cqe::default() };
    let flags = cqe.to_bytes()[Cqe::RECEIVE.byte];
    let errand = Errand {
        detail: 0xdead_beef_u64.into(),
        flags: u64::from(flags).into(),
        length: 0x1234.into(),
        ..errand
    };
    rig.send(&[request((errand, bytes))]);
    let done = rig.expected.dones[0].0;
    assert_eq!((u64::from(done.detail), u64::from(done.flags)), (0xdead_beef, u64::from(flags)));
    assert_eq!((u64::from(done.length), u64::from(done.source_qp)), (0x1234, 0));
    rig.finish();
}

#[test]
fn the_completion_of_a_datagram_says_who_has_sent_it() {
    let mut rig = Rig::<64>::new();
    let (errand, bytes) = last(EVEN, 7);
    let cqe = Cqe { receive: true, has_grh: true, ..Cqe::default() };
    let flags = u64::from(cqe.to_bytes()[Cqe::RECEIVE.byte]);
    let errand = Errand { flags: flags.into(), value: 0x99ab_cdef_u64.into(), ..errand };
    rig.send(&[request((errand, bytes))]);
    let done = rig.expected.dones[0].0;
    assert_eq!((u64::from(done.flags), u64::from(done.source_qp)), (flags, 0xab_cdef));
    rig.finish();
}

#[test]
fn a_piece_that_is_refused_is_the_fault_of_this_side_and_its_receive_tells_it() {
    let mut rig = Rig::<64>::new();
    for (cause, status) in [(Cause::Key, PROTECTION), (Cause::Bounds, PROTECTION), (Cause::PageList, GENERAL)]
    {
        let found = ends(&mut rig, &[request(last(ODD, refused(cause)))]);
        let dones = vec![(status, cause as u64)];
        assert_eq!(found, (0, vec![(NAK_OPERATION, 0x11)], vec![(status, false)], dones));
        assert_eq!(u64::from(rig.expected.dones[0].0.length), 0);
        assert_eq!(rig.expected.refused, 1);
        rig.change(1, true);
    }
}

#[test]
fn a_refusal_within_a_message_waits_for_the_completion_of_its_receive_and_no_other() {
    let mut rig = Rig::<64>::new();
    let found = ends(
        &mut rig,
        &[
            request(piece(ODD, refused(Cause::Rights))),
            over(),
            request(piece(EVEN, 7)),
            recall(),
            recall(),
            over(),
        ],
    );
    let dones = vec![(FLUSHED, 0), (PROTECTION, 3), (FLUSHED, 0), (FLUSHED, 0)];
    assert_eq!(found, (0, vec![(NAK_OPERATION, 0x11)], vec![(PROTECTION, false)], dones));
    // The later pieces of a packet: the last one is behind the failure, and completes.
    rig.change(1, true);
    let (first, bytes) = piece(ODD, refused(Cause::Key));
    let packet = vec![(Errand { ends: false, ..first }, bytes), last(EVEN, 7)];
    let found = ends(&mut rig, &[Visit::Request(packet), recall()]);
    let dones = vec![(PROTECTION, 1), (FLUSHED, 0)];
    assert_eq!(found, (0, vec![(NAK_OPERATION, 0x11)], vec![(PROTECTION, false)], dones));
}

#[test]
fn what_is_refused_itself_was_not_overtaken_and_what_comes_behind_it_was() {
    let mut rig = Rig::<64>::new();
    let as_awaited = |is_awaited, (errand, bytes)| (Errand { is_awaited, ..errand }, bytes);
    let (first, bytes) = as_awaited(true, piece(ODD, refused(Cause::Key)));
    let packet = vec![(Errand { ends: false, ..first }, bytes), as_awaited(true, last(EVEN, 7))];
    let [behind, repeated] = [true, false].map(|is_awaited| request(as_awaited(is_awaited, last(EVEN, 7))));
    rig.send(&[Visit::Request(packet), behind.clone(), repeated]);
    assert_eq!((rig.expected.accepted, rig.expected.overtaken), (1, 1));
    rig.finish();
    rig.change(1, true);
    rig.send(&[behind]);
    assert_eq!((rig.expected.accepted, rig.expected.overtaken), (1, 0));
    rig.finish();
}

#[test]
fn what_an_answer_of_the_peer_fails_with_is_told_by_no_receive() {
    let mut rig = Rig::<64>::new();
    let (data, bytes) = write(ODD, 64, refused(Cause::Key));
    let data = Errand { answer: 0.into(), ..data };
    let found = ends(&mut rig, &[Visit::Response(vec![(data, bytes)]), recall(), over(), recall()]);
    let dones = vec![(FLUSHED, 0), (PROTECTION, 1), (FLUSHED, 0)];
    assert_eq!(found, (0, vec![], vec![(PROTECTION, false)], dones));
}

#[test]
fn a_receive_that_is_too_short_tells_so_when_it_completes() {
    let mut rig = Rig::<64>::new();
    let status = u64::from(Status::LocalLength as u8);
    let short = |completes| {
        let (errand, bytes) = last(EVEN, 7);
        let errand = Errand {
            completes,
            fails: true,
            places: false,
            span: 0.into(),
            status: status.into(),
            vendor: 9.into(),
            ..errand
        };
        request((errand, bytes))
    };
    let told = vec![(status, 9), (FLUSHED, 0)];
    let found = ends(&mut rig, &[short(true), recall()]);
    assert_eq!((found.0, found.2, found.3), (0, vec![(status, false)], told.clone()));
    assert_eq!(u64::from(rig.expected.dones[0].0.length), 0);
    rig.change(1, true);
    let found = ends(&mut rig, &[short(false), over(), recall()]);
    assert_eq!((found.2, found.3), (vec![(status, false)], vec![(FLUSHED, 0), (status, 9)]));
}

#[test]
fn a_list_of_the_send_queue_that_fails_is_told_by_its_message_signaled_or_not() {
    let mut rig = Rig::<64>::new();
    let status = u64::from(Status::LocalQueuePair as u8);
    let fails = Errand {
        fails: true,
        list: (List::Send as u64).into(),
        status: status.into(),
        vendor: 0.into(),
        ..blank(&mut rng())
    };
    let within = Visit::Response(vec![(fails, vec![])]);
    let found = ends(&mut rig, &[within, recall(), over(), over()]);
    let dones = vec![(FLUSHED, 0), (status, 0), (FLUSHED, 0)];
    assert_eq!(found, (0, vec![], vec![(status, false)], dones));
    rig.change(1, true);
    let at_end = Visit::Response(vec![(Errand { retires: true, ..fails }, vec![])]);
    let found = ends(&mut rig, &[at_end, over()]);
    assert_eq!(found, (0, vec![], vec![(status, false)], vec![(status, 0), (FLUSHED, 0)]));
}

#[test]
fn a_write_with_immediate_data_that_is_refused_flushes_its_receive() {
    let mut rig = Rig::<64>::new();
    for (cause, nak, status) in [(Cause::Key, NAK_ACCESS, 10), (Cause::PageList, NAK_OPERATION, GENERAL)] {
        let (errand, bytes) = write(ODD, 64, refused(cause));
        let errand = Errand { completes: true, ..errand };
        let found = ends(&mut rig, &[request((errand, bytes)), recall()]);
        let dones = vec![(FLUSHED, 0), (FLUSHED, 0)];
        assert_eq!(found, (0, vec![(nak, 0x11)], vec![(status, true)], dones));
        rig.change(1, true);
    }
}

#[test]
fn receives_are_given_up_without_a_failure_here() {
    let mut rig = Rig::<64>::new();
    let found = ends(&mut rig, &[recall(), recall(), over()]);
    let own = blank(&mut rng());
    let dones = vec![(FLUSHED, 0), (FLUSHED, 0), (own.status.into(), own.vendor.into())];
    assert_eq!(found, (0, vec![], vec![], dones));
}

#[test]
fn the_last_receive_is_told_behind_its_completion_and_behind_a_failure_too() {
    let mut rig = Rig::<64>::new();
    let last = |completes| {
        let errand = Errand { completes, last_receive: true, status: FLUSHED.into(), ..blank(&mut rng()) };
        Visit::Request(vec![(errand, vec![])])
    };
    for fails in [false, true] {
        if fails {
            ends(&mut rig, &[request(write(ODD, 8, refused(Cause::Key)))]);
        }
        for completes in [false, true] {
            rig.send(&[last(completes)]);
            let event = rig.expected.events[0].0;
            assert_eq!((u64::from(event.kind), u64::from(event.object)), (Event::LastReceive as u64, 1));
            assert_eq!(rig.expected.dones.len(), usize::from(completes));
            rig.finish();
        }
    }
    // Nobody takes the event: the arrival stays, and so does all behind it.
    let mut stall = [(); STREAMS].map(|()| Pause::None);
    stall[13] = Pause::Always;
    rig.pause(stall);
    rig.send(&[last(true), recall()]);
    rig.run(100);
    assert_eq!((rig.seen.dones, rig.left), (1, 0), "the completion is given once");
    rig.pause([(); STREAMS].map(|()| Pause::None));
    rig.finish();
}

fn every_value<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = rng();
    for before in 1..16 {
        let one = Visit::Response(vec![(value(&mut rng, ODD - before), vec![])]);
        let (errand, bytes) = write(ODD - before, 24, 7);
        let payload = Visit::Response(vec![(Errand { answer: 0.into(), ..errand }, bytes)]);
        rig.send(&[one.clone(), payload.clone(), one.clone(), one, payload]);
        let lengths: Vec<usize> = rig.expected.writes.iter().map(|write| write.bytes.len()).collect();
        let before = usize::try_from(before).expect("small");
        let cut = if before < 8 { vec![before, 8 - before] } else { vec![8] };
        assert_eq!(lengths[..cut.len()], cut);
        rig.finish();
    }
}

#[test]
fn a_value_is_written_like_a_payload_of_eight_bytes_and_takes_none() {
    every_value::<64>();
    every_value::<512>();
}

#[test]
fn a_value_that_is_refused_fails_its_message() {
    let mut rig = Rig::<64>::new();
    let errand = value(&mut rng(), ODD - 4);
    let key = refused(Cause::PageList).into();
    let errand = Errand { key, completes: true, retires: true, ..errand };
    let found = ends(&mut rig, &[Visit::Response(vec![(errand, vec![])])]);
    assert_eq!(found, (0, vec![], vec![(GENERAL, false)], vec![(GENERAL, 5)]));
}
