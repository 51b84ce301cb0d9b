//! What requests do, and how queues take them.

use std::sync::Arc;

use stroma_device::Backend;

use super::{Bench, Random, assert_empty, collect};
use crate::{Error, QueuePairState, Sge, Status, WorkOp};

/// A request that does nothing still tells who it was.
pub fn a_nop_completes_with_its_number(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    bench.queue_pair.start().wr_id(u64::MAX).signaled().nop().post().unwrap();
    let found = bench.complete();
    let told = (found.wr_id, found.status, found.op, found.queue_pair);
    assert_eq!(told, (u64::MAX, Status::Success, WorkOp::Nop, bench.queue_pair.number()));
    assert_empty(&bench.completions);
    bench.queue_pair.start().post().unwrap();
    assert_empty(&bench.completions);
}

/// One to sixteen pieces, of any length and at any place.
pub fn gather_and_scatter_move_pieces_in_order(backend: Arc<dyn Backend>) {
    const HALF: usize = 1 << 15;
    const MOST: usize = 700;
    let bench = Bench::new(backend, 64, 64);
    let key = bench.memory.lkey();
    let mut random = Random(1);
    for count in 1..=16_usize {
        let data = random.bytes(HALF);
        bench.memory.write(0, &data).unwrap();
        // Pieces do not overlap: each has a stretch of its own.
        let places: Vec<(usize, usize)> = (0..count)
            .map(|piece| {
                let len = 1 + random.below(MOST);
                (piece * 2048 + random.below(2048 - len), len)
            })
            .collect();
        let pieces: Vec<Sge> =
            places.iter().map(|(offset, len)| bench.memory.piece(*offset, *len).unwrap()).collect();
        let joined: Vec<u8> =
            places.iter().flat_map(|(offset, len)| data[*offset..][..*len].to_vec()).collect();
        let target = HALF + random.below(4096);
        let address = bench.memory.address(target).unwrap();
        bench.queue_pair.start().wr_id(1).signaled().gather(&pieces, address, key).post().unwrap();
        let found = bench.complete();
        assert_eq!((found.status, found.op), (Status::Success, WorkOp::Gather));
        assert_eq!(found.length as usize, joined.len());
        assert_eq!(bench.bytes(target, joined.len()), joined, "{count} pieces gathered");

        let fresh = random.bytes(joined.len());
        bench.memory.write(target, &fresh).unwrap();
        bench.queue_pair.start().wr_id(2).signaled().scatter(address, key, &pieces).post().unwrap();
        let found = bench.complete();
        assert_eq!((found.status, found.op, found.wr_id), (Status::Success, WorkOp::Scatter, 2));
        let mut expected = data;
        let mut rest = &fresh[..];
        for (offset, len) in places {
            expected[offset..][..len].copy_from_slice(&rest[..len]);
            rest = &rest[len..];
        }
        assert!(bench.bytes(0, HALF) == expected, "{count} pieces scattered");
    }
}

/// Inline data belongs to the request from the moment of posting.
pub fn inline_data_is_taken_when_it_is_posted(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 64, 16);
    let mut random = Random(2);
    for len in [0, 1, 31, 32, 33, 96, 97, 224, 480] {
        let mut data = random.bytes(len);
        let expected = data.clone();
        let target = random.below(8192);
        bench.memory.write(target, &vec![0; len + 1]).unwrap();
        let address = bench.memory.address(target).unwrap();
        let batch = bench.queue_pair.start().signaled().inline_gather(&data, address, bench.memory.lkey());
        data.fill(0xee);
        batch.post().unwrap();
        let found = bench.complete();
        assert_eq!((found.status, found.length as usize), (Status::Success, len));
        assert_eq!(bench.bytes(target, len + 1), [&expected[..], &[0]].concat(), "{len} bytes");
    }
    let refused = bench.queue_pair.start().nop().inline_gather(&[0; 481], 0, 0).nop().post().unwrap_err();
    assert_eq!(refused.to_string(), "request 1 of the batch: WQE needs 9 units, has 8");
    bench.round_trip();
}

/// Requests of all sizes lie across the end of the ring; the completion queue goes round many times.
pub fn rings_wrap_and_phases_flip(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    assert_eq!((bench.queue_pair.send_units(), bench.completions.size()), (16, 16));
    let mut random = Random(3);
    for wr_id in 0..150 {
        let len = 1 + random.below(480);
        let data = random.bytes(len);
        let target = bench.memory.address(random.below(4096)).unwrap();
        let batch = bench.queue_pair.start().wr_id(wr_id).signaled();
        batch.inline_gather(&data, target, bench.memory.lkey()).post().unwrap();
        let found = bench.complete();
        assert_eq!((found.wr_id, found.status), (wr_id, Status::Success));
        let offset = usize::try_from(target - bench.memory.address(0).unwrap()).unwrap();
        assert_eq!(bench.bytes(offset, data.len()), data, "request {wr_id}");
    }
}

/// Slots are free when their completions were polled, not before.
pub fn a_full_queue_refuses_until_its_completions_are_polled(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 32);
    for lap in 0..5_u64 {
        for place in 0..16 {
            bench.queue_pair.start().wr_id(lap * 16 + place).signaled().nop().post().unwrap();
        }
        let refused = bench.queue_pair.start().nop().post().unwrap_err();
        assert!(matches!(refused, Error::QueueFull { wanted: 1, room: 0, size: 16, .. }), "{refused}");
        assert_eq!(bench.complete().wr_id, lap * 16);
        let refused = bench.queue_pair.start().nop().nop().post().unwrap_err();
        assert!(matches!(refused, Error::QueueFull { wanted: 2, room: 1, .. }), "{refused}");
        let rest = collect(&bench.completions, 15);
        assert!(rest.iter().map(|found| found.wr_id).eq(lap * 16 + 1..lap * 16 + 16));
    }
    let whole = (0..17).fold(bench.queue_pair.start(), |batch, _| batch.nop());
    assert!(matches!(whole.post(), Err(Error::QueueFull { wanted: 17, room: 16, .. })));
    bench.round_trip();
}

/// A batch is told to the card once, and its requests keep their order.
pub fn requests_of_a_batch_complete_in_order(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 64, 64);
    let key = bench.memory.lkey();
    for lap in 0..4_u8 {
        let mut batch = bench.queue_pair.start();
        for place in 0..12_u8 {
            let target = bench.memory.address(usize::from(place)).unwrap();
            batch = batch.wr_id(place.into()).signaled();
            // All write to the same bytes one after the other; the last one is seen.
            batch = batch.inline_gather(&[lap * 12 + place; 40], target, key);
        }
        batch.post().unwrap();
        let found = collect(&bench.completions, 12);
        assert!(found.iter().map(|found| found.wr_id).eq(0..12));
        assert!(found.is_sorted_by_key(|found| found.timestamp));
        let expected: Vec<u8> = (0..12).map(|place| lap * 12 + place).collect();
        assert_eq!(bench.bytes(0, 12), expected);
    }
}

/// Their slots are free when a later request has completed.
pub fn unsignaled_requests_complete_with_the_next_signaled_one(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    for lap in 0..10 {
        let quiet = (0..15).fold(bench.queue_pair.start(), |batch, _| batch.wr_id(99).nop());
        quiet.wr_id(lap).signaled().nop().post().unwrap();
        assert_eq!(bench.complete().wr_id, lap);
        assert_empty(&bench.completions);
    }
}

/// Requests of one to four units go through the windows, longer ones by the doorbell, and nobody can tell.
pub fn a_push_does_what_a_doorbell_does(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let mut random = Random(4);
    for wr_id in 0..60 {
        let len = 1 + random.below(400);
        let data = random.bytes(len);
        let target = random.below(4096);
        let address = bench.memory.address(target).unwrap();
        let batch = bench.queue_pair.start().push(random.below(4) > 0).wr_id(wr_id).signaled();
        batch.inline_gather(&data, address, bench.memory.lkey()).post().unwrap();
        let found = bench.complete();
        assert_eq!((found.wr_id, found.status), (wr_id, Status::Success));
        assert_eq!(bench.bytes(target, data.len()), data, "request {wr_id}");
    }
    let batch =
        (0..7).fold(bench.queue_pair.start().push(true), |batch, place| batch.wr_id(place).signaled().nop());
    batch.post().unwrap();
    let found = collect(&bench.completions, 7);
    assert!(found.iter().map(|found| found.wr_id).eq(0..7), "a batch of pushes keeps its order");
}

/// Reset ends what was posted, and indices begin with 0.
pub fn a_reset_queue_pair_begins_anew(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 32);
    for lap in 0..3 {
        for _ in 0..3 + lap {
            bench.queue_pair.start().wr_id(1).signaled().nop().post().unwrap();
        }
        bench.queue_pair.reset().unwrap();
        assert_eq!(bench.queue_pair.query().unwrap().state, QueuePairState::Reset as u8);
        assert_empty(&bench.completions);
        bench.queue_pair.activate().unwrap();
        bench.round_trip();
    }
}
