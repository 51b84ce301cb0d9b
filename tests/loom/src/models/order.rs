//! The order of stores to memory and doorbells (`send_queue`, `entries`, `ring`, `barrier`).

use stroma_abi::desc::wqe::UNIT;
use stroma_abi::desc::{Eqe, QueuePairKind, QueuePairState, Status, WqeHead, phase};

use super::all_orders;
use crate::card::work_request::Request;
use crate::card::{DmaMemory, DoorbellPage, write_entry};
use crate::entries::Entries;
use crate::send_queue::SendQueue;
use crate::sync::{Ordering, thread};

type Arc<T> = std::sync::Arc<T>;

/// Words of a unit.
const WORDS: usize = UNIT / size_of::<u64>();

/// A request of one unit, all of whose bytes but its index are `mark`.
fn request(mark: u8) -> Request {
    Request { wr_id: mark.into(), index: 0, bytes: vec![mark; UNIT] }
}

/// What the card finds in a slot: the first word behind the head, which has the index in it, and the last.
fn fetch(memory: &DmaMemory, slot: usize) -> [u64; 2] {
    let words = &memory.words()[slot * WORDS..][..WORDS];
    [WqeHead::LEN / size_of::<u64>(), WORDS - 1].map(|word| words[word].load(Ordering::Relaxed))
}

fn marked(mark: u8) -> [u64; 2] {
    [u64::from_ne_bytes([mark; 8]); 2]
}

/// A send queue of `1 << log` units, its memory and its doorbell.
fn queue(log: u8) -> (Arc<SendQueue>, Arc<DmaMemory>, Arc<DoorbellPage>) {
    let memory = Arc::new(DmaMemory::zeroed(UNIT << log));
    let queue = SendQueue::new(1, QueuePairKind::Reliable, log, Arc::clone(&memory));
    queue.hold().state = QueuePairState::ReadyToSend;
    (queue, memory, Arc::new(DoorbellPage::new()))
}

/// The card looks at the doorbell at any moment, and fetches what it announces.
#[test]
fn a_doorbell_comes_after_the_requests_it_announces() {
    all_orders(|| {
        let (queue, memory, page) = queue(1);
        let card = {
            let (memory, page) = (Arc::clone(&memory), Arc::clone(&page));
            thread::spawn(move || {
                for (slot, mark) in (0..page.seen()).zip(1..) {
                    assert_eq!(fetch(&memory, usize::try_from(slot).unwrap()), marked(mark));
                }
            })
        };
        for mark in 1..3 {
            queue.post(&mut [request(mark)], &page, false).unwrap();
        }
        card.join().unwrap();
    });
}

/// Two threads post to one queue.
#[test]
fn doorbells_of_two_threads_come_in_the_order_of_the_ring() {
    all_orders(|| {
        let (queue, memory, page) = queue(1);
        let posts = [1, 2].map(|mark| {
            let (queue, page) = (Arc::clone(&queue), Arc::clone(&page));
            thread::spawn(move || queue.post(&mut [request(mark)], &page, false).unwrap())
        });
        for post in posts {
            post.join().unwrap();
        }
        assert_eq!(page.seen(), 2, "a doorbell took another one's request back");
        let mut found = [0, 1].map(|slot| fetch(&memory, slot));
        found.sort_unstable();
        assert_eq!(found, [marked(1), marked(2)]);
    });
}

/// The entry of a completion or event queue for the nth event.
fn entry(position: u8, log: u32) -> [u8; Eqe::LEN] {
    let data = u64::from_ne_bytes([position + 1; 8]);
    Eqe { data, object: position.into(), phase: phase(position.into(), log), ..Eqe::default() }.to_bytes()
}

/// The card writes entries; the driver looks at any moment, and finds none or all of one.
#[test]
fn an_entry_is_read_after_its_phase_bit() {
    const LOG: u8 = 1;
    all_orders(|| {
        let memory = Arc::new(DmaMemory::zeroed(Eqe::LEN << LOG));
        let mut entries = Entries::<{ Eqe::LEN }>::new(LOG, Eqe::PHASE, Arc::clone(&memory));
        let card = thread::spawn(move || {
            for position in 0..2 {
                write_entry(&memory, usize::from(position) * Eqe::LEN, &entry(position, LOG.into()));
            }
        });
        let mut next = 0;
        for _ in 0..2 {
            if let Some(found) = entries.next() {
                assert_eq!(found, entry(next, LOG.into()));
                next += 1;
            }
        }
        card.join().unwrap();
        while let Some(found) = entries.next() {
            assert_eq!(found, entry(next, LOG.into()));
            next += 1;
        }
        assert_eq!(next, 2, "none is lost");
    });
}

/// Rings of one slot, twice around: a request is fetched, completed, and its slot used again.
#[test]
fn a_slot_is_used_again_after_its_completion() {
    all_orders(|| {
        let (queue, memory, page) = queue(0);
        let completions = Arc::new(DmaMemory::zeroed(Eqe::LEN));
        let mut entries = Entries::<{ Eqe::LEN }>::new(0, Eqe::PHASE, Arc::clone(&completions));
        let card = {
            let page = Arc::clone(&page);
            thread::spawn(move || {
                for position in 0..2_u8 {
                    while page.seen() == u64::from(position) {
                        thread::yield_now();
                    }
                    assert_eq!(fetch(&memory, 0), marked(position + 1));
                    write_entry(&completions, 0, &entry(position, 0));
                }
            })
        };
        for position in 0..2_u8 {
            queue.post(&mut [request(position + 1)], &page, false).unwrap();
            let found = loop {
                if let Some(found) = entries.next() {
                    break found;
                }
                thread::yield_now();
            };
            assert_eq!(found, entry(position, 0));
            let wr_id = queue.complete(position.into(), Status::Success);
            assert_eq!(wr_id, Some(u64::from(position + 1)));
        }
        card.join().unwrap();
    });
}
