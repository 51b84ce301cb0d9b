//! Who is at the other end of a socket.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::net::sockopt::socket_peercred;

use crate::{is_trusted, user};

/// Why the other end is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// It is another user's.
    #[error("user {peer} serves there, and this is user {user}: only one's own and root's are trusted")]
    Stranger {
        /// Whose it is.
        peer: u32,
        /// Who asks.
        user: u32,
    },
    /// The system does not say.
    #[error("asking who serves there: {0}")]
    System(#[from] io::Error),
}

/// Refuses a server that is another user's, root apart. The system tells who listened to the socket, whatever became of its path.
///
/// # Errors
/// When it is another's, or the system does not say whose.
pub fn trust_peer(stream: &UnixStream) -> Result<(), PeerError> {
    let peer = socket_peercred(stream).map_err(io::Error::from)?.uid.as_raw();
    judge(peer, user())
}

/// The process at the other end of a socket, the one that connected or listened; `None` when the system does not know.
#[must_use]
pub fn process(stream: &UnixStream) -> Option<u32> {
    let pid = socket_peercred(stream).ok()?.pid;
    u32::try_from(pid.as_raw_nonzero().get()).ok()
}

fn judge(peer: u32, user: u32) -> Result<(), PeerError> {
    if is_trusted(peer, user) { Ok(()) } else { Err(PeerError::Stranger { peer, user }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_and_roots_servers_are_trusted_and_no_others() {
        let (near, _far) = UnixStream::pair().unwrap();
        trust_peer(&near).expect("both ends are this process's");
        assert_eq!(process(&near), Some(std::process::id()));
        assert!(judge(7, 7).is_ok() && judge(0, 7).is_ok() && judge(0, 0).is_ok());
        for (peer, user) in [(8, 7), (7, 0), (65534, 7)] {
            let refused = judge(peer, user).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("user {peer} serves there, and this is user {user}")),
                "{refused}"
            );
        }
    }
}
