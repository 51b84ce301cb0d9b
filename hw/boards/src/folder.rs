//! The folder that Vivado gets: every file of it, and nothing of the machine it was made on.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::board::Board;
use crate::crossing::{self, Crossing};
use crate::join::{Misfit, core};
use crate::manifest::Manifest;
use crate::settings::settings;
use crate::{pages, script, top, xdc};

/// Emitted Verilog, and its manifest.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Ports.
    pub manifest: Manifest,
    /// Text.
    pub text: String,
}

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unwritten {
    /// Modules do not fit together.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// What is known cannot be read.
    #[error("hw/boards: {0}")]
    Facts(#[from] toml::de::Error),
    /// A module is there twice.
    #[error("module {0} is in the card's Verilog and in the shell's")]
    Double(String),
}

/// Files by their paths in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The files.
    pub files: BTreeMap<String, String>,
    /// Ports of shell and card together.
    pub core: Manifest,
}

impl Folder {
    /// All but what the netlist has to be read for: see [`Self::finish`].
    ///
    /// # Errors
    /// When card, shell and board do not fit together.
    pub fn new(board: &Board, card: &Sources, shell: &Sources, ila: bool) -> Result<Self, Unwritten> {
        let (joined, outer) = core(&shell.manifest, &card.manifest)?;
        let shell_text = prefixed(&shell.text, "shell_", &shell.manifest.top);
        if let Some(double) = modules(&shell_text).intersection(&modules(&card.text)).next() {
            return Err(Unwritten::Double((*double).to_owned()));
        }
        let mut files: BTreeMap<String, String> = [
            ("rtl/stroma_100g.v", card.text.clone()),
            ("rtl/stroma_shell.v", shell_text),
            ("rtl/stroma_core.v", joined),
            ("rtl/board.v", top::top(board, &outer, ila)?),
            ("constraints/pins.xdc", xdc::pins(board)),
            ("constraints/place.xdc", xdc::place(board)),
            ("build.tcl", script::build(board, ila)),
            ("README.md", pages::readme(board, ila)?),
            ("citations.md", pages::citations(board, &outer)?),
        ]
        .map(|(path, text)| (path.to_owned(), text))
        .into();
        let [mac, pcie] = settings(board)?;
        files.insert("ip/mac.tcl".to_owned(), mac.script());
        files.insert("ip/pcie.tcl".to_owned(), pcie.script());
        if ila {
            files.insert("ila.tcl".to_owned(), script::analyser(&outer));
        }
        Ok(Self { files, core: outer })
    }

    /// Adds what follows from the crossings of the netlist.
    pub fn finish(&mut self, board: &Board, crossings: &[Crossing]) {
        self.files.insert("constraints/timing.xdc".to_owned(), xdc::timing(board, crossings));
        self.files.insert("crossings.md".to_owned(), crossing::page(crossings));
    }
}

/// Names of the modules of a text.
fn modules(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("module ")?.split([' ', '(', '#']).next()).collect()
}

/// The same text with every module but one under a name with something before it: card and shell are emitted each for itself, and both
/// call a register of one bit `reg_1`.
fn prefixed(text: &str, prefix: &str, except: &str) -> String {
    let own: BTreeSet<&str> = modules(text).into_iter().filter(|name| *name != except).collect();
    let mut renamed = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        let start = line.len() - line.trim_start().len();
        let (space, words) = line.split_at(start);
        let (keyword, rest) = words.strip_prefix("module ").map_or(("", words), |rest| ("module ", rest));
        let name = rest.split([' ', '(', '#']).next().unwrap_or_default();
        // An instance is `NAME INSTANCE (`: a wire that is called like a module is not meant.
        let is_meant = !keyword.is_empty() || (rest.ends_with(" (") && rest.split(' ').count() == 3);
        let before = if is_meant && own.contains(name) { prefix } else { "" };
        for part in [space, keyword, before, rest, "\n"] {
            renamed += part;
        }
    }
    renamed
}
