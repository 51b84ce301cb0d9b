use std::collections::VecDeque;

use proptest::prelude::*;
use stroma_abi::regs::{Reg, map::doorbells};

use super::*;

/// What somebody does to a work ring.
#[derive(Clone, Debug)]
enum Step {
    Post(u16),
    /// Completes the request this many behind the oldest.
    Complete(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..=8_u16).prop_map(Step::Post),
        2 => (0..6_usize).prop_map(Step::Complete),
    ];
    proptest::collection::vec(step, 1..400)
}

proptest! {
    #[test]
    fn a_work_ring_agrees_with_a_queue(log in 0..7_u32, start in any::<u16>(), steps in steps()) {
        // Starting anywhere makes the 16-bit wrap as likely as any other place.
        let mut ring = WorkRing { log, producer: start, consumer: start };
        let size = 1_usize << log;
        let mut next = u64::from(start);
        let mut queue: VecDeque<(u64, u16)> = VecDeque::new();
        let mut owner = vec![None; size];
        for step in steps {
            let used: usize = queue.iter().map(|(_, slots)| usize::from(*slots)).sum();
            match step {
                Step::Post(slots) if used + usize::from(slots) <= size => {
                    let first = ring.reserve(slots).unwrap();
                    prop_assert_eq!(u64::from(first), next % 65536);
                    for unit in 0..slots {
                        let slot = ring.slot(first.wrapping_add(unit));
                        prop_assert_eq!(slot as u64, (next + u64::from(unit)) % size as u64);
                        prop_assert_eq!(owner[slot].replace(next), None, "slot {} was in use", slot);
                    }
                    queue.push_back((next, slots));
                    next += u64::from(slots);
                }
                Step::Post(slots) => {
                    let room = u16::try_from(size - used).unwrap();
                    prop_assert_eq!(ring.reserve(slots), Err(RingError::Full { wanted: slots, room }));
                }
                Step::Complete(behind) => {
                    let Some((index, slots)) = queue.get(behind).copied() else { continue };
                    ring.release(u16::try_from(index % 65536).unwrap(), slots).unwrap();
                    for (done, _) in queue.drain(..=behind) {
                        for slot in &mut owner {
                            if *slot == Some(done) { *slot = None; }
                        }
                    }
                }
            }
            let used: usize = queue.iter().map(|(_, slots)| usize::from(*slots)).sum();
            prop_assert_eq!((usize::from(ring.used()), usize::from(ring.room())), (used, size - used));
            prop_assert_eq!(u64::from(ring.producer()), next % 65536);
        }
    }

    #[test]
    fn an_entry_ring_takes_what_the_card_wrote_once_and_in_order(
        log in 0..5_u32, start in any::<u32>(), bursts in proptest::collection::vec((0..12_usize, 0..12_usize), 1..100)
    ) {
        // The card of this model keeps its own lap count and stores the phase beside a serial number.
        let size = 1_usize << log;
        let mut ring = EntryRing { log, position: start >> log << log };
        let mut bit = (start >> log) % 2 == 0;
        let mut memory = vec![(!bit, 0_u64); size];
        let (mut written, mut taken) = (0_u64, 0_u64);
        for (writes, reads) in bursts {
            for _ in 0..writes {
                if written - taken == size as u64 { break }
                let slot = usize::try_from(written % size as u64).unwrap();
                memory[slot] = (bit, written);
                written += 1;
                if written % size as u64 == 0 { bit = !bit }
            }
            for _ in 0..reads {
                let (shown, serial) = memory[ring.slot()];
                prop_assert_eq!(ring.is_new(shown), taken < written);
                if !ring.is_new(shown) { break }
                prop_assert_eq!(serial, taken);
                ring.take();
                taken += 1;
            }
        }
    }
}

#[test]
fn the_phase_flips_each_lap_and_a_zeroed_ring_is_empty() {
    let mut ring = EntryRing::new(2).unwrap();
    for lap in 0..6 {
        let bit = lap % 2 == 0;
        for slot in 0..4 {
            assert_eq!((ring.slot(), ring.is_new(bit), ring.is_new(!bit)), (slot, true, false), "lap {lap}");
            ring.take();
        }
    }
    assert!(!EntryRing::new(4).unwrap().is_new(false), "zeroed memory holds no entry");
}

#[test]
fn a_full_ring_takes_nothing_until_something_completes() {
    let mut ring = WorkRing::new(WorkRing::LOG_MAX).unwrap();
    assert_eq!(ring.size(), 32768);
    assert_eq!(ring.reserve(32767), Ok(0));
    assert_eq!(ring.reserve(2), Err(RingError::Full { wanted: 2, room: 1 }));
    assert_eq!(ring.reserve(1), Ok(32767));
    assert_eq!((ring.room(), ring.used(), ring.producer()), (0, 32768, 32768));
    assert_eq!(ring.reserve(1), Err(RingError::Full { wanted: 1, room: 0 }));
    ring.release(0, 32767).unwrap();
    assert_eq!((ring.consumer(), ring.reserve(3)), (32767, Ok(32768)));
}

#[test]
fn a_request_may_lie_across_the_end() {
    let mut ring = WorkRing::new(3).unwrap();
    ring.reserve(6).unwrap();
    ring.release(0, 6).unwrap();
    let first = ring.reserve(4).unwrap();
    assert_eq!([0, 1, 2, 3].map(|unit| ring.slot(first + unit)), [6, 7, 0, 1]);
}

#[test]
fn completions_of_what_was_not_posted_are_refused() {
    let mut ring = WorkRing { log: 4, producer: 2, consumer: 65530 };
    for (index, slots) in [(65529, 1), (2, 1), (1, 2), (65530, 9), (30000, 1), (65529, 0)] {
        let refused = RingError::NotOutstanding { index, slots, consumer: 65530, producer: 2 };
        assert_eq!(ring.release(index, slots), Err(refused));
    }
    assert_eq!(ring.release(65535, 3), Ok(()));
    assert_eq!((ring.used(), ring.consumer()), (0, 2));
}

#[test]
fn sizes_the_indices_cannot_count_are_refused() {
    assert_eq!(WorkRing::new(16).unwrap_err(), RingError::Size { log: 16, max: 15 });
    assert_eq!(EntryRing::new(24).unwrap_err(), RingError::Size { log: 24, max: 23 });
}

#[test]
fn indices_are_as_wide_as_the_doorbells_carry_them() {
    let width = |reg: Reg, name| reg.fields.iter().find(|entry| entry.name == name).unwrap().field.width;
    assert_eq!(width(doorbells::SEND, "producer"), 16);
    assert_eq!(width(doorbells::RECEIVE, "producer"), 16);
    assert_eq!(width(doorbells::COMPLETION, "consumer"), 24);
    let mut ring = EntryRing { log: 8, position: 0xff_ffff };
    assert_eq!((ring.consumer24(), ring.consumer()), (0xff_ffff, 0xff_ffff));
    ring.take();
    assert_eq!((ring.consumer24(), ring.consumer()), (0, 0x100_0000));
}
