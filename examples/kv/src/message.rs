//! What clients and a server's processor send each other.
//!
//! ```text
//!   request   operation 1 · key_length 1 · key · value
//!   answer    code 1 · value
//! ```

use crate::{Error, Result};

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// For the value of a key.
    Get {
        /// The key.
        key: Vec<u8>,
    },
    /// To give a key its value.
    Put {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// To take a key out.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
}

/// Why a server did not do what it was asked for. The store is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request makes no sense, or key or value have a wrong length.
    Malformed,
    /// No buffer is free.
    OutOfSpace,
    /// The bucket has no room for another key.
    BucketFull,
    /// The server's memory is not as it should be.
    Broken,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is such a key: its value for a GET, nothing else.
    Present(Vec<u8>),
    /// There is, or was, none.
    Absent,
    /// It was not done.
    Refused(Refusal),
}

/// Codes of refusals in an answer.
const REFUSALS: [(u8, Refusal); 4] =
    [(2, Refusal::Malformed), (3, Refusal::OutOfSpace), (4, Refusal::BucketFull), (5, Refusal::Broken)];

impl Request {
    /// As it is sent.
    ///
    /// # Errors
    /// [`Error::Key`] when the key's length cannot be told.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let (code, key, value) = match self {
            Self::Get { key } => (0, key, &[][..]),
            Self::Put { key, value } => (1, key, &value[..]),
            Self::Delete { key } => (2, key, &[][..]),
        };
        let length = u8::try_from(key.len()).map_err(|_| Error::Key { length: key.len() })?;
        Ok([&[code, length], &key[..], value].concat())
    }

    /// A request that has come.
    ///
    /// # Errors
    /// [`Error::Message`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::Message { length: bytes.len() };
        let (&[code, length], rest) = bytes.split_first_chunk::<2>().ok_or_else(wrong)?;
        let (key, value) = rest.split_at_checked(length.into()).ok_or_else(wrong)?;
        let key = key.to_vec();
        match (code, value.is_empty()) {
            (0, true) => Ok(Self::Get { key }),
            (1, _) => Ok(Self::Put { key, value: value.to_vec() }),
            (2, true) => Ok(Self::Delete { key }),
            _ => Err(wrong()),
        }
    }
}

impl Answer {
    /// As it is sent.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Absent => vec![0],
            Self::Present(value) => [&[1], &value[..]].concat(),
            Self::Refused(refusal) => {
                let row = REFUSALS.iter().find(|(_, known)| known == refusal);
                vec![row.map_or(5, |(code, _)| *code)]
            }
        }
    }

    /// An answer that has come.
    ///
    /// # Errors
    /// [`Error::Message`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let wrong = Error::Message { length: bytes.len() };
        match bytes {
            [0] => Ok(Self::Absent),
            [1, value @ ..] => Ok(Self::Present(value.to_vec())),
            [code] => {
                let row = REFUSALS.iter().find(|(known, _)| known == code);
                row.map(|(_, refusal)| Self::Refused(*refusal)).ok_or(wrong)
            }
            _ => Err(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_lie_as_drawn() {
        let put = Request::Put { key: b"key".to_vec(), value: b"value".to_vec() };
        assert_eq!(put.to_bytes().unwrap(), b"\x01\x03keyvalue");
        assert_eq!(Request::Get { key: b"k".to_vec() }.to_bytes().unwrap(), b"\0\x01k");
        assert_eq!(Request::Delete { key: b"k".to_vec() }.to_bytes().unwrap(), b"\x02\x01k");
        assert!(matches!(Request::Get { key: vec![0; 256] }.to_bytes(), Err(Error::Key { length: 256 })));
        assert_eq!(Answer::Present(b"value".to_vec()).to_bytes(), b"\x01value");
        for (code, refusal) in REFUSALS {
            assert_eq!(Answer::Refused(refusal).to_bytes(), [code]);
            assert_eq!(Answer::parse(&[code]).unwrap(), Answer::Refused(refusal));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bytes in [&b""[..], b"\0", b"\0\x02k", b"\0\x01kv", b"\x02\x01kv", b"\x03\x01k"] {
            assert!(matches!(Request::parse(bytes), Err(Error::Message { .. })), "{bytes:?}");
        }
        for bytes in [&b""[..], b"\0\0", b"\x06", b"\x02\x02"] {
            assert!(matches!(Answer::parse(bytes), Err(Error::Message { .. })), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_they_mean_one_thing_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(request) = Request::parse(&bytes) {
                prop_assert_eq!(&request.to_bytes().unwrap(), &bytes);
            }
            if let Ok(answer) = Answer::parse(&bytes) {
                prop_assert_eq!(answer.to_bytes(), bytes);
            }
        }
    }
}
