//! Requests of the card: what a packet on `s_axis_rq` asks for, and whether it may.

use super::bits::{byte, field};
use super::byte_enables::ByteEnables;
use super::config::Config;
use super::stream::Packet;
use super::{DWORD, PAGE};

/// Words of the descriptor.
const DESCRIPTOR: usize = 4;
/// Tags without extended ones.
const SHORT_TAGS: u8 = 32;

/// What a request wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read { tag: u8 },
    Write { payload: Vec<u32> },
}

/// A memory request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    /// Of its first `DWord`.
    pub(crate) address: u64,
    pub(crate) dwords: usize,
    pub(crate) enables: ByteEnables,
    pub(crate) sequence: u8,
}

impl Request {
    /// Reads a packet and holds it against the rules.
    ///
    /// # Panics
    /// When it breaks one.
    pub(crate) fn parse(packet: &Packet<5>, config: &Config) -> Self {
        let (words, user) = (&packet.words, &packet.user);
        assert!(words.len() >= DESCRIPTOR, "s_axis_rq: {} words are no descriptor", words.len());
        let bits = |at: usize, width: usize| field(words, at, width);
        let address = u64::from(words[1]) << 32 | u64::from(words[0] & !3);
        let dwords = bits(64, 11) as usize;
        let what = format!("s_axis_rq: request of {dwords} DWords at {address:#x}");
        for (name, at, width) in [
            ("address type", 0, 2),
            ("poisoned", 79, 1),
            ("requester function", 80, 8),
            ("requester ID enable", 120, 1),
            ("traffic class", 121, 3),
            ("attributes", 124, 3),
            ("force ECRC", 127, 1),
        ] {
            assert_eq!(bits(at, width), 0, "{what}: {name} has to be 0");
        }
        for (name, at, width) in
            [("addr_offset", 16, 4), ("tph_present", 37, 2), ("tph_indirect_tag_en", 43, 2)]
        {
            assert_eq!(field(user, at, width), 0, "{what}: {name} in tuser has to be 0");
        }
        assert!((1..=1024).contains(&dwords), "{what}: no such length");
        let enables = ByteEnables { first: byte(field(user, 0, 4)), last: byte(field(user, 8, 4)) };
        enables.check(&what, address, dwords);
        let end = address + (dwords * DWORD) as u64 - 1;
        assert_eq!(address / PAGE, end / PAGE, "{what}: crosses 4 KiB");
        let payload = &words[DESCRIPTOR..];
        let kind = match bits(75, 4) {
            0 => {
                assert!(payload.is_empty(), "{what}: a read with {} words of payload", payload.len());
                assert!(dwords * DWORD <= config.max_read as usize, "{what}: over {} bytes", config.max_read);
                let tag = byte(bits(96, 8));
                assert!(config.extended_tags || tag < SHORT_TAGS, "{what}: tag {tag} without extended tags");
                Kind::Read { tag }
            }
            1 => {
                assert_eq!(payload.len(), dwords, "{what}: a write with {} words of payload", payload.len());
                assert!(
                    dwords * DWORD <= config.max_payload as usize,
                    "{what}: over {} bytes",
                    config.max_payload
                );
                Kind::Write { payload: payload.to_vec() }
            }
            other => panic!("{what}: type {other:#06b} is neither a read nor a write of memory"),
        };
        Self { kind, address, dwords, enables, sequence: byte(field(user, 61, 6)) }
    }
}
