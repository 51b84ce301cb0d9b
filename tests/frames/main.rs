//! `cargo xtask frames`: makes two cards send every kind of frame of WRITEs and READs, and keeps all of it for others to read.
//!
//! For each profile DIR gets PROFILE.pcapng: what left either card, and what was marked on the way as it arrived. One line
//! for each op-code tells how many frames of it are in there.

mod kinds;
mod traffic;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use kinds::Seen;
use stroma_abi::wire::print::line;
use stroma_abi::wire::{Frame, Opcode};
use stroma_sim::pcap::{self, Captured, Direction};
use stroma_top::Profile;
use traffic::{Cards, Network};

/// Captures two simulated cards that send every kind of frame.
#[derive(Parser)]
struct Arguments {
    /// The folder that gets the captures.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// What two cards do on one network.
type Story = fn(&Cards, Network);

/// Stories on a cable that carries all as it is, and on one that marks every frame.
const PLAIN: &[Story] = &[Cards::lengths, Cards::faults, Cards::refusals];
const MARKED: &[Story] = &[Cards::congestion];
/// Cycles after which nothing of a story is under way.
const SETTLED: u64 = 10_000;

fn main() -> Result<()> {
    let Arguments { out } = Arguments::parse();
    std::fs::create_dir_all(&out).with_context(|| format!("creating {}", out.display()))?;
    // Each profile on a thread of its own: they share nothing but the folder.
    std::thread::scope(|scope| {
        let out = &out;
        let running = Profile::ALL.map(|profile| scope.spawn(move || record(profile, out)));
        running.into_iter().try_for_each(|profile| {
            let Ok(counts) = profile.join() else { bail!("a story did not end as it should") };
            print!("{}", counts?);
            Ok(())
        })
    })
}

/// Runs all stories of a profile, writes its capture, and tells what is in it.
fn record(profile: Profile, out: &Path) -> Result<String> {
    let path = out.join(format!("{}.pcapng", profile.name()));
    let mut writer = pcap::Writer::create(&path)?;
    let (mut seen, mut number, mut origin) = (Seen::default(), 0, Duration::ZERO);
    for (mark_bytes, stories) in [(None, PLAIN), (Some(0), MARKED)] {
        let captured = tell(&Cards::new(profile, mark_bytes), stories, &path)?;
        for Captured { time, bytes, direction, bad } in &captured {
            let parsed = Frame::parse(bytes);
            let (Ok(frame), Some(direction), false) = (parsed, *direction, *bad) else {
                bail!("{}: behind frame {number} a card sent {}", path.display(), line(bytes));
            };
            // What arrives as it was sent is there already.
            if direction == Direction::Out || kinds::is_marked(&frame) {
                number += 1;
                seen.add(&frame, direction);
                writer.record(origin + *time, direction, *bad, bytes)?;
            }
        }
        origin += captured.last().map_or(Duration::ZERO, |last| last.time);
        seen.forget();
    }
    writer.finish()?;
    let missing: Vec<String> = kinds::wanted().difference(&seen.kinds).cloned().collect();
    if !missing.is_empty() {
        bail!("{}: no frame of these kinds:\n  {}", path.display(), missing.join("\n  "));
    }
    let counted = |(code, count): (&u8, &u64)| {
        let name = Opcode::lookup(*code).map_or("", |opcode| opcode.name);
        format!("{} {code:#04x} {count} {name}\n", profile.name())
    };
    Ok(seen.counts.iter().map(counted).collect())
}

/// Lets two cards live through stories on every network; the frames of both ports, by time.
fn tell(cards: &Cards, stories: &[Story], path: &Path) -> Result<Vec<Captured>> {
    let ports = [0, 1].map(|station| (station, path.with_extension(format!("port{station}.pcapng"))));
    for (station, path) in &ports {
        cards.pair.shared.world().start_capture(*station, pcap::Writer::create(path)?);
    }
    for network in Network::ALL {
        for story in stories {
            story(cards, network);
        }
    }
    // What is still under way belongs to the story.
    cards.pair.run(SETTLED);
    let mut captured = Vec::new();
    for (station, path) in &ports {
        cards.pair.shared.world().finish_capture(*station)?;
        captured.extend(pcap::read(path)?);
        std::fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
    }
    captured.sort_by_key(|frame| frame.time);
    Ok(captured)
}
