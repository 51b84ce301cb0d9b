//! `cargo xtask soak --ops N [--seed S]`: random traffic on a bad wire, for as long as wanted.
//!
//! Operations are cut into runs, each from a seed of its own and with cards of its own, so that they go side by side and
//! any of them can be repeated alone. Retries, timers, MTUs, depths, receives in time or late, how long hosts take and what the wire
//! loses are drawn from the seed, too.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use stroma_tests::faulty::{Far, Outcome, Run, run};
use stroma_tests::traffic::{Account, Services, Terms};
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
    /// Of a hundred frames so many are lost, as many, but at most 5, doubled, and as many overtaken by others. Said here, all runs have it
    /// and the usual retries, timers, MTUs, depths and hosts; unsaid, all of that is drawn, and half of the wires are perfect.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=25))]
    percent: Option<u32>,
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

/// Of a hundred frames so many meet each fault, by seed.
const PERCENT: [u32; 8] = [0, 1, 0, 3, 0, 1, 0, 5];

/// Every fourth seed is for two cards, the others are for a card and a golden endpoint. Four seeds are for reliable connections, the next
/// four for all services. Wires go round in [`PERCENT`], after each eight seeds from one further.
fn runs(arguments: &Arguments) -> Vec<Run> {
    let &Arguments { ops, seed: first, percent, profile: only, .. } = arguments;
    let of = |profile: Profile| {
        (0..ops.div_ceil(RUN)).map(move |index| {
            let seed = first + index;
            let far = if seed.is_multiple_of(4) { Far::Card } else { Far::Golden };
            let is_mixed = (seed / 4) % 2 == 1;
            let services = if is_mixed { Services::mixed(seed) } else { Services::RELIABLE };
            let drawn = PERCENT[usize::try_from((seed + seed / 8) % 8).expect("one of eight")];
            let (percent, terms) = percent
                .map_or_else(|| (drawn, Terms::drawn(seed, drawn == 0)), |percent| (percent, Terms::USUAL));
            Run { profile, far, seed, operations: RUN.min(ops - index * RUN), percent, services, terms }
        })
    };
    Profile::ALL.into_iter().filter(|profile| only.is_none_or(|only| only == *profile)).flat_map(of).collect()
}

fn name(Run { profile, far, seed, operations, percent, .. }: &Run) -> String {
    format!(
        "{} card against {far:?}, seed {seed}, {operations} operations, {percent} % of frames",
        profile.name()
    )
}

/// The file for what a run's card sends and receives.
fn file(Run { profile, far, seed, .. }: &Run) -> String {
    format!("{}-{far:?}-{seed}.pcap", profile.name()).to_lowercase()
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.capture {
        fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    }
    let runs = runs(&arguments);
    let jobs =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let bar = ProgressBar::new(runs.len() as u64).with_style(ProgressStyle::with_template(
        "{bar:30} {pos}/{len} runs, {elapsed} of about {duration}",
    )?);
    let (next, failed, cycles) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicU64::new(0));
    let account = Mutex::new(Account::default());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(made) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let capture = arguments.capture.as_ref().map(|folder| folder.join(file(made)));
                    match catch_unwind(AssertUnwindSafe(|| run(made, capture.as_deref()))) {
                        Ok(outcome) => {
                            cycles.fetch_add(outcome.cycles, Ordering::Relaxed);
                            let mut account = account.lock().expect("no panic with it");
                            account.add(&outcome.account());
                            bar.suspend(|| println!("{}", line(made, &outcome)));
                        }
                        Err(_) => failed.lock().expect("no panic with it").push(name(made)),
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let failed = failed.into_inner().expect("no panic with it");
    if !failed.is_empty() {
        bail!("{} of {} runs failed: {}", failed.len(), runs.len(), failed.join("; "));
    }
    println!(
        "{} runs, {} operations, {} million cycles, {:.0} s: 0 lost, 0 duplicated, 0 misordered completions, memories equal",
        runs.len(),
        runs.iter().map(|run| run.operations).sum::<u64>(),
        cycles.into_inner() / 1_000_000,
        started.elapsed().as_secs_f64(),
    );
    let Account { tally, fate } = account.into_inner().expect("no panic with it");
    println!("{tally}");
    println!(
        "of messages that might be lost {} arrived, {} did not, {} came twice, {} late",
        fate.arrived, fate.lost, fate.doubled, fate.overtaken
    );
    Ok(())
}

fn line(made: &Run, outcome: &Outcome) -> String {
    let sum = |of: fn(&stroma_sim::link::Counters) -> u64| outcome.lines.iter().map(of).sum::<u64>();
    format!(
        "{}: {} frames, {} lost, {} doubled, {} overtaken; {} sent again, {} timeouts, {} duplicates received; {} messages lost; \
         {} cycles",
        name(made),
        sum(|line| line.departed),
        sum(|line| line.lost),
        sum(|line| line.duplicated),
        sum(|line| line.held),
        outcome.retransmitted,
        outcome.timeouts,
        outcome.duplicates,
        outcome.account().fate.lost,
        outcome.cycles,
    )
}
