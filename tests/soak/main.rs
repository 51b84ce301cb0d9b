//! `cargo xtask soak --ops N [--seed S]`: random traffic on a bad wire, for as long as wanted.
//!
//! Operations are cut into runs, each from a seed of its own and with cards of its own, so that they go side by side and
//! any of them can be repeated alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::bail;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use stroma_tests::faulty::{Far, Outcome, run_recorded};
use stroma_tests::traffic::Tally;
use stroma_top::Profile;

/// Operations of one run.
const RUN: u64 = 500;

/// Sends random operations of all kinds over a wire that loses, doubles and reorders frames, and compares what they leave
/// behind with a plain copy.
#[derive(Parser)]
struct Arguments {
    /// Operations for each profile.
    #[arg(long, default_value_t = 20_000)]
    ops: u64,
    /// Seed of the first run; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of a hundred frames so many are lost, as many, but at most 5, doubled, and as many overtaken by others.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=25))]
    percent: u32,
    /// One profile instead of both.
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Runs side by side; as many as there are processors unless said otherwise.
    #[arg(long)]
    jobs: Option<usize>,
    /// A directory for what passes the card's port: a pcap file for each run.
    #[arg(long)]
    capture: Option<PathBuf>,
}

/// One run that is to be made.
#[derive(Clone, Copy)]
struct Task {
    profile: Profile,
    far: Far,
    seed: u64,
    operations: u64,
}

impl Task {
    /// Every fourth seed is for two cards, the others are for a card and a golden endpoint.
    fn all(arguments: &Arguments) -> Vec<Self> {
        let runs = arguments.ops.div_ceil(RUN);
        let of = |profile: Profile| {
            (0..runs).map(move |index| Self {
                profile,
                far: if (arguments.seed + index).is_multiple_of(4) { Far::Card } else { Far::Golden },
                seed: arguments.seed + index,
                operations: RUN.min(arguments.ops - index * RUN),
            })
        };
        let profiles =
            Profile::ALL.into_iter().filter(|profile| arguments.profile.is_none_or(|one| one == *profile));
        profiles.flat_map(of).collect()
    }

    fn name(&self) -> String {
        let Self { profile, far, seed, operations } = self;
        format!("{} card against {far:?}, seed {seed}, {operations} operations", profile.name())
    }

    fn run(&self, arguments: &Arguments) -> Outcome {
        let Self { profile, far, seed, operations } = *self;
        let file = format!("{}-{far:?}-{seed}.pcap", profile.name()).to_lowercase();
        let capture = arguments.capture.as_ref().map(|directory| directory.join(file));
        run_recorded(profile, far, seed, operations, arguments.percent, capture.as_deref())
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let tasks = Task::all(&arguments);
    let jobs =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let bar = ProgressBar::new(tasks.len() as u64).with_style(ProgressStyle::with_template(
        "{bar:30} {pos}/{len} runs, {elapsed} of about {duration}",
    )?);
    let (next, failed, cycles) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicU64::new(0));
    let tally = Mutex::new(Tally::default());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match catch_unwind(AssertUnwindSafe(|| task.run(&arguments))) {
                        Ok(outcome) => {
                            cycles.fetch_add(outcome.cycles, Ordering::Relaxed);
                            let mut tally = tally.lock().expect("no panic with it");
                            tally.add(&outcome.tally());
                            bar.suspend(|| println!("{}", line(task, &outcome)));
                        }
                        Err(_) => failed.lock().expect("no panic with it").push(task.name()),
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let failed = failed.into_inner().expect("no panic with it");
    if !failed.is_empty() {
        bail!("{} of {} runs failed: {}", failed.len(), tasks.len(), failed.join("; "));
    }
    println!(
        "{} runs, {} operations, {} million cycles, {:.0} s: 0 lost, 0 duplicated, 0 misordered completions, memories equal",
        tasks.len(),
        tasks.iter().map(|task| task.operations).sum::<u64>(),
        cycles.into_inner() / 1_000_000,
        started.elapsed().as_secs_f64(),
    );
    println!("{}", tally.into_inner().expect("no panic with it"));
    Ok(())
}

fn line(task: &Task, outcome: &Outcome) -> String {
    let sum = |of: fn(&stroma_sim::link::Counters) -> u64| outcome.lines.iter().map(of).sum::<u64>();
    format!(
        "{}: {} frames, {} lost, {} doubled, {} overtaken; {} sent again, {} timeouts, {} duplicates received; {} cycles",
        task.name(),
        sum(|line| line.departed),
        sum(|line| line.lost),
        sum(|line| line.duplicated),
        sum(|line| line.held),
        outcome.retransmitted,
        outcome.timeouts,
        outcome.duplicates,
        outcome.cycles,
    )
}
