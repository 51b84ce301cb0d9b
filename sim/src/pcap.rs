//! Captures: reads pcap and pcapng, writes pcapng.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};

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
    let mut reader = PcapNgReader::new(bytes).map_err(|error| format_error(path, 0, error))?;
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.map_err(|error| format_error(path, frames.len(), error))?.0 {
            Block::InterfaceDescription(interface) if interface.linktype != DataLink::ETHERNET => {
                return Err(Error::NotEthernet { path: path.to_owned(), link: interface.linktype });
            }
            Block::EnhancedPacket(packet) => {
                let flags = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Flags(flags) => Some(*flags),
                    _ => None,
                });
                let direction = match flags.unwrap_or(0) & DIRECTION_FLAGS {
                    FLAG_IN => Some(Direction::In),
                    FLAG_OUT => Some(Direction::Out),
                    _ => None,
                };
                let bad = flags.unwrap_or(0) & FLAG_BAD != 0;
                let bytes = packet.data.into_owned();
                frames.push(Captured { time: packet.timestamp, bytes, direction, bad });
            }
            _ => {}
        }
    }
    Ok(frames)
}

/// A pcapng file being written, one interface, nanosecond time stamps.
pub struct Writer {
    path: PathBuf,
    writer: PcapNgWriter<File>,
}

impl Writer {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// When it cannot be created or written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { what: "creating", path: path.to_owned(), source };
        let file = File::create(path).map_err(io)?;
        let mut writer = PcapNgWriter::new(file).map_err(|error| format_error(path, 0, error))?;
        let nanoseconds =
            InterfaceTsResolution::new(false, 9).map_err(|error| format_error(path, 0, error))?;
        let options = vec![InterfaceDescriptionOption::IfTsResol(nanoseconds)];
        let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(interface).map_err(|error| format_error(path, 0, error))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Appends one frame.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, time: Duration, bytes: &[u8]) -> Result<(), Error> {
        self.append(time, bytes, vec![])
    }

    /// Appends one frame, and says which way it went and whether its FCS was wrong.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record(
        &mut self,
        time: Duration,
        direction: Direction,
        bad: bool,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let way = if direction == Direction::In { FLAG_IN } else { FLAG_OUT };
        let flags = way | if bad { FLAG_BAD } else { 0 };
        self.append(time, bytes, vec![EnhancedPacketOption::Flags(flags)])
    }

    fn append(
        &mut self,
        time: Duration,
        bytes: &[u8],
        options: Vec<EnhancedPacketOption<'_>>,
    ) -> Result<(), Error> {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: time,
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options,
        };
        self.writer.write_pcapng_block(block).map_err(|error| format_error(&self.path, 0, error))?;
        Ok(())
    }

    /// Makes sure everything is in the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        let path = self.path.clone();
        self.writer.get_mut().flush().map_err(|source| Error::Io { what: "writing", path, source })
    }
}

#[cfg(test)]
mod tests;
