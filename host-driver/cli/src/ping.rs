//! A message and its answer, over and over: how long a round takes.

mod echoes;
mod messages;

use std::net::IpAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use crate::card::CardName;
use crate::out;
use crate::perf::{Between, Summary, histogram};
use crate::ready;
use crate::time::Time;

/// Of the histogram.
const BARS: usize = 10;
const WIDTH: usize = 40;

/// Sends messages that somebody answers, and tells how long each round takes.
///
/// To another card: SEND and SEND back on a reliable connection, both cards opened by this process; a round is what cards and wire take, by the card's own clock, so simulated time on a fabric. To an IP address:
/// echoes of ICMP, which any station on the same link answers; a round is that of the wall clock. The exit code is 1 if nobody answers.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// The card that asks.
    #[arg(long, default_value = "stroma0", value_name = "CARD")]
    from: CardName,
    /// Who is asked.
    #[arg(long, default_value = "stroma1", value_name = "CARD|IP")]
    to: Asked,
    /// Address of the card that asks, when an IP address is asked: one of the same network.
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
    /// How long an echo may take.
    #[arg(short = 'W', long, default_value = "1", value_name = "S", value_parser = crate::seconds)]
    timeout: Duration,
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

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// A program, this one, at another card.
    Card(CardName),
    /// The system of a station.
    Address(IpAddr),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.parse().map(Self::Address);
        address.or_else(|_| text.parse().map(Self::Card)).map_err(|says| format!("an IP address, or {says}"))
    }
}

/// Those who talk, and how.
struct Talk {
    from: String,
    to: String,
    /// Of the card that asks.
    clock_khz: u32,
    time: Time,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Report {
    between: [String; 2],
    bytes: usize,
    count: u32,
    answered: usize,
    clock_khz: u32,
    time: Time,
    #[serde(flatten)]
    summary: Summary,
    rounds_us: Vec<f64>,
    wall_s: f64,
}

/// Pings.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bytes = arguments.size as usize;
    match &arguments.to {
        Asked::Card(to) => {
            anyhow::ensure!(
                arguments.address.is_none(),
                "--address is for pings to an IP address, and {to} is a card"
            );
            let between = Between { from: arguments.from.clone(), to: to.clone() };
            let messages = messages::Messages::open(&between, &arguments.fabric, bytes)?;
            rounds(
                arguments,
                &messages.talk(),
                |number| messages.round(number).map(Some),
                || {
                    std::thread::sleep(arguments.interval);
                    Ok(())
                },
            )
        }
        Asked::Address(to) => {
            let own = arguments.address.with_context(|| {
                format!("--to {to} needs --address: an address for {}, of the same network", arguments.from)
            })?;
            let echoes = echoes::Echoes::open(arguments, own, *to)?;
            rounds(arguments, &echoes.talk(), |_| echoes.round(bytes), || echoes.rest(arguments.interval))
        }
    }
}

/// One after the other: how long each took, in nanoseconds, if it was answered.
fn rounds(
    arguments: &Arguments,
    talk: &Talk,
    round: impl Fn(u32) -> anyhow::Result<Option<f64>>,
    rest: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (Talk { from, to, clock_khz, time }, bytes) = (talk, arguments.size);
    let tell = |line: String| if arguments.json { Ok(()) } else { out::line(&line) };
    tell(format!("PING {to} from {from}: {bytes} bytes; {}", time.words(*clock_khz)))?;
    // The first fills tables, and does not count.
    round(0)?;
    let started = Instant::now();
    let mut nanoseconds = Vec::new();
    for sequence in 1..=arguments.count {
        let found = round(sequence)?;
        nanoseconds.extend(found);
        if !arguments.quiet {
            tell(match found {
                Some(found) => {
                    format!("{bytes} bytes from {to}: seq={sequence} time={:.3} us", found / 1e3)
                }
                None => format!("no answer from {to}: seq={sequence} in {:?}", arguments.timeout),
            })?;
        }
        if sequence < arguments.count {
            rest()?;
        }
    }
    let report = Report {
        between: [from.clone(), to.clone()],
        bytes: bytes as usize,
        count: arguments.count,
        answered: nanoseconds.len(),
        clock_khz: *clock_khz,
        time: *time,
        summary: Summary::of(&nanoseconds),
        rounds_us: nanoseconds.iter().map(|time| time / 1e3).collect(),
        wall_s: started.elapsed().as_secs_f64(),
    };
    if arguments.json {
        out::json(&report)?;
    } else {
        out::line(&report.text())?;
    }
    anyhow::ensure!(report.answered > 0, "{to} has answered none of {} messages", report.count);
    Ok(())
}

impl Report {
    /// The end, as ping has it, and how times are spread.
    fn text(&self) -> String {
        let Summary { min_us, max_us, typical_us, average_us, stdev_us, p90_us, p99_us, p999_us } =
            &self.summary;
        let all =
            if self.answered == self.count as usize { "all".to_owned() } else { self.answered.to_string() };
        let mut lines = vec![
            format!("\n--- {} ping statistics ---", self.between[1]),
            format!(
                "{} messages, {all} answered, every byte compared; {:.2} s of the wall clock",
                self.count, self.wall_s
            ),
        ];
        if self.answered > 0 {
            lines.extend([
                format!(
                    "round min/avg/max/stddev = {min_us:.3}/{average_us:.3}/{max_us:.3}/{stdev_us:.3} us"
                ),
                format!(
                    "percentiles 50/90/99/99.9 = {typical_us:.3}/{p90_us:.3}/{p99_us:.3}/{p999_us:.3} us"
                ),
            ]);
        }
        lines.extend(histogram(&self.rounds_us, BARS, WIDTH));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(count: u32, rounds_us: Vec<f64>) -> Report {
        let nanoseconds: Vec<f64> = rounds_us.iter().map(|time| time * 1e3).collect();
        Report {
            between: ["stroma0", "stroma1"].map(str::to_owned),
            bytes: 64,
            count,
            answered: rounds_us.len(),
            clock_khz: 250_000,
            time: Time::Simulated,
            summary: Summary::of(&nanoseconds),
            rounds_us,
            wall_s: 0.5,
        }
    }

    #[test]
    fn the_end_is_as_ping_has_it() {
        let text = report(3, vec![4.0, 5.0, 6.0]).text();
        assert!(text.contains("--- stroma1 ping statistics ---\n3 messages, all answered"), "{text}");
        assert!(text.contains("round min/avg/max/stddev = 4.000/5.000/6.000/0.816 us"), "{text}");
        assert_eq!(text.lines().count(), 5 + BARS, "{text}");
    }

    #[test]
    fn what_nobody_answers_is_told() {
        let text = report(3, vec![4.0, 5.0]).text();
        assert!(text.contains("3 messages, 2 answered"), "{text}");
        let text = report(3, Vec::new()).text();
        assert!(text.contains("3 messages, 0 answered") && !text.contains("round"), "{text}");
    }

    #[test]
    fn who_is_asked_is_a_card_or_an_address() {
        assert_eq!("stroma1".parse(), Ok(Asked::Card(CardName::Fabric(1))));
        assert_eq!("12".parse(), Ok(Asked::Card(CardName::Fabric(12))));
        assert_eq!("0000:41:00.0".parse(), Ok(Asked::Card(CardName::Pci("0000:41:00.0".to_owned()))));
        assert_eq!("10.0.0.9".parse(), Ok(Asked::Address([10, 0, 0, 9].into())));
        assert_eq!("fe80::9".parse(), Ok(Asked::Address("fe80::9".parse().unwrap())));
        assert!("host".parse::<Asked>().is_err_and(|says| says.starts_with("an IP address, or stroma0")));
    }
}
