//! Who asks a driver.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::server::send;
use super::{Question, Told, VERSION};
use crate::{Answer, Error, LineError, read_line};

/// Bytes of an answer, at most.
const ANSWER_MAX: usize = 64 << 20;

/// Asks the driver that listens at a socket, and waits no longer than `patience`.
///
/// # Errors
/// When nobody listens there, or no answer comes, or one in another language.
///
/// # Panics
/// Never: every question can be written as JSON.
pub fn ask(path: &Path, question: &Question, patience: Duration) -> Result<Told, Error> {
    let io = |doing: &'static str| move |source| Error::Io { doing, path: path.to_path_buf(), source };
    let silent = || Error::Silent { path: path.to_path_buf(), waited: patience };
    let until = Instant::now() + patience;
    let stream = match open(path, patience) {
        Ok(stream) => stream,
        Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(Error::NoProgram { path: path.to_path_buf() }),
        Err(Errno::AGAIN) => return Err(silent()),
        Err(error) => return Err(io("connecting to")(error.into())),
    };
    let mut line = serde_json::to_vec(question).expect("a question is plain data");
    line.push(b'\n');
    // A driver that has something against it says what, and closes.
    match send(&stream, &line, until) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(io("asking at")(error)),
        _ => {}
    }
    let line = match read_line(&stream, &mut Vec::new(), ANSWER_MAX, until) {
        Ok(Some(line)) => line,
        Ok(None) => return Err(Error::NoProgram { path: path.to_path_buf() }),
        Err(LineError::Late) => return Err(silent()),
        Err(LineError::Io(source)) => return Err(io("waiting for an answer at")(source)),
        Err(error) => return Err(io("waiting for an answer at")(io::Error::other(error))),
    };
    understand(path, &line)
}

/// Connects. A socket whose queue is full, of a program that was stopped, is not waited for without end.
fn open(path: &Path, patience: Duration) -> Result<UnixStream, Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

fn understand(path: &Path, line: &[u8]) -> Result<Told, Error> {
    let unclear = |source| Error::Unclear { path: path.to_path_buf(), source };
    let told = match serde_json::from_slice::<Answer<serde_json::Value>>(line).map_err(unclear)? {
        Answer::Ok(told) => told,
        Answer::Error(says) => return Err(Error::Unwilling { path: path.to_path_buf(), says }),
    };
    let version = told.get("version").and_then(serde_json::Value::as_u64);
    if version != Some(VERSION.into()) {
        let found = version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
        return Err(Error::OtherVersion { path: path.to_path_buf(), found, ours: VERSION });
    }
    serde_json::from_value(told).map_err(unclear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_version_is_named_and_not_guessed_at() {
        let says = |line: &str| understand(Path::new("x"), line.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            says(r#"{"ok":{"version":2}}"#),
            "the program at x speaks version 2 of this, and we 1: use the `stroma` that came with its driver"
        );
        assert!(says(r#"{"ok":[]}"#).contains("no version"));
        assert_eq!(says(r#"{"error":"no"}"#), "the program at x says: no");
        assert!(says("dance").contains("in the answer"));
    }
}
