use std::{fs, sync::atomic::Ordering::Relaxed};

use super::*;

const MIB: usize = 1 << 20;

/// Bytes of the pages under `memory`, as the kernel tells.
fn kernel_page(memory: &DmaMemory) -> usize {
    let address = memory.start().as_ptr().addr();
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in smaps.lines() {
        let range = line.split(' ').next().unwrap().split_once('-');
        let bound = |text: &str| usize::from_str_radix(text, 16).ok();
        if let Some((Some(start), Some(end))) = range.map(|(start, end)| (bound(start), bound(end))) {
            inside = (start..end).contains(&address);
        }
        if inside && let Some(size) = line.strip_prefix("KernelPageSize:") {
            return size.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024;
        }
    }
    panic!("{address:#x} is not in smaps");
}

#[test]
fn memory_is_zeroed_aligned_and_made_of_the_pages_it_says() {
    for len in [1, 4096, 4097, 100_000, 2 * MIB, 3 * MIB] {
        let memory = DmaMemory::allocate(len, None).unwrap();
        let backing = memory.backing().unwrap();
        assert_eq!(kernel_page(&memory), backing.page(), "{len}");
        assert!(
            memory.len() >= len && memory.len() - len <= (len / 8).max(4095),
            "{len} gave {}",
            memory.len()
        );
        assert!(memory.len().is_multiple_of(backing.page()));
        assert!(memory.start().as_ptr().addr().is_multiple_of(backing.page()));
        assert_eq!(memory.words().len() * 8, memory.len());
        assert!(memory.words().iter().all(|word| word.load(Relaxed) == 0), "{len}");
    }
}

/// Runs `largest` on a machine that has only pages of `present`, and notes what was tried.
fn on_a_machine_with(present: &[Backing], len: usize) -> (Vec<Backing>, Result<(usize, Backing, Backing)>) {
    let mut tried = Vec::new();
    let outcome = largest(len, |backing, whole| {
        tried.push(backing);
        present.contains(&backing).then_some(whole).ok_or(io::ErrorKind::OutOfMemory.into())
    });
    (tried, outcome)
}

#[test]
fn the_largest_pages_there_are_get_used() {
    use Backing::{Gigantic, Huge, Small};
    let len = 1 << 30;
    let given = |present: &[Backing]| on_a_machine_with(present, len).1.unwrap();
    assert_eq!(given(&[Gigantic, Huge, Small]), (len, Gigantic, Gigantic));
    assert_eq!(given(&[Huge, Small]), (len, Huge, Gigantic));
    assert_eq!(given(&[Small]), (len, Small, Gigantic));
    assert_eq!(on_a_machine_with(&[Small], len).0, [Gigantic, Huge, Small]);
}

#[test]
fn large_pages_are_not_wasted_on_small_needs() {
    use Backing::{Gigantic, Huge, Small};
    let tried = |len| on_a_machine_with(&[], len).0;
    assert_eq!(tried(4096), [Small]);
    assert_eq!(tried(MIB), [Small], "half a page would be empty");
    assert_eq!(tried(2 * MIB - 1), [Huge, Small]);
    assert_eq!(tried(3 * MIB), [Small], "a third more than asked for");
    assert_eq!(tried(100 * MIB + 1), [Huge, Small]);
    assert_eq!(tried(8 << 30), [Gigantic, Huge, Small]);
}

#[test]
fn a_fallback_is_reported() {
    let memory = DmaMemory::allocate(2 * MIB, None).unwrap();
    let expected = if kernel_page(&memory) == 2 * MIB { None } else { Some(Backing::Huge) };
    assert_eq!(memory.missed(), expected);
    assert_eq!(DmaMemory::allocate(4096, None).unwrap().missed(), None, "small pages were the wish");
}

#[test]
fn lengths_that_cannot_be_had_are_refused() {
    assert!(matches!(DmaMemory::allocate(0, None), Err(Error::BadLength { len: 0 })));
    assert!(matches!(DmaMemory::allocate(usize::MAX, None), Err(Error::BadLength { .. })));
    let refused = on_a_machine_with(&[], 5000).1.unwrap_err();
    assert!(matches!(refused, Error::Allocate { len: 8192, .. }), "{refused}");
}

#[test]
fn a_node_that_does_not_exist_is_not_claimed() {
    assert_eq!(DmaMemory::allocate(4096, Some(1023)).unwrap().node(), None);
    assert_eq!(DmaMemory::allocate(4096, Some(u32::MAX)).unwrap().node(), None);
    assert_eq!(DmaMemory::allocate(4096, None).unwrap().node(), None);
}

#[test]
fn the_node_claimed_is_the_one_the_kernel_prefers() {
    let memory = DmaMemory::allocate(4096, Some(0)).unwrap();
    let address = format!("{:x} ", memory.start().as_ptr().addr());
    // Absent, like the system call, from kernels without NUMA.
    let policies = fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    let policy = policies.lines().find_map(|line| line.strip_prefix(&address));
    let preferred = policy.is_some_and(|policy| policy.starts_with("prefer:0 "));
    assert_eq!(memory.node(), preferred.then_some(0), "{policy:?}");
}

#[test]
fn bytes_and_words_are_the_same_memory() {
    let mut memory = DmaMemory::allocate(4096, None).unwrap();
    memory.bytes_mut().unwrap()[8..16].copy_from_slice(&0x0102_0304_0506_0708_u64.to_ne_bytes());
    assert_eq!(memory.words()[1].load(Relaxed), 0x0102_0304_0506_0708);
    memory.words()[511].store(u64::MAX, Relaxed);
    assert_eq!(memory.bytes_mut().unwrap()[4087..], [0, 255, 255, 255, 255, 255, 255, 255, 255]);
}

#[test]
fn lent_memory_is_whole_pages_and_never_a_slice() {
    let owner = DmaMemory::allocate(8192, None).unwrap();
    // SAFETY: `owner` outlives what is lent and is touched through atomics alone.
    let lent_from = |offset: usize, len| unsafe { DmaMemory::lend(owner.start().add(offset), len) };
    let mut lent = lent_from(4096, 4096).unwrap();
    lent.words()[0].store(7, Relaxed);
    assert_eq!(owner.words()[512].load(Relaxed), 7);
    assert!(lent.bytes_mut().is_none());
    assert_eq!((lent.backing(), lent.is_locked()), (None, false));
    for (offset, len) in [(8, 4096), (0, 4000), (0, 0)] {
        assert!(
            matches!(lent_from(offset, len), Err(Error::NotWholePages { page: 4096, .. })),
            "{offset} {len}"
        );
    }
}
