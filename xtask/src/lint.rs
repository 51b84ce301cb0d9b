//! `lint`: two outside readers of the emitted RTL, Verilator's lint and yosys, at both profiles.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use stroma_verilate::Verilator;

use crate::rtl::{self, Profile};
use crate::synth::yosys;
use crate::{process, workspace};

/// Emits and reads the given profiles, both when none is given.
pub(crate) fn run(profile: Option<Profile>) -> Result<()> {
    for profile in Profile::ALL.into_iter().filter(|each| profile.is_none_or(|only| only == *each)) {
        let folder = rtl::emit_profile(profile)?;
        read(profile.name(), &folder)?;
    }
    if profile.is_none() {
        read("shell", &rtl::emit_shell()?)?;
    }
    Ok(())
}

fn read(label: &str, folder: &Path) -> Result<()> {
    let files = rtl::verilog(folder)?;
    let top = rtl::top_module(folder)?;

    let mut verilator = Verilator::find()?.command();
    verilator.args(["--lint-only", "-Wall", "--top-module", &top]);
    // Waivers, each with its reason; a width warning is never among them.
    verilator.arg(workspace::root().join("hw/top/lint.vlt")).args(&files);
    process::quietly_or_fail(&format!("{label}: verilator --lint-only -Wall"), verilator).context(
        "next step: repair the block or the emitter; waive in hw/top/lint.vlt only what is right as it is",
    )?;

    println!("  {label}: yosys hierarchy, proc, check ...");
    // In a folder of its own: the next reader of the emitted text must not find it twice.
    let work = workspace::target().join("lint").join(label);
    fs::create_dir_all(&work).with_context(|| format!("create {}", work.display()))?;
    let bare = yosys::bare(&work, &files)?;
    yosys::execute(&work, &yosys::checked(&[bare], &top), |_| {})
        .context("next step: the message names the module; `cargo xtask rtl --profile 100g --block NAME` emits it alone")?;
    Ok(())
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
}
