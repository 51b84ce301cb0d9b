//! Builds simulated cards that this machine does not have yet, and prints the path of each.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use stroma_sim::Kind;
use stroma_top::Profile;
use stroma_top::kernels::Chosen;

/// Build the simulated cards, and print the path of each.
#[derive(Parser)]
struct Arguments {
    /// Only this card [default: both].
    #[arg(long)]
    profile: Option<Profile>,
    /// Only these kernels, with commas between them [default: all].
    #[arg(long, value_delimiter = ',')]
    kernels: Option<Vec<String>>,
    /// Copy the cards to this folder, made if it is missing, for an installation.
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { profile, kernels, out } = Arguments::parse();
    let kernels = kernels.map_or_else(|| Ok(Chosen::all()), |names| Chosen::named(&names))?;
    for profile in profile.map_or(Profile::ALL.to_vec(), |profile| vec![profile]) {
        let kind = Kind { profile, kernels: kernels.clone() };
        let file = match &out {
            Some(folder) => kind.install(folder)?,
            None => kind.file()?,
        };
        println!("{}", file.display());
    }
    Ok(())
}
