mod corners;
mod moderation;

use rust_hdl::prelude::*;
use stroma_abi::desc::completion_queue::MODERATION_ATTRIBUTE;
use stroma_abi::desc::{CompletionQueue, Verb};
use stroma_verilate::Pause;

use super::model::{INDICES, Queues, order};
use super::rig::{CLOCK_KHZ, CQS, PAGES, Rig};
use super::table::QueueRow;
use super::{
    CompletionQueues, admit, answer, choose, complete, consume, decide, deliver, examine, look, patrol,
    table, visit,
};
use crate::host::work::{CqDoorbell, Done};
use crate::state::command::ObjectCommand;
use crate::testing::{noise, settle};
use crate::verilog::differential::{assert_agree, differential};
use crate::verilog::emit;

/// A completion for one of the queues, or for one that cannot exist; failed or solicited now and then.
fn any_done(rig: &mut Rig) -> Done {
    let cq =
        if rig.rng.below(30) == 0 { 1 << (CQS as u64 + rig.rng.below(3)) } else { rig.rng.below(1 << CQS) };
    let done: Done = noise(&mut rig.rng);
    let status = if rig.rng.below(4) == 0 { done.status } else { 0.into() };
    Done { cq: cq.into(), status, ..done }
}

/// A doorbell that takes some of the entries there are, or goes wrong in one of all ways.
fn any_doorbell(rig: &mut Rig) -> CqDoorbell {
    let cq = rig.rng.below(1 << CQS);
    let held = rig.queues.rows.get(&cq).map_or(0, super::model::Queue::held);
    let arm = rig.rng.below(4);
    let takes = rig.rng.below(held + 1);
    let good = rig.takes(cq, takes, arm);
    match rig.rng.below(16) {
        0 => CqDoorbell { page: rig.rng.below(6).into(), ..good },
        1 => CqDoorbell { cq: (cq | 1 << (CQS as u64 + rig.rng.below(4))).into(), ..good },
        2 => CqDoorbell { consumer: noise(&mut rig.rng), ..good },
        3 => rig.takes(cq, held + 1, arm),
        4..8 => rig.takes(cq, held, arm),
        _ => good,
    }
}

/// Any command; most make queues, and small ones, or change their moderation.
fn any_command(rig: &mut Rig) -> ObjectCommand {
    let rng = &mut rig.rng;
    let verbs = [1, 1, 1, 1, 1, 3, 3, 3, 4, 2, 2, 2, 2, 2, 0, 7];
    let verb = verbs[usize::try_from(rng.below(16)).expect("small")];
    let object = match rng.below(12) {
        0 => 1 << (CQS as u64 + rng.below(29)),
        _ => rng.below(1 << CQS),
    };
    let far = rng.below(1 << 14);
    let base = match rng.below(8) {
        0 => rng.next_u64(),
        1 => u64::MAX - 4095 - far * 4096,
        _ => rng.next_u64() >> 12 << 12,
    };
    let log = if rng.below(8) == 0 {
        rng.next_u32().to_le_bytes()[0] % 32
    } else {
        4 + rng.next_u32().to_le_bytes()[0] % 2
    };
    let page = u16::try_from(rng.below(if rng.clone().below(8) == 0 { 1 << 16 } else { 1 << PAGES }))
        .expect("16 bits");
    let [count, period] = [8, 300].map(|most| match rng.below(16) {
        0 => rng.next_u32().to_le_bytes()[0].into(),
        1..5 => 0,
        _ => u16::try_from(rng.below(most)).expect("small"),
    });
    let asked = CompletionQueue { base, log, page, count, period, ..CompletionQueue::default() };
    let command = order(verb, object, &asked, &noise(rng));
    let good = if verb == Verb::Modify as u8 { MODERATION_ATTRIBUTE } else { 0 };
    let attributes = if rng.below(16) == 0 { 1 << rng.below(64) } else { good };
    ObjectCommand { attributes: attributes.into(), ..command }
}

/// Random operations, each made of the state at the moment; `often` is the chance in 100 of each kind and cycle.
fn random(rig: &mut Rig, cycles: u64, often: [u64; 3]) {
    for _ in 0..cycles {
        let quiet = rig.is_quiet();
        let lucky = often.map(|often| rig.rng.below(100) < often);
        if quiet[0] && lucky[0] {
            let done = any_done(rig);
            rig.complete(done);
        }
        if quiet[1] && lucky[1] {
            let doorbell = any_doorbell(rig);
            rig.ring(doorbell);
        }
        if quiet[2] && lucky[2] {
            let command = any_command(rig);
            rig.order(&command);
        }
        rig.step();
    }
}

fn queues(rig: &mut Rig) {
    for cq in 0..1 << CQS {
        rig.create(cq, 0x1234_5678_9000 + (cq << 24), 4, u16::try_from(cq % 4).expect("small"));
    }
    // Those behind them are told at once.
    for (cq, count, period) in [(0, 3, 100), (1, 2, 0), (2, 20, 30), (3, 5, 400)] {
        rig.moderate(cq, count, period);
    }
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    queues(&mut rig);
    random(&mut rig, 30_000, [60, 30, 1]);
    rig.finish();
    // Slowly: most events come by time.
    random(&mut rig, 30_000, [3, 3, 1]);
    rig.finish();
    rig.rest();
    let timed = rig.visits.len();
    assert!(timed > 300, "{timed} visits");
    let [bad, wrong_page, lost] = rig.counts();
    assert!(rig.taken > 2000 && rig.told > 500, "{} entries, {} events", rig.taken, rig.told);
    assert!(bad > 100 && wrong_page > 30 && lost > 100, "{bad} bad, {wrong_page} wrong, {lost} lost");
    for cq in 0..=1 << CQS {
        rig.query(cq);
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    let half = |seed| Pause::Random { seed, percent: 50 };
    let slow = |seed| Pause::Random { seed, percent: 90 };
    let mut stalls = vec![[half(1), half(2), half(3), half(4), half(5), half(6), half(7)]];
    let burst = |go, pause| Pause::Burst { go, pause };
    stalls.push([
        burst(9, 4),
        burst(40, 30),
        half(1),
        burst(20, 60),
        burst(7, 90),
        burst(5, 50),
        burst(3, 99),
    ]);
    for port in 0..7 {
        let mut one = [const { Pause::None }; 7];
        one[port] = slow(8);
        stalls.push(one);
    }
    for stall in stalls {
        rig.pause([const { Pause::None }; 7]);
        queues(&mut rig);
        rig.pause(stall.clone());
        rig.settling_takes = rig.rng.below(40);
        random(&mut rig, 4000, [80, 30, 3]);
        rig.finish();
        rig.pause([const { Pause::None }; 7]);
        rig.rest();
        assert!(rig.taken > 80 && rig.told > 30, "{} entries, {} events, {stall:?}", rig.taken, rig.told);
        rig.reset();
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    queues(&mut rig);
    let always = Pause::Script(vec![true]);
    let none = Pause::None;
    // An entry not taken with an event behind it, and an operation that waits for them.
    rig.pause([
        none.clone(),
        none.clone(),
        none.clone(),
        always.clone(),
        always.clone(),
        always,
        none.clone(),
    ]);
    rig.ring(rig.takes(2, 0, 1));
    rig.run(10);
    let done = rig.success(2);
    rig.complete(done);
    rig.run(5);
    let ends = rig.success(3);
    rig.complete(ends);
    rig.run(5);
    // Reset withdraws the beat that waits; what is taken afterwards finds an empty table.
    assert!(!rig.bench.is_sent(), "a completion waits");
    rig.reset();
    rig.pause([const { Pause::None }; 7]);
    rig.finish();
    assert_eq!(rig.counts()[2], 1, "the completion found no queue");
    // A reply that waits for `settled`.
    queues(&mut rig);
    rig.settling_takes = 1000;
    rig.destroy(1);
    rig.run(10);
    rig.reset();
    rig.settling_takes = 9;
    assert!(!crate::testing::read::<bool>(&rig.bench, "busy"), "nothing is left");
    // A queue in line.
    queues(&mut rig);
    rig.ring(rig.takes(3, 0, 1));
    let done = rig.success(3);
    rig.complete(done);
    rig.finish();
    rig.run(3);
    assert!(crate::testing::read::<bool>(&rig.bench, "patrols") && rig.told == 0, "it waits");
    rig.reset();
    assert!(!crate::testing::read::<bool>(&rig.bench, "patrols"), "nobody waits");
    queues(&mut rig);
    random(&mut rig, 2000, [60, 30, 1]);
    rig.finish();
    rig.rest();
}

/// Indices near the end of their 24 bits: no bench gets there in time, so the logic is asked without its table.
#[test]
fn indices_and_phase_pass_the_wrap_of_24_bits() {
    for log in [4, 7, 20] {
        let mut queues = Queues::new(1 << CQS, 1 << PAGES, CLOCK_KHZ);
        let start = INDICES - 40;
        let queue = super::model::Queue {
            base: 0xffff_0000,
            log,
            page: 3,
            producer: start,
            consumer: start,
            ..Default::default()
        };
        queues.rows.insert(5, queue);
        let mut block = Box::new(decide::Decide::default());
        block.connect_all();
        let mut row = QueueRow {
            exists: true,
            base: (queue.base >> 12).into(),
            log: u64::from(log).into(),
            page: 3.into(),
            producer: start.into(),
            consumer: start.into(),
            ..QueueRow::default()
        };
        let mut rng = stroma_verilate::SplitMix64::new(u64::from(log));
        while queues.rows[&5].consumer < INDICES + 40 {
            let rings = rng.below(3) == 0;
            let (done, time) = (Done { cq: 5.into(), ..noise(&mut rng) }, noise::<Bits<64>>(&mut rng));
            let to = queues.rows[&5].consumer + rng.below(queues.rows[&5].held() + 3);
            let doorbell = CqDoorbell {
                cq: 5.into(),
                page: 3.into(),
                consumer: (to % INDICES).into(),
                arm: rng.below(3).into(),
            };
            block.completes.next = !rings;
            block.consumes.next = rings;
            block.goes.next = true;
            block.done.next = done;
            block.doorbell.next = doorbell;
            block.now.next = time;
            block.row.next = row;
            block.known.next.held = row.producer - row.consumer;
            block.known.next.is_full = queues.rows[&5].held() == 1 << log;
            block.known.next.moved = doorbell.consumer - row.consumer;
            block.known.next.left = row.producer - doorbell.consumer;
            block.known.next.is_enough = true;
            settle(&mut *block);
            let expected = if rings {
                queues.consume(&doorbell, time.into())
            } else {
                queues.complete(&done, time.into())
            };
            assert_eq!(block.writes.val().then(|| block.made.val()), expected.entry);
            assert_eq!(block.fires.val() | block.overflows.val(), expected.event.is_some());
            assert_eq!((block.bad.val(), block.loses.val()), (expected.bad, expected.error.is_some()));
            if block.changes.val() {
                row = block.after.val();
            }
            let queue = queues.rows[&5];
            assert_eq!(
                (row.producer, row.consumer),
                ((queue.producer % INDICES).into(), (queue.consumer % INDICES).into())
            );
        }
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!(
            "cq_table",
            table::Table::<3>::default,
            clock,
            [number, read, write, write_number, write_row]
        ),
        differential!("cq_complete", complete::Complete::default, [done, row, is_full, is_enough, now]),
        differential!(
            "cq_consume",
            consume::Consume::default,
            [doorbell, row, is_foreign, moved, held, left, now]
        ),
        differential!("cq_admit", admit::Admit::default, [command, sense, row, is_beyond]),
        differential!("cq_examine", examine::Examine::<2>::default, [command]),
        differential!(
            "cq_look",
            look::Look::<2>::default,
            clock,
            [looks, read_row, is_beyond, doorbell, command]
        ),
        differential!("cq_visit", visit::Visit::default, [row, is_late]),
        differential!(
            "cq_choose",
            choose::Choose::default,
            clock,
            [is_open, offers, completed, rung, object, head]
        ),
        differential!(
            "cq_patrol",
            patrol::Patrol::<3>::default,
            clock,
            [joins, number, begins, is_known, since, period, now, ends]
        ),
        differential!(
            "cq_decide",
            decide::Decide::default,
            [
                completes, consumes, commands, visits, goes, done, doorbell, command, row, known, sense,
                is_late, now
            ]
        ),
        differential!(
            "cq_deliver",
            deliver::Deliver::default,
            clock,
            [writes, made, loses, qpn, fires, overflows, cq, entry.ready, event.ready, error.ready]
        ),
        differential!(
            "cq_answer",
            answer::Answer::default,
            clock,
            [answers, given, ends, settled, reply.ready]
        ),
        differential!(
            "completion_queues",
            CompletionQueues::<3, 2>::default,
            clock,
            [
                command.payload,
                command.valid,
                reply.ready,
                doorbell.payload,
                doorbell.valid,
                done.payload,
                done.valid,
                entry.ready,
                event.ready,
                error.ready,
                settled
            ]
        ),
    ];
    assert_agree(cases, 300);
}

#[test]
fn the_sizes_of_real_cards_can_be_built() {
    for emitted in [
        emit("completion_queues", CompletionQueues::<8, 4>::default),
        emit("completion_queues", CompletionQueues::<10, 6>::default),
    ] {
        assert!(emitted.is_ok_and(|rtl| rtl.text.contains("module completion_queues")));
    }
}
