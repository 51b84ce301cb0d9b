//! A board's top beside the part that it is for: how much of each resource it takes, and whether it fits.

use anyhow::{Result, bail};
use stroma_boards::{Board, Resources};

use super::figures::Figures;

/// What a top takes of one resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Use {
    /// The resource, as the heads of tables name it.
    pub(crate) what: &'static str,
    /// As it is shown: block RAM is taken in halves.
    pub(crate) taken: String,
    pub(crate) has: u64,
    /// Tenths of a percent, rounded.
    share: u64,
    fits: bool,
}

impl Use {
    fn new(what: &'static str, taken: u64, has: u64) -> Self {
        Self { what, taken: taken.to_string(), has, share: share(taken, has), fits: taken <= has }
    }

    /// The share in percent.
    pub(crate) fn percent(&self) -> String {
        format!("{}.{}", self.share / 10, self.share % 10)
    }
}

fn share(taken: u64, has: u64) -> u64 {
    (taken * 1000 + has / 2) / has.max(1)
}

/// What a top takes of each resource of a part, in the order of the tables' columns.
pub(crate) fn uses(figures: &Figures, part: &Resources) -> [Use; 6] {
    let mut bram = Use::new("BRAM", figures.bram18, 2 * part.bram);
    (bram.taken, bram.has) = (figures.bram(), part.bram);
    [
        Use::new("LUT", figures.lut, part.lut),
        Use::new("LUT RAM", figures.lut_ram, part.lut_ram),
        Use::new("FF", figures.ff, part.ff),
        bram,
        Use::new("URAM", figures.uram, part.uram),
        Use::new("DSP", figures.dsp, part.dsp),
    ]
}

/// A top that takes more than its part has is an error.
pub(crate) fn fits(board: &Board, figures: &Figures) -> Result<()> {
    let beyond: Vec<String> = uses(figures, &board.resources)
        .iter()
        .filter(|one| !one.fits)
        .map(|one| format!("{} {} of {}", one.what, one.taken, one.has))
        .collect();
    if beyond.is_empty() {
        return Ok(());
    }
    bail!(
        "the top of {} takes more than {} has: {}\nnext step: `cargo xtask synth --block NAME` tells what a block takes; `cargo xtask bitstream --kernels` leaves kernels out",
        board.name,
        board.part,
        beyond.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that U55C has.
    const ALL: Figures = Figures {
        lut: 1_303_680,
        lut_ram: 600_960,
        ff: 2_607_360,
        bram18: 4032,
        uram: 960,
        dsp: 9024,
        levels: 0,
        period_ps: None,
    };

    #[test]
    fn shares_are_those_of_the_part_and_block_rams_count_in_halves() {
        let board = Board::named("u55c").unwrap();
        let figures = Figures { lut: 130_368, lut_ram: 0, ff: 1, bram18: 2017, uram: 320, dsp: 9024, ..ALL };
        let shown: Vec<_> = uses(&figures, &board.resources)
            .iter()
            .map(|one| format!("{} {}/{} {}", one.what, one.taken, one.has, one.percent()))
            .collect();
        assert_eq!(
            shown,
            [
                "LUT 130368/1303680 10.0",
                "LUT RAM 0/600960 0.0",
                "FF 1/2607360 0.0",
                "BRAM 1008.5/2016 50.0",
                "URAM 320/960 33.3",
                "DSP 9024/9024 100.0",
            ]
        );
    }

    #[test]
    fn a_top_that_is_too_large_for_its_part_is_an_error_that_names_the_resource() {
        let board = Board::named("u55c").unwrap();
        fits(&board, &ALL).unwrap();
        let larger: [(Figures, &str); 6] = [
            (Figures { lut: ALL.lut + 1, ..ALL }, "LUT 1303681 of 1303680"),
            (Figures { lut_ram: ALL.lut_ram + 1, ..ALL }, "LUT RAM 600961 of 600960"),
            (Figures { ff: ALL.ff + 1, ..ALL }, "FF 2607361 of 2607360"),
            (Figures { bram18: ALL.bram18 + 1, ..ALL }, "BRAM 2016.5 of 2016"),
            (Figures { uram: ALL.uram + 1, ..ALL }, "URAM 961 of 960"),
            (Figures { dsp: ALL.dsp + 1, ..ALL }, "DSP 9025 of 9024"),
        ];
        for (figures, named) in larger {
            let error = fits(&board, &figures).unwrap_err().to_string();
            let first = error.lines().next().unwrap();
            assert_eq!(
                first,
                format!("the top of Alveo U55C takes more than xcu55c-fsvh2892-2L-e has: {named}")
            );
        }
        let both = fits(&board, &Figures { uram: 961, dsp: 9025, ..ALL }).unwrap_err().to_string();
        assert!(both.contains("URAM 961 of 960, DSP 9025 of 9024\n"), "{both}");
    }
}
