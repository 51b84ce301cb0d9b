//! Somebody outside of the simulation, at the end of a wire: frames come and go through a door that never waits.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use super::Peer;

/// Shortest frame without FCS. Virtual interfaces leave the padding out that a MAC adds.
const FRAME_MIN: usize = 60;
/// Longest frame taken: more than any jumbo frame.
const FRAME_MAX: usize = 1 << 16;
/// Frames that wait for somebody outside who does not take them; of more the newest are lost, as in any queue.
const WAITING_MAX: usize = 4096;

/// Where frames go out and come in, one a call, without waiting: [`ErrorKind::WouldBlock`] says that there is no room, or no frame.
pub trait Door: AsFd + Send + 'static {
    /// Sends a frame without FCS.
    ///
    /// # Errors
    /// When there is no room, or nobody to take it.
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// Takes a frame; its length.
    ///
    /// # Errors
    /// When there is none.
    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize>;
}

/// A door at the end of a wire. Frames wait while the far end's queue is full; while nobody is there they are lost, as on a cable
/// with nothing at its end.
#[derive(Debug)]
pub struct Outside<D> {
    door: D,
    room: Vec<u8>,
    /// From outside, for the wire.
    inward: VecDeque<Vec<u8>>,
    /// From the wire, for outside.
    pub(super) outward: VecDeque<Vec<u8>>,
    lost: u64,
}

impl<D: Door> Outside<D> {
    pub(super) fn new(door: D) -> Self {
        Self { door, room: vec![0; FRAME_MAX], inward: VecDeque::new(), outward: VecDeque::new(), lost: 0 }
    }

    /// Frames that did not get out: their FCS was wrong, nobody was there, or too many waited.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn send(&mut self) {
        while let Some(frame) = self.outward.front() {
            match self.door.send(frame) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => self.lost += 1,
                Ok(()) => {}
            }
            self.outward.pop_front();
        }
    }
}

impl<D: Door> AsFd for Outside<D> {
    /// Readable when a frame has come, to be waited for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.door.as_fd()
    }
}

impl<D: Door> Peer for Outside<D> {
    fn receive(&mut self, _now: u64, frame: &[u8], bad: bool) {
        if bad || self.outward.len() >= WAITING_MAX {
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
        // What is not taken yet waits in the system's queue, which has an end of its own. Nothing there, or an error of the door
        // itself: either way there is no frame now.
        while self.inward.len() < WAITING_MAX {
            let Ok(length) = self.door.receive(&mut self.room) else { return };
            let mut frame = self.room[..length].to_vec();
            frame.resize(length.max(FRAME_MIN), 0);
            self.inward.push_back(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many frames, then has no room; offers as many frames as it is asked for.
    struct Narrow {
        room: usize,
        null: std::fs::File,
    }

    impl AsFd for Narrow {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.null.as_fd()
        }
    }

    impl Door for Narrow {
        fn send(&mut self, _frame: &[u8]) -> io::Result<()> {
            self.room = self.room.checked_sub(1).ok_or(ErrorKind::WouldBlock)?;
            Ok(())
        }

        fn receive(&mut self, _room: &mut [u8]) -> io::Result<usize> {
            Ok(64)
        }
    }

    #[test]
    fn what_waits_has_an_end_both_ways() {
        let mut peer = Outside::new(Narrow { room: 1, null: std::fs::File::open("/dev/null").unwrap() });
        for _ in 0..WAITING_MAX + 3 {
            peer.receive(0, &[1; 60], false);
        }
        assert_eq!((peer.outward.len(), peer.lost()), (WAITING_MAX, 2), "one got out");
        peer.listen();
        assert_eq!(peer.inward.len(), WAITING_MAX, "the rest stays with the system");
    }
}
