mod again;
mod calls;
mod corners;
mod fairness;
mod timing;

use stroma_abi::wire::opcode;
use stroma_verilate::{Pause, SplitMix64};

use super::model::{Owed, mtu, packets, psn};
use super::rig::Rig;
use super::rig::book::Book;
use super::{choose, count, line, locate, note, rows, serve, sweep};
use crate::testing::{noise, read, stalls};
use crate::transport::records::{Answer, Task, TxFailure};
use crate::transport::respond::calls as call;
use crate::verilog::differential::{assert_agree, differential};

/// Bytes of a READ, around those of packets.
fn any_length(rng: &mut SplitMix64, mtu: u64) -> u64 {
    match rng.below(5) {
        0 => rng.below(3),
        1 => mtu * rng.below(4) + rng.below(3),
        2 => (mtu * (1 + rng.below(3))).saturating_sub(rng.below(3)),
        _ => rng.below(11 * mtu),
    }
}

/// Acknowledgements, values, and READs of all sizes around those of packets.
fn any_task(rng: &mut SplitMix64, queue_pairs: u64, ticket: u64) -> Task {
    let path_mtu = 1 + rng.below(5);
    let length = any_length(rng, 128 << path_mtu);
    let answer = match rng.below(9) {
        0..3 => Answer::Data,
        3 => Answer::Value,
        _ => Answer::Acknowledge,
    };
    let syndromes = [0x1f, 0x1f, 0x1f, 0x1f, 0x00, 0x60, 0x60, 0x61, 0x62, 0x2c];
    let syndrome = syndromes[usize::try_from(rng.below(10)).expect("small")];
    Task {
        qpn: rng.below(queue_pairs).into(),
        path_mtu: path_mtu.into(),
        answer: (answer as u64).into(),
        syndrome: u64::from(if rng.below(40) == 0 { 0x63_u8 } else { syndrome }).into(),
        length: length.into(),
        ticket: (if answer == Answer::Value { rng.next_u64() } else { ticket } & 0xffff).into(),
        ..noise(rng)
    }
}

/// The task, or one that asks again for some of the READ that a queue pair is sending, or for what is next to it.
fn or_again(rig: &mut Rig, task: &Task) -> Task {
    let sending = |owed: &&Owed| owed.packets > 0;
    let Some(owed) = rig.model.owed.iter().rfind(sending) else { return *task };
    let head = owed.reads[0].task;
    let begin = psn(head.psn, 0xff_ffff + rig.rng.below(owed.packets + 4));
    let length = any_length(&mut rig.rng, mtu(&head));
    let fresh = rig.rng.below(6) == 0;
    let near =
        Task { qpn: head.qpn, path_mtu: head.path_mtu, psn: begin, length: length.into(), fresh, ..*task };
    if rig.rng.below(4) == 0 {
        return near;
    }
    Task { answer: (Answer::Data as u64).into(), ticket: (rig.ticket & 0xffff).into(), ..near }
}

/// A failure of what a queue pair sends, or of something else.
fn any_failure(rig: &mut Rig) -> TxFailure {
    let number = rig.rng.below(rig.queue_pairs());
    let head = rig.model.owed[usize::try_from(number).expect("small")].reads.front().map(|read| read.task);
    let near = |task: Task, rng: &mut SplitMix64| psn(task.psn, rng.below(packets(&task) + 1));
    let random: TxFailure = noise(&mut rig.rng);
    let psn = head.map_or(random.psn, |task| near(task, &mut rig.rng));
    TxFailure { qpn: number.into(), psn, is_response: rig.rng.below(4) != 0, ..random }
}

/// Something of an RPC.
fn any_call(rig: &mut Rig) -> Task {
    let number = rig.rng.below(rig.queue_pairs());
    let task = rig.any_call(number);
    if task.answer == Answer::Result as u64 || task.answer == Answer::Finished as u64 {
        return task;
    }
    rig.or_replay(&task)
}

/// Everything at random; so many tasks of a hundred are those of RPCs.
fn live(rig: &mut Rig, cycles: u64, often: u64, calls: u64) {
    let queue_pairs = rig.queue_pairs();
    rig.model.cnp_interval = [0, 1, 60, 300][usize::try_from(rig.rng.below(4)).expect("small")];
    for _ in 0..cycles {
        if rig.rng.below(100) < often && rig.bench[rig.task].is_empty() {
            rig.ticket = rig.ticket.max(rig.done + rig.rng.below(20) - 10);
            let task = any_task(&mut rig.rng, queue_pairs, rig.ticket);
            let goes_back = rig.rng.below(2) == 0;
            let task = if goes_back { or_again(rig, &task) } else { task };
            // Places begin anew with a queue pair: one that is about to is left alone.
            let is_call = rig.rng.below(100) < calls && rig.bench[rig.change].is_empty();
            let task = if is_call { any_call(rig) } else { task };
            rig.send(&task);
        }
        if rig.rng.below(60) == 0 && rig.bench[rig.notice].is_empty() {
            let number = rig.rng.below(queue_pairs);
            rig.notify(number);
        }
        if rig.rng.below(400) == 0 && rig.bench[rig.failure].is_empty() {
            let failure = any_failure(rig);
            rig.fail_with(failure);
        }
        if rig.rng.below(150) == 0 && rig.bench[rig.change].is_empty() && rig.bench[rig.task].is_empty() {
            let number = rig.rng.below(queue_pairs);
            let what = rig.rng.below(10);
            if what == 0 {
                rig.end(number);
            } else {
                let resets = (3..9).contains(&what);
                rig.tell(number, what < 3, resets);
                if resets {
                    rig.books[usize::try_from(number).expect("small")] = Book::default();
                }
            }
        }
        match rig.rng.below(100) {
            0 => rig.pause = true,
            1..10 => rig.pause = false,
            10..30 => rig.done += 1,
            _ => {}
        }
        rig.step();
    }
    rig.pause = false;
    rig.done += 100;
    rig.finish_all();
    rig.settle();
    assert!(rig.model.owed.iter().all(|owed| !owed.is_some()), "an RPC is not answered");
    assert_eq!(rig.stages.len(), 32, "the staging is empty");
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    let (mut dropped, mut gone_back) = (0, 0);
    for seed in 0..8 {
        rig.reset(seed);
        rig.done += 0xffe0;
        let percent = if seed < 4 { 0 } else { 97 };
        rig.bench[rig.step].pause(Pause::Random { seed, percent });
        live(&mut rig, 6000, [3, 10, 30, 100, 10, 30, 100, 100][usize::try_from(seed).expect("small")], 0);
        let counts = [rig.steps.len() as u64, rig.cnps, rig.errors.len() as u64];
        assert!(counts[0] > 80 && counts[1] > 5 && counts[2] > 1, "seed {seed}: {counts:?}");
        dropped += rig.dropped;
        gone_back += rig.model.gone_back;
    }
    assert!(dropped > 5 && gone_back > 30, "{dropped} dropped, {gone_back} gone back");
}

#[test]
fn rpcs_among_all_else_agree_with_the_model() {
    let mut rig = Rig::default();
    let (mut staged, mut freed, mut outdated, mut gone_back) = (0, 0, 0, 0);
    let mut sent = Vec::new();
    for seed in 0..12 {
        rig.reset(100 + seed);
        rig.done += 0xffe0;
        let percent = [0, 50, 90][usize::try_from(seed % 3).expect("small")];
        rig.bench[rig.step].pause(Pause::Random { seed, percent });
        live(&mut rig, 6000, [10, 30, 100, 100][usize::try_from(seed % 4).expect("small")], 40 + 5 * seed);
        sent.extend(rig.sent());
        staged += rig.sent_stages.len();
        freed += rig.freed_stages.len();
        outdated += rig.outdated;
        gone_back += rig.model.gone_back;
    }
    let of = |row: opcode::Opcode| sent.iter().filter(|sent| sent.1 == u64::from(row.code)).count();
    let counts = [opcode::RPC_RESPONSE, opcode::RPC_RESPONSE_END, opcode::RPC_BUSY].map(of);
    assert!(counts.iter().all(|count| *count > 50), "{counts:?} packets");
    assert!(staged > 50 && freed > 50, "{staged} sent from the staging, {freed} not");
    assert!(outdated > 5 && gone_back > 30, "{outdated} outdated, {gone_back} gone back");
}

/// Operations of few queue pairs, of all kinds, as dense as they can be: each sees what those right before it did.
#[test]
fn one_queue_pair_and_two_by_turns_agree_with_the_model_at_full_rate() {
    dense(20, 0);
}

#[test]
fn rpcs_of_one_queue_pair_and_of_two_by_turns_agree_with_the_model_at_full_rate() {
    dense(40, 60);
}

fn dense(seeds: u64, calls: u64) {
    let mut rig = Rig::default();
    for (seed, (others, percent)) in (seeds..).zip([(0, 0), (0, 40), (0, 95), (1, 0), (1, 40), (1, 95)]) {
        rig.reset(seed);
        rig.bench[rig.step].pause(Pause::Random { seed, percent });
        rig.model.cnp_interval = 7 * (seed % 4);
        let mut sent: u64 = 0;
        for _ in 0..6000 {
            if rig.bench[rig.task].is_empty() {
                sent += 1;
                let task = any_task(&mut rig.rng, 1, rig.ticket);
                let task = Task { qpn: (sent & others).into(), ..task };
                let task = if rig.rng.below(4) == 0 { or_again(&mut rig, &task) } else { task };
                let is_call = rig.rng.below(100) < calls && rig.bench[rig.change].is_empty();
                let task = if is_call { rig.any_call(sent & others) } else { task };
                rig.send(&task);
            }
            if rig.rng.below(4) == 0 && rig.bench[rig.notice].is_empty() {
                rig.notify(sent & others);
            }
            if rig.rng.below(60) == 0 && rig.bench[rig.failure].is_empty() {
                let failure = TxFailure { qpn: (sent & others).into(), ..any_failure(&mut rig) };
                rig.fail_with(failure);
            }
            let is_quiet = rig.bench[rig.change].is_empty() && (calls == 0 || rig.bench[rig.task].is_empty());
            if rig.rng.below(20) == 0 && is_quiet {
                let stops = rig.rng.below(8) == 0;
                rig.tell(sent & others, stops, !stops);
                if !stops {
                    rig.books[usize::try_from(sent & others).expect("small")] = Book::default();
                }
            }
            if rig.rng.below(5) == 0 {
                rig.done += 1;
                rig.ticket = rig.ticket.max(rig.done + rig.rng.below(6) - 3);
            }
            rig.step();
        }
        rig.done += 100;
        rig.finish_all();
        rig.settle();
        assert_eq!(rig.stages.len(), 32, "the staging is empty");
        assert!(sent > 1000 && rig.steps.len() > 200, "{sent} tasks, {} steps", rig.steps.len());
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        rig.reset(seed);
        for source in [rig.task, rig.notice, rig.failure, rig.change] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.step, rig.error] {
            rig.bench[sink].pause(pressure.clone());
        }
        live(&mut rig, 3000, 20, 30);
        assert!(rig.steps.len() > 40, "{} steps", rig.steps.len());
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    rig.bench[rig.step].pause(Pause::Always);
    rig.bench[rig.error].pause(Pause::Always);
    for number in 0..rig.queue_pairs() {
        let task = Task { qpn: number.into(), ..any_task(&mut rig.rng, 1, 0) };
        rig.send(&Task { answer: (Answer::Data as u64).into(), ticket: 0.into(), ..task });
    }
    rig.run(60);
    rig.fail(1, 5.into());
    rig.notify(2);
    rig.run(60);
    assert!(read::<bool>(&rig.bench, "step$valid") && read::<bool>(&rig.bench, "error$valid"));
    rig.bench[rig.step].pause(Pause::None);
    rig.bench[rig.error].pause(Pause::None);
    rig.reset(1);
    rig.run(rig.queue_pairs());
    assert!(read::<bool>(&rig.bench, "ready") && !read::<bool>(&rig.bench, "busy"), "nothing is left");
    rig.run(50);
    rig.settle();
    assert!(rig.steps.is_empty());
    live(&mut rig, 3000, 20, 30);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!(
            "respond_note",
            note::Note::default,
            clock,
            [now, interval, asked, failure, change, looks, tasks, notices, fails, alters, row, entry]
        ),
        differential!("respond_calls", call::Calls::default, [tasks, asked, row, entry]),
        differential!(
            "respond_locate",
            locate::Locate::default,
            clock,
            [row, entry, failed, again, path_mtu]
        ),
        differential!(
            "respond_serve",
            serve::Serve::<3>::default,
            clock,
            [number, row, entry, decides, continues, done, colour, may_send, now, outcome, area]
        ),
        differential!(
            "respond_rows",
            rows::Rows::<2, 6>::default,
            clock,
            [begins, chosen, looks, looked, follows, index, moves, writes, changed, enters, entered, scrubs]
        ),
        differential!(
            "respond_count",
            count::Count::<2>::default,
            clock,
            [row, index, ends, comes, drops, goes, forgets, resets, scrubs]
        ),
        differential!(
            "respond_choose",
            choose::Choose::<2>::default,
            clock,
            [
                asked,
                asked_qpn,
                asks_head,
                notice,
                notice_qpn,
                failure,
                failure_qpn,
                change,
                change_qpn,
                line,
                line_qpn,
                room,
                visits,
                lengthens,
                stays,
                keeps,
                joins
            ]
        ),
        differential!(
            "respond_line",
            line::Line::<3>::default,
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!("respond_sweep", sweep::Sweep::<3>::default, clock, [begins, notes]),
    ];
    assert_agree(cases, 300);
}
