//! What a fabric can be asked, and what it answers: a line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Bytes of a request, at most; a longer one ends the connection.
pub const REQUEST_MAX: usize = 4096;

/// What a fabric is asked: `{"request":"status"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Request {
    /// What is there, and who has what; answered with a [`Status`].
    Status {},
    /// A client is about to come: a fabric that ends when nobody is there begins to wait anew. Answered with nothing.
    Hold {},
    /// A read of a card's BAR0, as its host would make it, whoever has the card; answered with the value.
    Read {
        /// Which card.
        card: usize,
        /// Byte in the BAR, a multiple of the width.
        offset: u64,
        /// Bytes, 4 or 8.
        width: usize,
    },
    /// Where the waves of a card go, if it was built with them; answered with [`Waves`].
    Waves {
        /// Which card.
        card: usize,
    },
    /// The frames of a card's port. Answered with nothing; behind that the connection carries pcapng until one of the two closes his
    /// side. Who asks closes his and reads on gets what has come by then, and how many frames were lost on the way to him.
    Capture {
        /// Which card.
        card: usize,
    },
}

/// `{"ok":...}` with what was asked for, or `{"error":"..."}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<T> {
    /// What was asked for.
    Ok(T),
    /// Why it is not to be had.
    Error(String),
}

/// What a fabric is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub process: u32,
    /// What card each of its cards is.
    pub profile: String,
    /// What is between them.
    pub wire: String,
    /// Simulated time since it was started.
    pub simulated_ns: u64,
    /// Its cards.
    pub cards: Vec<CardStatus>,
    /// All that it was told to be, in the words of a plan.
    pub plan: serde_json::Value,
}

/// The waves of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waves {
    /// A VCD file that grows while the card works.
    pub file: PathBuf,
    /// What time it is in there, in halves of a cycle. Time does not pass while the card has nothing to do.
    pub time: u64,
}

/// A card of a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStatus {
    /// Its number.
    pub number: usize,
    /// Where it is served.
    pub socket: PathBuf,
    /// Does a client have it?
    pub is_taken: bool,
    /// The client's process, if the system knows it.
    pub pid: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_as_they_are_written_down() {
        assert_eq!(serde_json::to_string(&Request::Status {}).unwrap(), r#"{"request":"status"}"#);
        assert_eq!(serde_json::from_str::<Request>(r#"{"request":"hold"}"#).unwrap(), Request::Hold {});
        for wrong in [r#"{"request":"dance"}"#, r#"{"request":"status","loudly":true}"#, "{}", "status"] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(serde_json::to_string(&Answer::Ok(1)).unwrap(), r#"{"ok":1}"#);
        let refused = Answer::<u32>::Error("no".into());
        assert_eq!(serde_json::to_string(&refused).unwrap(), r#"{"error":"no"}"#);
    }
}
