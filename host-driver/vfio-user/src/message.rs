//! What every message has: a header of 16 bytes, behind it a body, beside it descriptors.
//!
//! Numbers are in the byte order of the machine, which both ends share.

use std::os::fd::OwnedFd;

use crate::body::RegionAccess;

/// Most bytes that one message reads or writes.
pub const DATA_MAX: usize = 1 << 16;
/// Longest message, header included: a write of [`DATA_MAX`] bytes.
pub const MESSAGE_MAX: usize = Header::LEN + RegionAccess::LEN + DATA_MAX;
/// Most descriptors that one message brings. QEMU refuses who takes more.
pub const DESCRIPTORS_MAX: usize = 16;

const TYPE_MASK: u32 = 0xf;
const TYPE_REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// Commands by name and number.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a message asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Command { $($(#[$doc])* $name = $number,)* }

        impl Command {
            /// The command of this number, if we know it.
            #[must_use]
            pub const fn of(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// Settles version and capabilities; the first message of a client.
    Version = 1,
    /// Shows memory to the device.
    DmaMap = 2,
    /// Takes it away.
    DmaUnmap = 3,
    /// What kind of device is it?
    DeviceInfo = 4,
    /// How large is a region?
    RegionInfo = 5,
    /// How many interrupts are there?
    InterruptInfo = 7,
    /// Connects interrupts to event descriptors.
    SetInterrupts = 8,
    /// Reads a region.
    RegionRead = 9,
    /// Writes to a region.
    RegionWrite = 10,
    /// Asks the client, who has no descriptor for it, to read memory.
    DmaRead = 11,
    /// Resets the device.
    DeviceReset = 13,
}

/// The first 16 bytes of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Chosen by who asks; the reply has the same.
    pub id: u16,
    /// Number of the [`Command`], which need not be one.
    pub command: u16,
    /// Bytes of the message, these 16 included.
    pub size: u32,
    /// Request or reply, and what is to become of it.
    pub flags: u32,
    /// Of a reply that is an error: the number of the error.
    pub error: u32,
}

impl Header {
    /// Bytes of a header.
    pub const LEN: usize = 16;

    /// Of a request with so long a body.
    #[must_use]
    pub fn request(id: u16, command: Command, body: usize) -> Self {
        Self { id, command: command as u16, size: size(body), ..Self::default() }
    }

    /// The same, when no reply is wanted.
    #[must_use]
    pub fn posted(id: u16, command: Command, body: usize) -> Self {
        Self { flags: NO_REPLY, ..Self::request(id, command, body) }
    }

    /// Of the reply to this request.
    #[must_use]
    pub fn reply(&self, body: usize) -> Self {
        Self { size: size(body), flags: TYPE_REPLY, error: 0, ..*self }
    }

    /// Of the reply that it failed.
    #[must_use]
    pub fn failure(&self, error: u32) -> Self {
        Self { flags: TYPE_REPLY | ERROR, error, ..self.reply(0) }
    }

    /// Is it a request, rather than a reply or nothing known?
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.flags & TYPE_MASK == 0
    }

    /// Does nobody wait for a reply?
    #[must_use]
    pub fn is_posted(&self) -> bool {
        self.flags & NO_REPLY != 0
    }

    /// The error that this reply tells of.
    #[must_use]
    pub fn told(&self) -> Option<u32> {
        (self.flags & ERROR != 0).then_some(self.error)
    }

    /// Does it answer this request?
    #[must_use]
    pub fn answers(&self, request: &Self) -> bool {
        self.flags & TYPE_MASK == TYPE_REPLY && (self.id, self.command) == (request.id, request.command)
    }

    /// Is it a reply to a command of this kind?
    #[must_use]
    pub fn is_reply_to(&self, command: Command) -> bool {
        self.flags & TYPE_MASK == TYPE_REPLY && self.command == command as u16
    }

    /// Bytes of the body; `None` when no message is so short or so long.
    #[must_use]
    pub fn body_len(&self) -> Option<usize> {
        let size = usize::try_from(self.size).ok().filter(|size| *size <= MESSAGE_MAX)?;
        size.checked_sub(Self::LEN)
    }

    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..2].copy_from_slice(&self.id.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.command.to_ne_bytes());
        for (place, word) in bytes[4..].chunks_exact_mut(4).zip([self.size, self.flags, self.error]) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// As it was received.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self { id: half(0), command: half(2), size: word(4), flags: word(8), error: word(12) }
    }
}

fn size(body: usize) -> u32 {
    u32::try_from(Header::LEN + body).expect("a body is short")
}

/// A message that was received.
#[derive(Debug)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// What is behind the header.
    pub body: Vec<u8>,
    /// Descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_where_the_specification_has_it() {
        let header = Header { id: 0x0102, command: 9, size: 0x0a0b_0c0d, flags: 0x30, error: 22 };
        let mut expected = Vec::new();
        expected.extend(0x0102_u16.to_ne_bytes());
        expected.extend(9_u16.to_ne_bytes());
        expected.extend([0x0a0b_0c0d_u32, 0x30, 22].iter().flat_map(|word| word.to_ne_bytes()));
        assert_eq!(header.to_bytes()[..], expected);
        assert_eq!(Header::from_bytes(&header.to_bytes()), header);
    }

    #[test]
    fn a_reply_answers_its_request_and_no_other() {
        let request = Header::request(7, Command::RegionRead, 16);
        assert!(request.is_request() && !request.is_posted() && request.told().is_none());
        let reply = request.reply(20);
        assert_eq!((reply.body_len(), reply.told(), reply.is_request()), (Some(20), None, false));
        assert!(reply.answers(&request));
        assert!(!reply.answers(&Header::request(8, Command::RegionRead, 16)));
        assert!(!reply.answers(&Header::request(7, Command::RegionWrite, 16)));
        assert!(!request.answers(&request), "it answers nothing");
        assert!(reply.is_reply_to(Command::RegionRead) && !reply.is_reply_to(Command::DmaRead));
        assert!(!request.is_reply_to(Command::RegionRead));
        assert_eq!(request.failure(17).told(), Some(17));
        assert!(Header::posted(1, Command::RegionWrite, 24).is_posted());
    }

    #[test]
    fn a_message_is_neither_shorter_than_its_header_nor_longer_than_the_longest() {
        let longest = u32::try_from(MESSAGE_MAX).unwrap();
        let body = |size: u32| Header { size, ..Header::default() }.body_len();
        assert_eq!([0, 15, 16, longest, longest + 1, u32::MAX].map(body), {
            [None, None, Some(0), Some(MESSAGE_MAX - 16), None, None]
        });
    }

    #[test]
    fn commands_have_the_numbers_of_the_specification() {
        let known: Vec<u16> = (0..20).filter(|number| Command::of(*number).is_some()).collect();
        assert_eq!(known, [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13]);
        assert_eq!(Command::of(13), Some(Command::DeviceReset));
    }
}
