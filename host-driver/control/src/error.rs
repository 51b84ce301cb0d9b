//! What can go wrong on the way to a fabric.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use stroma_local::PathError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody has the folder.
    #[error("no fabric runs at {}: `stroma fabric --sockets {}` starts one", folder.display(), folder.display())]
    NotRunning {
        /// Which.
        folder: PathBuf,
    },
    /// Somebody has it.
    #[error("a fabric runs at {} already{}: end it, or choose another folder", folder.display(), of(*process))]
    Taken {
        /// Which.
        folder: PathBuf,
        /// Who has it, if that is known.
        process: Option<u32>,
    },
    /// Another user decides what is in it.
    #[error("the folder {} is not to be trusted: {source}", folder.display())]
    Untrusted {
        /// Which.
        folder: PathBuf,
        /// Who, and by what right.
        source: PathError,
    },
    /// A file or a socket of the folder cannot be had.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The fabric has ended, or takes no more requests.
    #[error("asking the fabric at {}: it has closed the connection", folder.display())]
    Closed {
        /// Which.
        folder: PathBuf,
    },
    /// What came back is no answer.
    #[error("asking the fabric at {}: {source} in its answer", folder.display())]
    Language {
        /// Which.
        folder: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The fabric refuses.
    #[error("the fabric at {} says: {says}", folder.display())]
    Refused {
        /// Which.
        folder: PathBuf,
        /// Its words.
        says: String,
    },
    /// Nobody listens where the driver of a program would.
    #[error("no program listens at {}", path.display())]
    NoProgram {
        /// Where.
        path: PathBuf,
    },
    /// A driver does not answer.
    #[error("the program at {} has not answered in {waited:?}", path.display())]
    Silent {
        /// Where.
        path: PathBuf,
        /// How long it had.
        waited: Duration,
    },
    /// A driver refuses.
    #[error("the program at {} says: {says}", path.display())]
    Unwilling {
        /// Where.
        path: PathBuf,
        /// Its words.
        says: String,
    },
    /// What a driver says is no answer.
    #[error("asking the program at {}: {source} in the answer", path.display())]
    Unclear {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A driver is older or newer than who asks.
    #[error("the program at {} speaks {found} of this, and we {ours}: use the `stroma` that came with its driver", path.display())]
    OtherVersion {
        /// Where.
        path: PathBuf,
        /// What it says it speaks.
        found: String,
        /// What we speak.
        ours: u32,
    },
}

fn of(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(", process {process}"))
}
