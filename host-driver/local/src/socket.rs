//! Sockets at paths.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;

use rustix::fs::{Mode, fchmod};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};

/// Connections that wait to be accepted; who would be one more waits to connect.
const WAITING: i32 = 128;

/// A socket at a path where nothing is, which is its user's alone from its birth on: the system makes the file with the rights that
/// the descriptor has. Afterwards would be too late, for others could have connected before.
fn bound(kind: SocketType, path: &Path) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Listens at a path, for processes of this user alone.
///
/// # Errors
/// When something is there already (`EADDRINUSE`), or no socket can be made.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = bound(SocketType::STREAM, path)?;
    net::listen(&socket, WAITING)?;
    Ok(socket.into())
}

/// A socket for datagrams at a path, for processes of this user alone.
///
/// # Errors
/// As [`listen`].
pub fn datagram(path: &Path) -> io::Result<UnixDatagram> {
    bound(SocketType::DGRAM, path).map(Into::into)
}

/// Removes a socket that somebody has left. What is no socket is not ours to remove, and stays.
///
/// # Errors
/// When there is one, and it cannot be removed.
pub fn remove_socket(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn sockets_are_their_users_alone_and_are_used_as_others() {
        let folder = tempfile::tempdir().unwrap();
        let [stream, datagrams] = ["stream", "datagrams"].map(|name| folder.path().join(name));
        let listener = listen(&stream).unwrap();
        let _connection = UnixStream::connect(&stream).unwrap();
        listener.accept().unwrap();
        let socket = datagram(&datagrams).unwrap();
        UnixDatagram::unbound().unwrap().send_to(b"frame", &datagrams).unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 5);
        for path in [&stream, &datagrams] {
            assert_eq!(fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_at_the_path_stays_unless_it_is_a_socket() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, socket] = ["file", "link", "socket"].map(|name| folder.path().join(name));
        fs::write(&file, "mine").unwrap();
        symlink(folder.path().join("nowhere"), &link).unwrap();
        drop(listen(&socket).unwrap());
        for path in [&file, &link, &socket] {
            assert_eq!(listen(path).unwrap_err().kind(), ErrorKind::AddrInUse, "{}", path.display());
            remove_socket(path).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        assert!(fs::symlink_metadata(&link).is_ok() && !socket.exists());
        assert!(!folder.path().join("nowhere").exists());
        remove_socket(&socket).expect("there is none");
    }
}
