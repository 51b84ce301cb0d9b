//! Who waits for frames from outside, so that the one who simulates can sleep until something happens.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use stroma_sim::peer::{Door, Outside, Peer};

use crate::order::{Order, Orders};

/// A descriptor that becomes readable when a frame has come.
pub(crate) struct Watched(OwnedFd);

/// An end as a station, and its descriptor.
pub(crate) fn watched<D: Door>(end: Outside<D>) -> io::Result<(Box<dyn Peer>, Watched)> {
    let watch = Watched(end.as_fd().try_clone_to_owned()?);
    Ok((Box::new(end), watch))
}

impl Watched {
    /// Has the simulation look each time a frame has come, until nobody simulates. The order is waited for: what has come is taken
    /// by then, and the descriptor tells of the next.
    pub(crate) fn run(self, orders: &Orders) {
        loop {
            let ready = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None);
            match ready {
                Err(rustix::io::Errno::INTR) => {}
                // A descriptor that cannot be waited for tells of nothing any more; frames are still taken while cards are busy.
                Err(_) => return,
                Ok(_) if orders.give(Order::Look).is_err() => return,
                Ok(_) => {}
            }
        }
    }
}
