//! `stroma-fabric`: cards in a process of their own.

use std::process::ExitCode;

use clap::Parser;
use stroma_fabric::cli::{Arguments, run};

fn main() -> ExitCode {
    run(Arguments::parse())
}
