//! Whose time it is that was measured.

use serde::Serialize;
use stroma_verbs::Device;

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Time {
    /// A simulated card's own: neither the speed of the simulation nor that of the machine is in it.
    Simulated,
    /// That of a card on a board.
    Card,
    /// This machine's, with what programs and the peer's system take.
    Wall,
}

impl Time {
    /// Of the time stamps of a card.
    pub(crate) fn of(device: &Device) -> anyhow::Result<Self> {
        Ok(if device.card().board()?.is_none() { Self::Simulated } else { Self::Card })
    }

    /// So that nobody takes one for the other; a card's clock has so many kHz.
    pub(crate) fn words(self, clock_khz: u32) -> String {
        let megahertz = f64::from(clock_khz) / 1e3;
        match self {
            Self::Simulated => format!("time is simulated: the card's own clock of {megahertz:.3} MHz"),
            Self::Card => format!("time is the card's: its own clock of {megahertz:.3} MHz"),
            Self::Wall => "time is the wall clock's, with what programs take".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_apart() {
        let words = [Time::Simulated, Time::Card, Time::Wall].map(|time| time.words(156_250));
        assert_eq!(words[0], "time is simulated: the card's own clock of 156.250 MHz");
        assert_eq!(words[1], "time is the card's: its own clock of 156.250 MHz");
        assert_eq!(words[2], "time is the wall clock's, with what programs take");
        assert_eq!(serde_json::to_string(&Time::Simulated).unwrap(), "\"simulated\"");
    }
}
