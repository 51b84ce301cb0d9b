//! Push windows: a request that starts without a fetch, or is fetched after all; never half of one.

use stroma_abi::desc::{Body, Status, WorkOp, WqeHead};
use stroma_abi::regs::map::counters;
use stroma_sim::host::attach::Event;
use stroma_tests::rig::{Buffer, Completions, Queue, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;

const BASE: u64 = 0x7f00_0000_1000;

struct Desk {
    rig: Rig,
    completions: Completions,
    queue: Queue,
    target: Buffer,
    key: u32,
}

fn desk(profile: Profile) -> Desk {
    let mut rig = Rig::new(profile);
    let completions = rig.completions(0, 8, 1);
    let queue = rig.queue(5, &completions, 1);
    let target = rig.buffer(4096);
    let key = rig.region(3, &Rig::direct(&target, BASE, 1));
    Desk { rig, completions, queue, target, key }
}

impl Desk {
    /// Puts a request into the ring that stores `length` bytes of `seed` at an offset; its bytes.
    fn put(&mut self, offset: u64, length: usize, seed: u8) -> (Vec<u8>, Vec<u8>) {
        let data: Vec<u8> = (0..length).map(|at| seed.wrapping_add(at.to_le_bytes()[0])).collect();
        let head = WqeHead { remote: BASE + offset, key: self.key, ..head(WorkOp::Gather) };
        (self.queue.put(head, Body::Inline(&data)), data)
    }

    fn counts(&self) -> (u64, u64) {
        (self.rig.count(&counters::PUSHES), self.rig.count(&counters::PUSH_FALLBACKS))
    }
}

fn all_sizes(profile: Profile) {
    let mut desk = desk(profile);
    desk.rig.world(|world| world.card(0).start_trace());
    for (number, length) in [1, 31, 32, 33, 64, 96, 97, 160, 161, 223, 224].into_iter().enumerate() {
        let (wqe, data) = desk.put(7, length, number.to_le_bytes()[0].wrapping_mul(37));
        let words = wqe.len() / 8;
        // Forwards, backwards, and from the middle.
        let order: Vec<usize> = match number % 3 {
            0 => (0..words).collect(),
            1 => (0..words).rev().collect(),
            _ => (words / 2..words).chain(0..words / 2).collect(),
        };
        desk.rig.push(&desk.queue, number % 4, &wqe, order);
        let cqe = desk.rig.completion(&mut desk.completions);
        assert_eq!((status(&cqe), cqe.length as usize), (Status::Success, length));
        assert_eq!(desk.target.read(7, length), data, "{length} bytes");
    }
    let reads = desk.rig.world(|world| world.card(0).take_trace());
    assert_eq!(
        reads.iter().filter(|(_, event)| matches!(event, Event::Read { .. })).count(),
        0,
        "no DMA read"
    );
    assert_eq!(desk.counts(), (11, 0));
}

#[test]
fn a_pushed_request_of_any_size_starts_without_a_read() {
    widths!().into_iter().for_each(all_sizes);
}

fn torn(profile: Profile) {
    let mut desk = desk(profile);
    let mut fallbacks = 0;
    // Each word of a request of four units missing in turn; the window still holds those of the request before.
    for missing in 0..32_usize {
        let (wqe, data) = desk.put(0, 200, missing.to_le_bytes()[0]);
        desk.rig.push(&desk.queue, 0, &wqe, (0..32).filter(|word| *word != missing));
        fallbacks += 1;
        assert_eq!(status(&desk.rig.completion(&mut desk.completions)), Status::Success);
        assert_eq!(desk.target.read(0, 200), data, "word {missing} missing");
    }
    assert_eq!(desk.counts(), (0, fallbacks));

    // A half word is no word.
    let (wqe, data) = desk.put(0, 24, 0x81);
    desk.rig.push_word(1, 0, 0, &wqe);
    let half = u32::from_le_bytes(wqe[8..12].try_into().unwrap());
    desk.rig.backend().write32(stroma_device::BarId::Bar2, 4096 + 0x108, half).unwrap();
    desk.rig.push(&desk.queue, 0, &wqe, 2..8);
    assert_eq!(status(&desk.rig.completion(&mut desk.completions)), Status::Success);
    assert_eq!((desk.target.read(0, 24), desk.counts()), (data, (0, fallbacks + 1)));
}

#[test]
fn torn_stores_never_start_a_request() {
    widths!().into_iter().for_each(torn);
}

fn late_and_foreign(profile: Profile) {
    let mut desk = desk(profile);
    // Committed twice: the second commit comes when the request has been taken.
    let (wqe, _) = desk.put(0, 32, 1);
    desk.rig.push(&desk.queue, 0, &wqe, 0..8);
    assert_eq!(status(&desk.rig.completion(&mut desk.completions)), Status::Success);
    desk.rig.push(&desk.queue, 0, &wqe, 0..8);
    desk.rig.settle();
    assert_eq!(desk.rig.poll(&mut desk.completions), None, "a request runs once");
    assert_eq!(desk.rig.count(&counters::PUSHES), 1);

    // Not the next one: the one before it has been put into the ring, and not announced.
    desk.put(64, 32, 2);
    let (wqe, data) = desk.put(128, 32, 3);
    desk.rig.push(&desk.queue, 1, &wqe, 0..8);
    assert_eq!([(); 2].map(|()| status(&desk.rig.completion(&mut desk.completions))), [Status::Success; 2]);
    assert_eq!((desk.target.read(128, 32), desk.counts().0), (data, 1));

    // Through a page that does not own the queue pair.
    let (wqe, data) = desk.put(256, 32, 4);
    let page = std::mem::replace(&mut desk.queue.page, 2);
    desk.rig.push(&desk.queue, 0, &wqe, 0..8);
    desk.rig.settle();
    assert_eq!((desk.rig.poll(&mut desk.completions), desk.rig.count(&counters::WRONG_PAGE)), (None, 1));
    desk.queue.page = page;
    desk.rig.doorbell(&desk.queue);
    assert_eq!(status(&desk.rig.completion(&mut desk.completions)), Status::Success);
    assert_eq!(desk.target.read(256, 32), data);

    // Sizes that a window does not have.
    for units in [0, 5, 15] {
        desk.rig.commit(&desk.queue, 0, desk.queue.producer, units);
    }
    desk.rig.settle();
    assert_eq!((desk.rig.poll(&mut desk.completions), desk.counts().0), (None, 1));
    assert!(desk.rig.count(&counters::BAD_DOORBELLS) >= 3);
}

#[test]
fn a_late_or_foreign_push_starts_nothing_by_itself() {
    widths!().into_iter().for_each(late_and_foreign);
}

fn in_a_row(profile: Profile) {
    let mut desk = desk(profile);
    // Faster than the card can answer, over all windows, mixed with doorbells: every request runs once and in order.
    let mut expected = Vec::new();
    for number in 0..48_u8 {
        let index = desk.queue.producer;
        let (wqe, data) = desk.put(u64::from(number) * 64, 40, number);
        if number % 5 == 4 {
            desk.rig.doorbell(&desk.queue);
        } else {
            desk.rig.push(&desk.queue, usize::from(number % 4), &wqe, 0..wqe.len() / 8);
        }
        expected.push((index, number, data));
        if number % 16 == 15 {
            for (index, number, data) in expected.drain(..) {
                let cqe = desk.rig.completion(&mut desk.completions);
                assert_eq!((status(&cqe), cqe.index), (Status::Success, index));
                assert_eq!(desk.target.read(usize::from(number) * 64, 40), data, "request {number}");
            }
        }
    }
    let (pushes, fallbacks) = desk.counts();
    assert!(pushes > 0, "{pushes} pushed, {fallbacks} fetched");
    assert_eq!(pushes + fallbacks, 39);
}

#[test]
fn pushes_and_doorbells_mix() {
    widths!().into_iter().for_each(in_a_row);
}
