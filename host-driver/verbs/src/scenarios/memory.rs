//! What keys open, and what becomes of memory.

use std::sync::Arc;

use stroma_device::{Backend, Backing, DmaMemory};

use super::{Bench, Random, collect};
use crate::{Access, Error, MemoryRegion, Status};

/// Copies `len` bytes within and between regions. How did it end?
fn copy(bench: &Bench, from: (&MemoryRegion, usize), to: (&MemoryRegion, usize), len: usize) -> Status {
    let piece = from.0.piece(from.1, len).unwrap();
    let target = to.0.address(to.1).unwrap();
    bench.queue_pair.start().signaled().gather(&[piece], target, to.0.lkey()).post().unwrap();
    bench.complete().status
}

/// Direct, and through lists of pages of 4 KiB, 2 MiB and 1 GiB.
pub fn page_lists_of_every_size_find_the_same_bytes(backend: Arc<dyn Backend>) {
    const LEN: usize = 5 * 4096;
    let bench = Bench::new(backend, 16, 16);
    let mut random = Random(5);
    for page in [None, Some(Backing::Small), Some(Backing::Huge), Some(Backing::Gigantic)] {
        let memory = Arc::new(DmaMemory::allocate(LEN, None).unwrap());
        let builder = bench.domain.region(Access::LOCAL_WRITE);
        let builder = match page {
            Some(page) => builder.page_list(page),
            None => builder,
        };
        let region = builder.register(memory).unwrap();
        let data = random.bytes(LEN);
        region.write(0, &data).unwrap();
        // Ends in a page, lies across one, and across several.
        for (offset, len) in [(0, 64), (4000, 200), (4095, 2), (100, 4 * 4096), (LEN - 1, 1)] {
            assert_eq!(copy(&bench, (&region, offset), (&bench.memory, 77), len), Status::Success);
            assert!(bench.bytes(77, len) == data[offset..][..len], "{page:?}: {len} bytes from {offset} on");
        }
        let fresh = random.bytes(9000);
        bench.memory.write(0, &fresh).unwrap();
        assert_eq!(copy(&bench, (&bench.memory, 0), (&region, 4090), 9000), Status::Success);
        let mut expected = data;
        expected[4090..][..9000].copy_from_slice(&fresh);
        let mut found = vec![0; LEN];
        region.read(0, &mut found).unwrap();
        assert!(found == expected, "{page:?}: written");
    }
}

/// The first and the last byte are in, their neighbours are out.
pub fn a_region_of_some_bytes_opens_no_others(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    for page in [None, Some(Backing::Small)] {
        let memory = Arc::new(DmaMemory::allocate(4 * 4096, None).unwrap());
        memory.write(4096 + 100, b"inside").unwrap();
        let builder = bench.domain.region(Access::LOCAL_WRITE).range(4196..4202);
        let builder = match page {
            Some(page) => builder.page_list(page),
            None => builder,
        };
        let region = builder.register(memory).unwrap();
        assert_eq!((region.len(), region.is_empty()), (6, false));
        assert_eq!(copy(&bench, (&region, 0), (&bench.memory, 0), 6), Status::Success);
        assert_eq!(bench.bytes(0, 6), b"inside");
        assert!(
            region.piece(0, 7).is_err() && region.address(7).is_err() && region.read(6, &mut [0]).is_err()
        );
        for (before, length) in [(1, 2), (0, 7)] {
            let mut piece = region.piece(0, 6).unwrap();
            piece.address -= before;
            piece.length = length;
            let (target, key) = (bench.memory.address(0).unwrap(), bench.memory.lkey());
            bench.queue_pair.start().gather(&[piece], target, key).post().unwrap();
            assert_eq!(bench.complete().status, Status::LocalProtection, "{before} before, {length} bytes");
            bench.queue_pair.reset().unwrap();
            bench.queue_pair.activate().unwrap();
        }
    }
}

/// Neither after its region's end nor when another region has its number.
pub fn a_dead_key_opens_nothing(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let region = bench.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let (key, piece) = (region.lkey(), region.piece(0, 8).unwrap());
    let target = bench.memory.address(0).unwrap();
    let attempt = || {
        bench.queue_pair.start().gather(&[piece], target, bench.memory.lkey()).post().unwrap();
    };
    drop(region);
    attempt();
    assert_eq!(bench.complete().status, Status::LocalProtection);
    let heir = bench.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    assert_eq!(heir.lkey() >> 8, key >> 8, "the lowest free number is used again");
    assert_ne!(heir.lkey(), key);
    assert_eq!(heir.rkey(), heir.lkey());
    bench.queue_pair.reset().unwrap();
    bench.queue_pair.activate().unwrap();
    attempt();
    assert_eq!(bench.complete().status, Status::LocalProtection);
}

/// Registered again, a region has other memory under the key that it had; and requests name its bytes as they were told to.
pub fn a_region_registered_again_keeps_its_key(backend: Arc<dyn Backend>) {
    const BASE: u64 = 0x7000_0000_0000;
    let bench = Bench::new(backend, 16, 16);
    let old = bench.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let key = old.lkey();
    let memory = Arc::new(DmaMemory::allocate(8192, None).unwrap());
    memory.write(4096, b"moved").unwrap();
    let builder = bench.domain.region(Access::LOCAL_WRITE).base(BASE + 1);
    assert!(matches!(builder.register(Arc::clone(&memory)), Err(Error::BadBase { .. })));
    let region = bench.domain.region(Access::LOCAL_WRITE).base(BASE).register_again(old, memory).unwrap();
    assert_eq!((region.lkey(), region.len(), region.address(4096).unwrap()), (key, 8192, BASE + 4096));
    assert_eq!(copy(&bench, (&region, 4096), (&bench.memory, 0), 5), Status::Success);
    assert_eq!(bench.bytes(0, 5), b"moved");
}

/// Memory that was registered is a slice again afterwards.
pub fn memory_comes_back_whole(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let region = bench.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    bench.memory.write(0, b"data").unwrap();
    assert_eq!(copy(&bench, (&bench.memory, 0), (&region, 4092), 4), Status::Success);
    let mut memory = Arc::into_inner(region.deregister().unwrap()).expect("no share is left");
    assert_eq!(&memory.bytes_mut().expect("it is our own")[4090..4096], b"\0\0data");
}

/// A queue pair answers to its own page of doorbells.
pub fn queues_on_different_pages_work_side_by_side(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let page = bench.device.doorbell_page().unwrap();
    assert_ne!(page.number(), bench.device.doorbells().number());
    let completions = bench.device.build_completion_queue(16).doorbells(&page).build().unwrap();
    let other = bench.domain.queue_pair(&completions).doorbells(&page).build().unwrap();
    other.activate().unwrap();
    for wr_id in 0..40 {
        let push = wr_id % 2 == 0;
        other.start().push(push).wr_id(wr_id).signaled().nop().post().unwrap();
        bench.round_trip();
        assert_eq!(collect(&completions, 1)[0].wr_id, wr_id);
    }
}
