//! Words for whoever watches a program.

use std::io::{self, Write};

/// Tells a line on standard error. One that cannot be written is lost: `eprintln!` panics when the other end of a pipe is closed,
/// and the thread that told ends.
pub fn tell(line: &str) {
    // In one piece, so that those of several processes do not mix.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
