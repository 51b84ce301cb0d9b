//! Where our libibverbs is.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, bail};

/// What programs call it.
const NAME: &str = "libibverbs.so.1";

/// The folders where it may be, the first of which goes before the others.
pub(super) fn places() -> Vec<PathBuf> {
    let said = env::var_os("STROMA_LIB").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(|program| program.parent());
    let beside = beside.map(|folder| [folder.join("../lib/stroma"), folder.join("stroma-lib")]);
    said.into_iter().chain(beside.into_iter().flatten()).collect()
}

/// The first that is there, from the root on.
pub(super) fn find(places: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let found = places.iter().map(|folder| folder.join(NAME)).find(|path| path.is_file());
    let Some(found) = found else {
        let places: Vec<String> = places.iter().map(|folder| folder.display().to_string()).collect();
        bail!(
            "no {NAME} in {}: `cargo xtask install --prefix PREFIX` makes it, STROMA_LIB=FOLDER says where it is",
            places.join(", ")
        );
    };
    // Its folder alone: a link is called by its own name.
    let folder = found.parent().context("a library is in a folder")?;
    let folder = folder.canonicalize().with_context(|| format!("finding the folder {}", folder.display()))?;
    // The linker takes either as the end of a name, and has no way to say that it is none.
    if folder.to_string_lossy().contains([' ', ':']) {
        bail!("{}: LD_PRELOAD takes no folder with a space or a colon in its name", folder.display());
    }
    Ok(folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_folder_that_has_the_library_is_taken() {
        let outer = tempfile::tempdir().unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let [none, one, other] = ["none", "one", "other"].map(|name| outer.join(name));
        for folder in [&one, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(NAME), "").unwrap();
        }
        assert_eq!(find(&[none.clone(), one.join("../other"), one]).unwrap(), other.join(NAME));
        let error = find(std::slice::from_ref(&none)).unwrap_err().to_string();
        let says = format!(
            "no libibverbs.so.1 in {}: `cargo xtask install --prefix PREFIX` makes it",
            none.display()
        );
        assert!(error.starts_with(&says), "{error}");
    }

    #[test]
    fn a_folder_whose_name_the_linker_would_cut_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("my cards");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(NAME), "").unwrap();
        let error = find(&[folder]).unwrap_err().to_string();
        assert!(error.contains("no folder with a space"), "{error}");
    }
}
