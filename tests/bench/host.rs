//! The host side alone: what a doorbell, a copy and a translation cost.

use std::time::Instant;

use stroma_abi::desc::{Body, Region, Sge, Status, WorkOp, WqeHead};
use stroma_sim::World;
use stroma_sim::host::attach::Event;
use stroma_sim::host::timing::Timing;
use stroma_tests::latency::Latency;
use stroma_tests::rig::{Completions, Queue, Rig, head, pieces, status};
use stroma_top::Profile;
use stroma_verilate::{Options, SplitMix64};

use crate::Task;
use crate::rate::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;
const PD: u16 = 1;
const HOW_COPIES: &str = "48 copies of 64 KiB at one doorbell; first to last beat written";

type Trace = Vec<(u64, Event)>;

/// Seconds that cycles of the card take.
pub(crate) fn seconds(cycles: u64) -> f64 {
    number(cycles) / (f64::from(PROFILE.clock_khz()) * 1000.0)
}

/// All of the suite.
pub(crate) const TASKS: &[Task] = &[
    Task { label: "copies of 64 KiB", measure: copies },
    Task { label: "NOPs on one queue pair", measure: |report| nops(report, 1) },
    Task { label: "NOPs on 32 queue pairs", measure: |report| nops(report, 32) },
    Task { label: "latency of one copy", measure: latencies },
    Task { label: "copies from random places", measure: translations },
    Task { label: "speed of the simulation", measure: speed },
];

/// Waits for `count` completions, all of them good.
fn await_all(rig: &Rig, completions: &mut Completions, count: usize) {
    for _ in 0..count {
        let cqe = rig.completion(completions);
        assert_eq!(status(&cqe), Status::Success, "index {}", cqe.index);
    }
}

fn trace(rig: &Rig) -> Trace {
    rig.world(|world| world.card(0).take_trace())
}

fn start_trace(rig: &Rig) {
    rig.world(|world| world.card(0).start_trace());
}

/// Copies of 64 KiB back to back: payload a second between the first and the last beat that the card writes.
fn copies(report: &mut Report) {
    const SIZE: u32 = 65_536;
    const COUNT: u32 = 48;
    let mut rig = Rig::new(PROFILE);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue_of(1, &completions, PD, 8);
    let (source, target) = (rig.buffer(1 << 20), rig.buffer(1 << 20));
    let from = rig.region(1, &Rig::direct(&source, 0, PD));
    let to = rig.region(2, &Rig::direct(&target, 0, PD));
    start_trace(&rig);
    for at in 0..COUNT {
        let place = u64::from(at % 16 * SIZE);
        let list = [Sge { address: place, local_key: from, length: SIZE }];
        queue.put(WqeHead { remote: place, key: to, ..head(WorkOp::Gather) }, pieces(&list));
    }
    rig.doorbell(&queue);
    await_all(&rig, &mut completions, COUNT as usize);
    let goodput = f64::from(COUNT) * f64::from(SIZE) * 8.0 / seconds(data_span(&trace(&rig))) / 1e9;
    report.add("copy.goodput.64KiB.qp1", Metric::Goodput, goodput, PROFILE, HOW_COPIES);
    let limit = f64::from(Timing::ALVEO_GEN3X16.megabits) / 1000.0;
    report.add(
        "copy.ratio.64KiB.qp1",
        Metric::Ratio,
        goodput / limit,
        PROFILE,
        "share of the payload that the link carries",
    );
}

/// Cycles from the first to the last beat of write data.
fn data_span(trace: &Trace) -> u64 {
    let mut beats =
        trace.iter().filter(|(_, event)| matches!(event, Event::Data { .. })).map(|(cycle, _)| *cycle);
    let first = beats.next().expect("the card wrote");
    beats.next_back().expect("more than one beat") - first
}

/// NOPs of one unit, every 16th signaled, over some queue pairs.
fn nops(report: &mut Report, queues: u32) {
    const BATCH: u32 = 512;
    let mut rig = Rig::new(PROFILE);
    let mut completions: Vec<Completions> = (0..queues).map(|number| rig.completions(number, 8, 0)).collect();
    let mut all: Vec<Queue> = completions
        .iter()
        .enumerate()
        .map(|(at, cq)| rig.queue_of(u32::try_from(at).expect("few") + 1, cq, PD, 10))
        .collect();
    start_trace(&rig);
    for queue in &mut all {
        for at in 0..BATCH {
            let head = WqeHead { signaled: at % 16 == 15, ..head(WorkOp::Nop) };
            queue.put(head, Body::Nop);
        }
    }
    for queue in &all {
        rig.doorbell(queue);
    }
    for completions in &mut completions {
        await_all(&rig, completions, BATCH as usize / 16);
    }
    // From the first fetch to the last completion on its way.
    let trace = trace(&rig);
    let first = trace.iter().find(|(_, event)| matches!(event, Event::Read { .. })).expect("a fetch").0;
    let last = trace.iter().rfind(|(_, event)| matches!(event, Event::Data { .. })).expect("a completion").0;
    let rate = f64::from(queues) * f64::from(BATCH) / seconds(last - first) / 1e6;
    let how = format!(
        "{BATCH} at one doorbell on each queue pair, every 16th signaled; first fetch to last completion"
    );
    report.add(&format!("nop.rate.64B.qp{queues}"), Metric::Rate, rate, PROFILE, &how);
}

/// Single requests on an idle card.
fn latencies(report: &mut Report) {
    let Latency { doorbell_to_dma, data_to_cqe, push_to_dma } = Latency::measure(PROFILE);
    for (name, cycles, how) in [
        ("doorbell_to_dma", doorbell_to_dma, "a doorbell at the pins to the fetch of its WQE"),
        ("data_to_cqe", data_to_cqe, "the last data of a copy to its completion"),
        ("push_to_dma", push_to_dma, "the commit of a push, its data inline, to the first write"),
    ] {
        report.add(&format!("card.{name}"), Metric::Cycles, number(cycles), PROFILE, how);
    }
}

/// Copies of 4 KiB from random places of 64 MiB, with small pages and with large ones.
fn translations(report: &mut Report) {
    const ROOM: usize = 64 << 20;
    const COUNT: usize = 1500;
    for (name, code, log) in [("4KiB", 0_u8, 12), ("2MiB", 1, 21)] {
        let mut rig = Rig::new(PROFILE);
        let mut completions = rig.completions(0, 12, 0);
        let mut queue = rig.queue_of(1, &completions, PD, 12);
        let (source, target) = (rig.buffer(ROOM), rig.buffer(4096));
        let pages = ROOM >> log;
        let list = rig.buffer((pages * 8).next_multiple_of(64));
        for page in 0..pages {
            list.write(page * 8, &(source.iova() + ((page as u64) << log)).to_le_bytes());
        }
        let region = Region { direct: false, page: code, list: list.iova(), ..Rig::direct(&source, 0, PD) };
        let (from, to) = (rig.region(1, &region), rig.region(2, &Rig::direct(&target, 0, PD)));
        let mut random = SplitMix64::new(5);
        start_trace(&rig);
        for _ in 0..COUNT {
            let place = random.below(ROOM as u64 / 4096) * 4096;
            let list = [Sge { address: place, local_key: from, length: 4096 }];
            queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&list));
        }
        rig.doorbell(&queue);
        await_all(&rig, &mut completions, COUNT);
        let bytes = number(COUNT as u64) * 4096.0;
        let goodput = bytes * 8.0 / seconds(data_span(&trace(&rig))) / 1e9;
        let how = format!(
            "{COUNT} copies of 4 KiB from random places of 64 MiB, pages of {name}; first to last beat written"
        );
        report.add(&format!("tlb.goodput.{name}.qp1"), Metric::Goodput, goodput, PROFILE, &how);
    }
}

/// How fast this machine simulates single requests with time between them, evaluating every cycle and skipping quiet ones.
fn speed(report: &mut Report) {
    let run = |skips: bool| {
        let mut world = World::new(PROFILE, 1, &Options::default()).expect("a card");
        world.skip_quiet_time(skips);
        let mut rig = Rig::with_world(world);
        let mut completions = rig.completions(0, 8, 0);
        let mut queue = rig.queue(1, &completions, PD);
        let (cycles, clock) = (rig.world(|world| world.now()), Instant::now());
        for _ in 0..24 {
            queue.put(head(WorkOp::Nop), Body::Nop);
            rig.doorbell(&queue);
            await_all(&rig, &mut completions, 1);
            rig.run(1000);
        }
        number(rig.world(|world| world.now()) - cycles) / clock.elapsed().as_secs_f64()
    };
    let (ticking, skipping) = (run(false), run(true));
    let how = "one card, 24 NOPs with 1000 cycles between them";
    report.add("sim.speed.ticking", Metric::Speed, ticking, PROFILE, how);
    report.add("sim.speed.skipping", Metric::Speed, skipping, PROFILE, how);
    report.add("sim.speedup.skipping", Metric::SpeedRatio, skipping / ticking, PROFILE, how);
}
