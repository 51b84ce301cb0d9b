//! How long hosts take.

use serde::{Deserialize, Serialize};
use stroma_sim::host::timing::Timing;

use crate::Error;

/// What differs from an Alveo board in a slot of generation 3 and sixteen lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TimingPlan {
    /// From a DMA read's address to its first data, in nanoseconds.
    #[arg(long, value_name = "NS")]
    pub read_ns: Option<u32>,
    /// From a DMA write's last beat to its being visible, in nanoseconds.
    #[arg(long, value_name = "NS")]
    pub write_ns: Option<u32>,
    /// DMA reads in flight.
    #[arg(long, value_name = "COUNT")]
    pub reads: Option<usize>,
    /// DMA writes in flight.
    #[arg(long, value_name = "COUNT")]
    pub writes: Option<usize>,
    /// Payload that PCIe carries each way, in megabits a second.
    #[arg(long, value_name = "MB/S")]
    pub pcie_megabits: Option<u32>,
    /// From a store to a BAR to its arrival, in nanoseconds.
    #[arg(long, value_name = "NS")]
    pub store_ns: Option<u32>,
    /// From a load of a BAR to its value, in nanoseconds.
    #[arg(long, value_name = "NS")]
    pub load_ns: Option<u32>,
}

/// The longest of such times: 100 ms.
const NS_MAX: u32 = 100_000_000;

impl TimingPlan {
    /// With what another says instead.
    #[must_use]
    pub(crate) fn but(self, other: Self) -> Self {
        Self {
            read_ns: other.read_ns.or(self.read_ns),
            write_ns: other.write_ns.or(self.write_ns),
            reads: other.reads.or(self.reads),
            writes: other.writes.or(self.writes),
            pcie_megabits: other.pcie_megabits.or(self.pcie_megabits),
            store_ns: other.store_ns.or(self.store_ns),
            load_ns: other.load_ns.or(self.load_ns),
        }
    }

    pub(super) fn timing(self) -> Result<Timing, Error> {
        let board = Timing::ALVEO_GEN3X16;
        let name = if self == Self::default() { board.name } else { "as planned" };
        let timing = Timing {
            name,
            read_ns: self.read_ns.unwrap_or(board.read_ns),
            write_ns: self.write_ns.unwrap_or(board.write_ns),
            reads: self.reads.unwrap_or(board.reads),
            writes: self.writes.unwrap_or(board.writes),
            megabits: self.pcie_megabits.unwrap_or(board.megabits),
            store_ns: self.store_ns.unwrap_or(board.store_ns),
            load_ns: self.load_ns.unwrap_or(board.load_ns),
            ..board
        };
        let times = [
            ("read-ns", timing.read_ns),
            ("write-ns", timing.write_ns),
            ("store-ns", timing.store_ns),
            ("load-ns", timing.load_ns),
        ];
        let late = times.into_iter().find(|(_, time)| *time > NS_MAX);
        if let Some((name, time)) = late {
            return Err(Error::Value { name, value: time.into(), limits: format!("{NS_MAX} at most") });
        }
        let counts = [("reads", timing.reads, board.reads), ("writes", timing.writes, board.writes)];
        let beyond = counts.into_iter().find(|(_, count, most)| !(1..=*most).contains(count));
        if let Some((name, count, most)) = beyond {
            #[expect(clippy::cast_precision_loss, reason = "to be read by a person")]
            return Err(Error::Value { name, value: count as f64, limits: format!("1 to {most}") });
        }
        if timing.megabits == 0 {
            return Err(Error::Value { name: "pcie-megabits", value: 0.0, limits: "1 or more".to_owned() });
        }
        Ok(timing)
    }
}
