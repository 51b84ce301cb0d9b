//! `install`: the command line and libibverbs, where programs of others find them.
//!
//! ```text
//!   PREFIX/bin/stroma
//!   PREFIX/lib/stroma/stroma_10g-*.so            the simulated cards; and stroma_100g-*.so
//!   PREFIX/lib/stroma/libibverbs.so.1            in a folder of its own: nobody gets it who did not ask for it
//!   PREFIX/lib/stroma/libstroma_ibverbs.so       the same, for linkers
//!   PREFIX/include/stroma.h                      what it has beyond libibverbs
//!   PREFIX/lib/pkgconfig/stroma.pc
//!   PREFIX/share/man/man1/stroma*.1              a page of each command
//!   PREFIX/share/...                             completions for bash, zsh and fish
//! ```
//!
//! Nothing of it knows the prefix: the whole may be moved.

mod build;
mod library;
mod pages;
mod place;
mod symbols;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::tools::Routine;
use crate::{setup, workspace};
pub(crate) use build::{Build, PACKAGES};
pub(crate) use place::Prefix;

/// What the library has beyond libibverbs, for C.
const HEADER: &str = "host-driver/ibverbs/include/stroma.h";

/// Where to.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// The folder below which everything goes [default: target/stroma]
    #[arg(long)]
    prefix: Option<PathBuf>,
}

/// Where `linux` installs to, and who names no folder.
pub(crate) fn usual() -> PathBuf {
    workspace::target().join("stroma")
}

/// Makes the machine ready, builds, installs, and tells what to do with it.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Routine::Test)?;
    let prefix = options.prefix.clone().unwrap_or_else(usual);
    let prefix =
        std::path::absolute(&prefix).with_context(|| format!("find the folder {}", prefix.display()))?;
    for path in into(&prefix)? {
        println!("  {}", path.display());
    }
    println!("next: {}/bin/stroma exec -- ibv_devinfo", prefix.display());
    Ok(())
}

/// Builds what is out of date and installs below `prefix`; the paths of what is there now.
pub(crate) fn into(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut prefix = Prefix::new(prefix);
    fill(&mut prefix, Build::Tests)?;
    Ok(prefix.installed())
}

/// The same, of a build.
pub(crate) fn fill(prefix: &mut Prefix, build: Build) -> Result<()> {
    build.run()?;
    let library = library::link(&build.folder().join("install"), build)?;
    prefix.program("bin/stroma", &build.folder().join("stroma"))?;
    prefix.program(&format!("lib/stroma/{}", library::NAME), &library)?;
    let mut cards = Vec::new();
    for card in build.cards()? {
        let name = card.file_name().context("a card is a file")?.to_string_lossy().into_owned();
        prefix.program(&format!("lib/stroma/{name}"), &card)?;
        cards.push(name);
    }
    prefix.remove_others("lib/stroma", "stroma_", &cards)?;
    prefix.link("lib/stroma/libstroma_ibverbs.so", library::NAME)?;
    prefix.file("include/stroma.h", &workspace::root().join(HEADER))?;
    prefix.text("lib/pkgconfig/stroma.pc", &pkg_config())?;
    pages::install(prefix)
}

/// What pkg-config tells: a program that is linked so runs with any libibverbs, and on simulated cards with ours. Folders are counted from
/// the file itself.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib/stroma\n\
         includedir=${{prefix}}/include\n\
         \n\
         Name: stroma\n\
         Description: libibverbs on Stroma cards, with calls of their kernels\n\
         Version: {}\n\
         Libs: -L${{libdir}} -lstroma_ibverbs\n\
         Cflags: -I${{includedir}}\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn pkg_config_finds_the_folders_wherever_they_were_moved() {
        let folder = workspace::target().join(format!("pkg-config-{}", std::process::id()));
        let place = folder.join("moved/lib/pkgconfig");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("stroma.pc"), pkg_config()).unwrap();
        let mut asked = Command::new("pkg-config");
        asked.args(["--cflags", "--libs", "stroma"]).env("PKG_CONFIG_PATH", &place);
        let told = asked.output().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let place = place.display();
        let expected = format!("-I{place}/../../include -L{place}/../../lib/stroma -lstroma_ibverbs");
        assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), expected);
    }
}
