//! Somebody outside of the simulation, behind a Unix datagram socket: one raw Ethernet frame a datagram, which is what QEMU's
//! `-netdev dgram` speaks.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::outside::{Door, Outside};

/// A socket, and where the other one is.
#[derive(Debug)]
pub struct Socket {
    socket: UnixDatagram,
    far: PathBuf,
}

/// A socket at the end of a wire.
pub type Datagram = Outside<Socket>;

impl Datagram {
    /// Binds a socket at `near`, in place of one that was left there, for somebody whose socket is at `far`. It is its user's alone.
    ///
    /// # Errors
    /// When something else is there, or the socket cannot be made.
    pub fn bind(near: &Path, far: &Path) -> io::Result<Self> {
        stroma_local::remove_socket(near)?;
        let socket = stroma_local::datagram(near)?;
        socket.set_nonblocking(true)?;
        Ok(Self::new(Socket { socket, far: far.to_path_buf() }))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Door for Socket {
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.socket.send_to(frame, &self.far).map(|_| ())
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.socket.recv(room)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::tempdir;

    use super::super::Peer;
    use super::*;

    #[test]
    fn frames_go_out_and_come_in_one_a_datagram_and_short_ones_are_padded() {
        let folder = tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
        let mut peer = Datagram::bind(&near, &far).unwrap();
        assert!(peer.is_outside());
        peer.receive(0, &[9; 60], false);
        assert_eq!(peer.lost(), 1, "nobody is there yet");
        let outside = UnixDatagram::bind(&far).unwrap();
        peer.receive(1, &[1; 4096], false);
        peer.receive(2, &[2; 60], true);
        assert_eq!(peer.lost(), 2, "a wrong FCS stays inside");
        let mut room = [0; 5000];
        assert_eq!(outside.recv(&mut room).unwrap(), 4096);
        assert_eq!(room[..4096], [1; 4096]);

        assert_eq!(peer.next_due(3), None);
        outside.send_to(&[3; 42], &near).unwrap();
        outside.send_to(&[4; 61], &near).unwrap();
        assert_eq!(peer.next_due(3), None, "it looks outside when it is asked to");
        peer.listen();
        assert_eq!(peer.next_due(3), Some(3));
        let mut padded = vec![3; 42];
        padded.resize(60, 0);
        assert_eq!(
            [peer.transmit(3), peer.transmit(4), peer.transmit(5)],
            [Some(padded), Some(vec![4; 61]), None]
        );
    }

    #[test]
    fn what_is_no_socket_stays_where_it_is_and_a_socket_that_was_left_is_replaced() {
        let folder = tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
        std::fs::write(&near, "mine").unwrap();
        let refused = Datagram::bind(&near, &far).expect_err("a file is there");
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&near).unwrap(), "mine");
        std::fs::remove_file(&near).unwrap();
        drop(Datagram::bind(&near, &far).unwrap());
        Datagram::bind(&near, &far).expect("in place of one that nobody has");
    }

    #[test]
    fn a_socket_is_its_users_alone() {
        let folder = tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
        let _peer = Datagram::bind(&near, &far).unwrap();
        let mode = std::fs::symlink_metadata(&near).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn frames_wait_in_order_while_the_far_end_is_full() {
        let folder = tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
        let outside = UnixDatagram::bind(&far).unwrap();
        outside.set_nonblocking(true).unwrap();
        let mut peer = Datagram::bind(&near, &far).unwrap();
        for number in 0..2000_u16 {
            peer.receive(0, &number.to_be_bytes().repeat(2000), false);
        }
        assert!(!peer.outward.is_empty(), "no system takes eight megabytes that nobody reads");
        let mut room = [0; 5000];
        for number in 0..2000_u16 {
            let length = outside.recv(&mut room).unwrap_or_else(|error| panic!("frame {number}: {error}"));
            assert_eq!((length, &room[..2]), (4000, &number.to_be_bytes()[..]));
            peer.listen();
        }
        assert_eq!(peer.lost(), 0);
    }
}
