//! Alveo boards as data: what each has on which pin, what the IP between its pins and a card has for ports, and who says so.
//!
//! A board is a file in `boards/`, an [IP](Ip) one in `ip/`. Every part of them names its sources and, under `doubtful`, where they disagree and what rests on
//! one of them alone: nothing here has been tried on a board or in Vivado. Before a board is used it is [checked](Board::named), so that a slip in a file
//! is found here and not in a bitstream.

#![forbid(unsafe_code)]

mod blackbox;
mod board;
mod check;
pub mod crossing;
mod facts;
mod folder;
mod ip;
mod join;
mod links;
mod manifest;
mod pads;
mod pages;
mod primitive;
mod script;
mod settings;
mod standins;
mod top;
mod verilog;
mod xdc;

pub use blackbox::{blackbox, blackboxes};
pub use board::{Board, Cage, Differential, Flash, Lanes, Oscillator, Pcie, Pin, Resources, Satellite};
pub use check::Slip;
pub use facts::{Command, ObjectProperty, Vivado};
pub use folder::{Folder, Sources, Unwritten};
pub use ip::{Direction, Ip, Port, Property};
pub use join::{Misfit, core};
pub use manifest::{Manifest, Signal, Unclear, Way};
pub use primitive::{Primitive, Primitives};
pub use script::{REPORTS, VIVADO};
pub use settings::{Setting, settings};
pub use standins::{STANDINS, facts};
pub use top::{MAC_MODULE, PCIE_MODULE, TOP, top};
pub use xdc::{pins, place, timing};

/// Files, by the names of their boards.
const FILES: [(&str, &str); 5] = [
    ("u50", include_str!("../boards/u50.toml")),
    ("u55c", include_str!("../boards/u55c.toml")),
    ("u200", include_str!("../boards/u200.toml")),
    ("u250", include_str!("../boards/u250.toml")),
    ("u280", include_str!("../boards/u280.toml")),
];

/// Why there is no board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody has written a file for it.
    #[error("no board is called {name}; there are {}", names().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// Its file is none of a board.
    #[error("hw/boards/boards/{name}.toml: {source}")]
    Unclear {
        /// The board.
        name: &'static str,
        /// What is wrong.
        source: toml::de::Error,
    },
    /// Its file contradicts itself.
    #[error("hw/boards/boards/{name}.toml: {slip}")]
    Wrong {
        /// The board.
        name: &'static str,
        /// What is wrong.
        slip: Slip,
    },
}

/// The boards that there are.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FILES.iter().map(|(name, _)| *name).collect()
}

impl Board {
    /// A board, whose file makes sense.
    ///
    /// # Errors
    /// When there is none of that name, or its file is wrong.
    pub fn named(name: &str) -> Result<Self, Error> {
        let file = FILES.iter().find(|(known, _)| *known == name);
        let (name, text) = file.ok_or_else(|| Error::Unknown { name: name.to_owned() })?;
        let board: Self = toml::from_str(text).map_err(|source| Error::Unclear { name, source })?;
        board.check().map_err(|slip| Error::Wrong { name, slip })?;
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of a board from elsewhere.
    struct Known {
        name: &'static str,
        part: &'static str,
        clock: &'static str,
        reset: &'static str,
        cage: (&'static str, f64),
        transceivers: &'static str,
        mac: &'static str,
        /// Thousands of lookup tables and of registers, units of block RAM, ultra RAM, DSP slices, as the boards' data sheets are quoted.
        resources: [u64; 5],
    }

    const KNOWN: [Known; 5] = [
        Known {
            name: "u50",
            part: "xcu50-fsvh2104-2-e",
            clock: "AF9",
            reset: "AW27",
            cage: ("N36", 161.132_812_5),
            transceivers: "X0Y28~X0Y31",
            mac: "CMACE4_X0Y4",
            resources: [872, 1743, 1344, 640, 5952],
        },
        Known {
            name: "u200",
            part: "xcu200-fsgd2104-2-e",
            clock: "AM11",
            reset: "BD21",
            cage: ("M11", 156.25),
            transceivers: "X1Y48~X1Y51",
            mac: "CMACE4_X0Y6",
            resources: [1182, 2364, 2160, 960, 6840],
        },
        Known {
            name: "u250",
            part: "xcu250-figd2104-2L-e",
            clock: "AM11",
            reset: "BD21",
            cage: ("M11", 156.25),
            transceivers: "X1Y44~X1Y47",
            mac: "CMACE4_X0Y8",
            resources: [1728, 3456, 2688, 1280, 12288],
        },
        Known {
            name: "u280",
            part: "xcu280-fsvh2892-2L-e",
            clock: "AR15",
            reset: "BH26",
            cage: ("T42", 156.25),
            transceivers: "X0Y40~X0Y43",
            mac: "CMACE4_X0Y6",
            resources: [1304, 2607, 2016, 960, 9024],
        },
        Known {
            name: "u55c",
            part: "xcu55c-fsvh2892-2L-e",
            clock: "AR15",
            reset: "BF41",
            cage: ("AD42", 161.132_812_5),
            transceivers: "X0Y24~X0Y27",
            mac: "CMACE4_X0Y3",
            resources: [1304, 2607, 2016, 960, 9024],
        },
    ];

    #[test]
    fn every_board_makes_sense_and_is_as_it_is_known_elsewhere() {
        assert_eq!(names().len(), KNOWN.len());
        for known in KNOWN {
            let board = Board::named(known.name).unwrap_or_else(|error| panic!("{error}"));
            let Board { part, pcie, qsfp, .. } = &board;
            assert_eq!((part.as_str(), pcie.clock.p.as_str()), (known.part, known.clock));
            assert_eq!((pcie.reset.pin.as_str(), qsfp.clock.p.as_str()), (known.reset, known.cage.0));
            assert!((qsfp.clock.mhz - known.cage.1).abs() < 1e-9, "{}: {}", known.name, qsfp.clock.mhz);
            assert_eq!((qsfp.transceivers.as_str(), qsfp.mac.as_str()), (known.transceivers, known.mac));
            let Resources { lut, lut_ram, ff, bram, uram, dsp, .. } = board.resources;
            let thousands = |count: u64| (count + 500) / 1000;
            assert_eq!([thousands(lut), thousands(ff), bram, uram, dsp], known.resources, "{}", known.name);
            assert!(ff == 2 * lut && lut_ram < lut, "{}", known.name);
        }
    }

    #[test]
    fn boards_with_memory_that_may_get_too_hot_can_say_so() {
        let can = |name: &&str| Board::named(name).unwrap().satellite.too_hot.is_some();
        let found: Vec<&str> = names().into_iter().filter(can).collect();
        assert_eq!(found, ["u50", "u55c", "u280"]);
    }

    #[test]
    fn a_board_that_there_is_not_is_told_with_those_that_there_are() {
        let error = Board::named("u30").unwrap_err().to_string();
        assert_eq!(error, "no board is called u30; there are u50, u55c, u200, u250, u280");
    }
}
