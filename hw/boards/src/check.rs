//! What of a board can be wrong without asking anybody.

use std::collections::BTreeMap;

use crate::board::{Board, Lanes, Pin};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Slip {
    /// A pin has two uses.
    #[error("pin {pin} is {first} and {second}")]
    Twice {
        /// The pin.
        pin: String,
        /// One use.
        first: String,
        /// The other.
        second: String,
    },
    /// What is no name of a pin: a row of one or two letters and a column.
    #[error("{what} is on pin {pin:?}, which is no name of a pin")]
    NoPin {
        /// What is there.
        what: String,
        /// Its name.
        pin: String,
    },
    /// Lanes are missing, or there are too many.
    #[error("{what} has {found} lanes, expected {expected}")]
    Lanes {
        /// Which.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The MAC is none that the transceivers reach.
    #[error("the MAC {mac} is not among those that the cage reaches: {}", macs.join(", "))]
    Mac {
        /// The MAC.
        mac: String,
        /// Those that are reached.
        macs: Vec<String>,
    },
    /// The transceivers are not as many as the lanes.
    #[error("the transceivers {transceivers} are {found} sites, expected {expected}")]
    Sites {
        /// As the file has them.
        transceivers: String,
        /// How many they are.
        found: usize,
        /// How many they should be.
        expected: usize,
    },
    /// There is no such die.
    #[error("{what} is on die {slr}, and the part has {slrs}")]
    Die {
        /// What is there.
        what: &'static str,
        /// Which.
        slr: u8,
        /// How many there are.
        slrs: u8,
    },
    /// Nobody says so.
    #[error("{what} names no source")]
    Unfounded {
        /// What nobody says.
        what: &'static str,
    },
}

/// Lanes of PCIe, and of a cage.
const PCIE_LANES: usize = 16;
const CAGE_LANES: usize = 4;

impl Board {
    /// Is there anything that cannot be?
    ///
    /// # Errors
    /// The first such thing.
    pub fn check(&self) -> Result<(), Slip> {
        for (what, lanes, expected) in
            [("pcie", &self.pcie.lanes, PCIE_LANES), ("qsfp", &self.qsfp.lanes, CAGE_LANES)]
        {
            for (name, pins) in lanes.named() {
                if pins.len() != expected {
                    return Err(Slip::Lanes { what: format!("{what}.{name}"), found: pins.len(), expected });
                }
            }
        }
        let mut uses: BTreeMap<&str, String> = BTreeMap::new();
        for (what, pin) in self.pins() {
            if !is_name(pin) {
                return Err(Slip::NoPin { what, pin: pin.to_owned() });
            }
            if let Some(first) = uses.insert(pin, what.clone()) {
                return Err(Slip::Twice { pin: pin.to_owned(), first, second: what });
            }
        }
        if !self.qsfp.macs.contains(&self.qsfp.mac) {
            return Err(Slip::Mac { mac: self.qsfp.mac.clone(), macs: self.qsfp.macs.clone() });
        }
        let found = self.qsfp.sites().len();
        if found != CAGE_LANES {
            let transceivers = self.qsfp.transceivers.clone();
            return Err(Slip::Sites { transceivers, found, expected: CAGE_LANES });
        }
        for (what, slr) in [("pcie", self.pcie.slr), ("qsfp", self.qsfp.slr)] {
            if slr >= self.slrs {
                return Err(Slip::Die { what, slr, slrs: self.slrs });
            }
        }
        let sources = [
            ("the board", &self.sources),
            ("resources", &self.resources.sources),
            ("pcie", &self.pcie.sources),
            ("qsfp", &self.qsfp.sources),
            ("clock", &self.clock.sources),
            ("satellite", &self.satellite.sources),
            ("flash", &self.flash.sources),
        ];
        match sources.into_iter().find(|(_, sources)| sources.is_empty()) {
            Some((what, _)) => Err(Slip::Unfounded { what }),
            None => Ok(()),
        }
    }

    /// All pins, each with what is on it, by the names of the file.
    #[must_use]
    pub fn pins(&self) -> Vec<(String, &str)> {
        let mut all: Vec<(String, &str)> = Vec::new();
        for (group, lanes) in [("pcie", &self.pcie.lanes), ("qsfp", &self.qsfp.lanes)] {
            for (name, pins) in lanes.named() {
                all.extend(
                    pins.iter()
                        .enumerate()
                        .map(|(lane, pin)| (format!("{group}.{name}[{lane}]"), pin.as_str())),
                );
            }
        }
        let pairs = [
            ("pcie.clock", &self.pcie.clock.p, &self.pcie.clock.n),
            ("qsfp.clock", &self.qsfp.clock.p, &self.qsfp.clock.n),
            ("clock", &self.clock.p, &self.clock.n),
        ];
        for (name, p, n) in pairs {
            all.extend([(format!("{name}.p"), p.as_str()), (format!("{name}.n"), n.as_str())]);
        }
        let wires: [(&str, Option<&Pin>); 12] = [
            ("pcie.reset", Some(&self.pcie.reset)),
            ("qsfp.modsell", self.qsfp.modsell.as_ref()),
            ("qsfp.resetl", self.qsfp.resetl.as_ref()),
            ("qsfp.modprsl", self.qsfp.modprsl.as_ref()),
            ("qsfp.intl", self.qsfp.intl.as_ref()),
            ("qsfp.lpmode", self.qsfp.lpmode.as_ref()),
            ("qsfp.led_activity", self.qsfp.led_activity.as_ref()),
            ("qsfp.led_green", self.qsfp.led_green.as_ref()),
            ("qsfp.led_yellow", self.qsfp.led_yellow.as_ref()),
            ("satellite.transmit", Some(&self.satellite.transmit)),
            ("satellite.receive", Some(&self.satellite.receive)),
            ("satellite.too_hot", self.satellite.too_hot.as_ref()),
        ];
        all.extend(wires.into_iter().filter_map(|(name, pin)| Some((name.to_owned(), pin?.pin.as_str()))));
        all
    }
}

impl Lanes {
    fn named(&self) -> [(&'static str, &Vec<String>); 4] {
        [("rx_p", &self.rx_p), ("rx_n", &self.rx_n), ("tx_p", &self.tx_p), ("tx_n", &self.tx_n)]
    }
}

/// One or two letters, then one or two digits.
fn is_name(pin: &str) -> bool {
    let digits = pin.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let letters = pin.len() - digits.len();
    (1..=2).contains(&letters)
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Board {
        Board::named("u200").unwrap()
    }

    #[test]
    fn a_pin_with_two_uses_is_found() {
        let mut board = board();
        board.qsfp.lanes.tx_n[3] = board.pcie.reset.pin.clone();
        let slip = board.check().unwrap_err().to_string();
        assert_eq!(slip, "pin BD21 is qsfp.tx_n[3] and pcie.reset");
    }

    #[test]
    fn what_is_no_pin_is_found() {
        for wrong in ["", "21", "BD", "BDE1", "bd21", "B D1", "BD211"] {
            let mut board = board();
            wrong.clone_into(&mut board.clock.n);
            let slip = Slip::NoPin { what: "clock.n".into(), pin: wrong.into() };
            assert_eq!(board.check(), Err(slip));
        }
    }

    #[test]
    fn lanes_dies_macs_and_sources_that_cannot_be_are_found() {
        type Change = fn(&mut Board);
        let changes: [(Change, &str); 6] = [
            (
                |board| "X1Y48~X1Y50".clone_into(&mut board.qsfp.transceivers),
                "the transceivers X1Y48~X1Y50 are 3 sites, expected 4",
            ),
            (|board| drop(board.pcie.lanes.rx_n.pop()), "pcie.rx_n has 15 lanes, expected 16"),
            (|board| board.qsfp.slr = 3, "qsfp is on die 3, and the part has 3"),
            (
                |board| "CMACE4_X0Y1".clone_into(&mut board.qsfp.mac),
                "the MAC CMACE4_X0Y1 is not among those that the cage reaches: CMACE4_X0Y6, CMACE4_X0Y7, CMACE4_X0Y8",
            ),
            (|board| board.resources.sources.clear(), "resources names no source"),
            (|board| board.flash.sources.clear(), "flash names no source"),
        ];
        for (change, expected) in changes {
            let mut board = board();
            change(&mut board);
            assert_eq!(board.check().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_name_that_no_board_has_is_refused() {
        let text = include_str!("../boards/u50.toml").replace("slrs = 2", "slrs = 2\nslsr = 2");
        assert!(toml::from_str::<Board>(&text).unwrap_err().to_string().contains("slsr"));
    }
}
