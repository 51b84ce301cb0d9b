//! Peers: what may stand at the end of a wire besides a card.

mod datagram;
mod golden;
mod outside;
mod raw;
mod tap;
#[cfg(test)]
mod tests;

use std::any::Any;

pub use datagram::Datagram;
pub use golden::Golden;
pub use outside::{Door, Outside};
pub use raw::{Arrived, Raw};
pub use tap::Tap;

/// A station of a [`World`](crate::World) that is no card. Time is in cycles of the world's clock.
///
/// What has arrived is handed over in the cycle of its last bit. When [`next_due`](Self::next_due) has come and the line has
/// room for a frame, the peer is told the time, then asked for a frame, until it has none or the line has no more room. So
/// frames leave as fast as the line carries them, and a timer that runs out while the line is busy waits for it. A peer on
/// no wire rests.
///
/// A peer changes by these calls alone, and by what is done to it between two runs of the world; then skipping and threads
/// do not show.
pub trait Peer: Any + Send {
    /// Takes a frame without FCS; `bad` is what a MAC says of a wrong FCS.
    fn receive(&mut self, now: u64, frame: &[u8], bad: bool);

    /// The next frame for the wire, without FCS.
    fn transmit(&mut self, now: u64) -> Option<Vec<u8>>;

    /// Lets time pass.
    fn tick(&mut self, now: u64);

    /// The first cycle from `now` on in which it has something to do; `None` when it only waits.
    fn next_due(&self, now: u64) -> Option<u64>;

    /// Does it speak for somebody who is not simulated? Then the world keeps behind the wall clock, and has it listen.
    fn is_outside(&self) -> bool {
        false
    }

    /// Takes what has come from outside, where there is one; called now and again.
    fn listen(&mut self) {}
}
