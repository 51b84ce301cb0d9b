//! Replays captures through the Verilated front ends, one line a frame: what it is, what they said of it, and whether they
//! can build it again.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use stroma_abi::wire::{Class, Frame, classify, print};
use stroma_hw::head::Head;
use stroma_hw::rx::model::receive;
use stroma_sim::{Fronts, Packet, pcap};
use stroma_top::Profile;
use stroma_verilate::Options;

/// Cycles after which a frame counts as stuck.
const LIMIT: u64 = 100_000;

/// Replay captures through the Verilated receive and transmit front ends.
#[derive(Parser)]
struct Arguments {
    /// pcap or pcapng files of Ethernet frames.
    #[arg(required = true)]
    captures: Vec<PathBuf>,
    /// One profile instead of both.
    #[arg(long)]
    profile: Option<Profile>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let profiles = arguments.profile.map_or(Profile::ALL.to_vec(), |profile| vec![profile]);
    let mut disagreements = 0;
    for profile in profiles {
        let options = Options { label: Some(format!("replay-{}", profile.name())), ..Options::default() };
        let mut fronts = Fronts::new(profile, &options).context("starting the front ends")?;
        println!(
            "== {} front ends: {} bit at {} MHz",
            profile.name(),
            profile.data_bits(),
            f64::from(profile.clock_khz()) / 1e3
        );
        for path in &arguments.captures {
            let frames = pcap::read(path)?;
            println!("-- {}: {} frames", path.display(), frames.len());
            for (number, frame) in frames.iter().enumerate() {
                let verdict = replay(&mut fronts, &frame.bytes)
                    .with_context(|| format!("{} frame {}", path.display(), number + 1))?;
                disagreements += u64::from(!verdict.agrees);
                println!("{:5} {:24} {}", number + 1, verdict.text, print::line(&frame.bytes));
            }
        }
        let counts = Class::ALL.iter().filter(|class| fronts.count(**class) > 0);
        let counts: Vec<String> =
            counts.map(|class| format!("{} {}", fronts.count(*class), class.name())).collect();
        println!(
            "== {} front ends judged {} frames in {} cycles: {}",
            profile.name(),
            fronts.judged(),
            fronts.cycle(),
            counts.join(", ")
        );
    }
    ensure!(
        disagreements == 0,
        "the front ends and the model disagree on {disagreements} frames (see the lines marked !!)"
    );
    Ok(())
}

struct Verdict {
    text: String,
    agrees: bool,
}

/// Sends one frame through the receive front end and, if it is RoCE, its fields through the transmit front end.
fn replay(fronts: &mut Fronts, bytes: &[u8]) -> Result<Verdict> {
    let before: Vec<u64> = Class::ALL.iter().map(|class| fronts.count(*class)).collect();
    fronts.receive(bytes, false);
    fronts.run_until_idle(LIMIT)?;
    let counted = Class::ALL.into_iter().find(|class| fronts.count(*class) > before[class.index()]);
    let Some(class) = counted else { bail!("the front ends counted nothing") };
    let packets = fronts.packets();
    let expected = classify(bytes).map_or_else(|reject| reject.class, |_| Class::Roce);
    let Ok(frame) = Frame::parse(bytes) else {
        let agrees = class == expected && packets.is_empty();
        return Ok(Verdict { text: format!("{} {class}", if agrees { "  " } else { "!!" }), agrees });
    };
    // A datagram is received behind the IP header that it came with, and sent without.
    let received = receive(bytes, false).is_ok_and(|(head, payload)| packets == [Packet { head, payload }]);
    fronts.transmit(&Packet { head: Head::of(&frame), payload: frame.payload.to_vec() });
    fronts.run_until_idle(LIMIT)?;
    // Padding of short frames is the MAC's, so it is not in what they build.
    let exact = &bytes[..bytes.len() - frame.padding.len()];
    let rebuilt = fronts.frames() == [(exact.to_vec(), false)];
    let text = match (received, rebuilt) {
        (true, true) => "   accepted, rebuilt".to_string(),
        (true, false) => "!! accepted, not rebuilt".to_string(),
        (false, _) => format!("!! {class}"),
    };
    Ok(Verdict { text, agrees: received && rebuilt })
}
