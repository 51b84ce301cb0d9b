//! Waves on request: where they go and what they are called.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Names the folder that every model of the process writes its waves to.
pub const WAVES_VARIABLE: &str = "STROMA_WAVES";

/// The folder asked for, if any.
pub(crate) fn requested() -> Option<PathBuf> {
    env::var_os(WAVES_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The name of the running test (the harness names its threads so), else of the program.
pub(crate) fn default_label() -> String {
    match thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => {
            let program = env::current_exe().ok();
            let stem = program.as_deref().and_then(Path::file_stem);
            stem.map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned())
        }
    }
}

/// `<folder>/<label>-<n>.vcd`, with n counting the models of that label in this process.
pub(crate) fn path(folder: &Path, label: &str) -> PathBuf {
    static COUNTS: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let file: String = label
        .split("::")
        .collect::<Vec<_>>()
        .join("-")
        .replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "_");
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let count = counts.entry(file.clone()).and_modify(|count| *count += 1).or_insert(0);
    folder.join(format!("{file}-{count}.vcd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_label_and_numbered() {
        let folder = Path::new("/waves");
        assert_eq!(path(folder, "rx::tests::parses it/all"), folder.join("rx-tests-parses_it_all-0.vcd"));
        assert_eq!(path(folder, "rx::tests::parses it/all"), folder.join("rx-tests-parses_it_all-1.vcd"));
        assert_eq!(path(folder, "other"), folder.join("other-0.vcd"));
    }

    #[test]
    fn a_test_is_known_by_its_name() {
        let name = "some::test".to_owned();
        let seen = thread::Builder::new().name(name.clone()).spawn(default_label).unwrap().join().unwrap();
        assert_eq!(seen, name);
    }
}
