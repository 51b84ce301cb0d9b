//! `nightly`: what is too long for `ci`, one after the other.

use anyhow::Result;

use crate::rtl::Profile;
use crate::stage::{self, Stage};
use crate::test::gating;
use crate::test::lanes::{self, Effort};
use crate::tools::Routine;
use crate::{bench, bitstream, cocotb, deny, dist, fuzz, page, setup, soak, synth, unpack};

/// Runs all of it.
pub(crate) fn run() -> Result<()> {
    stage::run_all(vec![
        Stage::new("setup", "do what the message above says", || setup::run(Routine::Page)),
        Stage::new("soak", "`cargo xtask soak --help` tells how to repeat one run alone", || {
            soak::run(&soak::Options::default())
        }),
        Stage::new(
            "full tests",
            "`STROMA_EFFORT=full cargo test -p stroma-tests --test hostile` runs one of them",
            || lanes::run(Effort::Full),
        ),
        Stage::new("gating", "`cargo xtask gating --whole` runs this stage alone", || {
            gating::compare(Effort::Full)
        }),
        Stage::new("fuzz", "`cargo xtask fuzz --target NAME` runs one target", || fuzz::all(fuzz::LONG)),
        Stage::new("cocotb", "`cargo xtask cocotb --profile 100g` runs this stage alone", || {
            cocotb::run(Some(Profile::HundredG))
        }),
        Stage::new("bench", "`cargo xtask bench all` runs this stage alone", || {
            bench::run(&bench::Options::everything())
        }),
        Stage::new("page", "`cargo xtask page` runs this stage alone", || page::run(None)),
        Stage {
            name: "dist",
            next_step: "`cargo xtask dist --try` runs this stage alone",
            run: Box::new(dist::stage),
        },
        Stage::new("pins", "pin what was tried, as the message says", unpack::pins::all_pinned),
        Stage {
            name: "deny",
            next_step: "change the dependency, or deny.toml with a reason",
            run: Box::new(deny::install_and_check),
        },
        Stage::new("boards", "`cargo xtask bitstream --board NAME` does one alone", bitstream::all),
        Stage::new("synth", "`cargo xtask synth` runs this stage alone", || {
            synth::run(&synth::Options::default())
        }),
        // The card is in it; `synth --card` is left to those who look for its slowest paths.
        Stage::new("synth board", "`cargo xtask synth --board u55c` runs this stage alone", || {
            synth::run(&synth::Options::board(bitstream::CI_BOARD))
        }),
    ])
}
