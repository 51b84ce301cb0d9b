//! Where frames go.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::Path;

use anyhow::Context;
use stroma_abi::wire::print;
use stroma_sim::pcap::{self, Captured, Direction, Writer};

/// A file, a pipe, or a terminal.
pub(super) enum Sink {
    File(Writer<File>),
    Pipe(Writer<BufWriter<Stdout>>),
    Text(Stdout),
}

impl Sink {
    /// Opens the file, or standard output: as pcapng for `-`, as text without a name.
    pub(super) fn open(file: Option<&Path>, interface: &str) -> anyhow::Result<Self> {
        let sink = match file {
            None => Self::Text(io::stdout()),
            Some(path) if path == Path::new("-") => {
                let mut writer = Writer::over(BufWriter::new(io::stdout()), interface)?;
                // Whoever shows frames wants to know what they are before the first comes.
                writer.flush()?;
                Self::Pipe(writer)
            }
            Some(path) => {
                let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
                Self::File(Writer::over(file, interface)?)
            }
        };
        Ok(sink)
    }

    /// Takes a frame; `false` when nobody is there any more who wants it.
    pub(super) fn take(&mut self, frame: &Captured) -> anyhow::Result<bool> {
        let taken = match self {
            Self::File(writer) => record(writer, frame),
            Self::Pipe(writer) => record(writer, frame).and_then(|()| writer.flush()),
            Self::Text(out) => return tell(out, frame),
        };
        match taken {
            Err(pcap::Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(false),
            taken => Ok(taken.map(|()| true)?),
        }
    }

    /// Makes sure that all of them are there.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::File(writer) => writer.finish()?,
            // What could not be sent on was told with its frame.
            Self::Pipe(_) | Self::Text(_) => {}
        }
        Ok(())
    }
}

fn record<W: Write>(writer: &mut Writer<W>, frame: &Captured) -> Result<(), pcap::Error> {
    match frame.direction {
        Some(direction) => writer.record(frame.time, direction, frame.bad, &frame.bytes),
        None => writer.write(frame.time, &frame.bytes),
    }
}

/// A line: when, which way, what.
fn tell(out: &mut impl Write, frame: &Captured) -> anyhow::Result<bool> {
    match writeln!(out, "{}", line(frame)).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        told => told.map(|()| true).context("writing to standard output"),
    }
}

fn line(frame: &Captured) -> String {
    let way = match frame.direction {
        Some(Direction::In) => "In ",
        Some(Direction::Out) => "Out",
        None => "?  ",
    };
    let bad = if frame.bad { "[bad FCS] " } else { "" };
    let (seconds, nanos) = (frame.time.as_secs(), frame.time.subsec_nanos());
    format!("{seconds}.{nanos:09} {way} {bad}{}", print::line(&frame.bytes))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_frame_is_told_with_its_time_its_way_and_its_fault() {
        let frame =
            |direction, bad| Captured { time: Duration::new(1, 42), bytes: vec![0; 3], direction, bad };
        assert!(line(&frame(Some(Direction::Out), false)).starts_with("1.000000042 Out ["));
        assert!(line(&frame(Some(Direction::In), true)).starts_with("1.000000042 In  [bad FCS] ["));
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        let frame = Captured { time: Duration::ZERO, bytes: vec![0; 60], direction: None, bad: false };
        assert!(tell(&mut writer, &frame).unwrap());
        drop(reader);
        assert!(!tell(&mut writer, &frame).unwrap());
    }
}
