//! What pages show of the figures that were measured last, which are kept in `docs/figures.json`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use stroma_report::document::Document;
use stroma_report::{json, plot, tables};

use crate::workspace;

const NEXT_STEP: &str = "next step: cargo xtask bench all --readme";

/// Where the figures are kept: no other place has them.
pub(crate) fn file() -> PathBuf {
    workspace::root().join("docs/figures.json")
}

/// README with its tables of figures.
pub(crate) fn readme(old: &str) -> Result<String> {
    tables::fill(old, &["conditions", "rate", "rc", "kernels", "host"], &read()?)
}

/// The page on the speed of the simulation with its table.
pub(crate) fn speed(old: &str) -> Result<String> {
    tables::fill(old, &["speed"], &read()?)
}

/// The plot that README shows.
pub(crate) fn plot() -> Result<String> {
    plot::goodput(&read()?).context(NEXT_STEP)
}

fn read() -> Result<Document> {
    json::read(&file()).context(NEXT_STEP)
}
