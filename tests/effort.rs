//! How much a story of chance tells: a quarter of it, with one seed, in `cargo xtask test`; all of it in `cargo xtask nightly`.

use stroma_top::Profile;
pub use stroma_verilate::effort::{is_full, seeds, share};

/// The widths at which the function that asks tells its story now: one, of many stories half at each; or both.
#[macro_export]
macro_rules! widths {
    () => {
        $crate::effort::widths(std::any::type_name_of_val(&|| ()))
    };
}

/// The widths of a story of this name; [`widths!`](crate::widths!) knows the name of the function that asks.
///
/// # Panics
/// As [`share`].
#[must_use]
pub fn widths(story: &str) -> Vec<Profile> {
    let chosen = story.bytes().map(usize::from).sum::<usize>() % Profile::ALL.len();
    if is_full() { Profile::ALL.to_vec() } else { vec![Profile::ALL[chosen]] }
}

/// Of these moments, those that have their turn now: at 10g the first, third and so on, at 100g the others; or all at both.
///
/// # Panics
/// As [`share`].
#[must_use]
pub fn moments(profile: Profile, all: &[u64]) -> Vec<u64> {
    let skipped = usize::from(profile == Profile::HundredGig);
    if is_full() { all.to_vec() } else { all.iter().copied().skip(skipped).step_by(2).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_spread_over_the_widths() {
        let (one, other) = (widths("a"), widths("b"));
        assert!(is_full() || (one.len(), other.len()) == (1, 1) && one != other, "{one:?}, {other:?}");
        assert_eq!(crate::widths!(), widths(std::any::type_name_of_val(&|| ())));
    }
}
