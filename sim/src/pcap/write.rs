//! pcapng that is being written.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};

use super::{Direction, Error, FLAG_BAD, FLAG_IN, FLAG_OUT, format_error};

/// A pcapng file being written, or a stream: one interface, nanosecond time stamps.
pub struct Writer<W: Write = File> {
    path: PathBuf,
    writer: PcapNgWriter<W>,
}

impl Writer {
    /// Creates the file for its user alone, or empties it. A link in its place is refused, as is another user's file.
    ///
    /// # Errors
    /// When it cannot be created or written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { what: "creating", path: path.to_owned(), source };
        Self::begin(stroma_local::create(path).map_err(io)?, path, vec![])
    }
}

impl<W: Write> Writer<W> {
    /// Begins a stream of an interface of this name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn over(stream: W, interface: &str) -> Result<Self, Error> {
        let name = InterfaceDescriptionOption::IfName(Cow::Borrowed(interface));
        Self::begin(stream, Path::new(interface), vec![name])
    }

    fn begin(
        stream: W,
        path: &Path,
        mut options: Vec<InterfaceDescriptionOption<'_>>,
    ) -> Result<Self, Error> {
        let mut writer = PcapNgWriter::new(stream).map_err(|error| failed(path, error))?;
        let nanoseconds =
            InterfaceTsResolution::new(false, 9).map_err(|error| format_error(path, 0, error))?;
        options.push(InterfaceDescriptionOption::IfTsResol(nanoseconds));
        let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(interface).map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Appends one frame.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, time: Duration, bytes: &[u8]) -> Result<(), Error> {
        self.append(time, bytes, vec![])
    }

    /// Appends one frame, and says which way it went and whether its FCS was wrong.
    ///
    /// # Errors
    /// When it cannot be written.
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
        self.writer.write_pcapng_block(block).map_err(|error| failed(&self.path, error))?;
        Ok(())
    }

    /// Says how many frames have been lost so far that should be there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn lost(&mut self, time: Duration, lost: u64) -> Result<(), Error> {
        let options = vec![InterfaceStatisticsOption::IsbIfDrop(lost)];
        let block = InterfaceStatisticsBlock { interface_id: 0, timestamp: time, options };
        self.writer.write_pcapng_block(block).map_err(|error| failed(&self.path, error))?;
        Ok(())
    }

    /// Sends on what a stream may have kept.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        let path = &self.path;
        let flushed = self.writer.get_mut().flush();
        flushed.map_err(|source| Error::Io { what: "writing", path: path.clone(), source })
    }

    /// Makes sure everything is where it should be.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }
}

fn failed(path: &Path, error: PcapNgWriteError) -> Error {
    match error {
        PcapNgWriteError::Io(source) => Error::Io { what: "writing", path: path.to_owned(), source },
        error => format_error(path, 0, error),
    }
}
