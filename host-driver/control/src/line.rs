//! Lines from a stranger.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is longer than it may be.
    #[error("a line of more than {0} bytes")]
    Long(usize),
    /// It was not there in time.
    #[error("no line has come for too long")]
    Late,
    /// The system refused.
    #[error(transparent)]
    Io(io::Error),
}

/// The next line, without its end; `rest` is what came behind it. `None` when none follows.
///
/// The time is that of the whole line: who sends a byte now and then gains nothing.
///
/// # Errors
/// When it is longer than `longest`, not there by `until`, or the connection fails.
pub fn read_line(
    mut stream: &UnixStream,
    rest: &mut Vec<u8>,
    longest: usize,
    until: Instant,
) -> Result<Option<Vec<u8>>, LineError> {
    let mut searched = 0;
    loop {
        let end = rest[searched..].iter().position(|byte| *byte == b'\n').map(|end| searched + end);
        if let Some(end) = end.filter(|end| *end <= longest) {
            let mut line: Vec<u8> = rest.drain(..=end).collect();
            line.pop();
            return Ok(Some(line));
        }
        if rest.len() > longest {
            return Err(LineError::Long(longest));
        }
        searched = rest.len();
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(LineError::Late);
        }
        stream.set_read_timeout(Some(left)).map_err(LineError::Io)?;
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(None),
            Ok(count) => rest.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(LineError::Late),
            Err(error) => return Err(LineError::Io(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[test]
    fn lines_are_taken_one_by_one_however_they_come() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let mut rest = Vec::new();
        let mut next = |far: &UnixStream| read_line(far, &mut rest, 8, soon()).unwrap();
        near.write_all(b"one\ntwo\nth").unwrap();
        assert_eq!(next(&far).unwrap(), b"one");
        assert_eq!(next(&far).unwrap(), b"two");
        near.write_all(b"ree\n").unwrap();
        drop(near);
        assert_eq!(next(&far).unwrap(), b"three");
        assert_eq!(next(&far), None);
    }

    #[test]
    fn a_line_that_is_long_or_late_is_none() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let mut rest = Vec::new();
        near.write_all(b"12345678\n123456789").unwrap();
        assert_eq!(read_line(&far, &mut rest, 8, soon()).unwrap().unwrap(), b"12345678");
        assert!(matches!(read_line(&far, &mut rest, 8, soon()), Err(LineError::Long(8))));
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(b"half").unwrap();
        assert!(matches!(read_line(&far, &mut Vec::new(), 8, soon()), Err(LineError::Late)));
    }
}
