//! A recording of a network port, kept going until a frame cannot be written.

use std::time::Duration;

use crate::pcap::{self, Direction};

/// A file that frames go to, until one does not fit.
struct Open {
    writer: pcap::Writer,
    error: Option<pcap::Error>,
}

/// The recording of one port, if somebody wants one.
#[derive(Default)]
pub(crate) struct Capture {
    open: Option<Open>,
}

impl Capture {
    /// Records frames from now on.
    pub(crate) fn start(&mut self, writer: pcap::Writer) {
        self.open = Some(Open { writer, error: None });
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
    }
}

/// A cycle as a time, rounded down to nanoseconds.
fn time(cycle: u64, clock_khz: u32) -> Duration {
    let nanoseconds = u128::from(cycle) * 1_000_000 / u128::from(clock_khz);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
