//! What goes wrong is told, and stays where it happened.

use std::{sync::Arc, time::Instant};

use stroma_device::Backend;

use super::{Bench, PATIENCE, assert_empty, collect};
use crate::{Access, AsyncEvent, Attributes, Error, QueuePairKind, QueuePairState, Status, WorkCompletion};

fn statuses(found: &[WorkCompletion]) -> Vec<(u64, Status)> {
    found.iter().map(|found| (found.wr_id, found.status)).collect()
}

/// A failure completes unsignaled requests, too.
pub fn a_wrong_key_fails_and_flushes_what_is_behind(backend: Arc<dyn Backend>) {
    use Status::{Flushed, LocalProtection, Success};
    let bench = Bench::new(backend, 32, 32);
    let (target, key) = (bench.memory.address(0).unwrap(), bench.memory.lkey());
    let mut piece = bench.memory.piece(0, 8).unwrap();
    piece.local_key ^= 1;
    let batch = bench.queue_pair.start().wr_id(1).signaled().nop().wr_id(2).gather(&[piece], target, key);
    batch.wr_id(3).nop().wr_id(4).signaled().nop().post().unwrap();
    let found = collect(&bench.completions, 4);
    assert_eq!(statuses(&found), [(1, Success), (2, LocalProtection), (3, Flushed), (4, Flushed)]);
    assert_eq!(bench.queue_pair.state(), QueuePairState::Error);
    assert_eq!(bench.queue_pair.query().unwrap().state, QueuePairState::Error as u8);
    bench.queue_pair.start().wr_id(5).nop().post().unwrap();
    assert_eq!(statuses(&[bench.complete()]), [(5, Flushed)], "in error, requests are flushed");
    bench.queue_pair.reset().unwrap();
    bench.queue_pair.activate().unwrap();
    bench.round_trip();
}

/// Memory without the right to write is not written, and another domain's is not reached at all.
pub fn rights_and_domains_are_kept(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let constant = bench.domain.allocate(4096, Access::LOCAL_READ).unwrap();
    constant.write(0, b"constant").unwrap();
    let elsewhere = bench.device.protection_domain().unwrap();
    let foreign = elsewhere.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let ours = bench.memory.piece(0, 8).unwrap();
    let attempts = [
        (ours, &constant, Status::LocalProtection),
        (constant.piece(0, 8).unwrap(), &bench.memory, Status::Success),
        (ours, &foreign, Status::LocalProtection),
        (foreign.piece(0, 8).unwrap(), &bench.memory, Status::LocalProtection),
    ];
    for (piece, target, expected) in attempts {
        let address = target.address(0).unwrap();
        bench.queue_pair.start().signaled().gather(&[piece], address, target.lkey()).post().unwrap();
        assert_eq!(bench.complete().status, expected);
        bench.queue_pair.reset().unwrap();
        bench.queue_pair.activate().unwrap();
    }
    assert_eq!(bench.bytes(0, 8), b"constant");
    let mut found = [0; 8];
    constant.read(0, &mut found).unwrap();
    assert_eq!(&found, b"constant");
}

/// The driver knows the table of states; the card is not asked.
pub fn wrong_changes_of_state_are_refused_and_change_nothing(backend: Arc<dyn Backend>) {
    use QueuePairState::{Drained, Init, ReadyToSend, Reset};
    let bench = Bench::new(backend, 16, 16);
    let fresh = bench.domain.queue_pair(&bench.completions).build().unwrap();
    let refused = fresh.modify(&Attributes::default().state(ReadyToSend)).unwrap_err();
    let Error::BadTransition { from: Reset, to: ReadyToSend, is_known: false, .. } = refused else {
        panic!("{refused}")
    };
    let refused = fresh.to_init(Attributes::default().p_key(1)).unwrap_err();
    let Error::BadTransition { is_known: true, ref forbidden, .. } = refused else { panic!("{refused}") };
    assert_eq!(forbidden, &["P_KEY"]);
    assert_eq!((fresh.state(), fresh.query().unwrap().state), (Reset, Reset as u8));
    fresh.to_init(Attributes::default().pace(256)).unwrap();
    let found = fresh.query().unwrap();
    assert_eq!((found.state, found.pace, fresh.state()), (Init as u8, 256, Init));
    fresh.modify(&Attributes::default().pace(0)).unwrap();
    assert_eq!(fresh.query().unwrap().pace, 0);

    bench.queue_pair.modify(&Attributes::default().state(Drained)).unwrap();
    bench.queue_pair.start().wr_id(8).signaled().nop().post().unwrap();
    assert_empty(&bench.completions);
    bench.queue_pair.to_rts(Attributes::default()).unwrap();
    assert_eq!(bench.complete().wr_id, 8);
}

/// Before ready-to-send nothing is taken, and nothing is kept for later.
pub fn posting_needs_a_state_that_takes_requests(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let fresh = bench.domain.queue_pair(&bench.completions).kind(QueuePairKind::Local).build().unwrap();
    let refuse = || {
        let refused = fresh.start().signaled().nop().post().unwrap_err();
        assert!(matches!(refused, Error::WrongState { .. }), "{refused}");
    };
    refuse();
    fresh.to_init(Attributes::default()).unwrap();
    refuse();
    fresh.to_rtr(Attributes::default()).unwrap();
    refuse();
    fresh.to_rts(Attributes::default()).unwrap();
    assert_empty(&bench.completions);
    fresh.start().wr_id(6).signaled().nop().post().unwrap();
    assert_eq!(bench.complete().wr_id, 6);
}

/// Completions of others stay.
pub fn a_queue_pair_that_ends_takes_its_completions_along(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 32, 32);
    let mut numbers = Vec::new();
    for wr_id in 0..4 {
        let doomed = bench.domain.queue_pair(&bench.completions).build().unwrap();
        doomed.activate().unwrap();
        numbers.push(doomed.number());
        doomed.start().wr_id(100).signaled().nop().post().unwrap();
        bench.queue_pair.start().wr_id(wr_id).signaled().nop().post().unwrap();
        doomed.start().wr_id(100).signaled().nop().post().unwrap();
    }
    let found = collect(&bench.completions, 4);
    assert!(found.iter().map(|found| found.wr_id).eq(0..4), "{found:?}");
    assert_empty(&bench.completions);
    assert!(numbers.iter().all(|number| *number == numbers[0]), "the lowest free number is used again");

    // The end of the first makes the driver read what the second has completed; its own end makes it forget that.
    let doomed = [(); 2].map(|()| {
        let doomed = bench.domain.queue_pair(&bench.completions).build().unwrap();
        doomed.activate().unwrap();
        doomed.start().wr_id(200).signaled().nop().post().unwrap();
        doomed
    });
    drop(doomed);
    assert_empty(&bench.completions);
    bench.round_trip();
}

/// One completion more than the queue has entries is lost; the program hears of it twice.
pub fn an_overflowing_completion_queue_is_told(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 32, 16);
    let (queue_pair, completion_queue) = (bench.queue_pair.number(), bench.completions.number());
    assert_eq!(bench.device.poll_async_event().unwrap(), None);
    let batch = (0..17).fold(bench.queue_pair.start(), |batch, wr_id| batch.wr_id(wr_id).signaled().nop());
    batch.post().unwrap();
    let start = Instant::now();
    let mut events = Vec::new();
    while events.len() < 2 {
        events.extend(bench.device.wait_async_event(PATIENCE).unwrap());
        assert!(start.elapsed() < PATIENCE, "{events:?}");
    }
    assert!(events.contains(&AsyncEvent::CqOverflow { completion_queue }), "{events:?}");
    let status = Some(Status::General);
    assert!(events.contains(&AsyncEvent::QueuePairError { queue_pair, status }), "{events:?}");
    assert_eq!(bench.queue_pair.query().unwrap().state, QueuePairState::Error as u8);
    assert!(collect(&bench.completions, 16).iter().map(|found| found.wr_id).eq(0..16));
    bench.queue_pair.reset().unwrap();
    bench.queue_pair.activate().unwrap();
    bench.round_trip();
}
