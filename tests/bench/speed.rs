//! How fast this machine simulates cards: with clock domains, and without them, in the same run. Processor time, so that other work on the
//! machine disturbs little; the ratio of the two is the figure.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use stroma_abi::kernel::traversal::Traversal;
use stroma_sim::Card;
use stroma_sim::link::LinkConfig;
use stroma_tests::pair::{MEMORY, Pair, pattern};
use stroma_tests::walks;
use stroma_top::Profile;
use stroma_verilate::Options;

use crate::Task;
use crate::rate::number;
use crate::report::{Metric, Report};

/// Cycles in which nothing happens.
const IDLE: u64 = 20_000;
/// Elements of the list that a kernel walks.
const ELEMENTS: u64 = 32;
/// Gated and ungated cards take turns so often, and the best of each counts: other work on the machine can only slow them down.
const TURNS: usize = 12;

/// Simulates so much, and gives cycles, of each card, and processor seconds.
type Turn = Box<dyn FnMut() -> (u64, f64)>;
/// Makes the cards that do so.
type Work = fn(Profile, &Options) -> Turn;

/// One row of the suite.
macro_rules! task {
    ($profile:ident, $label:literal, $work:expr, $how:literal) => {
        Task { label: $label, measure: |report| measure(report, Profile::$profile, $label, $work, $how) }
    };
}

/// All of the suite. A label is the profile, and what the cards do.
pub(crate) const TASKS: &[Task] = &[
    task!(TenGig, "10g.idle", idle_held, "one idle card, the clock of its kernels held"),
    task!(TenGig, "10g.idle.clocked", idle_clocked, "one idle card, its kernels clocked"),
    task!(TenGig, "10g.idle.pair", pair_idle, "two idle cards on a cable"),
    task!(TenGig, "10g.load", load, "two cards on a cable, WRITEs of 64 KiB at full rate"),
    task!(TenGig, "10g.kernels", kernels, "two cards on a cable, a kernel walks a list of 32 elements"),
    task!(HundredGig, "100g.idle", idle_held, "one idle card, the clock of its kernels held"),
    task!(HundredGig, "100g.idle.clocked", idle_clocked, "one idle card, its kernels clocked"),
    task!(HundredGig, "100g.idle.pair", pair_idle, "two idle cards on a cable"),
    task!(HundredGig, "100g.load", load, "two cards on a cable, WRITEs of 64 KiB at full rate"),
    task!(HundredGig, "100g.kernels", kernels, "two cards on a cable, a kernel walks a list of 32 elements"),
];

fn measure(report: &mut Report, profile: Profile, label: &str, work: Work, how: &str) {
    let mut best = [0.0_f64; 2];
    let mut works =
        [false, true].map(|reference| work(profile, &Options { reference, ..Options::default() }));
    for _ in 0..TURNS {
        for (best, turn) in best.iter_mut().zip(&mut works) {
            let (cycles, seconds) = turn();
            *best = best.max(number(cycles) / seconds);
        }
    }
    let [gated, ungated] = best;
    let name = |figure: &str| format!("speed.{label}.{figure}");
    let how = format!("{how}; cycles of each card in a second of the processor");
    report.add(&name("gated"), Metric::Speed, gated, profile, &how);
    report.add(&name("ungated"), Metric::Speed, ungated, profile, &format!("{how}; without clock domains"));
    report.add(&name("ratio"), Metric::SpeedRatio, gated / ungated, profile, "the first over the second");
}

/// Seconds of the processor that this thread has had; the kernel's statistics of threads count in ticks of 4 ms.
fn processor() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread's time is positive").as_secs_f64()
}

fn timed(work: impl FnOnce() -> u64) -> (u64, f64) {
    let started = processor();
    let cycles = work();
    (cycles, processor() - started)
}

fn idle_held(profile: Profile, options: &Options) -> Turn {
    idle(profile, options, true)
}

fn idle_clocked(profile: Profile, options: &Options) -> Turn {
    idle(profile, options, false)
}

fn idle(profile: Profile, options: &Options, holds: bool) -> Turn {
    let mut card = Card::new(profile, options).unwrap_or_else(|error| panic!("{error}"));
    card.hold_kernels(holds);
    let step = |card: &mut Card| (0..IDLE).for_each(|_| card.step());
    // It clears its tables first.
    step(&mut card);
    Box::new(move || {
        timed(|| {
            step(&mut card);
            IDLE
        })
    })
}

fn pair(profile: Profile, options: &Options) -> Pair {
    let pair = Pair::made(profile, LinkConfig::cable(profile), 256, options);
    pair.run(IDLE);
    pair.shared.world().skip_quiet_time(false);
    pair
}

fn pair_idle(profile: Profile, options: &Options) -> Turn {
    let pair = pair(profile, options);
    Box::new(move || {
        timed(|| {
            pair.run(IDLE);
            IDLE
        })
    })
}

fn load(profile: Profile, options: &Options) -> Turn {
    const SIZE: usize = 1 << 16;
    let pair = pair(profile, options);
    let connection = pair.connect();
    let count: u64 = if profile == Profile::TenGig { 4 } else { 32 };
    let mut seed = 0;
    Box::new(move || {
        let ([near, far], [sender, _]) = (&pair.ends, &connection);
        seed += 1;
        near.put(0, &pattern(seed, SIZE));
        let took = timed(|| {
            let from = pair.now();
            let batch = (0..count).fold(sender.start(), |batch, index| {
                let batch = batch.wr_id(index).signaled();
                batch.write(&[near.piece(0, SIZE)], far.at(0), far.memory.rkey())
            });
            batch.post().expect("room in the queue");
            for index in 0..count {
                near.expect(index);
            }
            pair.now() - from
        });
        assert!(far.bytes(0, SIZE) == pattern(seed, SIZE) && SIZE <= MEMORY, "what was written");
        took
    })
}

fn kernels(profile: Profile, options: &Options) -> Turn {
    let pair = pair(profile, options);
    let callers = walks::connect(&pair, 4096, 1);
    let task = Traversal { sought: 100 + ELEMENTS - 1, value_length: 64, ..walks::list(&pair, ELEMENTS) };
    Box::new(move || {
        timed(|| {
            let from = pair.now();
            for _ in 0..4 {
                assert_eq!(walks::walk(&pair, &callers[0], &task, 0, 64).length, 64, "the value");
            }
            pair.now() - from
        })
    })
}
