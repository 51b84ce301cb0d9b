//! How much a story of chance tells: a quarter of it in `cargo xtask test`, all of it in `cargo xtask nightly`.

use std::env;

/// Set to `full` for all of it.
const VARIABLE: &str = "STROMA_EFFORT";

/// So many of `count` are told now.
///
/// # Panics
/// When the variable says neither `full` nor `quarter`.
#[must_use]
pub fn share(count: usize) -> usize {
    match env::var(VARIABLE).as_deref() {
        Err(_) | Ok("quarter") => count.div_ceil(4),
        Ok("full") => count,
        Ok(other) => panic!("{VARIABLE} is `{other}`: it may be `full` or `quarter`"),
    }
}
