//! Two cards on a cable: what WRITE and READ carry, how many of them, how fast one is; over payloads and queue pairs.

mod field;
mod goodput;
mod latency;
mod load;
mod machine;
mod queue_pairs;
mod sweep;
mod window;

use crate::Task;

/// What a single connection shows.
pub(crate) const FIRST_LIGHT: &[Task] = &[
    Task { label: "64 KiB on one queue pair", measure: goodput::one_queue_pair },
    Task { label: "64 bytes from memory on one queue pair", measure: goodput::gathered },
    Task { label: "latency of one request", measure: latency::measure },
    Task { label: "wall-clock time of a WRITE of 2 MiB", measure: machine::wall },
];

/// What it takes more than one connection, or more than one size, to show.
pub(crate) const SCALING: &[Task] = &[
    Task { label: "10 GbE", measure: goodput::ten_gig },
    Task { label: "payload sweep", measure: sweep::measure },
    Task { label: "1 to 1024 queue pairs", measure: queue_pairs::measure },
    Task { label: "quiet time", measure: machine::quiet },
];

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are far below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}
