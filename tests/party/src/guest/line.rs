//! The serial line.

use std::fs::File;
use std::io::{Read, Write};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Who gives no order for so long has died, and the guest ends, so that no emulator outlives its story.
const SILENCE: Timespec = Timespec { tv_sec: 150, tv_nsec: 0 };

/// The guest's end of it.
pub(crate) struct Line {
    port: File,
}

impl Line {
    /// Opens a port, and has bytes go through it as they are.
    pub(crate) fn open(path: &str) -> Result<Self> {
        let port = File::options().read(true).write(true).open(path);
        let port = port.with_context(|| format!("open {path}"))?;
        let mut settings = tcgetattr(&port).with_context(|| format!("the settings of {path}"))?;
        settings.make_raw();
        tcsetattr(&port, OptionalActions::Now, &settings).with_context(|| format!("make {path} raw"))?;
        Ok(Self { port })
    }

    /// The next order; `None` when nobody has one.
    pub(crate) fn order(&mut self) -> Option<String> {
        let mut order = Vec::new();
        let mut byte = [0];
        loop {
            let waited = poll(&mut [PollFd::new(&self.port, PollFlags::IN)], Some(&SILENCE));
            if waited != Ok(1) || self.port.read(&mut byte).ok()? != 1 {
                return None;
            }
            match byte {
                [b'\n'] => return Some(String::from_utf8_lossy(&order).into_owned()),
                [other] => order.push(other),
            }
        }
    }

    /// Gives an answer.
    pub(crate) fn answer(&mut self, answer: &str) -> Result<()> {
        writeln!(self.port, "{answer}").context("answer")
    }
}
