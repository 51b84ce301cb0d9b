//! `synth`: what the card's blocks and the tops of boards take of the chip, how deep their logic is, and whether a change made either worse.

mod baseline;
mod board;
mod cells;
mod figures;
mod netlist;
mod part;
mod ports;
mod report;
#[cfg(test)]
mod sample;
mod timing;
pub(crate) mod yosys;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::rtl::{self, Profile};
use crate::tools::Routine;
use crate::{docs, process, setup, workspace};
use baseline::Baseline;
use figures::Figures;
use netlist::Netlist;
use timing::Timing;

pub(crate) use report::page;

/// The card that is measured: the large one, whose clock is the harder.
const PROFILE: Profile = Profile::HundredG;
/// Blocks under way at once; each is one busy yosys.
const AT_ONCE: usize = 2;
/// Paths shown of a block.
const SHOWN_PATHS: usize = 5;

/// The output of the card that may follow inputs within the cycle: it tells a simulation whether it may skip cycles, must know of
/// what comes in this one, and is left open on a board.
const FOLLOWING: &str = "quiet";

/// What `cargo xtask synth` accepts.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only this block, and its worst paths; may be given more than once
    #[arg(long)]
    block: Vec<String>,
    /// The whole card as one: takes an hour and 8 GB
    #[arg(long, conflicts_with = "block")]
    card: bool,
    /// The whole top of a board, with vendor IP as black boxes: takes an hour and 8 GB
    #[arg(long, value_name = "NAME", conflicts_with_all = ["block", "card", "ports"])]
    board: Option<String>,
    /// Only whether an output of the card follows an input within the cycle
    #[arg(long, conflicts_with_all = ["block", "card", "update"])]
    ports: bool,
    /// Keep what was measured in hw/top/area.toml, and write docs/area.md anew
    #[arg(long)]
    update: bool,
}

impl Options {
    /// The whole top of a board.
    pub(crate) fn board(name: &str) -> Self {
        Self { board: Some(name.to_owned()), ..Self::default() }
    }
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(name) = &options.board {
        return board::run(name, options.update);
    }
    setup::run(Routine::Ci)?;
    if options.ports {
        return unjoined();
    }
    if options.card {
        return card(options.update);
    }
    let mut baseline = Baseline::load()?;
    let blocks = blocks()?;
    let chosen: Vec<String> = if options.block.is_empty() {
        blocks.iter().filter(|name| !baseline.left_out.contains_key(*name)).cloned().collect()
    } else {
        options.block.clone()
    };
    if let Some(unknown) = chosen.iter().find(|name| !blocks.contains(*name)) {
        bail!("there is no block `{unknown}`\nnext step: `cargo xtask rtl --list` names them all");
    }
    if !options.update && options.block.is_empty() {
        baseline.covers(&blocks)?;
    }
    let measured = measure(&chosen, !options.block.is_empty())?;
    if options.update {
        // Measuring takes long enough for the file to change meanwhile.
        baseline = Baseline::load()?;
        if options.block.is_empty() {
            baseline.block.retain(|name, _| blocks.contains(name));
            baseline.left_out.retain(|name, _| blocks.contains(name));
        }
        for (name, figures) in &measured {
            baseline.left_out.remove(name);
            let row = baseline.block.entry(name.clone()).or_default();
            row.figures = *figures;
        }
        keep(&baseline)?;
    }
    compare(&baseline, &measured)
}

/// The stage of `ci`: the blocks that area.toml marks, and the card's ports.
pub(crate) fn stage() -> Result<()> {
    let baseline = Baseline::load()?;
    baseline.covers(&blocks()?)?;
    unjoined()?;
    let chosen: Vec<String> =
        baseline.block.iter().filter(|(_, row)| row.ci).map(|(name, _)| name.clone()).collect();
    if chosen.is_empty() {
        bail!("hw/top/area.toml marks no block with `ci`: a stage that measures nothing must not pass");
    }
    compare(&baseline, &measure(&chosen, false)?)
}

/// The names of all blocks that can be emitted.
fn blocks() -> Result<BTreeSet<String>> {
    let output = process::quietly_or_fail("stroma-top list", rtl::top(&["list"])?)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect())
}

fn compare(baseline: &Baseline, measured: &BTreeMap<String, Figures>) -> Result<()> {
    let mut findings = Vec::new();
    for (name, now) in measured {
        match baseline.block.get(name) {
            Some(row) => findings.extend(baseline::findings(name, row, now)),
            None => println!("{name} has no row in hw/top/area.toml to compare with"),
        }
    }
    judge(measured.len(), &findings)
}

fn judge(count: usize, findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        println!("synth: {count} measured, none over its limits");
        return Ok(());
    }
    bail!(
        "{}\nnext step: `cargo xtask synth --block NAME` shows the worst paths; if the growth is worth it, `--update` keeps it",
        findings.join("\n")
    )
}

fn keep(baseline: &Baseline) -> Result<()> {
    let path = baseline::path();
    fs::write(&path, baseline.text()).with_context(|| format!("write {}", path.display()))?;
    println!("synth: {} written", workspace::shown(&path));
    docs::run(false)
}

/// A folder for a design's script, log and netlist, emptied.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = workspace::target().join("synth").join(name);
    setup::remove(&folder)?;
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// Emits and measures blocks, two at once, and prints a row for each as it comes.
fn measure(names: &[String], with_paths: bool) -> Result<BTreeMap<String, Figures>> {
    let mut emitted = Vec::new();
    for name in names {
        emitted.push((name.as_str(), rtl::emit_block(PROFILE, name)?));
    }
    let bar = bar(names.len());
    let queue = Mutex::new(emitted.into_iter());
    let measured = Mutex::new(BTreeMap::new());
    let under_way = Mutex::new(BTreeSet::new());
    say(&bar, &report::head());
    let worker = || -> Result<()> {
        loop {
            let Some((name, source)) = queue.lock().ok().and_then(|mut queue| queue.next()) else {
                return Ok(());
            };
            show(&bar, &under_way, |names| names.insert(name));
            let (figures, paths) = measure_one(name, &source).with_context(|| format!("block {name}"))?;
            show(&bar, &under_way, |names| names.remove(name));
            bar.inc(1);
            say(&bar, &report::line(name, &figures));
            if with_paths {
                say(&bar, &paths);
            }
            measured.lock().map(|mut measured| measured.insert(name.to_string(), figures)).ok();
        }
    };
    let result = thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a block's thread panicked")))
    });
    bar.finish_and_clear();
    result?;
    Ok(measured.into_inner().unwrap_or_default())
}

fn measure_one(name: &str, source: &Path) -> Result<(Figures, String)> {
    let folder = folder(name)?;
    let text = yosys::run(&folder, &yosys::mapped(&rtl::verilog(source)?, name), |_| ())?;
    let netlist = Netlist::parse(&text, name)?;
    let timing = Timing::of(&netlist)?;
    let mut paths = String::new();
    for (what, worst) in [("slowest", timing.slowest(SHOWN_PATHS)), ("deepest", timing.deepest(SHOWN_PATHS))]
    {
        paths += what;
        paths += ", one for each register or memory at the end:\n";
        paths.extend(worst.iter().map(report::path));
    }
    Ok((Figures::of(&netlist, &timing)?, paths))
}

/// The whole card: its ports, then its figures.
fn card(update: bool) -> Result<()> {
    unjoined()?;
    let source = rtl::emit_profile(PROFILE)?;
    let top = rtl::top_module(&source)?;
    let folder = folder("card")?;
    let bare = yosys::bare(&folder, &rtl::verilog(&source)?)?;
    let started = Instant::now();
    let bar = bar(0);
    let text = yosys::run(&folder, &yosys::mapped_whole(&[bare], &top), |pass| {
        bar.set_message(format!("the card: {pass}"));
    });
    bar.finish_and_clear();
    let netlist = Netlist::parse(&text?, &top)?;
    let timing = Timing::of(&netlist)?;
    let figures = Figures::of(&netlist, &timing)?;
    println!("the card, mapped in {:.0} minutes", started.elapsed().as_secs_f64() / 60.0);
    println!("{}\n{}", report::head(), report::line("card", &figures));
    timing.slowest(SHOWN_PATHS).iter().for_each(|path| print!("{}", report::path(path)));
    println!("area.lut.card {} (BALBOA, after routing: 43,700)", figures.lut);
    let mut baseline = Baseline::load()?;
    if update {
        baseline.card.get_or_insert_default().figures = figures;
        keep(&baseline)?;
    }
    let findings = baseline.card.as_ref().map(|row| baseline::findings("card", row, &figures));
    judge(1, &findings.unwrap_or_default())
}

/// No output of the card follows an input within the cycle.
fn unjoined() -> Result<()> {
    let source = rtl::emit_profile(PROFILE)?;
    let top = rtl::top_module(&source)?;
    let folder = folder("ports")?;
    let bare = yosys::bare(&folder, &rtl::verilog(&source)?)?;
    let started = Instant::now();
    let bar = bar(0);
    let text = yosys::run(&folder, &yosys::unmapped(&[bare], &top), |pass| {
        bar.set_message(format!("the card's ports: {pass}"));
    });
    bar.finish_and_clear();
    let mut joined = ports::joined(&Netlist::parse_all(&text?)?, &top)?;
    joined.retain(|(_, output)| output != FOLLOWING);
    if joined.is_empty() {
        println!(
            "  no output of the card but `{FOLLOWING}` follows an input ({:.1} s)",
            started.elapsed().as_secs_f64()
        );
        return Ok(());
    }
    let pairs: Vec<String> = joined.iter().map(|(input, output)| format!("{input} -> {output}")).collect();
    bail!(
        "outputs of the card follow inputs within the cycle:\n{}\nnext step: a register or a skid buffer between them",
        pairs.join("\n")
    )
}

/// A bar of so many blocks, or a spinner for none.
fn bar(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    let template =
        if count == 0 { "  {spinner} {msg} {elapsed}" } else { "  [{bar:30}] {pos}/{len} {msg} {elapsed}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn show<'a>(
    bar: &ProgressBar,
    names: &Mutex<BTreeSet<&'a str>>,
    change: impl FnOnce(&mut BTreeSet<&'a str>) -> bool,
) {
    if let Ok(mut names) = names.lock() {
        change(&mut names);
        bar.set_message(names.iter().copied().collect::<Vec<_>>().join(", "));
    }
}

/// A line above the bar, or plain where there is no terminal.
fn say(bar: &ProgressBar, text: &str) {
    if bar.is_hidden() {
        println!("{text}");
    } else {
        bar.println(text);
    }
}
