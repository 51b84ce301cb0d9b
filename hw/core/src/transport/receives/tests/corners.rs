use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_verilate::Pause;

use super::super::model::{Indices, Queue};
use super::rig::{QPS, Rig, SRQS, ring};
use crate::testing::read;
use crate::transport::records::{ReceiveDoorbell, Stock};

const OWN: Queue = Queue { shared: false, number: 5 };
const SHARED: Queue = Queue { shared: true, number: 2 };

/// Looks, and takes what there is.
fn take(rig: &mut Rig, queue: Queue) {
    rig.look = Some(queue);
    rig.step();
    assert!(rig.shown() > 0);
    rig.take = true;
    rig.step();
}

#[test]
fn what_is_posted_is_seen_and_what_is_taken_is_not_seen_again() {
    let mut rig = Rig::default();
    for queue in [OWN, SHARED] {
        rig.ring(queue, 3);
        rig.settle();
        for first in 0..3 {
            rig.look = Some(queue);
            rig.step();
            let stock = read::<Stock>(&rig.bench, "stock");
            assert_eq!((u64::from(stock.count), u64::from(stock.first)), (3 - first, first));
            rig.take = true;
            rig.step();
        }
        rig.look = Some(queue);
        rig.step();
        assert_eq!(rig.shown(), 0);
        rig.settle();
    }
}

#[test]
fn a_ring_takes_as_many_as_it_has_places_and_no_more() {
    let mut rig = Rig::default();
    for queue in [OWN, SHARED] {
        rig.reset(0);
        rig.ring(queue, 17);
        rig.ring(queue, 16);
        rig.ring(queue, 17);
        rig.settle();
        assert_eq!((rig.counts.good, rig.counts.bad), (1, 2));
        take(&mut rig, queue);
        rig.settle();
        rig.ring(queue, 17);
        rig.ring(queue, 16);
        rig.settle();
        assert_eq!((rig.counts.good, rig.counts.bad), (2, 3), "a place has become free, and none goes back");
    }
}

#[test]
fn the_largest_ring_may_be_full() {
    let mut rig = Rig::default();
    rig.rings[OWN.number] = ring(OWN.number, 15);
    rig.ring(OWN, 0x8001);
    rig.ring(OWN, 0x8000);
    rig.settle();
    take(&mut rig, OWN);
    rig.ring(OWN, 0x8001);
    rig.settle();
    assert_eq!((rig.counts.good, rig.counts.bad), (2, 1));
}

#[test]
fn indices_wrap() {
    let mut rig = Rig::default();
    for queue in [OWN, SHARED] {
        let mut producer = 0_u16;
        for _ in 0..0x1_0000 / 16 + 2 {
            producer = producer.wrapping_add(16);
            rig.ring(queue, producer);
            while rig.model.queue(queue).producer != producer {
                rig.step();
            }
            for _ in 0..16 {
                take(&mut rig, queue);
            }
        }
        assert_eq!(rig.model.queue(queue), Indices { producer: 32, consumer: 32 });
        rig.settle();
    }
    assert_eq!(rig.counts.bad, 0);
}

#[test]
fn doorbells_for_what_takes_none_are_bad() {
    let mut rig = Rig::default();
    let reset = (QueuePairState::Reset as u64).into();
    rig.rings[0].exists = false;
    rig.rings[1].state = reset;
    rig.rings[2].receive_log = 0.into();
    rig.rings[3].has_srq = true;
    rig.shares[0].exists = false;
    for number in 0..4 {
        rig.ring(Queue { shared: false, number }, 1);
    }
    rig.ring(Queue { shared: true, number: 0 }, 1);
    // Beyond the tables, with the low bits of one that exists.
    for (shared, number) in [(false, (1 << QPS) + 5), (true, (1 << SRQS) + 2)] {
        let page = if shared { rig.shares[2].page } else { rig.rings[5].page };
        rig.ring_raw(ReceiveDoorbell { shared, number: u64::into(number), page, producer: 1.into() });
    }
    rig.settle();
    assert_eq!((rig.counts.bad, rig.counts.good), (7, 0));
    for number in 0..1 << QPS {
        assert_eq!(rig.model.queue(Queue { shared: false, number }), Indices::default());
        rig.look = Some(Queue { shared: false, number });
        rig.step();
    }
}

#[test]
fn a_foreign_page_moves_nothing() {
    let mut rig = Rig::default();
    rig.ring_raw(ReceiveDoorbell {
        shared: false,
        number: (OWN.number as u64).into(),
        page: 0xfff.into(),
        producer: 3.into(),
    });
    rig.settle();
    rig.look = Some(OWN);
    rig.step();
    assert_eq!((rig.counts.wrong_page, rig.counts.bad, rig.shown()), (1, 0, 0));
}

#[test]
fn a_queue_that_begins_anew_has_index_0_and_nothing_posted() {
    let mut rig = Rig::default();
    for queue in [OWN, SHARED] {
        rig.ring(queue, 9);
        rig.settle();
        for _ in 0..4 {
            take(&mut rig, queue);
        }
        rig.settle();
        if queue.shared {
            rig.renew(queue.number);
        } else {
            rig.change(queue.number, true, false);
        }
        rig.ring(queue, 2);
        rig.settle();
        rig.look = Some(queue);
        rig.step();
        let stock = read::<Stock>(&rig.bench, "stock");
        assert_eq!((u64::from(stock.count), u64::from(stock.first)), (2, 0));
    }
}

#[test]
fn a_doorbell_is_seen_by_looks_from_3_cycles_on() {
    for queue in [OWN, SHARED] {
        let mut rig = Rig::default();
        rig.ring(queue, 4);
        let offered = rig.bench.cycle() + 1;
        while rig.rung.is_empty() {
            rig.step();
        }
        assert_eq!(rig.rung[0], offered + 1, "it moves in the second cycle");
        let mut counts = Vec::new();
        for _ in 1..5 {
            rig.look = Some(queue);
            rig.step();
            counts.push(rig.shown());
        }
        assert_eq!(counts, [0, 0, 4, 4]);
    }
}

#[test]
fn doorbells_come_every_3_cycles_and_every_4_between_visits() {
    let mut rig = Rig::default();
    for count in 1..41 {
        rig.ring(Queue { shared: false, number: count % 8 }, 1);
    }
    rig.settle();
    let gaps = |cycles: &[u64]| cycles.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert_eq!(gaps(&rig.rung), [3; 39]);

    // Queue pairs in error whose receives nobody takes, and takes from SRQs: visits without end.
    rig.reset(0);
    rig.recalls = false;
    for number in 0..1 << QPS {
        rig.ring(Queue { shared: false, number }, 16);
        rig.ring(Queue { shared: true, number: number % 4 }, 16);
        rig.fail(number);
    }
    while !rig.bench.is_sent() {
        rig.step();
    }
    rig.rung.clear();
    let nudged = rig.nudged.len();
    for _ in 0..100 {
        rig.ring(Queue { shared: false, number: 0 }, 16);
    }
    let mut at = 0;
    while !rig.bench.is_sent() {
        at = (at + 1) % 4;
        rig.take = rig.shown() > 0;
        rig.look = Some(Queue { shared: true, number: at });
        rig.step();
    }
    assert!(rig.nudged.len() > nudged + 10);
    let gaps = gaps(&rig.rung);
    assert!(gaps.chunks(3).all(|gaps| gaps.iter().sum::<u64>() <= 12), "{gaps:?}");
    assert!(gaps.contains(&6), "visits come in between");
}

#[test]
fn doorbells_changes_and_looks_move_on_while_nothing_is_taken() {
    let mut rig = Rig::default();
    rig.bench[rig.nudge].pause(Pause::Always);
    rig.bench[rig.event].pause(Pause::Always);
    for number in 0..1 << QPS {
        rig.ring(Queue { shared: false, number }, 8);
        rig.fail(number);
    }
    for number in 0..1 << SRQS {
        rig.shares[number].limit = 9.into();
        rig.ring(Queue { shared: true, number }, 8);
    }
    rig.run(100);
    for round in 0..20_u64 {
        let limit = rig.model.queue(SHARED).producer.wrapping_add(1);
        for number in 0..1 << SRQS {
            rig.shares[number].round = round.into();
            take(&mut rig, Queue { shared: true, number });
            rig.ring(Queue { shared: true, number }, limit);
        }
        rig.change(usize::try_from(round % 8).expect("small"), false, true);
        rig.renew(3);
        rig.ring(Queue { shared: true, number: 3 }, limit);
        rig.run(60);
        assert!(rig.bench.is_sent(), "inputs wait in round {round}");
        rig.shares[3].log = 15.into();
    }
    rig.bench[rig.nudge].pause(Pause::None);
    rig.bench[rig.event].pause(Pause::None);
    rig.settle();
    // Eight receives of eight queue pairs, and as many events as may wait.
    assert!(rig.told.len() >= 6 && rig.nudged.len() >= 64, "{} {}", rig.told.len(), rig.nudged.len());
}
