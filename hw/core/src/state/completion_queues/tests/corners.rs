use stroma_abi::desc::completion_queue::MODERATION_ATTRIBUTE;
use stroma_abi::desc::{CommandStatus, CompletionQueue, Cqe, Status, Verb};
use stroma_verilate::Pause;

use super::super::model::order;
use super::super::rig::{CQS, PAGES, Rig};
use crate::host::work::{CqDoorbell, Done, EntryWrite};
use crate::state::command::ObjectCommand;
use crate::testing::{noise, read};

fn always() -> Pause {
    Pause::Script(vec![true])
}

/// A rig with queue 1 of sixteen entries on page 2.
fn one_queue() -> Rig {
    let mut rig = Rig::default();
    rig.create(1, 0x7_f000, 4, 2);
    rig
}

/// The same once more.
fn again(rig: &mut Rig) {
    rig.reset();
    rig.create(1, 0x7_f000, 4, 2);
}

fn fill(rig: &mut Rig, count: u64) {
    for _ in 0..count {
        let done = rig.success(1);
        rig.complete(done);
    }
    rig.finish();
}

fn ring(rig: &mut Rig, takes: u64, arm: u64) {
    rig.ring(rig.takes(1, takes, arm));
    rig.finish();
}

#[test]
fn a_full_queue_loses_entries_tells_it_once_and_goes_on_when_there_is_room() {
    let mut rig = one_queue();
    fill(&mut rig, 16);
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (16, 0, 0));
    fill(&mut rig, 3);
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (16, 3, 1), "one event for three that were lost");
    rig.query(1);
    ring(&mut rig, 1, 0);
    fill(&mut rig, 2);
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (17, 4, 1), "room for one");
    ring(&mut rig, 16, 0);
    fill(&mut rig, 16);
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (33, 4, 1));
    // The next life of the number knows nothing of it.
    rig.destroy(1);
    rig.finish();
    rig.create(1, 0x9_0000, 4, 2);
    fill(&mut rig, 17);
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (49, 5, 2));
}

#[test]
fn the_phase_is_one_in_the_first_lap_and_flips_with_every_other() {
    let mut rig = one_queue();
    let mut phases = Vec::new();
    for _ in 0..72 {
        let done = rig.success(1);
        rig.complete(done);
        while !read::<bool>(&rig.bench, "entry$valid") {
            rig.step();
        }
        let entry: EntryWrite = read(&rig.bench, "entry$payload");
        phases.push((u64::from(entry.iova), entry.data.get_bit(Cqe::PHASE.offset())));
        rig.finish();
        ring(&mut rig, 1, 0);
    }
    for (entry, (iova, phase)) in (0..).zip(phases) {
        assert_eq!((iova, phase), (0x7_f000 + entry % 16 * 32, entry / 16 % 2 == 0), "entry {entry}");
    }
}

#[test]
fn an_event_stays_behind_its_entry_however_long_that_takes() {
    let mut rig = one_queue();
    ring(&mut rig, 0, 1);
    rig.bench[rig.entry].pause(always());
    let done = rig.success(1);
    rig.complete(done);
    rig.run(50);
    assert_eq!((rig.taken, read::<bool>(&rig.bench, "event$valid")), (0, false));
    rig.bench[rig.entry].pause(Pause::None);
    rig.finish();
    assert_eq!((rig.taken, rig.told), (1, 1));
}

#[test]
fn an_armed_queue_fires_once_and_solicited_arming_waits_for_its_kind() {
    let mut rig = one_queue();
    ring(&mut rig, 0, 1);
    assert_eq!(rig.told, 0, "nothing is left, nothing fires");
    fill(&mut rig, 3);
    assert_eq!(rig.told, 1, "the first entry alone");
    ring(&mut rig, 3, 2);
    fill(&mut rig, 3);
    assert_eq!(rig.told, 1, "none was solicited");
    let plain = rig.success(1);
    rig.complete(Done { flags: (1_u64 << Cqe::SOLICITED.bit).into(), ..plain });
    rig.finish();
    assert_eq!(rig.told, 2);
    ring(&mut rig, 4, 2);
    let plain = rig.success(1);
    rig.complete(Done { status: (Status::Flushed as u64).into(), ..plain });
    rig.finish();
    assert_eq!(rig.told, 3, "a failure counts as solicited");
}

#[test]
fn arming_never_weakens() {
    let mut rig = one_queue();
    for (first, second) in [(1, 2), (2, 1), (1, 0), (2, 3)] {
        again(&mut rig);
        ring(&mut rig, 0, first);
        ring(&mut rig, 0, second);
        fill(&mut rig, 1);
        assert_eq!(rig.told, 1, "{first} then {second}");
    }
    again(&mut rig);
    ring(&mut rig, 0, 2);
    ring(&mut rig, 0, 0);
    fill(&mut rig, 1);
    assert_eq!(rig.told, 0, "armed for solicited entries still");
}

#[test]
fn arming_while_entries_are_left_fires_at_once_and_disarms() {
    let mut rig = one_queue();
    for arm in [1, 2, 3] {
        again(&mut rig);
        fill(&mut rig, 2);
        ring(&mut rig, 1, arm);
        assert_eq!(rig.told, 1, "an entry came while the doorbell was on its way");
        fill(&mut rig, 1);
        assert_eq!(rig.told, 1, "disarmed");
        ring(&mut rig, 2, arm);
        assert_eq!(rig.told, 1, "nothing is left");
    }
}

/// An entry that meets the arming doorbell in any cycle is told of exactly once.
#[test]
fn no_wake_up_is_lost_when_entry_and_doorbell_meet() {
    let mut rig = one_queue();
    for lead in 0..12 {
        for is_doorbell_first in [false, true] {
            again(&mut rig);
            let (done, doorbell) = (rig.success(1), rig.takes(1, 0, 1));
            if is_doorbell_first {
                rig.ring(doorbell);
                rig.run(lead);
                rig.complete(done);
            } else {
                rig.complete(done);
                rig.run(lead);
                rig.ring(doorbell);
            }
            rig.finish();
            assert_eq!((rig.taken, rig.told), (1, 1), "{lead} cycles, doorbell first: {is_doorbell_first}");
        }
    }
}

#[test]
fn refused_doorbells_change_nothing() {
    let mut rig = one_queue();
    fill(&mut rig, 2);
    let good = rig.takes(1, 1, 1);
    rig.ring(CqDoorbell { page: 3.into(), ..good });
    rig.ring(CqDoorbell { cq: 2.into(), ..good });
    rig.ring(CqDoorbell { cq: (1 + (1_u64 << CQS)).into(), ..good });
    rig.ring(rig.takes(1, 3, 1));
    rig.ring(CqDoorbell { consumer: 0xff_ffff_u64.into(), ..good });
    rig.finish();
    assert_eq!((rig.counts(), rig.told), ([4, 1, 0], 0));
    let queue = rig.queues.rows[&1];
    assert_eq!((queue.consumer, queue.armed), (0, 0));
    rig.query(1);
}

#[test]
fn a_completion_without_a_queue_is_lost_and_told() {
    let mut rig = one_queue();
    for cq in [0, 2, 1 + (1 << CQS), 0xff_ffff] {
        let done = rig.success(cq);
        rig.complete(done);
    }
    rig.finish();
    assert_eq!((rig.taken, rig.counts()[2], rig.told), (0, 4, 0));
}

#[test]
fn every_refusal_has_its_status_and_leaves_no_queue() {
    use CommandStatus::{BadAttribute, BadField, Done, Exists, NoObject, OutOfRange, UnknownVerb};
    let mut rig = one_queue();
    let good = CompletionQueue { base: 0x1000, log: 4, page: 3, ..CompletionQueue::default() };
    let with = |base, log, page| CompletionQueue { base, log, page, ..good };
    let (create, modify) = (Verb::Create as u8, Verb::Modify as u8);
    let cases = [
        (create, 1, good, 0, Exists, 0),
        (create, 1 << CQS, good, 0, OutOfRange, 0),
        (create, 1 << 31, good, 0, OutOfRange, 0),
        (create, 2, with(0x1800, 4, 3), 0, BadField, 0),
        (create, 2, with(0x1020, 3, 3), 0, BadField, 0),
        (create, 2, with(u64::MAX - 4095, 8, 3), 0, BadField, 0),
        (create, 2, with(0u64.wrapping_sub(1 << 24), 20, 3), 0, BadField, 0),
        (create, 2, with(0x1000, 3, 3), 0, BadField, 8),
        (create, 2, with(0x1000, 21, 3), 0, BadField, 8),
        (create, 2, with(0x1000, 36, 3), 0, BadField, 8),
        (create, 2, with(0x1000, 4, 1 << PAGES), 0, BadField, 10),
        (create, 2, good, 1 << 63, BadAttribute, 0),
        (modify, 1, good, 0, BadAttribute, 0),
        (modify, 1, good, MODERATION_ATTRIBUTE << 1, BadAttribute, 0),
        (modify, 1, good, MODERATION_ATTRIBUTE | 1 << 63, BadAttribute, 0),
        (modify, 2, good, MODERATION_ATTRIBUTE, NoObject, 0),
        (modify, 1 | 1 << CQS, good, MODERATION_ATTRIBUTE, NoObject, 0),
        (0, 1, good, 0, UnknownVerb, 0),
        (Verb::Query as u8, 2, good, 0, NoObject, 0),
        (Verb::Destroy as u8, 2, good, 0, NoObject, 0),
        (Verb::Destroy as u8, 1 << CQS, good, 0, NoObject, 0),
        // And what is just allowed.
        (create, 2, with(u64::MAX - 4095, 7, 0), 0, Done, 0),
        (create, 3, with(0u64.wrapping_sub(1 << 25), 20, 3), 0, Done, 0),
        (modify, 3, with(0x1800, 3, u16::MAX), MODERATION_ATTRIBUTE, Done, 0),
    ];
    for (verb, object, asked, attributes, status, field) in cases {
        let command = order(verb, object, &asked, &noise(&mut rig.rng));
        let attributes: u64 = attributes;
        rig.order(&ObjectCommand { attributes: attributes.into(), ..command });
        rig.finish();
        let reply = rig.last_reply.expect("a reply came");
        assert_eq!((u64::from(reply.status), u64::from(reply.field)), (status as u64, field), "{asked:?}");
        assert_eq!(rig.queues.rows.contains_key(&2), status == Done, "{asked:?}");
    }
    rig.query(1);
    rig.query(3);
}

#[test]
fn the_last_slot_of_the_address_space_is_written() {
    let mut rig = Rig::default();
    rig.create(1, u64::MAX - 4095, 7, 0);
    fill(&mut rig, 128);
    assert_eq!(rig.taken, 128);
}

#[test]
fn a_queue_ends_when_its_entries_have_settled_and_others_go_on_meanwhile() {
    let mut rig = one_queue();
    rig.create(2, 0x10_0000, 5, 0);
    rig.settling_takes = 200;
    rig.bench[rig.entry].pause(always());
    let last = rig.success(1);
    rig.complete(last);
    rig.run(5);
    rig.destroy(1);
    rig.run(50);
    assert!(rig.queues.rows.contains_key(&1), "the entry has to be taken first");
    rig.bench[rig.entry].pause(Pause::None);
    rig.run(10);
    assert!(!rig.queues.rows.contains_key(&1));
    rig.last_reply = None;
    for cq in [2, 1, 2] {
        let done = rig.success(cq);
        rig.complete(done);
    }
    rig.run(40);
    assert_eq!((rig.taken, rig.counts()[2], rig.last_reply), (3, 1, None), "the reply waits alone");
    rig.finish();
    assert!(rig.last_reply.is_some());
}

#[test]
fn a_reply_nobody_takes_stalls_no_completion() {
    let mut rig = one_queue();
    rig.bench[rig.reply].pause(always());
    for _ in 0..2 {
        let command = order(Verb::Query as u8, 1, &CompletionQueue::default(), &noise(&mut rig.rng));
        rig.order(&command);
    }
    for _ in 0..10 {
        let done = rig.success(1);
        rig.complete(done);
    }
    rig.run(60);
    assert_eq!((rig.taken, rig.bench.is_sent()), (10, false));
    rig.bench[rig.reply].pause(Pause::None);
    rig.finish();
}

#[test]
fn probes_see_what_exists_and_nothing_beyond_the_table() {
    let mut rig = one_queue();
    rig.create(6, 0x1000, 4, 0);
    let seen = |rig: &mut Rig, place: usize, number: u64| {
        rig.set(&format!("probe${place}"), &rust_hdl::prelude::Bits::<24>::from(number));
        rig.bench.model_mut().eval();
        read::<bool>(&rig.bench, &format!("exists${place}"))
    };
    for place in 0..2 {
        for number in 0..4 << CQS {
            assert_eq!(seen(&mut rig, place, number), [1, 6].contains(&number), "{number}");
        }
        assert!(!seen(&mut rig, place, 1 | 1 << 23));
    }
    rig.destroy(6);
    rig.finish();
    assert!(seen(&mut rig, 0, 1) && !seen(&mut rig, 1, 6));
    rig.bench.reset(1);
    assert!(!seen(&mut rig, 0, 1), "not even while the table is scrubbed");
}

#[test]
fn latencies_and_rate_are_those_promised() {
    let mut rig = one_queue();
    rig.arrivals.clear();
    let start = rig.bench.cycle();
    ring(&mut rig, 0, 1);
    assert_eq!(rig.bench.cycle() - start, 3, "an operation takes three cycles");
    let start = rig.bench.cycle();
    fill(&mut rig, 1);
    assert_eq!(rig.arrivals, [("entry", start + 3), ("event", start + 5)]);
    rig.arrivals.clear();
    let start = rig.bench.cycle();
    ring(&mut rig, 0, 1);
    assert_eq!(rig.arrivals, [("event", start + 4)], "with an entry left");
    rig.arrivals.clear();
    let start = rig.bench.cycle();
    rig.query(1);
    assert_eq!(rig.arrivals, [("reply", start + 3)]);

    // Completions in a row, each of them with an event.
    for cq in 2..8 {
        rig.create(cq, cq << 12, 4, 0);
        rig.ring(rig.takes(cq, 0, 1));
        rig.finish();
    }
    rig.arrivals.clear();
    let start = rig.bench.cycle();
    for cq in 2..8 {
        let done = rig.success(cq);
        rig.complete(done);
    }
    rig.finish();
    let of = |kind: &str| -> Vec<u64> {
        rig.arrivals.iter().filter(|(name, _)| *name == kind).map(|(_, cycle)| cycle - start).collect()
    };
    assert_eq!(of("entry"), [3, 6, 9, 12, 15, 18]);
    assert_eq!(of("event"), [5, 8, 11, 14, 17, 20]);
}

#[test]
fn no_kind_of_operation_keeps_another_waiting() {
    let mut rig = one_queue();
    for _ in 0..20 {
        let done = rig.success(0);
        rig.complete(done);
        rig.ring(rig.takes(1, 0, 0));
    }
    let command = order(Verb::Query as u8, 1, &CompletionQueue::default(), &noise(&mut rig.rng));
    rig.order(&command);
    rig.run(9);
    assert_eq!(rig.is_quiet(), [false, false, true], "one of each in nine cycles");
    rig.run(6);
    assert_eq!((rig.bench[rig.done].sent(), rig.bench[rig.doorbell].sent()), (2, 2));
    rig.finish();
}
