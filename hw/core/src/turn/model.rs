//! Turn in plain Rust: where each frame goes.

/// Frames to be sent: those for others, and those that come back. `limit`: bytes of the longest that does.
#[must_use]
pub fn turn(own: [u8; 6], frames: &[Vec<u8>], limit: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let is_own = |frame: &&Vec<u8>| own != [0; 6] && frame.starts_with(&own);
    let (back, out): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = frames.iter().partition(is_own);
    let back = back.into_iter().filter(|frame| frame.len() <= limit);
    (out.into_iter().cloned().collect(), back.cloned().collect())
}
