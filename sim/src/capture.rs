//! What goes through a network port, for those who record it: a file, until a frame cannot be written, and listeners.

use std::time::Duration;

use crate::pcap::{self, Direction};

/// Somebody who hears of the frames of a port. He must not wait: the simulation of everything waits with him.
pub trait Listener: Send {
    /// A frame goes by; `false` when no more are wanted.
    fn frame(&mut self, time: Duration, direction: Direction, bad: bool, bytes: &[u8]) -> bool;
}

/// A file that frames go to, until one does not fit.
struct Open {
    writer: pcap::Writer,
    error: Option<pcap::Error>,
}

/// The recordings of one port, if somebody wants any.
#[derive(Default)]
pub(crate) struct Capture {
    open: Option<Open>,
    listeners: Vec<Box<dyn Listener>>,
}

impl Capture {
    /// Records frames from now on.
    pub(crate) fn start(&mut self, writer: pcap::Writer) {
        self.open = Some(Open { writer, error: None });
    }

    /// Somebody hears of frames from now on.
    pub(crate) fn listen(&mut self, listener: Box<dyn Listener>) {
        self.listeners.push(listener);
    }

    /// Ends the recording and closes the file.
    ///
    /// # Errors
    /// When a frame could not be written; those after it are not in the file.
    pub(crate) fn finish(&mut self) -> Result<(), pcap::Error> {
        match self.open.take() {
            Some(Open { error: Some(error), .. }) => Err(error),
            Some(Open { writer, .. }) => writer.finish(),
            None => Ok(()),
        }
    }

    /// A frame goes by in a cycle of a clock of so many kHz.
    pub(crate) fn record(
        &mut self,
        cycle: u64,
        clock_khz: u32,
        direction: Direction,
        bytes: &[u8],
        bad: bool,
    ) {
        if let Some(Open { writer, error: error @ None }) = &mut self.open {
            *error = writer.record(time(cycle, clock_khz), direction, bad, bytes).err();
        }
        self.listeners.retain_mut(|listener| listener.frame(time(cycle, clock_khz), direction, bad, bytes));
    }
}

/// A cycle as a time, rounded down to nanoseconds.
fn time(cycle: u64, clock_khz: u32) -> Duration {
    let nanoseconds = u128::from(cycle) * 1_000_000 / u128::from(clock_khz);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
