//! Reliable connections: what leaves the send queues as packets, and what packets do here.
//!
//! ```text
//!   work ─ Admit ─ Message ─ Segment ─ Sieve ── TxStep ─┐
//!    ▲      ▲ ▲ └ Sent ─────────┐                       Fetch ─ TxPacket, payload ─ Template ─ Head, payload
//! progress  │ └ Rewind ────┐    │   TxStep ─────────────┘
//!           │              │    ▼   │
//!  Head ─ Lookup ─ Arrival ─ Complete │  ┌──────── Task ────────┐
//!    ▲        └─── Arrival ─ Sequence ── Errand ─ Scatter ─ Place ┴ Respond
//!    │                  Stock ─┘                   lists     │ └ Operation ─ Atomics ─ Task
//!  Nudge: Timers, Admit, Fetch, Receives, Keys               └ payload to memory, completions
//!  Keys: works of Admit and Sequence on keys of memory windows
//! ```

/// Stages that a packet passes, and the cycles each takes for a small one when they come in a row, as their contracts say and
/// their tests pin: a WRITE of one entry out, or the same in, with its acknowledgement.
pub const STAGES: [(&str, u64); 14] = [
    ("Send, an operation", 3),
    ("Parse, a unit", 2),
    ("Check, one entry", 4),
    ("Admit", 4),
    ("Segment", 2),
    ("Sieve", 1),
    ("Fetch", 1),
    ("Template", 2),
    ("Lookup", 3),
    ("Sequence", 3),
    ("Complete", 5),
    ("Scatter, without a list", 1),
    ("Place", 1),
    ("Respond, with its task", 6),
];

pub mod admit;
pub mod atomics;
pub mod complete;
pub mod defer;
pub mod departures;
pub mod fetch;
pub mod greet;
pub mod keys;
pub mod lookup;
pub mod over;
pub mod place;
pub mod receives;
pub mod records;
pub mod respond;
pub mod scatter;
pub mod segment;
pub mod send_drain;
pub mod sequence;
pub mod side;
pub mod sieve;
pub mod statistics;
pub mod template;
pub mod timers;
