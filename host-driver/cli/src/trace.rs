//! Waves of a card for some cycles, out of a file that grows while the card works.

mod cut;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use stroma_control::{Request, Waves};

use crate::card::Target;
use crate::progress::Progress;
use cut::Cut;

/// Between two looks at a file that does not grow.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two looks at the fabric.
const LOOK: Duration = Duration::from_secs(1);
/// Times in a file of waves for each cycle.
const TIMES: u64 = 2;

/// Writes the waves of a card's next cycles to a VCD file, for `GTKWave` or Surfer.
///
/// The fabric has to be started with `STROMA_WAVES=FOLDER` in its environment. Cycles in which the card has nothing to do do not count: it waits until the card has
/// worked so many, or until it is interrupted.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    card: Target,
    /// The file.
    #[arg(short, long, value_name = "FILE.vcd")]
    output: PathBuf,
    /// How many cycles.
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cycles: u64,
}

/// Writes them.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, card) =
        arguments.card.of_fabric()?.context("waves are of cards of a fabric, and this is none")?;
    let waves: Waves = stroma_control::ask(&folder, &Request::Waves { card })?;
    let input = File::open(&waves.file).with_context(|| format!("opening {}", waves.file.display()))?;
    let path = &arguments.output;
    let output = File::create(path).with_context(|| format!("creating {}", path.display()))?;
    let is_enough = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_enough)).context("listening to signals")?;
    }
    let mut is_watched = Instant::now();
    let mut is_over = || {
        if is_watched.elapsed() > LOOK {
            is_watched = Instant::now();
            return stroma_control::holder(&folder).is_none() || is_enough.load(Ordering::Relaxed);
        }
        is_enough.load(Ordering::Relaxed)
    };
    let last = waves.time.saturating_add(arguments.cycles.saturating_mul(TIMES)).saturating_sub(1);
    let mut cut = Cut::new(BufWriter::new(output), waves.time, last);
    let progress = Progress::new(usize::try_from(arguments.cycles)?);
    progress.doing("cycles of work");
    let mut tell = |time: u64| progress.reach(time.saturating_sub(waves.time) / TIMES);
    let reached = follow(input, &mut cut, &mut is_over, &mut tell)
        .with_context(|| format!("writing {}", path.display()))?;
    cut.finish().with_context(|| format!("writing {}", path.display()))?;
    progress.finish();
    let cycles = reached.unwrap_or(0).saturating_sub(waves.time).div_ceil(TIMES);
    stroma_local::tell(&format!("{cycles} cycles of stroma{card} in {}", path.display()));
    Ok(())
}

/// Reads a file to its end and waits there for more, until the window is full or somebody says that it is over; the last time in it.
fn follow<W: Write>(
    mut input: impl Read,
    cut: &mut Cut<W>,
    is_over: &mut impl FnMut() -> bool,
    tell: &mut impl FnMut(u64),
) -> std::io::Result<Option<u64>> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        match input.read(&mut bytes)? {
            0 if is_over() => return Ok(cut.reached()),
            0 => thread::sleep(PAUSE),
            count if cut.take(&bytes[..count])? => return Ok(cut.reached()),
            _ => tell(cut.reached().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "$var wire 1 ! a $end\n$enddefinitions $end\n#0\n0!\n#1\n1!\n#2\n0!\n";

    #[test]
    fn a_file_is_followed_until_the_window_is_full() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let growing = std::thread::spawn(move || {
            for part in [FILE, "#3\n1!\n#4", "\n0!\n#5\n1!\n#6\n0!\n"] {
                writer.write_all(part.as_bytes()).unwrap();
                thread::sleep(2 * PAUSE);
            }
            // Nobody says more, and nobody closes it.
            writer
        });
        let mut text = Vec::new();
        let mut cut = Cut::new(&mut text, 2, 5);
        assert_eq!(follow(reader, &mut cut, &mut || false, &mut |_| {}).unwrap(), Some(6));
        cut.finish().unwrap();
        drop(growing.join().unwrap());
        assert!(String::from_utf8(text).unwrap().ends_with("#5\n1!\n"));
    }

    #[test]
    fn what_is_there_is_kept_when_it_is_over() {
        let mut text = Vec::new();
        let mut cut = Cut::new(&mut text, 1, 100);
        assert_eq!(follow(FILE.as_bytes(), &mut cut, &mut || true, &mut |_| {}).unwrap(), Some(2));
        cut.finish().unwrap();
        assert!(String::from_utf8(text).unwrap().ends_with("#2\n0!\n"));
    }
}
