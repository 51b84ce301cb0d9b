//! Connections, one after the other, for as long as the process lives.

use std::io::{self, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

/// After a connection that could not be had.
const PAUSE: Duration = Duration::from_millis(100);

/// The next connection, however long it takes.
///
/// What keeps one from being accepted, such as a want of descriptors or of memory, passes: `troubled` hears of it once, and it is
/// tried again after a pause, while those who connect wait. A socket that were closed for it would be lost for everybody.
pub fn accept(listener: &UnixListener, troubled: impl Fn(&io::Error)) -> UnixStream {
    let mut is_told = false;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            // It was gone before it was let in.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    troubled(&error);
                }
                thread::sleep(PAUSE);
            }
        }
    }
}
