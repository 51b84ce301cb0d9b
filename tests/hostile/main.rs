//! Hostile input on the whole card: frames, requests, receives, doorbells and rings that no honest party would make. Nothing
//! changes outside what was granted, nothing hangs, and what is dropped is counted.

mod account;
mod answers;
mod arena;
mod attacker;
mod behind;
mod bursts;
mod doorbells;
mod fate;
mod forge;
mod frames;
mod hairpin;
mod honest;
mod memory;
mod mutate;
mod paused;
mod receives;
mod requests;
mod rings;
mod stage;
mod verdict;
mod victim;
mod wqes;
mod wrong;

use stroma_sim::host::timing::Timing;

/// A host whose processor reaches the card at once: queue pairs are made anew thousands of times here, and their commands
/// would take most of the time.
const BRISK: Timing = Timing { name: "brisk", store_ns: 8, load_ns: 16, ..Timing::ALVEO_GEN3X16 };
