//! A pcapng stream as it comes, block by block.

use std::io::Read;
use std::path::{Path, PathBuf};

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Captured, DIRECTION_FLAGS, Direction, Error, FLAG_BAD, FLAG_IN, FLAG_OUT, format_error};

/// What a stream has told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A frame.
    Frame(Captured),
    /// How many frames the one who records has lost so far.
    Lost(u64),
}

/// A pcapng stream that is read while it is written.
pub struct Live<R: Read> {
    reader: PcapNgReader<R>,
    path: PathBuf,
    frames: usize,
}

impl<R: Read> Live<R> {
    /// Waits for the beginning of the stream. The path is a name for it, in errors.
    ///
    /// # Errors
    /// When it does not begin as pcapng does.
    pub fn new(reader: R, path: &Path) -> Result<Self, Error> {
        let reader = PcapNgReader::new(reader).map_err(|error| format_error(path, 0, error))?;
        Ok(Self { reader, path: path.to_owned(), frames: 0 })
    }

    /// Waits for the next frame, or what else it tells; `None` when it has ended.
    ///
    /// # Errors
    /// When the stream is damaged, breaks off in a block, or holds no Ethernet frames.
    #[expect(clippy::should_implement_trait, reason = "an error ends the stream, and is no item of it")]
    pub fn next(&mut self) -> Result<Option<News>, Error> {
        while let Some(block) = self.reader.next_block() {
            match block.map_err(|error| format_error(&self.path, self.frames, error))?.0 {
                Block::InterfaceDescription(interface) if interface.linktype != DataLink::ETHERNET => {
                    return Err(Error::NotEthernet { path: self.path.clone(), link: interface.linktype });
                }
                Block::EnhancedPacket(packet) => {
                    self.frames += 1;
                    return Ok(Some(News::Frame(captured(packet))));
                }
                Block::InterfaceStatistics(statistics) => {
                    let lost = statistics.options.iter().find_map(|option| match option {
                        InterfaceStatisticsOption::IsbIfDrop(lost) => Some(*lost),
                        _ => None,
                    });
                    if let Some(lost) = lost {
                        return Ok(Some(News::Lost(lost)));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

fn captured(packet: EnhancedPacketBlock<'_>) -> Captured {
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
    Captured { time: packet.timestamp, bytes: packet.data.into_owned(), direction, bad }
}
