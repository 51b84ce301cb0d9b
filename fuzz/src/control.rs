//! Requests to a fabric: lines of JSON over a Unix socket.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use stroma_control::{REQUEST_MAX, Request, read_line};

/// How long a line may take; all of it is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lines come out as they were sent, up to one that is too long or has no end; a request that is understood is written as it was
/// understood.
pub fn control(bytes: &[u8]) {
    let (mut near, far) = UnixStream::pair().expect("a pair of sockets");
    near.write_all(bytes).expect("the input is shorter than the socket's buffer");
    drop(near);
    let (mut rest, mut expected) = (Vec::new(), bytes.split_inclusive(|byte| *byte == b'\n'));
    loop {
        let found = read_line(&far, &mut rest, REQUEST_MAX, Instant::now() + PATIENCE);
        let line = expected.next().unwrap_or_default();
        match (line.strip_suffix(b"\n"), found) {
            (Some(line), Ok(Some(found))) => {
                assert_eq!(line, found);
                understand(&found);
            }
            (Some(line), Err(_)) => return assert!(line.len() > REQUEST_MAX),
            (None, Err(_)) => return assert!(line.len() > REQUEST_MAX),
            (None, Ok(None)) => return,
            (line, found) => panic!("{line:?} was read as {found:?}"),
        }
    }
}

fn understand(line: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<Request>(line) {
        let text = serde_json::to_string(&request).expect("a request can be written");
        assert_eq!(serde_json::from_str::<Request>(&text).expect("what was written"), request);
    }
}
