//! Where things are: the workspace, its target folder, its Rust sources.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The folders that hold Rust sources.
pub(crate) const FOLDERS: [&str; 7] = ["hw", "kernels", "host-driver", "sim", "tests", "examples", "xtask"];

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo xtask`; the built-in path serves a binary that is started by hand.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// Cargo's target folder, where tools, emitted RTL and proofs live too; the simulator's builder has the same word.
pub(crate) fn target() -> PathBuf {
    stroma_verilate::target_dir()
}

/// `path` as the reader knows it: from the workspace's root, with forward slashes.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Every file below `folder` that ends in `.extension`, sorted; build output and hidden folders are left out.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, extension, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(&path, extension, found)?;
            }
        } else if path.extension().is_some_and(|have| have == extension) {
            found.push(path);
        }
    }
    Ok(())
}

/// The SHA-256 of a file, as `sha256sum` writes it.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    Ok(Sha256::digest(bytes).iter().fold(String::new(), |sum, byte| sum + &format!("{byte:02x}")))
}

/// A Rust source, parsed, with its path from the root.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) shown: String,
    pub(crate) syntax: syn::File,
}

/// Parses every Rust source below the given folders of the workspace.
pub(crate) fn sources(folders: &[&str]) -> Result<Vec<Source>> {
    sources_that(folders, |_| true)
}

/// As [`sources`], of those whose text is wanted: parsing all of them takes ten seconds.
pub(crate) fn sources_that(folders: &[&str], wanted: impl Fn(&str) -> bool) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in folders {
        for path in files(&root().join(folder), "rs")? {
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            if !wanted(&text) {
                continue;
            }
            let shown = shown(&path);
            let syntax = syn::parse_file(&text).with_context(|| format!("parse {shown}"))?;
            sources.push(Source { path, shown, syntax });
        }
    }
    Ok(sources)
}
