//! The one program of a guest that has a card of its own: an agent that takes orders from the serial line, and drivers that it starts
//! and kills.
//!
//! ```text
//!   serial line ── agent (root) ── pipe ── driver (an ordinary user) ── vfio-pci ── card
//! ```
//!
//! A line in, a line out. Answers begin with `ok`, or with `no:` and what went wrong.

#![forbid(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod agent;
#[cfg(target_arch = "x86_64")]
mod child;
#[cfg(target_arch = "x86_64")]
mod driver;
#[cfg(target_arch = "x86_64")]
mod line;
#[cfg(target_arch = "x86_64")]
mod sysfs;

use std::process::ExitCode;

/// What went right or wrong, in one line.
#[cfg(target_arch = "x86_64")]
fn answer(outcome: anyhow::Result<String>) -> String {
    let text = outcome.unwrap_or_else(|error| format!("no: {}", told(&error)));
    text.replace('\n', " ")
}

/// An error and its causes, without those that it has told of itself.
#[cfg(target_arch = "x86_64")]
fn told(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match &told[..] {
        "" => cause,
        _ if told.contains(&cause) => told,
        _ => format!("{told}: {cause}"),
    })
}

#[cfg(target_arch = "x86_64")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["agent", port] => agent::run(port),
        ["driver", address] => driver::run(address),
        _ => Err(anyhow::anyhow!("guest agent PORT | guest driver ADDRESS")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("no: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> ExitCode {
    println!("no: kernel VFIO is there for x86-64 alone");
    ExitCode::FAILURE
}
