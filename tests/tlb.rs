//! The TLB: page lists of every page size, more pages than it holds, invalidation under traffic, lists that fault.

use stroma_abi::desc::{
    ObjectKind, QueuePairState, Region, Sge, Status, Verb, WorkOp, WqeHead, region::PAGE_LOGS,
};
use stroma_abi::regs::map::counters;
use stroma_tests::rig::{Buffer, Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

const BASE: u64 = 0x6000_0000_0000;
const PD: u16 = 3;

/// A region with a page list over the pages of a buffer, in the given order of 4 KiB pages.
fn listed(rig: &mut Rig, buffer: &Buffer, order: &[u64]) -> (Region, Buffer) {
    let list = rig.buffer((order.len() * 8).next_multiple_of(64));
    for (at, page) in order.iter().enumerate() {
        list.write(at * 8, &(buffer.iova() + page * 4096).to_le_bytes());
    }
    let length = order.len() as u64 * 4096;
    (Region { direct: false, list: list.iova(), length, ..Rig::direct(buffer, BASE, PD) }, list)
}

fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    let mut order: Vec<u64> = (0..count).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, usize::try_from(random.below(at as u64 + 1)).expect("small"));
    }
    order
}

fn more_pages_than_it_holds(profile: Profile) {
    // The TLB holds 2048 translations; 2560 pages of 4 KiB, touched twice over.
    const PAGES: u64 = 2560;
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 10, 0);
    let mut queue = rig.queue_of(5, &completions, PD, 10);
    let (buffer, target) = (rig.buffer(usize::try_from(PAGES * 4096).unwrap()), rig.buffer(4096));
    for page in 0..PAGES {
        buffer.write(usize::try_from(page * 4096).unwrap(), &page.to_le_bytes());
    }
    let order = shuffled(PAGES, 5);
    let (region, _list) = listed(&mut rig, &buffer, &order);
    let (key, to) = (rig.region(1, &region), rig.region(2, &Rig::direct(&target, 0, PD)));
    let visits: Vec<u64> = shuffled(PAGES, 6).into_iter().chain(shuffled(PAGES, 7)).collect();
    for batch in visits.chunks(500) {
        for (slot, page) in batch.iter().enumerate() {
            let list = [Sge { address: BASE + page * 4096, local_key: key, length: 8 }];
            queue.put(WqeHead { remote: slot as u64 * 8, key: to, ..head(WorkOp::Gather) }, pieces(&list));
        }
        rig.doorbell(&queue);
        for _ in batch {
            assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
        }
        rig.arm(&completions, 0);
        for (slot, page) in batch.iter().enumerate() {
            let expected = order[usize::try_from(*page).unwrap()];
            assert_eq!(target.read(slot * 8, 8), expected.to_le_bytes(), "page {page}");
        }
    }
    let [hits, misses, walks] =
        [&counters::TLB_HITS, &counters::TLB_MISSES, &counters::TLB_WALKS].map(|reg| rig.count(reg));
    assert!(
        misses > 300 && walks > 300 && walks <= misses && hits > 0,
        "{hits} hits, {misses} misses, {walks} walks"
    );
}

#[test]
fn more_pages_than_the_tlb_holds_are_all_found() {
    more_pages_than_it_holds(Profile::TenGig);
    more_pages_than_it_holds(Profile::HundredGig);
}

fn page_sizes(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 6, 0);
    let mut queue = rig.queue(5, &completions, PD);
    let target = rig.buffer(8192);
    let to = rig.region(9, &Rig::direct(&target, 0, PD));
    // Two pages each, in the wrong order; of the large ones only the bytes around their border are there.
    for (code, log) in (0_u8..).zip(PAGE_LOGS) {
        let size = 1_u64 << log;
        let (first, second) = (rig.page_end(size), rig.page_start(size));
        first.1.write(first.1.len() - 16, b"the end of one, ");
        second.1.write(0, b"the start of two");
        let list = rig.buffer(64);
        list.write(0, &first.0.to_le_bytes());
        list.write(8, &second.0.to_le_bytes());
        let base = BASE + (1_u64 << 40) * u64::from(code);
        let region = Region {
            base,
            length: 2 * size,
            key: code,
            page: code,
            list: list.iova(),
            pd: PD,
            ..Region::default()
        };
        let key = rig.region(u32::from(code) + 1, &region);
        let piece = Sge { address: base + size - 16, local_key: key, length: 32 };
        queue
            .put(WqeHead { remote: 64 * u64::from(code), key: to, ..head(WorkOp::Gather) }, pieces(&[piece]));
        rig.doorbell(&queue);
        assert_eq!(status(&rig.completion(&mut completions)), Status::Success, "pages of {size:#x}");
        assert_eq!(
            target.read(64 * usize::from(code), 32),
            b"the end of one, the start of two",
            "pages of {size:#x}"
        );
    }
}

#[test]
fn a_copy_crosses_from_page_to_page_of_every_size() {
    widths!().into_iter().for_each(page_sizes);
}

fn invalidation(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 10, 0);
    let mut busy = rig.queue_of(5, &completions, PD, 10);
    let (source, target) = (rig.buffer(1 << 20), rig.buffer(1 << 20));
    source.write(0, &vec![0xab; 1 << 20]);
    let to = rig.region(2, &Rig::direct(&target, 0, PD));
    let order = shuffled(256, 9);
    for round in 0..3 {
        let (region, _list) = listed(&mut rig, &source, &order);
        let key = rig.region(1, &region);
        // A megabyte under way in pieces of 64 KiB; in the middle of it the region ends.
        for at in 0..16 {
            let list = [Sge { address: BASE + at * 65_536, local_key: key, length: 65_536 }];
            busy.put(WqeHead { remote: at * 65_536, key: to, ..head(WorkOp::Gather) }, pieces(&list));
        }
        rig.doorbell(&busy);
        assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
        rig.done(Verb::Destroy, ObjectKind::Region, 1, 0, &[]);
        // From here on the card does not touch it: what it read is written, what it had not read never comes.
        rig.world(|world| {
            for page in 0..256 {
                world.card(0).iommu().hide(source.iova() + page * 4096);
            }
        });
        let mut statuses = vec![Status::Success];
        for _ in 1..16 {
            statuses.push(status(&rig.completion(&mut completions)));
        }
        rig.settle();
        assert_eq!(
            rig.world(|world| world.card(0).iommu().faults().len()),
            0,
            "round {round}: touched after its end"
        );
        let good = statuses.iter().take_while(|status| **status == Status::Success).count();
        assert!(good < 16, "round {round}: the region ended too late to matter");
        assert_eq!(statuses[good], Status::LocalProtection, "round {round}: {statuses:?}");
        assert!(
            statuses[good + 1..].iter().all(|status| *status == Status::Flushed),
            "round {round}: {statuses:?}"
        );
        rig.world(|world| {
            for page in 0..256 {
                world.card(0).iommu().show(source.iova() + page * 4096);
            }
        });
        rig.state(5, QueuePairState::Reset);
        for state in [QueuePairState::Init, QueuePairState::ReadyToReceive, QueuePairState::ReadyToSend] {
            rig.state(5, state);
        }
        busy.producer = 0;
        rig.arm(&completions, 0);
    }
}

#[test]
fn a_region_that_ends_under_traffic_is_not_touched_afterwards() {
    widths!().into_iter().for_each(invalidation);
}

fn a_list_that_faults(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 6, 0);
    let (source, target) = (rig.buffer(16 * 4096), rig.buffer(4096));
    let to = rig.region(2, &Rig::direct(&target, 0, PD));
    let (region, list) = listed(&mut rig, &source, &shuffled(16, 1));
    let key = rig.region(1, &region);
    rig.world(|world| world.card(0).iommu().hide(list.iova()));
    let mut queue = rig.queue(5, &completions, PD);
    let copy = [Sge { address: BASE, local_key: key, length: 64 }];
    queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&copy));
    rig.doorbell(&queue);
    let cqe = rig.completion(&mut completions);
    assert_eq!((status(&cqe), cqe.length), (Status::General, 0));
    assert_eq!(rig.state_of(5), QueuePairState::Error);
    assert!(rig.count(&counters::DMA_ERRORS) > 0);

    // When the list is back, another queue pair finds its way: nothing of the failure was kept.
    rig.world(|world| world.card(0).iommu().show(list.iova()));
    let mut queue = rig.queue(6, &completions, PD);
    queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&copy));
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
}

#[test]
fn a_page_list_that_faults_fails_its_request_alone() {
    widths!().into_iter().for_each(a_list_that_faults);
}
