//! The command line as its users have it: processes, folders, exit codes.

#![cfg(feature = "sim")]
#![forbid(unsafe_code)]

mod capture;
mod devices;
mod exec;
mod fabric;
mod inspect;
mod look;
mod neighbour;
mod perf;
mod ping;
mod stage;
