//! The first exchange: which version is spoken, and how much each end takes at once.

use serde::{Deserialize, Serialize};

use crate::body::VersionNumbers;
use crate::message::{DATA_MAX, DESCRIPTORS_MAX};

/// The version we speak.
pub const NUMBERS: VersionNumbers = VersionNumbers { major: 0, minor: 1 };
/// Mappings that a server keeps for a client: what the specification has when nothing is said, and what QEMU knows of at most.
pub const MAPS_MAX: usize = 65_535;

/// How much one end takes. What it does not say has the value of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Descriptors in one message.
    pub max_msg_fds: usize,
    /// Bytes that one message reads or writes.
    pub max_data_xfer_size: usize,
    /// Mappings at a time.
    pub max_dma_maps: usize,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { max_msg_fds: 1, max_data_xfer_size: 1 << 20, max_dma_maps: 65_535 }
    }
}

impl Capabilities {
    /// What our ends take.
    pub const OURS: Self =
        Self { max_msg_fds: DESCRIPTORS_MAX, max_data_xfer_size: DATA_MAX, max_dma_maps: MAPS_MAX };
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Text {
    capabilities: Capabilities,
}

/// The body that tells our version and capabilities.
#[must_use]
pub fn ours() -> Vec<u8> {
    told(NUMBERS)
}

/// The answer to who speaks this version: the older of both is spoken. QEMU refuses a newer one than its own.
#[must_use]
pub fn settled(asked: VersionNumbers) -> Vec<u8> {
    told(VersionNumbers { minor: asked.minor.min(NUMBERS.minor), ..NUMBERS })
}

fn told(numbers: VersionNumbers) -> Vec<u8> {
    let text = serde_json::to_vec(&Text { capabilities: Capabilities::OURS }).expect("numbers make a text");
    [numbers.to_bytes(), text, vec![0]].concat()
}

/// What such a body says; `None` when it makes no sense.
#[must_use]
pub fn parse(body: &[u8]) -> Option<(VersionNumbers, Capabilities)> {
    let (numbers, text) = VersionNumbers::parse(body)?;
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    if text.is_empty() {
        return Some((numbers, Capabilities::default()));
    }
    let text: Text = serde_json::from_slice(text).ok()?;
    Some((numbers, text.capabilities))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &[u8]) -> Vec<u8> {
        [NUMBERS.to_bytes().as_slice(), text].concat()
    }

    #[test]
    fn our_own_version_is_understood() {
        assert_eq!(parse(&ours()), Some((NUMBERS, Capabilities::OURS)));
        assert_eq!(ours().last(), Some(&0), "the text ends as in C");
    }

    #[test]
    fn the_older_of_two_versions_is_spoken() {
        let answered = |minor| parse(&settled(VersionNumbers { major: 0, minor })).unwrap().0.minor;
        assert_eq!([0, 1, 2, u16::MAX].map(answered), [0, 1, 1, 1]);
    }

    #[test]
    fn what_is_not_said_has_the_value_of_the_specification() {
        let text = br#"{"capabilities":{"max_msg_fds":8,"migration":{"pgsize":4096},"write_multiple":true}}"#;
        let expected = Capabilities { max_msg_fds: 8, ..Capabilities::default() };
        assert_eq!(parse(&body(text)), Some((NUMBERS, expected)));
        for text in [&b""[..], b"\0", b"{}\0", br#"{"capabilities":{}}"#] {
            assert_eq!(parse(&body(text)), Some((NUMBERS, Capabilities::default())));
        }
    }

    #[test]
    fn a_text_without_sense_is_refused() {
        let deep = "[".repeat(10_000);
        let texts =
            ["{", "\0\0", "7", r#"{"capabilities":7}"#, r#"{"capabilities":{"max_msg_fds":-1}}"#, &deep];
        for text in texts {
            assert_eq!(parse(&body(text.as_bytes())), None, "{}", &text[..text.len().min(40)]);
        }
        assert_eq!(parse(&[0, 0, 1]), None);
    }
}
