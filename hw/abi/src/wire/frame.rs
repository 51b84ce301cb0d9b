//! A whole RoCE v2 frame: bytes to fields and back, byte by byte.

use super::{
    Bth, Ethernet, Extended, HeaderSet, Ipv4, Ipv6, Opcode, Reject, Shape, Tag, Udp, classify, icrc, ipv4,
    opcode::EXTENDED_MAX,
};

/// Most bytes before the payload.
pub const HEADERS_MAX: usize = Ethernet::LEN + Tag::LEN + Ipv6::LEN + Udp::LEN + Bth::LEN + EXTENDED_MAX;

/// The network header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    /// IPv4.
    V4(Ipv4),
    /// IPv6.
    V6(Ipv6),
}

impl Ip {
    /// Length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no header is empty")]
    pub const fn len(&self) -> usize {
        match self {
            Self::V4(_) => Ipv4::LEN,
            Self::V6(_) => Ipv6::LEN,
        }
    }
}

/// A frame's fields. Payload, pad and padding stay where they were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Ethernet header.
    pub ethernet: Ethernet,
    /// The 802.1Q tag, if the Ethernet type says so.
    pub tag: Option<Tag>,
    /// IPv4 or IPv6.
    pub ip: Ip,
    /// UDP header.
    pub udp: Udp,
    /// Base transport header.
    pub bth: Bth,
    /// Extended headers.
    pub extended: Extended,
    /// Payload without its pad.
    pub payload: &'a [u8],
    /// Pad bytes, 0 to 3.
    pub pad: &'a [u8],
    /// Invariant CRC.
    pub icrc: u32,
    /// What follows the IP packet: Ethernet's padding of short frames.
    pub padding: &'a [u8],
}

/// Why fields do not make a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// The op-code is not in the table, so its headers are unknown.
    UnknownOpcode {
        /// Value of the BTH's field.
        code: u8,
    },
    /// The extended headers are not those the op-code carries.
    Headers {
        /// Name of the op-code.
        opcode: &'static str,
        /// Headers given.
        given: HeaderSet,
        /// Headers it carries.
        wanted: HeaderSet,
    },
    /// The buffer is too short.
    Buffer {
        /// Bytes of the frame.
        need: usize,
        /// Bytes of the buffer.
        have: usize,
    },
    /// The packet is longer than IP can say.
    TooLong {
        /// Bytes of the payload.
        payload: usize,
    },
}

impl core::fmt::Display for EmitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownOpcode { code } => write!(f, "cannot emit op-code {code:#04x}: not in the table"),
            Self::Headers { opcode, given, wanted } => {
                write!(
                    f,
                    "cannot emit {opcode}: header set {:#05x} given, {:#05x} carried",
                    given.0, wanted.0
                )
            }
            Self::Buffer { need, have } => write!(f, "cannot emit {need} bytes into a buffer of {have}"),
            Self::TooLong { payload } => write!(f, "cannot seal a frame with {payload} bytes of payload"),
        }
    }
}

impl core::error::Error for EmitError {}

impl<'a> Frame<'a> {
    /// Reads a frame (without FCS).
    ///
    /// # Errors
    /// Those of [`classify()`]: anything that is not RoCE v2 with a right ICRC.
    ///
    /// # Panics
    /// Never: the frames [`classify()`] accepts have all their headers.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Reject> {
        let shape = classify(bytes)?;
        Ok(Self::at(bytes, &shape).expect("classify accepted a frame that ends inside a header"))
    }

    fn at(bytes: &'a [u8], shape: &Shape) -> Option<Self> {
        let ip = &bytes[shape.ip_at..];
        Some(Self {
            ethernet: Ethernet::parse(bytes)?,
            tag: if shape.ip_at > Ethernet::LEN { Some(Tag::parse(&bytes[Ethernet::LEN..])?) } else { None },
            ip: if shape.is_ipv6 { Ip::V6(Ipv6::parse(ip)?) } else { Ip::V4(Ipv4::parse(ip)?) },
            udp: Udp::parse(&bytes[shape.udp_at..])?,
            bth: Bth::parse(&bytes[shape.bth_at..])?,
            extended: Extended::parse(shape.opcode.headers, &bytes[shape.bth_at + Bth::LEN..])?,
            payload: &bytes[shape.payload_at..shape.pad_at],
            pad: &bytes[shape.pad_at..shape.icrc_at],
            icrc: icrc::carried(&bytes[shape.icrc_at..shape.end]),
            padding: &bytes[shape.end..],
        })
    }

    /// The op-code's row.
    #[must_use]
    pub fn opcode(&self) -> Option<&'static Opcode> {
        Opcode::lookup(self.bth.opcode)
    }

    /// Bytes before the payload.
    fn headers_len(&self) -> Result<usize, EmitError> {
        let code = self.bth.opcode;
        let opcode = self.opcode().ok_or(EmitError::UnknownOpcode { code })?;
        let (given, wanted) = (self.extended.set(), opcode.header_set());
        if given != wanted {
            return Err(EmitError::Headers { opcode: opcode.name, given, wanted });
        }
        let tag = if self.tag.is_some() { Tag::LEN } else { 0 };
        Ok(Ethernet::LEN + tag + self.ip.len() + Udp::LEN + opcode.header_len())
    }

    /// Bytes of the whole frame, padding included.
    ///
    /// # Errors
    /// When the op-code is unknown or the extended headers are not its own.
    pub fn wire_len(&self) -> Result<usize, EmitError> {
        Ok(self.headers_len()? + self.payload.len() + self.pad.len() + icrc::LEN + self.padding.len())
    }

    /// Writes the fields as they are, consistent or not, and returns how many bytes they took.
    ///
    /// # Errors
    /// When the buffer is too short, the op-code unknown, or the extended headers are not its own.
    ///
    /// # Panics
    /// When a value is wider than its field.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, EmitError> {
        let (need, have) = (self.wire_len()?, buffer.len());
        if need > have {
            return Err(EmitError::Buffer { need, have });
        }
        let (headers, mut rest) = buffer.split_at_mut(self.headers_len()?);
        self.emit_headers(headers);
        for part in [self.payload, self.pad, &self.icrc.to_le_bytes(), self.padding] {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        Ok(need)
    }

    fn emit_headers(&self, mut bytes: &mut [u8]) {
        self.ethernet.emit(bytes);
        bytes = &mut bytes[Ethernet::LEN..];
        if let Some(tag) = self.tag {
            tag.emit(bytes);
            bytes = &mut bytes[Tag::LEN..];
        }
        match self.ip {
            Ip::V4(header) => header.emit(bytes),
            Ip::V6(header) => header.emit(bytes),
        }
        bytes = &mut bytes[self.ip.len()..];
        self.udp.emit(bytes);
        self.bth.emit(&mut bytes[Udp::LEN..]);
        self.extended.emit(&mut bytes[Udp::LEN + Bth::LEN..]);
    }

    /// The frame as bytes.
    ///
    /// # Errors
    /// As [`Self::emit`].
    ///
    /// # Panics
    /// When a value is wider than its field.
    #[cfg(feature = "std")]
    pub fn to_vec(&self) -> Result<alloc::vec::Vec<u8>, EmitError> {
        let mut bytes = alloc::vec![0; self.wire_len()?];
        self.emit(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills in what follows from the rest: pad, lengths, IPv4 checksum, ICRC.
    ///
    /// # Errors
    /// When the op-code is unknown, the extended headers are not its own, or IP cannot express the length.
    ///
    /// # Panics
    /// When a value is wider than its field.
    pub fn seal(mut self) -> Result<Self, EmitError> {
        let pad = self.payload.len().wrapping_neg() % 4;
        self.pad = &[0; 3][..pad];
        self.bth.pad = pad.to_le_bytes()[0];

        let headers_len = self.headers_len()?;
        let ip_at = Ethernet::LEN + if self.tag.is_some() { Tag::LEN } else { 0 };
        let ip_length = headers_len - ip_at + self.payload.len() + pad + icrc::LEN;
        let too_long = |_| EmitError::TooLong { payload: self.payload.len() };
        self.udp.length = u16::try_from(ip_length - self.ip.len()).map_err(too_long)?;
        match &mut self.ip {
            Ip::V4(header) => {
                header.total_length = u16::try_from(ip_length).map_err(too_long)?;
                header.checksum = ipv4::checksum(&header.to_bytes());
            }
            Ip::V6(header) => header.payload_length = self.udp.length,
        }

        let mut headers = [0; HEADERS_MAX];
        self.emit_headers(&mut headers[..headers_len]);
        let covered = headers[ip_at..headers_len].iter().chain(self.payload).chain(self.pad);
        self.icrc = icrc::compute_over(covered.copied());
        Ok(self)
    }
}
