//! Somebody outside of the simulation, behind a Unix datagram socket: one raw Ethernet frame a datagram, which is what QEMU's
//! `-netdev dgram` speaks.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::Peer;

/// Shortest frame without FCS. Virtual interfaces leave the padding out that a MAC adds.
const FRAME_MIN: usize = 60;
/// Longest datagram taken: more than any jumbo frame.
const DATAGRAM_MAX: usize = 1 << 16;

/// A socket at the end of a wire. Frames wait for as long as the far end's queue is full; while nobody is there they are lost,
/// as on a cable with nothing at its end.
#[derive(Debug)]
pub struct Datagram {
    socket: UnixDatagram,
    far: PathBuf,
    buffer: Vec<u8>,
    /// From outside, for the wire.
    inward: VecDeque<Vec<u8>>,
    /// From the wire, for outside.
    outward: VecDeque<Vec<u8>>,
    lost: u64,
}

impl Datagram {
    /// Binds a socket at `near`, in place of what was left there, for somebody whose socket is at `far`.
    ///
    /// # Errors
    /// When the socket cannot be made there.
    pub fn bind(near: &Path, far: &Path) -> io::Result<Self> {
        match std::fs::remove_file(near) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(near)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            far: far.to_path_buf(),
            buffer: vec![0; DATAGRAM_MAX],
            inward: VecDeque::new(),
            outward: VecDeque::new(),
            lost: 0,
        })
    }

    /// Frames that did not get out: their FCS was wrong, or nobody was there.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn send(&mut self) {
        while let Some(frame) = self.outward.front() {
            match self.socket.send_to(frame, &self.far) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => self.lost += 1,
                Ok(_) => {}
            }
            self.outward.pop_front();
        }
    }
}

impl Peer for Datagram {
    fn receive(&mut self, _now: u64, frame: &[u8], bad: bool) {
        if bad {
            self.lost += 1;
            return;
        }
        self.outward.push_back(frame.to_vec());
        self.send();
    }

    fn transmit(&mut self, _now: u64) -> Option<Vec<u8>> {
        self.inward.pop_front()
    }

    fn tick(&mut self, _now: u64) {}

    fn next_due(&self, now: u64) -> Option<u64> {
        (!self.inward.is_empty()).then_some(now)
    }

    fn is_outside(&self) -> bool {
        true
    }

    fn listen(&mut self) {
        self.send();
        // Nothing there, or an error of the socket itself: either way there is no frame now.
        while let Ok(length) = self.socket.recv(&mut self.buffer) {
            let mut frame = self.buffer[..length].to_vec();
            frame.resize(length.max(FRAME_MIN), 0);
            self.inward.push_back(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

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
