//! Kernels of the far card against the same work by plain verbs and by messages to the far host, in one run.

mod baseline;
mod lookups;
mod mixes;
mod objects;
mod stage;
mod streams;
mod walks;

use crate::Task;

/// All of the suite.
pub(crate) const TASKS: &[Task] = &[
    Task { label: "list walks", measure: walks::measure },
    Task { label: "GETs", measure: lookups::measure },
    Task { label: "objects with a CRC", measure: objects::measure },
    Task { label: "shuffle", measure: streams::shuffle },
    Task { label: "key-value mixes", measure: mixes::measure },
    Task { label: "HyperLogLog", measure: streams::hyperloglog },
];
