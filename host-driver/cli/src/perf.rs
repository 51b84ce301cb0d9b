//! How fast two cards talk to each other: `stroma perf write --sizes 2..65536`.
//!
//! Both ends are in this process. Time is that of the card which asks: the time stamps of its completions, in cycles of its clock. How fast
//! the simulation is, and how slow the machine that it runs on, changes nothing in it.

mod bandwidth;
mod latency;
mod pair;
mod report;
mod stats;
mod verb;

use clap::ValueEnum;

use crate::card::CardName;
use crate::progress::Progress;
use crate::ready;
use latency::Latency;
pub(crate) use pair::{End, Pair, Patience, Shape};
use report::{Form, Head, Report, Row};
pub(crate) use stats::{Summary, histogram};
use verb::Verb;

/// Bytes that a size moves when nobody says how often, and how often at least and at most.
const VOLUME: usize = 1 << 20;
const FEWEST: usize = 20;
const MOST: usize = 1000;
/// Bytes of a message, at most.
const SIZE_MAX: usize = 1 << 24;
/// Requests a doorbell, at most.
const BATCH_MAX: u64 = 128;

/// Measures bandwidth or latency between two cards, on reliable connections.
///
/// Cards of the fabric that runs, or of one that is started, or boards. Times are those of the card's own clock, so simulated ones on a fabric. Every byte that was moved is compared afterwards.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// What the requests are.
    verb: Verb,
    #[command(flatten)]
    between: Between,
    /// Bytes of a message; 65536 if nobody says, 2 for latency, and 8 for atomics.
    #[arg(short, long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=SIZE_MAX as i64))]
    size: Option<u32>,
    /// Powers of two, from one to the other.
    #[arg(short = 'a', long, value_name = "FROM..TO", value_parser = sizes, conflicts_with = "size")]
    sizes: Option<Sizes>,
    /// Requests on each queue pair; as many as move a megabyte if nobody says, 20 to 1000.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// Queue pairs.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128), conflicts_with = "latency")]
    qps: u32,
    /// Path MTU.
    #[arg(short, long, default_value = "4096", value_name = "BYTES")]
    mtu: Mtu,
    /// Requests a doorbell.
    #[arg(short, long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=BATCH_MAX), conflicts_with = "latency")]
    batch: u64,
    /// One request at a time: how long it takes.
    #[arg(short, long)]
    latency: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten, next_help_heading = "Fabric, if one has to be started")]
    fabric: ready::Wanted,
}

/// Which cards.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Between {
    /// The card that asks.
    #[arg(long, default_value = "stroma0", value_name = "CARD")]
    pub(crate) from: CardName,
    /// The card that is asked.
    #[arg(long, default_value = "stroma1", value_name = "CARD")]
    pub(crate) to: CardName,
}

/// Bytes of a packet's payload, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mtu {
    #[value(name = "256")]
    M256 = 1,
    #[value(name = "512")]
    M512,
    #[value(name = "1024")]
    M1024,
    #[value(name = "2048")]
    M2048,
    #[value(name = "4096")]
    M4096,
}

impl Mtu {
    /// As queue pairs are told.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    fn bytes(self) -> usize {
        128 << self.code()
    }
}

/// Powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sizes(Vec<usize>);

fn sizes(text: &str) -> Result<Sizes, String> {
    let parse =
        |text: &str| text.parse::<usize>().ok().filter(|size| size.is_power_of_two() && *size <= SIZE_MAX);
    let ends = text.split_once("..").and_then(|(from, to)| Some((parse(from)?, parse(to)?)));
    match ends {
        Some((from, to)) if from <= to => Ok(Sizes(
            std::iter::successors(Some(from), |size| Some(size * 2)).take_while(|size| *size <= to).collect(),
        )),
        _ => Err(format!("two powers of two, up to {SIZE_MAX}, such as 2..65536")),
    }
}

impl Arguments {
    fn sizes(&self) -> anyhow::Result<Vec<usize>> {
        let said = self.sizes.as_ref().map(|Sizes(sizes)| sizes.clone());
        let said = said.or(self.size.map(|size| vec![size as usize]));
        match (self.verb, said) {
            (Verb::Atomic, None) => Ok(vec![Verb::ATOMIC_BYTES]),
            (Verb::Atomic, Some(sizes)) if sizes != [Verb::ATOMIC_BYTES] => {
                anyhow::bail!("an atomic has {} bytes", Verb::ATOMIC_BYTES)
            }
            (_, Some(sizes)) => Ok(sizes),
            (_, None) if self.latency => Ok(vec![2]),
            (_, None) => Ok(vec![65536]),
        }
    }

    fn iterations(&self, size: usize) -> usize {
        self.iterations.map_or_else(|| (VOLUME / size).clamp(FEWEST, MOST), |count| count as usize)
    }
}

/// Measures size by size, and tells each as it is done.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let sizes = arguments.sizes()?;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let shape = Shape {
        queue_pairs: arguments.qps as usize,
        stride: largest.next_multiple_of(64),
        mtu: arguments.mtu,
        batch: arguments.batch,
    };
    let pair = Pair::open(&arguments.between, &arguments.fabric, &shape)?;
    let head = Head {
        verb: arguments.verb,
        latency: arguments.latency,
        between: pair.names(),
        queue_pairs: shape.queue_pairs,
        mtu: arguments.mtu.bytes(),
        batch: arguments.batch,
        clock_khz: pair.clock_khz(),
        time: pair.time,
    };
    let progress =
        Progress::new(sizes.iter().map(|size| arguments.iterations(*size) * shape.queue_pairs).sum());
    let measure = |size| -> anyhow::Result<Row> {
        let iterations = arguments.iterations(size);
        progress.doing(format!("{size} bytes"));
        let tick = |done: usize| progress.advance(done);
        Ok(if arguments.latency {
            Row::Latency(Latency::measure(&pair, arguments.verb, size, iterations, &tick)?)
        } else {
            Row::Bandwidth(bandwidth::measure(&pair, arguments.verb, size, iterations, &tick)?)
        })
    };
    let mut report = Report::begin(head, arguments.form, &progress)?;
    for size in sizes {
        report.add(measure(size)?)?;
    }
    report.finish()
}

#[cfg(test)]
mod tests;
