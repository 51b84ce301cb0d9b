//! Objects are shared by threads as those of libibverbs are.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Instant,
};

use stroma_device::Backend;

use super::{Bench, PATIENCE, collect};
use crate::{Access, Error, Status, WorkCompletion};

const THREADS: u64 = 4;

/// Four threads post to one queue pair, in batches of one to four, and poll one completion queue.
pub fn four_threads_share_a_queue_pair(backend: Arc<dyn Backend>) {
    const EACH: u64 = 60;
    let bench = Bench::new(backend, 16, 16);
    let seen = Mutex::new(HashSet::new());
    let seen = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (bench, seen) = (&bench, &seen);
            scope.spawn(move || {
                let start = Instant::now();
                let mut next = 0;
                while next < EACH || (seen().len() as u64) < THREADS * EACH {
                    let count = (1 + next % 4).min(EACH - next);
                    let batch = (next..next + count).fold(bench.queue_pair.start(), |batch, place| {
                        batch.wr_id(thread * EACH + place).signaled().nop()
                    });
                    match batch.push(thread % 2 == 0).post() {
                        Ok(()) => next += count,
                        Err(Error::QueueFull { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    let mut room = [WorkCompletion::default(); 5];
                    let count = bench.completions.poll(&mut room).unwrap();
                    for found in &room[..count] {
                        assert_eq!(found.status, Status::Success);
                        assert!(seen().insert(found.wr_id), "{found:?} came twice");
                    }
                    assert!(start.elapsed() < PATIENCE, "{} completions came", seen().len());
                }
            });
        }
    });
    assert!((0..THREADS * EACH).all(|wr_id| seen().contains(&wr_id)));
}

/// Four threads copy through queue pairs of their own, which share domain, region and device.
pub fn four_threads_have_queue_pairs_of_their_own(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let bench = &bench;
            scope.spawn(move || {
                let completions = bench.device.completion_queue(16).unwrap();
                let queue_pair = bench.domain.queue_pair(&completions).send_units(16).build().unwrap();
                queue_pair.activate().unwrap();
                let stretch = usize::try_from(thread).unwrap() * 8192;
                let address = bench.memory.address(stretch + 4096).unwrap();
                for lap in 0..40_u8 {
                    let data = [lap.wrapping_mul(7) ^ u8::try_from(thread).unwrap(); 333];
                    bench.memory.write(stretch, &data).unwrap();
                    let piece = bench.memory.piece(stretch, data.len()).unwrap();
                    let batch = queue_pair.start().push(lap % 2 == 0).wr_id(lap.into()).signaled();
                    batch.gather(&[piece], address, bench.memory.lkey()).post().unwrap();
                    let found = collect(&completions, 1)[0];
                    assert_eq!((found.wr_id, found.status), (lap.into(), Status::Success));
                    assert_eq!(bench.bytes(stretch + 4096, data.len()), data);
                }
            });
        }
    });
}

/// Commands of four threads do not mix.
pub fn four_threads_make_and_end_objects(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..6 {
                    let region = bench.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
                    let completions = bench.device.completion_queue(16).unwrap();
                    let queue_pair = bench.domain.queue_pair(&completions).build().unwrap();
                    queue_pair.activate().unwrap();
                    let target = region.address(100).unwrap();
                    let batch = queue_pair.start().signaled().inline_gather(b"mine", target, region.lkey());
                    batch.post().unwrap();
                    assert_eq!(collect(&completions, 1)[0].status, Status::Success);
                    let mut found = [0; 4];
                    region.read(100, &mut found).unwrap();
                    assert_eq!(&found, b"mine");
                }
            });
        }
    });
    bench.round_trip();
}
