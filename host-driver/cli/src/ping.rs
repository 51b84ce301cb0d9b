//! A message and its answer, over and over: how long a round takes.
//!
//! A round is what cards and wire need. The card that asks counts from when it begins with the message to when the answer is received; what the
//! program at the other end takes to answer, by the other card's clock, does not count: on a simulated card it is the time of another machine.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;
use stroma_verbs::WorkCompletion;

use crate::out;
use crate::pattern::pattern;
use crate::perf::{Between, End, Mtu, Pair, Patience, Shape, Summary, histogram};
use crate::ready;

/// In front of each message at the same doorbell: it does nothing, and is done when the card begins with the message.
const BEGIN: u64 = 0;
const MESSAGE: u64 = 1;
/// Places in memory: what is sent, and where it comes.
const SENT: u64 = 0;
const RECEIVED: u64 = 1;
/// Of the histogram.
const BARS: usize = 10;
const WIDTH: usize = 40;

/// Sends messages that the other card's program answers, and tells how long each round takes.
///
/// SEND and SEND back on a reliable connection. Times are simulated ones, of the cards and the wire; what programs take does not count.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    between: Between,
    /// How many.
    #[arg(short, long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Bytes of a message.
    #[arg(short, long, default_value_t = 64, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    size: u32,
    /// Seconds of the wall clock between two.
    #[arg(short, long, default_value = "0", value_name = "S", value_parser = crate::seconds)]
    interval: Duration,
    /// Tells of all together, and not of each.
    #[arg(short, long)]
    quiet: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "Fabric, if one has to be started")]
    fabric: ready::Wanted,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Report {
    between: [String; 2],
    bytes: usize,
    count: usize,
    clock_khz: u32,
    /// So that nobody takes it for that of a wall clock.
    time: &'static str,
    #[serde(flatten)]
    summary: Summary,
    rounds_us: Vec<f64>,
    wall_s: f64,
}

/// Pings.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bytes = arguments.size as usize;
    let shape = Shape { queue_pairs: 1, stride: bytes.next_multiple_of(64), mtu: Mtu::M4096, batch: 2 };
    let pair = Pair::open(&arguments.between, &arguments.fabric, &shape)?;
    let [from, to] = pair.names();
    let clock_khz = pair.clock_khz();
    let tells = !arguments.json;
    if tells {
        let megahertz = f64::from(clock_khz) / 1e3;
        out::line(&format!(
            "PING {to} from {from}: {bytes} bytes; time is simulated, the cards' clock of {megahertz:.3} MHz"
        ))?;
    }
    let started = Instant::now();
    let mut rounds_us = Vec::new();
    // The first fills tables, and does not count.
    for sequence in 0..=arguments.count {
        let time = pair.nanoseconds(round(&pair, bytes, sequence.into())?) / 1e3;
        if sequence == 0 {
            continue;
        }
        rounds_us.push(time);
        if tells && !arguments.quiet {
            out::line(&format!("{bytes} bytes from {to}: seq={sequence} time={time:.3} us"))?;
        }
        std::thread::sleep(arguments.interval);
    }
    let nanoseconds: Vec<f64> = rounds_us.iter().map(|time| time * 1e3).collect();
    let report = Report {
        between: [from, to],
        bytes,
        count: rounds_us.len(),
        clock_khz,
        time: "simulated",
        summary: Summary::of(&nanoseconds),
        rounds_us,
        wall_s: started.elapsed().as_secs_f64(),
    };
    if arguments.json { out::json(&report) } else { out::line(&report.text()) }
}

impl Report {
    /// The end, as ping has it, and how times are spread.
    fn text(&self) -> String {
        let Summary { min_us, max_us, typical_us, average_us, stdev_us, p90_us, p99_us, p999_us } =
            &self.summary;
        let mut lines = vec![
            format!("\n--- {} ping statistics ---", self.between[1]),
            format!(
                "{} messages, all answered, every byte compared; {:.2} s of the wall clock",
                self.count, self.wall_s
            ),
            format!("round min/avg/max/stddev = {min_us:.3}/{average_us:.3}/{max_us:.3}/{stdev_us:.3} us"),
            format!("percentiles 50/90/99/99.9 = {typical_us:.3}/{p90_us:.3}/{p99_us:.3}/{p999_us:.3} us"),
        ];
        lines.extend(histogram(&self.rounds_us, BARS, WIDTH));
        lines.join("\n")
    }
}

/// When things happened at an end, by its card's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    begun: Option<u64>,
    sent: bool,
    received: Option<u64>,
}

impl Times {
    fn note(&mut self, completion: &WorkCompletion) {
        match (completion.is_receive, completion.wr_id) {
            (true, _) => self.received = Some(completion.timestamp),
            (false, BEGIN) => self.begun = Some(completion.timestamp),
            (false, _) => self.sent = true,
        }
    }

    /// All of it has happened.
    fn are_all(self) -> Option<(u64, u64)> {
        self.begun.zip(self.received).filter(|_| self.sent)
    }
}

fn receive(end: &End, bytes: usize) -> anyhow::Result<()> {
    let piece = end.memory.piece(end.offset(0, RECEIVED), bytes)?;
    Ok(end.queue_pairs[0].receives()?.receive(MESSAGE, &[piece]).post()?)
}

fn send(end: &End, place: u64, bytes: usize) -> anyhow::Result<()> {
    let piece = end.memory.piece(end.offset(0, place), bytes)?;
    let batch = end.queue_pairs[0].start().wr_id(BEGIN).signaled().nop();
    Ok(batch.wr_id(MESSAGE).signaled().send(&[piece]).post()?)
}

/// One round, in cycles.
fn round(pair: &Pair, bytes: usize, sequence: u64) -> anyhow::Result<u64> {
    let Pair { near, far, .. } = pair;
    let message = pattern(sequence + 1, bytes);
    near.memory.write(near.offset(0, SENT), &message)?;
    receive(near, bytes)?;
    receive(far, bytes)?;
    send(near, SENT, bytes)?;
    let (mut asks, mut answers) = (Times::default(), Times::default());
    let (mut has_answered, mut patience) = (false, Patience::new());
    loop {
        let mut happened = near.poll(|_, completion| asks.note(completion))?;
        happened |= far.poll(|_, completion| answers.note(completion))?;
        if answers.received.is_some() && !has_answered {
            has_answered = true;
            // What came goes back.
            send(far, RECEIVED, bytes)?;
        }
        if let (Some((begun, received)), Some((answer, question))) = (asks.are_all(), answers.are_all()) {
            let mut found = vec![0; bytes];
            near.memory.read(near.offset(0, RECEIVED), &mut found)?;
            ensure!(found == message, "the answer to message {sequence} has other bytes than the message");
            let programs = answer.saturating_sub(question);
            return Ok(received.saturating_sub(begun).saturating_sub(programs));
        }
        patience.wait(happened)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_as_ping_has_it() {
        let rounds_us = vec![4.0, 5.0, 6.0];
        let report = Report {
            between: ["stroma0", "stroma1"].map(str::to_owned),
            bytes: 64,
            count: 3,
            clock_khz: 250_000,
            time: "simulated",
            summary: Summary::of(&[4e3, 5e3, 6e3]),
            rounds_us,
            wall_s: 0.5,
        };
        let text = report.text();
        assert!(text.contains("--- stroma1 ping statistics ---"), "{text}");
        assert!(text.contains("round min/avg/max/stddev = 4.000/5.000/6.000/0.816 us"), "{text}");
        assert_eq!(text.lines().count(), 5 + BARS, "{text}");
    }
}
