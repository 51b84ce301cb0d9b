//! Writes the card's Verilog, or that of one block, or the proof tasks.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use stroma_hw::verilog::Rtl;
use stroma_top::kernels::Chosen;
use stroma_top::{BLOCKS, Profile, describe, emit_shell};

/// Emit the Stroma card's RTL.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write NAME.v and NAME.ports (the port manifest) of a card or a block.
    Emit {
        /// Which card, and the width of a block.
        #[arg(long)]
        profile: Profile,
        /// Only these kernels, with commas between them [default: all]; the slots of the others are empty.
        #[arg(long, value_delimiter = ',', conflicts_with = "block")]
        kernels: Option<Vec<String>>,
        /// One block instead of the whole card; `list` names them.
        #[arg(long)]
        block: Option<String>,
        /// The shell of a board instead, which has the width of the 100g card.
        #[arg(long, conflicts_with_all = ["block", "kernels"])]
        shell: bool,
        /// The text that is Verilated for speed, with its clock domains, instead of the reference.
        #[arg(long, conflicts_with_all = ["block", "shell"])]
        simulated: bool,
        /// Folder to write to; made if it is missing.
        #[arg(long)]
        out: PathBuf,
    },
    /// Print a card's registers, descriptors and codes as JSON.
    Describe {
        /// Which card.
        #[arg(long)]
        profile: Profile,
    },
    /// Name the blocks that can be emitted alone.
    List,
    /// Write the formal proof tasks and `tasks.txt`, which says what each must come to.
    Formal {
        /// Folder to write to; made if it is missing.
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Emit { profile: Profile::TenGig, shell: true, .. } => {
            bail!("the shell of a board is for the 100g card: the 10g card has none")
        }
        Command::Emit { shell: true, out, .. } => write(&emit_shell()?, &out),
        Command::Emit { profile, kernels, block, out, shell: false, simulated } => {
            let chosen = kernels.map_or_else(|| Ok(Chosen::all()), |names| Chosen::named(&names))?;
            if simulated {
                return write(&profile.emit_simulated(&chosen)?, &out);
            }
            emit(profile, &chosen, block.as_deref(), &out)
        }
        Command::Describe { profile } => {
            println!("{:#}", describe(profile));
            Ok(())
        }
        Command::List => {
            for block in BLOCKS {
                println!("{:16} {}", block.name, block.purpose);
            }
            Ok(())
        }
        Command::Formal { out } => formal(&out),
    }
}

fn emit(profile: Profile, chosen: &Chosen, block: Option<&str>, out: &Path) -> Result<()> {
    let rtl = match block {
        None => profile.emit_with(chosen)?,
        Some(name) => match BLOCKS.iter().find(|block| block.name == name) {
            Some(block) => block.emit(profile)?,
            None => bail!("there is no block `{name}`; `cargo xtask rtl --list` names them all"),
        },
    };
    write(&rtl, out)
}

fn write(rtl: &Rtl, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    for (ending, text) in [("v", &rtl.text), ("ports", &rtl.manifest())] {
        let path = out.join(format!("{}.{ending}", rtl.top));
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn formal(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    let mut list = String::new();
    for task in stroma_hw::formal::tasks() {
        let files = task.files.iter().map(|(name, text)| (name.clone(), text));
        for (name, text) in files.chain([(format!("{}.sby", task.name), &task.sby)]) {
            let path = out.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        let expected = if task.expect_pass { "pass" } else { "fail" };
        writeln!(list, "{} {expected}", task.name)?;
    }
    fs::write(out.join("tasks.txt"), list).context("writing tasks.txt")?;
    Ok(())
}
