//! `bitstream`: everything that Vivado needs for a board, checked as far as that goes without it, and built where it is.

mod check;
mod crossings;
mod design;
mod netlist;
mod objects;
mod report;
#[cfg(test)]
mod tests;
mod vivado;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use stroma_boards::{Board, Folder, Manifest, Sources};

use crate::rtl::{self, Profile};
use crate::{process, setup, tools, workspace};
use check::Bench;

/// The board that `ci` looks at: the one that is synthesised as a whole, too.
pub(crate) const CI_BOARD: &str = "u55c";

/// What `cargo xtask bitstream` accepts.
#[derive(Args)]
pub(crate) struct Options {
    /// The board: u50, u55c, u200, u250 or u280
    #[arg(long)]
    board: String,
    /// Which card; the 100g one is the only one that boards carry
    #[arg(long, default_value = "100g")]
    profile: Profile,
    /// Kernels of the card, by name and with commas between them [default: all]
    #[arg(long)]
    kernels: Option<String>,
    /// Put a logic analyser on the streams of PCIe and of the MAC
    #[arg(long)]
    ila: bool,
    /// Folder to write to [default: target/bitstream/BOARD]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.profile == Profile::TenG {
        bail!(
            "the 10g card is not on boards: their MAC is one of 100 Gb/s\nnext step: leave --profile out, or say 100g"
        );
    }
    let board = Board::named(&options.board)?;
    setup::run(tools::Routine::Ci)?;
    let out = prepare(options, &board)?;
    vivado::build(&board, &out)
}

/// The stage of `ci`: the folder of one board, with the whole card in it.
pub(crate) fn stage() -> Result<()> {
    folder_of(CI_BOARD).map(drop)
}

/// The stage of `nightly`: the folders of all boards.
pub(crate) fn all() -> Result<()> {
    stroma_boards::names().into_iter().try_for_each(|name| folder_of(name).map(drop))
}

/// The folder of a board with the whole card in it, written and checked.
pub(crate) fn folder_of(name: &str) -> Result<PathBuf> {
    let options =
        Options { board: name.to_owned(), profile: Profile::HundredG, kernels: None, ila: false, out: None };
    prepare(&options, &Board::named(name)?)
}

/// The folder of a board, written and checked.
fn prepare(options: &Options, board: &Board) -> Result<PathBuf> {
    let base = workspace::target().join("bitstream");
    let out = options.out.clone().unwrap_or_else(|| base.join(&options.board));
    let work = base.join("work").join(&options.board);
    let (card, shell) = emit(&work.join("emitted"), options.kernels.as_deref())?;
    println!("{}: writing and checking {}", board.name, workspace::shown(&out));
    let folder = make(board, &card, &shell, options.ila, &out, work.join("check"))?;
    println!("{} files in {}, checked", folder.files.len(), workspace::shown(&out));
    Ok(out)
}

/// Has the design's own program write card and shell.
fn emit(work: &Path, kernels: Option<&str>) -> Result<(Sources, Sources)> {
    let emitted = |name: &str, arguments: &[&str]| {
        let folder = work.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        let mut command = rtl::top(&["emit", "--profile", Profile::HundredG.name(), "--out"])?;
        command.arg(&folder).args(arguments);
        process::aloud(command)?;
        sources(&folder)
    };
    let chosen: Vec<&str> = kernels.map_or(Vec::new(), |kernels| vec!["--kernels", kernels]);
    Ok((emitted("card", &chosen)?, emitted("shell", &["--shell"])?))
}

/// The one module that a folder has, with its manifest.
fn sources(folder: &Path) -> Result<Sources> {
    let top = rtl::top_module(folder)?;
    let text = |ending: &str| {
        let path = folder.join(format!("{top}.{ending}"));
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let manifest = Manifest::parse(&text("ports")?).with_context(|| format!("{top}.ports"))?;
    Ok(Sources { manifest, text: text("v")? })
}

/// Writes a folder and checks it.
fn make(
    board: &Board,
    card: &Sources,
    shell: &Sources,
    ila: bool,
    out: &Path,
    work: PathBuf,
) -> Result<Folder> {
    let bench = Bench::new(work)?;
    let mut folder = Folder::new(board, card, shell, ila)?;
    write(&folder, out)?;
    check::cited(&folder, board)?;
    bench.read(out, board)?;
    let design = bench.design(out, board, &card.manifest)?;
    folder.finish(board, &crossings::crossings(&design, board, &card.manifest.top)?);
    write(&folder, out)?;
    bench.run_scripts(out, board, &design)?;
    Ok(folder)
}

/// Writes the files; what an older run left goes, but for what Vivado built, which is in `build` and takes hours.
fn write(folder: &Folder, out: &Path) -> Result<()> {
    for old in ["rtl", "ip", "constraints"] {
        let old = out.join(old);
        if old.exists() {
            fs::remove_dir_all(&old).with_context(|| format!("empty {}", old.display()))?;
        }
    }
    for old in ["ila.tcl"].map(|name| out.join(name)) {
        if old.exists() && !folder.files.contains_key("ila.tcl") {
            fs::remove_file(&old).with_context(|| format!("remove {}", old.display()))?;
        }
    }
    for (name, text) in &folder.files {
        let path = out.join(name);
        let parent = path.parent().unwrap_or(out);
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
