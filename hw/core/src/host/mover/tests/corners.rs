use stroma_abi::desc::Status;
use stroma_abi::desc::region::PAGE_LOGS;

use super::super::model::{is_broken, translate};
use super::*;

/// An address whose page behaves as wanted under a key.
fn page(key: u32, is_wanted: impl Fn(Result<u64, u8>) -> bool) -> u64 {
    let mut pages = (1_u64..).map(|page| page << PAGE_LOGS[0]);
    pages.find(|address| is_wanted(translate(key, *address))).expect("there are many pages")
}

fn good(address: u64, length: u32) -> Sge {
    sge(address, KEY, length)
}

/// An entry whose page is refused for this cause.
fn refused(cause: u8) -> Sge {
    sge(page(REFUSED | KEY, |found| found == Err(cause)), REFUSED | KEY, 100)
}

/// An entry whose page cannot be read.
fn broken() -> Sge {
    sge(page(BROKEN | KEY, |found| found.is_ok_and(is_broken)), BROKEN | KEY, 100)
}

/// Runs works and gives the completions' status, vendor code and length.
fn ends<const D: usize, const LOG: usize>(rig: &mut Rig<D, LOG>, items: &[Item]) -> Vec<(u64, u64, u64)> {
    rig.send(items);
    rig.finish();
    let told = |(done, _): &(crate::host::work::Done, usize)| {
        (u64::from(done.status), u64::from(done.vendor), u64::from(done.length))
    };
    rig.expected.dones.iter().map(told).collect()
}

#[test]
fn a_failure_ends_the_work_keeps_what_was_written_and_flushes_what_follows() {
    let mut rig = Rig::<64, 9>::new();
    let protection = Status::LocalProtection as u64;
    let general = Status::General as u64;
    let flushed = (Status::Flushed as u64, 0, 0);
    for (bad, status, vendor) in [
        (refused(1), protection, 1),
        (refused(4), protection, 4),
        (refused(5), general, 5),
        (broken(), general, 0),
    ] {
        let works = [
            item(Task::Gather(vec![good(0x1000, 50), bad, good(0x2000, 60), refused(2)])),
            item(Task::Gather(vec![good(0x3000, 10)])),
            item(Task::Inline(vec![1; 40])),
            item(Task::Refused(Status::LocalQueuePair as u8, 3)),
            item(Task::Nop),
            Item { qpn: 2, ..item(Task::Scatter(vec![good(0x3000, 10)])) },
            item(Task::End(true)),
        ];
        let told = ends(&mut rig, &works);
        assert_eq!(told, [(status, vendor, 0), flushed, flushed, flushed, flushed, (0, 0, 10)]);
        assert_eq!((rig.expected.writes.len(), rig.expected.errors.len()), (2, 1));
        // Another change does not help, a reset does.
        rig.change(1, false);
        assert_eq!(ends(&mut rig, &[item(Task::Nop)]), [flushed]);
        rig.change(1, true);
        assert_eq!(ends(&mut rig, &[item(Task::Nop)]), [(0, 0, 0)]);
    }
}

#[test]
fn a_refused_work_fails_its_queue_pair_and_a_flushed_one_does_not() {
    let mut rig = Rig::<64, 9>::new();
    let flushed = Status::Flushed as u8;
    let works = [
        item(Task::Refused(flushed, 0)),
        item(Task::Nop),
        item(Task::Refused(Status::LocalQueuePair as u8, 3)),
        item(Task::Nop),
    ];
    let expected = [(5, 0, 0), (0, 0, 0), (2, 3, 0), (5, 0, 0)];
    assert_eq!(ends(&mut rig, &works), expected);
    assert_eq!(rig.expected.errors.len(), 1);
}

#[test]
fn the_destination_of_inline_data_may_be_refused() {
    let mut rig = Rig::<64, 9>::new();
    let bad = refused(3);
    let to = |remote| Item { remote, key: bad.local_key, ..item(Task::Inline(vec![9; 300])) };
    let next = Item { qpn: 2, ..item(Task::Inline((0..200).collect())) };
    assert_eq!(ends(&mut rig, &[to(bad.address), next.clone()]), [(4, 3, 0), (0, 0, 200)]);
    rig.change(1, true);
    // The first of two pieces is written, the second is not.
    let before = page(bad.local_key, |found| found.is_ok());
    let before = (before..)
        .step_by(4096)
        .find(|at| translate(bad.local_key, *at).is_ok() && translate(bad.local_key, at + 4096).is_err());
    let told = ends(&mut rig, &[to(before.expect("there is one") + 4000), next]);
    assert_eq!((told[0].2, told[1]), (0, (0, 0, 200)));
    assert_eq!(rig.expected.writes.len(), 2);
}

#[test]
fn a_work_without_bytes_touches_nothing() {
    let mut rig = Rig::<512, 8>::new();
    let nothing = vec![good(0x1000, 0); 16];
    let works = [
        item(Task::Gather(nothing.clone())),
        item(Task::Scatter(Vec::new())),
        item(Task::Inline(Vec::new())),
        Item { is_signaled: false, ..item(Task::Nop) },
    ];
    assert_eq!(ends(&mut rig, &works), [(0, 0, 0); 3]);
    // Empty entries around bytes are passed over.
    let list = [nothing[..5].to_vec(), vec![good(0x5000, 8)], nothing[..9].to_vec()].concat();
    assert_eq!(ends(&mut rig, &[item(Task::Gather(list)), item(Task::Nop)]), [(0, 0, 8), (0, 0, 0)]);
    assert_eq!(rig.expected.writes.len(), 1);
}

#[test]
fn entries_and_length_that_disagree_do_no_harm() {
    let mut rig = Rig::<64, 9>::new();
    let list: Vec<Sge> = (0..16).map(|at| good(0x1_0000 + at * 0x100, 100)).collect();
    let next = item(Task::Gather(vec![good(0x3000, 10)]));
    for claims in [1, 99, 100, 101, 1599, 1600, 1601, 70_000] {
        let work = Item { claims: Some(claims), ..item(Task::Gather(list.clone())) };
        let works = [work.clone(), Item { task: Task::Scatter(list.clone()), ..work }, next.clone()];
        assert_eq!(ends(&mut rig, &works), [(0, 0, claims), (0, 0, claims), (0, 0, 10)]);
    }
    let none = Item { claims: Some(5), ..item(Task::Gather(Vec::new())) };
    assert_eq!(ends(&mut rig, &[none, next.clone()]), [(0, 0, 5), (0, 0, 10)]);
    let two = Item { missing: 3, ..item(Task::Gather(list[..2].to_vec())) };
    let short = Item { claims: Some(500), ..two.clone() };
    assert_eq!(ends(&mut rig, &[two, short, next]), [(0, 0, 200), (0, 0, 500), (0, 0, 10)]);
}

#[test]
fn a_drain_waits_for_the_chunks_before_it_alone() {
    let mut rig = Rig::<64, 9>::new();
    rig.finish();
    rig.drain();
    rig.run(2);
    assert_eq!(rig.drained, 1, "with nothing inside the answer comes after two cycles");
    // A chunk whose data are not taken holds it up, one without translation does not.
    rig.bench[rig.write_data].pause(always());
    rig.send(&[item(Task::Inline(vec![1; 8]))]);
    rig.run(40);
    assert_eq!(rig.commands.len(), 1, "the command is taken");
    rig.drain();
    rig.run(40);
    assert_eq!(rig.drained, 1);
    rig.bench[rig.write_data].pause(NEVER);
    rig.finish();
    assert_eq!(rig.drained, 2);
    // Chunks that come later do not matter: these cannot go on, and are not waited for.
    rig.bench[rig.xlat].pause(always());
    rig.bench[rig.work].pause(always());
    rig.send(&[item(Task::Gather(vec![good(0x1000, 9000)]))]);
    rig.drain();
    rig.bench[rig.work].pause(NEVER);
    rig.run(40);
    assert_eq!((rig.drained, rig.port("busy")), (3, true));
    rig.bench[rig.xlat].pause(NEVER);
    rig.finish();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64, 9>::new();
    let all = [
        item(Task::Inline(vec![3; 480])),
        item(Task::Gather(vec![good(0x1fff, 2000), refused(1)])),
        Item { qpn: 2, ..item(Task::Refused(2, 2)) },
        Item { qpn: 3, ..item(Task::Scatter(vec![good(0x1000, 1000)])) },
    ];
    // Stalled at each of the outputs in turn, the engine holds everything when reset comes.
    for sink in [rig.xlat, rig.read, rig.write, rig.write_data, rig.done, rig.error] {
        rig.bench[sink].pause(always());
        rig.send(&all);
        rig.run(1500);
        assert!(rig.bench.is_sent() && rig.port("busy"), "the engine should be full");
        rig.drain();
        rig.run(10);
        rig.bench[sink].pause(NEVER);
        rig.reset();
        assert!(!rig.port("ready") && !rig.port("busy"));
        for port in ["xlat", "read", "write", "write_data", "done", "error"] {
            assert!(!rig.port(&format!("{port}$valid")), "{port}");
        }
        rig.bench.run(1 << QPS);
        assert!(rig.port("ready"), "a cycle for each queue pair");
        rig.send(&works(1, 20, 10));
        rig.finish();
        // No failure outlives a reset.
        rig.reset();
        rig.send(&(0..1 << QPS).map(|qpn| Item { qpn, ..item(Task::Nop) }).collect::<Vec<_>>());
        rig.finish();
    }
}

#[test]
fn an_accepted_write_gets_its_bytes_whoever_takes_no_completions() {
    // The writer waits for the bytes of what it has accepted, and completions wait for the writer.
    let mut rig = Rig::<512, 8>::new();
    rig.bench[rig.done].pause(Pause::Always);
    let works: Vec<Item> = (0..40).map(|at| item(Task::Gather(vec![good(0x1000 + 64 * at, 64)]))).collect();
    rig.send(&works);
    rig.run(2000);
    assert_eq!(rig.dones, 0);
    assert!(rig.commands.len() > 4, "{} works came as far", rig.commands.len());
    assert_eq!(rig.packets, rig.commands.len());
    rig.bench[rig.done].pause(Pause::None);
    rig.finish();
}
