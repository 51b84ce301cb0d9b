//! Everything built is built once on a machine: entries of [`models_dir`], named by what they are made of, so that clones and
//! branches share them.
//!
//! An entry is made in `NAME-HASH.part` and renamed when complete, so an interrupted build leaves
//! nothing that looks finished. A file lock per entry lets parallel tests and processes wait for the
//! first of them. Every real build adds a line to [`build_log`]: a run that adds none was warm.

use crate::{Error, tool};
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// What a build gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The file, or the folder that holds the files.
    pub path: PathBuf,
    /// False when the cache had it.
    pub built: bool,
}

/// Touched at every use; its age decides what [`prune`] removes.
const USED: &str = "used";

/// Overrides [`models_dir`]. A folder that is empty shows what a machine does that never built a model.
pub const MODELS_VARIABLE: &str = "STROMA_MODELS";

/// Where built models are kept: a folder of the user's cache, or of Cargo's target for a user without a home.
#[must_use]
pub fn models_dir() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let shared = || Some(cache()?.join("stroma").join("models"));
    set(MODELS_VARIABLE).or_else(shared).unwrap_or_else(|| tool::target_dir().join("stroma-models"))
}

/// One line for each model or runtime built so far: entry name and seconds.
#[must_use]
pub fn build_log() -> PathBuf {
    models_dir().join("builds.log")
}

/// FNV-1a with 128 bits: no secret to keep, only accidents to avoid.
fn fnv(sum: u128, bytes: impl IntoIterator<Item = u8>) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.into_iter().fold(sum, |sum, byte| (sum ^ u128::from(byte)).wrapping_mul(PRIME))
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// Parts are length-prefixed, so that moving a byte from one to the next changes the sum.
pub(crate) fn hash(parts: &[&str]) -> u128 {
    parts.iter().fold(FNV_BASIS, |sum, part| fnv(fnv(sum, part.len().to_le_bytes()), part.bytes()))
}

/// Finds the entry, or makes it: `make` fills the folder it is given.
pub(crate) fn ensure(
    name: &str,
    key: u128,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<Artifact, Error> {
    let name = format!("{name}-{key:032x}");
    let entry = models_dir().join(&name);
    let _lock = lock(&name)?;
    let built = !entry.is_dir();
    if built {
        let started = Instant::now();
        let part = models_dir().join(format!("{name}.part"));
        if part.exists() {
            fs::remove_dir_all(&part).map_err(Error::io("removing the interrupted build", &part))?;
        }
        fs::create_dir_all(&part).map_err(Error::io("creating", &part))?;
        make(&part).inspect_err(|_| drop(fs::remove_dir_all(&part)))?;
        fs::rename(&part, &entry).map_err(Error::io("publishing the build as", &entry))?;
        log(&name, started.elapsed())?;
    }
    let used = entry.join(USED);
    File::create(&used).map_err(Error::io("marking as used", &used))?;
    Ok(Artifact { path: entry, built })
}

fn lock(name: &str) -> Result<File, Error> {
    let folder = models_dir().join("locks");
    fs::create_dir_all(&folder).map_err(Error::io("creating", &folder))?;
    let path = folder.join(name);
    let file = File::create(&path).map_err(Error::io("opening the lock", &path))?;
    file.lock().map_err(Error::io("locking", &path))?;
    Ok(file)
}

fn log(name: &str, took: Duration) -> Result<(), Error> {
    let path = build_log();
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(Error::io("opening the build log", &path))?;
    let line = format!("{name} {:.1}\n", took.as_secs_f32());
    file.write_all(line.as_bytes()).map_err(Error::io("writing the build log", &path))
}

/// Removes every cached build that nobody used for `keep_days` days; how many went.
///
/// # Errors
/// [`Error::Io`] when the cache cannot be read or an entry cannot be removed.
pub fn prune(keep_days: u32) -> Result<usize, Error> {
    let keep = Duration::from_hours(24) * keep_days;
    let root = models_dir();
    let Ok(entries) = fs::read_dir(&root) else { return Ok(0) };
    let mut removed = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(used) = path.join(USED).metadata().and_then(|used| used.modified()) else { continue };
        if SystemTime::now().duration_since(used).is_ok_and(|age| age > keep) {
            let _lock = lock(&entry.file_name().to_string_lossy())?;
            fs::remove_dir_all(&path).map_err(Error::io("removing the old build", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The published sum of "a".
        assert_eq!(fnv(FNV_BASIS, *b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn a_byte_moved_between_parts_changes_the_hash() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["ab"]), hash(&["ab", ""]));
    }

    #[test]
    fn a_failed_build_is_tried_again_and_an_old_entry_is_pruned() {
        let key = hash(&[&format!("{:?} {}", SystemTime::now(), std::process::id())]);
        let failed = ensure("cache-test", key, |part| {
            fs::write(part.join("half"), "").unwrap();
            Err(Error::Build { operation: "this".into(), output: String::new() })
        });
        assert!(failed.is_err());

        let made = ensure("cache-test", key, |part| {
            assert!(!part.join("half").exists(), "the interrupted build is gone");
            fs::write(part.join("whole"), "").map_err(Error::io("writing", part))
        });
        let made = made.unwrap();
        assert!(made.built && made.path.join("whole").exists());
        let again = ensure("cache-test", key, |_| panic!("a cached entry is not built")).unwrap();
        assert_eq!((again.built, &again.path), (false, &made.path));

        let year_ago = SystemTime::now() - Duration::from_hours(24 * 366);
        File::options().write(true).open(made.path.join(USED)).unwrap().set_modified(year_ago).unwrap();
        assert!(prune(365).unwrap() >= 1);
        assert!(!made.path.exists());
    }
}
