//! Captures: reads pcap and pcapng, writes pcapng.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
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

/// One captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, counted from an origin of the file's own.
    pub time: Duration,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
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
        frames.push(Captured { time: packet.timestamp(), bytes: packet.data().to_vec() });
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
                frames.push(Captured { time: packet.timestamp, bytes: packet.data.into_owned() });
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
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: time,
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options: vec![],
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
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("stroma-{}-{name}", std::process::id()))
    }

    #[test]
    fn what_is_written_is_read_back_to_the_nanosecond() {
        let path = scratch("written.pcapng");
        let frames =
            [(Duration::from_nanos(5), vec![1, 2, 3]), (Duration::new(7, 123_456_789), vec![0xab; 1500])];
        let mut writer = Writer::create(&path).unwrap();
        for (time, bytes) in &frames {
            writer.write(*time, bytes).unwrap();
        }
        writer.finish().unwrap();
        let read: Vec<(Duration, Vec<u8>)> =
            read(&path).unwrap().into_iter().map(|frame| (frame.time, frame.bytes)).collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read, frames);
    }

    #[test]
    fn a_file_that_is_no_capture_is_refused_by_name() {
        let path = scratch("none.pcap");
        std::fs::write(&path, b"not a capture at all, really not").unwrap();
        let error = read(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(&error, Error::Format { packet: 0, .. }), "{error}");
        assert!(error.to_string().contains("none.pcap"), "{error}");
        assert!(matches!(read(&path), Err(Error::Io { what: "reading", .. })));
    }
}
