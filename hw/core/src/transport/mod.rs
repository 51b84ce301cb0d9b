//! Reliable connections: what leaves the send queues as packets, and what packets do here.
//!
//! ```text
//!   work ─ Admit ─ Message ─ Segment ─ TxStep ─┐
//!    ▲      ▲ ▲ └ Sent ─────────┐              Fetch ─ TxPacket, payload ─ Template ─ Head, payload
//!  report   │ └ Rewind ────┐    │   TxStep ────┘
//!           │              │    ▼   │
//!  Head ─ Lookup ─ Arrival ─ Complete │  ┌───── Task ─────┐
//!    ▲        └─── Arrival ─ Sequence ── Errand ─ Place ─ Respond
//!  Nudge: Timers, Admit, Fetch                     └ payload to memory, completions
//! ```

pub mod records;
