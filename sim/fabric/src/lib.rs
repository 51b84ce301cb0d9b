//! Cards in a process of their own: other processes open them, run their drivers on them, end as they like, and the cards stay.
//!
//! ```text
//!   client ── socket ── Server ── CardFunction ──┐ orders
//!   client ── socket ── Server ── CardFunction ──┼────────▶ Simulation: World with all cards on one clock
//!              ...                               ┘             │
//!   client's memory ◀──────── read and written like files ─────┤
//!   somebody outside ◀──── datagrams or a TAP interface ────────┘
//! ```
//!
//! A thread for each socket listens to the card's client ([`stroma_vfio_user`]); one thread has all the cards, carries out
//! what the others order, and simulates. One more socket is for questions about the fabric itself ([`stroma_control`]). [`Plan`] says which cards there are and how they are connected, [`Fabric`] runs them.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![expect(unexpected_cfgs, reason = "tests/loom compiles some files once more, without their tests")]

mod bell;
pub mod cli;
mod clients;
mod config_space;
mod control;
mod fabric;
mod function;
mod host;
mod memory;
mod order;
mod plan;
mod simulation;
mod sync;
mod watch;

use std::sync::Arc;

pub use fabric::{Error, Fabric};
pub use plan::{EndPlan, FaultPlan, LinkPlan, Plan, TimingPlan, Wire};

/// Where a fabric tells what happens, a line each.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;
