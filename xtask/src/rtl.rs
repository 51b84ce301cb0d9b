//! `rtl`: writes the Verilog of the card or of one block, and its port manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::program::program;
use crate::{process, workspace};

/// The two cards built from one source.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Profile {
    /// 64-bit datapath at 156.25 MHz.
    #[value(name = "10g")]
    TenG,
    /// 512-bit datapath at 250 MHz.
    #[value(name = "100g")]
    HundredG,
}

impl Profile {
    /// Both, for checks that run on each.
    pub(crate) const ALL: [Self; 2] = [Self::TenG, Self::HundredG];

    /// As the command line spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TenG => "10g",
            Self::HundredG => "100g",
        }
    }
}

/// The card that boards are for.
const SHELL_OF: Profile = Profile::HundredG;

/// What `cargo xtask rtl` accepts.
#[derive(Args)]
pub(crate) struct Options {
    /// Which card to emit
    #[arg(long, required_unless_present = "list")]
    profile: Option<Profile>,
    /// Emit this block alone, as its own top module
    #[arg(long)]
    block: Option<String>,
    /// Emit the shell of a board, which is for the 100g card
    #[arg(long, conflicts_with = "block")]
    shell: bool,
    /// Folder to write to [default: target/rtl/PROFILE or target/rtl/PROFILE-BLOCK]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the names that --block accepts, and write nothing
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        return process::aloud(top(&["list"])?);
    }
    let profile = options.profile.context("--profile names the card to emit")?;
    if options.shell {
        if profile != SHELL_OF {
            bail!(
                "the shell of a board is for the {} card: the {} card has none",
                SHELL_OF.name(),
                profile.name()
            );
        }
        let out = options.out.clone().map_or_else(|| emptied(profile, Some("shell")), Ok)?;
        shell(&out)?;
        return report(&out);
    }
    let block = options.block.as_deref();
    let out = options.out.clone().map_or_else(|| emptied(profile, block), Ok)?;
    emit(profile, block, &out)?;
    report(&out)
}

/// Where a profile's Verilog goes unless told otherwise, emptied: what an older emitter wrote must not be read as new.
fn emptied(profile: Profile, block: Option<&str>) -> Result<PathBuf> {
    let name =
        block.map_or_else(|| profile.name().to_string(), |block| format!("{}-{block}", profile.name()));
    let folder = workspace::target().join("rtl").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    Ok(folder)
}

/// Emits a whole profile into its usual folder, for the checks that read it.
pub(crate) fn emit_profile(profile: Profile) -> Result<PathBuf> {
    let out = emptied(profile, None)?;
    emit(profile, None, &out)?;
    Ok(out)
}

/// Emits the shell of a board into its usual folder, for the checks that read it.
pub(crate) fn emit_shell() -> Result<PathBuf> {
    let out = emptied(SHELL_OF, Some("shell"))?;
    shell(&out)?;
    Ok(out)
}

fn shell(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let mut command = top(&["emit", "--shell", "--profile", SHELL_OF.name(), "--out"])?;
    command.arg(out);
    process::aloud(command)
}

/// Emits one block into its usual folder, for the checks that read it.
pub(crate) fn emit_block(profile: Profile, block: &str) -> Result<PathBuf> {
    let out = emptied(profile, Some(block))?;
    emit(profile, Some(block), &out)?;
    Ok(out)
}

fn emit(profile: Profile, block: Option<&str>, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let mut command = top(&["emit", "--profile", profile.name(), "--out"])?;
    command.arg(out);
    if let Some(block) = block {
        command.args(["--block", block]);
    }
    process::aloud(command)?;
    if verilog(out)?.is_empty() {
        bail!("the emitter wrote no Verilog into {}", out.display());
    }
    Ok(())
}

/// The design's own program, which knows the blocks.
pub(crate) fn top(arguments: &[&str]) -> Result<Command> {
    let mut command = program("stroma-top")?;
    command.args(arguments).current_dir(workspace::root());
    Ok(command)
}

/// The Verilog files of a folder.
pub(crate) fn verilog(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = workspace::files(folder, "sv")?;
    files.extend(workspace::files(folder, "v")?);
    Ok(files)
}

/// The top module: the manifest beside the Verilog opens with `top NAME`.
pub(crate) fn top_module(folder: &Path) -> Result<String> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let text = fs::read_to_string(entry?.path()).unwrap_or_default();
        if let Some(name) = text.lines().next().and_then(|line| line.strip_prefix("top ")) {
            return Ok(name.trim().to_string());
        }
    }
    bail!("no port manifest in {}: a file whose first line is `top NAME`", folder.display());
}

fn report(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry?;
        let bytes = entry.metadata()?.len();
        let lines = fs::read_to_string(entry.path()).map_or(0, |text| text.lines().count());
        println!("{:>9} bytes {lines:>7} lines  {}", bytes, workspace::shown(&entry.path()));
    }
    println!("top module: {}", top_module(folder)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_module_is_read_from_the_manifest_and_missed_without_one() {
        let folder = workspace::target().join("xtask-test-manifest");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("nic.sv"), "module nic; endmodule\n").unwrap();
        let _ = fs::remove_file(folder.join("nic.ports"));
        assert!(top_module(&folder).is_err());
        fs::write(folder.join("nic.ports"), "top nic\nclock clock 1\n").unwrap();
        assert_eq!(top_module(&folder).unwrap(), "nic");
        assert_eq!(verilog(&folder).unwrap(), [folder.join("nic.sv")]);
    }
}
