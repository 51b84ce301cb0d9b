//! When a stream driver holds still: a pure function of the cycle, so that every run repeats.

use crate::rng::SplitMix64;

/// A pattern of pauses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pause {
    /// Never.
    #[default]
    None,
    /// In all cycles: blocks a stream for good.
    Always,
    /// In every n-th cycle; n is at least 2.
    Every(u64),
    /// In a given share of cycles, at random.
    Random {
        /// Chooses the sequence.
        seed: u64,
        /// Share of paused cycles; 100 would never move.
        percent: u8,
    },
    /// `go` cycles of movement, then `pause` cycles of rest, and again.
    Burst {
        /// Length of the movement, at least 1.
        go: u64,
        /// Length of the rest.
        pause: u64,
    },
    /// As written, `true` for a pause, repeated from the start when it ends.
    Script(Vec<bool>),
}

impl Pause {
    /// Is this cycle a pause?
    ///
    /// # Panics
    /// When the pattern would never let anything move and does not say so in its name.
    #[must_use]
    pub fn at(&self, cycle: u64) -> bool {
        match self {
            Self::None => false,
            Self::Always => true,
            Self::Every(n) => {
                assert!(*n >= 2, "Pause::Every({n}) would never move");
                cycle % n == n - 1
            }
            Self::Random { seed, percent } => {
                assert!(*percent < 100, "Pause::Random with {percent} percent would never move");
                SplitMix64::at(*seed, cycle) % 100 < u64::from(*percent)
            }
            Self::Burst { go, pause } => {
                assert!(*go > 0, "Pause::Burst with go = 0 would never move");
                cycle % (go + pause) >= *go
            }
            Self::Script(pauses) => match pauses.len() as u64 {
                0 => false,
                length => usize::try_from(cycle % length).is_ok_and(|at| pauses[at]),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(pause: &Pause, cycles: u64) -> String {
        (0..cycles).map(|cycle| if pause.at(cycle) { '-' } else { '#' }).collect()
    }

    #[test]
    fn patterns_have_their_shape() {
        let cases = [
            (Pause::None, "########"),
            (Pause::Always, "--------"),
            (Pause::Every(3), "##-##-##"),
            (Pause::Burst { go: 3, pause: 2 }, "###--###"),
            (Pause::Script(vec![true, false, false]), "-##-##-#"),
            (Pause::Script(vec![]), "########"),
        ];
        for (pause, expected) in cases {
            assert_eq!(shape(&pause, 8), expected, "{pause:?}");
        }
    }

    #[test]
    fn random_pauses_repeat_with_the_seed_and_keep_their_share() {
        let pause = |seed| Pause::Random { seed, percent: 30 };
        assert_eq!(shape(&pause(1), 200), shape(&pause(1), 200));
        assert_ne!(shape(&pause(1), 200), shape(&pause(2), 200));
        let paused = (0..10_000).filter(|cycle| pause(7).at(*cycle)).count();
        assert!((2_700..3_300).contains(&paused), "{paused}");
    }

    #[test]
    #[should_panic(expected = "never move")]
    fn a_pattern_without_movement_is_refused() {
        let _ = Pause::Every(1).at(0);
    }
}
