//! `install`: the command line and libibverbs, where programs of others find them.
//!
//! ```text
//!   PREFIX/bin/stroma                            with the simulated cards inside
//!   PREFIX/lib/stroma/libibverbs.so.1            in a folder of its own: nobody gets it who did not ask for it
//!   PREFIX/lib/stroma/libstroma_ibverbs.so       the same, for linkers
//!   PREFIX/include/stroma.h                      what it has beyond libibverbs
//!   PREFIX/lib/pkgconfig/stroma.pc
//! ```
//!
//! The profile is the one of the tests, so that nothing is compiled twice: time goes into the Verilated cards, which are optimised
//! in every profile.

mod library;
mod place;
mod symbols;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::tools::Routine;
use crate::{libclang, process, setup, workspace};
use place::Prefix;

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
    let installed = into(&prefix)?;
    for path in &installed {
        println!("  {}", path.display());
    }
    println!("next: {}/bin/stroma exec -- ibv_devinfo", prefix.display());
    Ok(())
}

/// Builds what is out of date and installs below `prefix`; the paths of what is there now.
pub(crate) fn into(prefix: &Path) -> Result<Vec<PathBuf>> {
    build()?;
    let library = library::link(&workspace::target().join("install"))?;
    let root = workspace::root();
    let program = workspace::target().join("debug/stroma");

    let mut prefix = Prefix::new(prefix);
    prefix.program("bin/stroma", &program)?;
    prefix.program(&format!("lib/stroma/{}", library::NAME), &library)?;
    prefix.link("lib/stroma/libstroma_ibverbs.so", library::NAME)?;
    prefix.file("include/stroma.h", &root.join(HEADER))?;
    prefix.text("lib/pkgconfig/stroma.pc", &pkg_config(prefix.folder())?)?;
    Ok(prefix.installed())
}

/// Both packages at once, also for who needs one: by itself each would ask for less of what they depend on, and have it compiled anew.
fn build() -> Result<()> {
    let mut cargo = libclang::cargo();
    cargo.args(["build", "--quiet", "--package", "stroma", "--package", "stroma-ibverbs"]);
    process::quietly_or_fail("build stroma and libibverbs; the first time takes minutes", cargo)
        .context("next step: `cargo xtask test` shows what broke")
        .map(|_| ())
}

/// What pkg-config tells: a program that is linked so runs with any libibverbs, and on simulated cards with ours.
fn pkg_config(prefix: &Path) -> Result<String> {
    let Some(prefix) = prefix.to_str().filter(|text| !text.contains(char::is_whitespace)) else {
        bail!(
            "pkg-config takes no folder with a space in its name: {}\nnext step: choose another --prefix",
            prefix.display()
        );
    };
    Ok(format!(
        "prefix={prefix}\n\
         libdir=${{prefix}}/lib/stroma\n\
         includedir=${{prefix}}/include\n\
         \n\
         Name: stroma\n\
         Description: libibverbs on Stroma cards, with calls of their kernels\n\
         Version: {}\n\
         Libs: -L${{libdir}} -lstroma_ibverbs\n\
         Cflags: -I${{includedir}}\n",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkg_config_names_the_folders_and_refuses_one_it_would_cut() {
        let text = pkg_config(Path::new("/opt/stroma")).unwrap();
        assert!(text.starts_with("prefix=/opt/stroma\nlibdir=${prefix}/lib/stroma\n"), "{text}");
        assert!(text.contains("\nLibs: -L${libdir} -lstroma_ibverbs\n"), "{text}");
        let error = pkg_config(Path::new("/opt/my cards")).unwrap_err().to_string();
        assert!(error.contains("/opt/my cards"), "{error}");
    }
}
