//! The way to the MAC in plain Rust, frame by frame.

use super::pad::SHORTEST;

/// Bytes of the longest frame that finds room.
pub const LONGEST: usize = 16 << 10;

/// What the MAC's pins show of a frame that the card sends while the link is up: nothing of one that is bad or too long.
#[must_use]
pub fn leaves(frame: &[u8], is_bad: bool) -> Option<Vec<u8>> {
    if is_bad || frame.len() > LONGEST {
        return None;
    }
    let mut shown = frame.to_vec();
    shown.resize(frame.len().max(SHORTEST), 0);
    Some(shown)
}
