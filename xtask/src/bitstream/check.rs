//! What can be known of a folder without Vivado.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use stroma_boards::{Board, Folder, Manifest, STANDINS, TOP, blackbox, blackboxes, facts, settings};
use stroma_verilate::Verilator;

use super::design::Design;
use super::netlist::Netlist;
use super::objects;
use crate::synth::yosys;
use crate::{process, workspace};

/// Where a check does its work: a copy of the folder, and what checkers read and write beside it.
pub(crate) struct Bench {
    work: PathBuf,
}

impl Bench {
    /// An empty one.
    pub(crate) fn new(work: PathBuf) -> Result<Self> {
        if work.exists() {
            fs::remove_dir_all(&work).with_context(|| format!("empty {}", work.display()))?;
        }
        fs::create_dir_all(&work).with_context(|| format!("create {}", work.display()))?;
        Ok(Self { work })
    }

    fn put(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.work.join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// Both readers of Verilog take the whole top, with IP and primitives as black boxes.
    pub(crate) fn read(&self, folder: &Path, board: &Board) -> Result<()> {
        let boxes = self.put("blackboxes.v", &blackboxes(board)?)?;
        let files = rtl(folder)?;
        let waivers = self.put("board.vlt", WAIVERS)?;
        let mut verilator = Verilator::find()?.command();
        verilator.args(["--lint-only", "-Wall", "--top-module", TOP]);
        verilator.arg(workspace::root().join("hw/top/lint.vlt")).arg(waivers).arg(&boxes).args(&files);
        process::quietly_or_fail("verilator --lint-only -Wall", verilator).context(
            "next step: the message names file and line; what is generated comes from hw/boards/src",
        )?;
        println!("  yosys hierarchy, proc, check ...");
        let all: Vec<PathBuf> = files.into_iter().chain([boxes]).collect();
        let bare = yosys::bare(&self.work, &all)?;
        yosys::execute(&self.work, &yosys::checked(&[bare], TOP), |_| {})
            .map_err(|error| self.told(error))
            .context(
                "next step: the message names module and port; what is generated comes from hw/boards/src",
            )
    }

    /// The design as far as its own logic goes: the card is a black box.
    pub(crate) fn design(&self, folder: &Path, board: &Board, card: &Manifest) -> Result<Design> {
        let boxes = self.put("blackboxes.v", &(blackboxes(board)? + &blackbox(card)))?;
        let is_card = |file: &PathBuf| file.ends_with("rtl/stroma_100g.v");
        let files: Vec<PathBuf> =
            rtl(folder)?.into_iter().filter(|file| !is_card(file)).chain([boxes]).collect();
        let bare = yosys::bare(&self.work, &files)?;
        let script = yosys::unmapped(&[bare], TOP).replace("write_json", "memory_collect\nwrite_json");
        let netlist = yosys::run(&self.work, &script, |_| {}).map_err(|error| self.told(error))?;
        Design::new(&Netlist::parse(&netlist)?, TOP)
    }

    /// An error of yosys with its own words: its log has them wherever the buffers of two streams left them.
    fn told(&self, error: anyhow::Error) -> anyhow::Error {
        let log = fs::read(self.work.join("yosys.log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let words: Vec<&str> = log.lines().filter(|line| line.starts_with("ERROR: ")).collect();
        if words.is_empty() { error } else { error.context(words.join("\n")) }
    }

    /// The scripts run to their end under stand-ins of Vivado's commands.
    pub(crate) fn run_scripts(&self, folder: &Path, board: &Board, design: &Design) -> Result<()> {
        let output = self.tclsh(folder, board, design, "0.100")?;
        if !output.status.success() {
            // What the stand-ins say comes before what the scripts say themselves.
            bail!(
                "the scripts do not run:\n{}{}\nnext step: what is generated comes from hw/boards/src, what is known of Vivado is in hw/boards/vivado.toml and hw/boards/ip",
                String::from_utf8_lossy(&output.stderr),
                String::from_utf8_lossy(&output.stdout)
            );
        }
        Ok(())
    }

    /// Runs the scripts in a copy of the folder; the slowest path has so much slack.
    pub(crate) fn tclsh(
        &self,
        folder: &Path,
        board: &Board,
        design: &Design,
        slack: &str,
    ) -> Result<std::process::Output> {
        let copy = self.work.join("copy");
        if copy.exists() {
            fs::remove_dir_all(&copy).with_context(|| format!("empty {}", copy.display()))?;
        }
        copy_tree(folder, &copy)?;
        let standins = self.put("standins.tcl", STANDINS)?;
        let facts = self.put("facts.tcl", &facts(board)?)?;
        let objects = self.put("objects.tcl", &objects::tcl(design))?;
        let mut command = Command::new("tclsh");
        command.arg(standins).arg(facts).arg(objects).arg(copy.join("build.tcl"));
        command.arg(self.work.join("record.txt")).arg(slack);
        process::quietly("scripts under stand-ins of Vivado's commands", command)
    }
}

/// What is right as it is in a board's own Verilog.
const WAIVERS: &str = "`verilator_config\n\
    // An output of an IP that nobody needs is left open by name; one that is forgotten is another warning.\n\
    lint_off -rule PINCONNECTEMPTY\n\
    // A black box does nothing with its ports.\n\
    lint_off -rule UNDRIVEN -file \"*/blackboxes.v\"\n\
    lint_off -rule UNUSEDPARAM -file \"*/blackboxes.v\"\n";

/// The Verilog of a folder.
fn rtl(folder: &Path) -> Result<Vec<PathBuf>> {
    ["stroma_100g.v", "stroma_shell.v", "stroma_core.v", "board.v"]
        .into_iter()
        .map(|name| {
            let path = folder.join("rtl").join(name);
            if !path.is_file() {
                bail!("rtl/{name} is missing\nnext step: write the folder anew with `cargo xtask bitstream`");
            }
            Ok(path)
        })
        .collect()
}

pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("list {}", from.display()))? {
        let entry = entry.with_context(|| format!("list {}", from.display()))?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Every property that the scripts set and every port that the top uses has its row in `citations.md`, with a source that is explained there.
pub(crate) fn cited(folder: &Folder, board: &Board) -> Result<()> {
    let file = |path: &str| folder.files.get(path).map(String::as_str).unwrap_or_default();
    let page = file("citations.md");
    let mut faults = Vec::new();
    for setting in settings(board)? {
        let ip = &setting.ip;
        let part = section(page, &ip.name);
        let explained: BTreeSet<&str> =
            part.lines().filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0)).collect();
        let script = if ip.name == "cmac_usplus" { "ip/mac.tcl" } else { "ip/pcie.tcl" };
        let set =
            file(script).lines().filter_map(|line| line.trim().strip_prefix("CONFIG.")?.split(' ').next());
        let used = connected(file("rtl/board.v"), setting.module);
        for name in set.chain(used.iter().map(String::as_str)) {
            let row = part.lines().find(|line| line.starts_with(&format!("| {name} |")));
            let sources =
                row.and_then(|row| row.trim_end_matches(" |").rsplit_once("| ")).map(|(_, sources)| sources);
            let is_cited =
                sources.is_some_and(|sources| sources.split(", ").all(|source| explained.contains(source)));
            if !is_cited {
                faults.push(format!("{}: nobody is cited for {name}", ip.name));
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}\nnext step: give it `sources` in hw/boards/ip", faults.join("\n"));
    }
    Ok(())
}

/// The part of a page under an IP's heading.
fn section<'a>(page: &'a str, ip: &str) -> &'a str {
    let heading = format!("## `{ip}`");
    let from = page.find(&heading).map_or("", |at| &page[at + heading.len()..]);
    from.split("\n## ").next().unwrap_or_default()
}

/// Ports of an instance of a module that are connected.
fn connected(verilog: &str, module: &str) -> Vec<String> {
    let start = format!("    {module} ");
    let lines = verilog.lines().skip_while(|line| !line.starts_with(&start)).skip(1);
    lines
        .take_while(|line| !line.starts_with("    );"))
        .filter_map(|line| line.trim().strip_prefix('.')?.split_once('('))
        .filter(|(_, to)| !to.starts_with(')'))
        .map(|(port, _)| port.to_owned())
        .collect()
}
