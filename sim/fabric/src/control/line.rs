//! Lines from a stranger.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("a request of more than {0} bytes")]
    Long(usize),
    #[error("no request has come for too long")]
    Late,
    #[error(transparent)]
    Io(io::Error),
}

/// The next line, without its end; `rest` is what came behind it. `None` when none follows.
///
/// The time is that of the whole line: who sends a byte now and then gains nothing.
pub(super) fn read_line(
    mut stream: &UnixStream,
    rest: &mut Vec<u8>,
    longest: usize,
    until: Instant,
) -> Result<Option<Vec<u8>>, Error> {
    loop {
        if let Some(end) = rest.iter().position(|byte| *byte == b'\n').filter(|end| *end <= longest) {
            let mut line: Vec<u8> = rest.drain(..=end).collect();
            line.pop();
            return Ok(Some(line));
        }
        if rest.len() > longest {
            return Err(Error::Long(longest));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Late);
        }
        stream.set_read_timeout(Some(left)).map_err(Error::Io)?;
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(None),
            Ok(count) => rest.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(Error::Late),
            Err(error) => return Err(Error::Io(error)),
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
        assert!(matches!(read_line(&far, &mut rest, 8, soon()), Err(Error::Long(8))));
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(b"half").unwrap();
        assert!(matches!(read_line(&far, &mut Vec::new(), 8, soon()), Err(Error::Late)));
    }
}
