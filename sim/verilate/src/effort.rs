//! How much a story of chance tells: a quarter of it, with one seed, in `cargo xtask test`; all of it in `cargo xtask nightly`.

use std::env;

/// Set to `full` for all of it.
const VARIABLE: &str = "STROMA_EFFORT";

/// Is all of it told?
///
/// # Panics
/// When the variable says neither `full` nor `quarter`.
#[must_use]
pub fn is_full() -> bool {
    match env::var(VARIABLE).as_deref() {
        Err(_) | Ok("quarter") => false,
        Ok("full") => true,
        Ok(other) => panic!("{VARIABLE} is `{other}`: it may be `full` or `quarter`"),
    }
}

/// So many of `count` are told now.
///
/// # Panics
/// As [`is_full`].
#[must_use]
pub fn share(count: usize) -> usize {
    if is_full() { count } else { count.div_ceil(4) }
}

/// Of these seeds, those that have their turn now: the first, or all.
///
/// # Panics
/// As [`is_full`]; when there is none.
#[must_use]
pub fn seeds(all: &[u64]) -> &[u64] {
    if is_full() { all } else { &all[..1] }
}

/// A test that runs at both widths of the data path, and meets the same cases at each: the first now, the other one with full effort.
///
/// # Panics
/// As [`is_full`].
pub fn one_width(now: impl FnOnce(), full: impl FnOnce()) {
    now();
    if is_full() {
        full();
    }
}
