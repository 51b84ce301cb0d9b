//! Captures: reads pcap and pcapng, writes pcapng.

mod live;
mod write;

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;

pub use live::{Live, News};
pub use write::Writer;

/// Why a capture could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system said no.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// The file is neither pcap nor pcapng, or is damaged.
    #[error("{}, packet {packet}: {reason}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// How many packets were read before.
        packet: usize,
        /// What is wrong.
        reason: String,
    },
    /// The capture is not of Ethernet frames.
    #[error("{} holds {link:?} packets, not Ethernet frames", path.display())]
    NotEthernet {
        /// Which file.
        path: PathBuf,
        /// What it holds.
        link: DataLink,
    },
}

/// Which way a frame went, seen from the port that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// pcapng's flags of a packet: which way it went.
const DIRECTION_FLAGS: u32 = 3;
const FLAG_IN: u32 = 1;
const FLAG_OUT: u32 = 2;
/// pcapng's flag of a packet whose FCS was wrong.
const FLAG_BAD: u32 = 1 << 24;

/// One captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, counted from an origin of the file's own.
    pub time: Duration,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
    /// Which way it went, if the file says.
    pub direction: Option<Direction>,
    /// The file says that its FCS was wrong.
    pub bad: bool,
}

/// Reads every frame of a pcap or pcapng file.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds no Ethernet frames.
pub fn read(path: &Path) -> Result<Vec<Captured>, Error> {
    let io = |source| Error::Io { what: "reading", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io)?;
    // A pcapng file begins with the type of its section header block, which reads the same from both ends.
    if bytes.starts_with(&0x0a0d_0d0a_u32.to_be_bytes()) {
        read_pcapng(path, &bytes)
    } else {
        read_pcap(path, &bytes)
    }
}

fn format_error(path: &Path, packet: usize, reason: impl Display) -> Error {
    Error::Format { path: path.to_owned(), packet, reason: format!("{reason}") }
}

fn read_pcap(path: &Path, bytes: &[u8]) -> Result<Vec<Captured>, Error> {
    let mut reader = PcapReader::new(bytes).map_err(|error| format_error(path, 0, error))?;
    let link = reader.header().datalink;
    if link != DataLink::ETHERNET {
        return Err(Error::NotEthernet { path: path.to_owned(), link });
    }
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| format_error(path, frames.len(), error))?;
        let (time, bytes) = (packet.timestamp(), packet.data().to_vec());
        frames.push(Captured { time, bytes, direction: None, bad: false });
    }
    Ok(frames)
}

fn read_pcapng(path: &Path, bytes: &[u8]) -> Result<Vec<Captured>, Error> {
    let mut live = Live::new(bytes, path)?;
    let mut frames = Vec::new();
    while let Some(news) = live.next()? {
        if let News::Frame(frame) = news {
            frames.push(frame);
        }
    }
    Ok(frames)
}

#[cfg(test)]
mod tests;
