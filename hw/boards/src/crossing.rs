//! Ways from one clock to another.

use std::fmt::Write;

/// By what means a crossing is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One bit, through two flip-flops in a row.
    Level,
    /// A pointer of an asynchronous FIFO, or a counter, in Gray code, through two flip-flops a bit.
    Pointer,
    /// Data of an asynchronous FIFO: written at least two cycles of the reader before a pointer lets it read them.
    Memory,
}

impl Kind {
    /// The reason, for people.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Level => "one bit through two flip-flops",
            Self::Pointer => {
                "Gray code through two flip-flops a bit: at most one bit changes, and all arrive within a period of the writer"
            }
            Self::Memory => "data that were written before the pointer that tells of them crossed",
        }
    }
}

/// A way from one clock to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The clock it leaves, by its wire in the top module; a pin's name if it is under none.
    pub from: String,
    /// The clock it enters.
    pub to: String,
    /// A register, memory or port that it begins at.
    pub source: String,
    /// The cells that it ends at, as a pattern for `get_cells`.
    pub sink: String,
    /// Bits.
    pub width: usize,
    /// Why it is safe.
    pub kind: Kind,
}

/// Clocks of the fabric: the wire of the top module, and nanoseconds of a period.
pub const CLOCKS: [(&str, f64); 3] = [("core_clock", 4.0), ("init_clock", 10.0), ("mac_clock", 3.103)];

/// Nanoseconds of a clock's period; nothing of what is none.
#[must_use]
pub fn period(clock: &str) -> Option<f64> {
    CLOCKS.iter().find(|(known, _)| *known == clock).map(|(_, period)| *period)
}

/// All crossings of a design as a page.
#[must_use]
pub fn page(crossings: &[Crossing]) -> String {
    let mut text = "# Crossings\n\n\
        Every way from one clock to another that the netlist has, and why it is safe. A way that is not of these kinds fails the check that wrote this page; \
        `constraints/timing.xdc` has an exception for each.\n\n\
        | from | to | begins at | ends at | bits | why it is safe |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for crossing in crossings {
        let Crossing { from, to, source, sink, width, kind } = crossing;
        let _ = writeln!(text, "| {from} | {to} | `{source}` | `{sink}` | {width} | {} |", kind.reason());
    }
    text
}
