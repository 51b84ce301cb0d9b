//! Who asks a fabric.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::{Answer, Error, Request, Status, holder, place};

/// How long an answer may take; the cards of a fabric on a busy machine are slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at a fabric that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

/// A connection to a fabric.
#[derive(Debug)]
pub struct Client {
    folder: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the fabric of a folder.
    ///
    /// # Errors
    /// When none is there.
    pub fn connect(folder: &Path) -> Result<Self, Error> {
        place::trust(folder)?;
        let path = place::control(folder);
        let connected = UnixStream::connect(&path).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => Ok(Self { folder: folder.to_path_buf(), stream: BufReader::new(stream) }),
            Err(source) if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                Err(Error::NotRunning { folder: folder.to_path_buf() })
            }
            Err(source) => Err(Error::Io { doing: "connecting to", path, source }),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Error::Closed { folder: self.folder.clone() }
            }
            _ => Error::Io { doing: "asking the fabric by", path: place::control(&self.folder), source },
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// When it is refused, or none comes.
    ///
    /// # Panics
    /// Never: every request can be written as JSON.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, Error> {
        let mut line = serde_json::to_string(request).expect("a request is plain data");
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(|source| self.failed(source))?;
        line.clear();
        match self.stream.read_line(&mut line) {
            Ok(0) => return Err(Error::Closed { folder: self.folder.clone() }),
            Ok(_) => {}
            Err(source) => return Err(self.failed(source)),
        }
        match serde_json::from_str(&line) {
            Ok(Answer::Ok(value)) => Ok(value),
            Ok(Answer::Error(says)) => Err(Error::Refused { folder: self.folder.clone(), says }),
            Err(source) => Err(Error::Language { folder: self.folder.clone(), source }),
        }
    }
}

impl Client {
    /// Asks for something that is no answer of a line: what comes behind it, for as long as somebody sends.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn follow(mut self, request: &Request) -> Result<BufReader<UnixStream>, Error> {
        self.ask::<()>(request)?;
        let folder = self.folder;
        let endless = self.stream.get_ref().set_read_timeout(None);
        endless.map_err(|source| Error::Io {
            doing: "waiting for",
            path: place::control(&folder),
            source,
        })?;
        Ok(self.stream)
    }
}

/// Asks the fabric of a folder one thing.
///
/// # Errors
/// As [`Client::connect`] and [`Client::ask`].
pub fn ask<T: DeserializeOwned>(folder: &Path, request: &Request) -> Result<T, Error> {
    Client::connect(folder)?.ask(request)
}

/// What the fabric of a folder is; `None` when none runs there.
///
/// # Errors
/// When one runs, and cannot be asked.
pub fn find(folder: &Path) -> Result<Option<Status>, Error> {
    match ask(folder, &Request::Status {}) {
        Ok(status) => Ok(Some(status)),
        Err(Error::NotRunning { .. } | Error::Closed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a fabric that has taken the folder and may not serve it yet, and has it wait for a client; `None` when none has it.
///
/// # Errors
/// When one runs, and cannot be asked.
pub fn wait(folder: &Path) -> Result<Option<Status>, Error> {
    loop {
        let is_held = holder(folder).is_some();
        let asked = Client::connect(folder).and_then(|mut client| {
            client.ask::<()>(&Request::Hold {})?;
            client.ask(&Request::Status {})
        });
        match asked {
            Ok(status) => return Ok(Some(status)),
            // It comes, or it goes.
            Err(Error::NotRunning { .. } | Error::Closed { .. }) if is_held => thread::sleep(PAUSE),
            Err(Error::NotRunning { .. } | Error::Closed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
