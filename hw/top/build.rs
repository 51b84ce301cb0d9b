//! Gives the sources of the cards a name, so that what was emitted from them once is known again.
//!
//! The name is a hash of every file that emission depends on: the crates of RTL, and the versions of what they depend on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// From the workspace's root.
const SOURCES: [&str; 7] = ["hw/abi", "hw/core", "hw/shell", "hw/top", "hw/words", "kernels", "Cargo.lock"];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    let mut sum = FNV_BASIS;
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
        let text = fs::read(&file)?;
        for part in [name.as_bytes(), &text] {
            sum = fnv(fnv(sum, &part.len().to_le_bytes()), part);
        }
    }
    println!("cargo::rustc-env=STROMA_SOURCES={sum:032x}");
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|ending| ending == "rs" || ending == "toml");
        if path.is_dir() || is_source {
            collect(&path, files)?;
        }
    }
    Ok(())
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// FNV-1a with 128 bits: no secret to keep, only accidents to avoid.
fn fnv(sum: u128, bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(sum, |sum, byte| (sum ^ u128::from(*byte)).wrapping_mul(PRIME))
}
