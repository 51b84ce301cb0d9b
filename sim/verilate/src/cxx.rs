//! The C++ compiler: found by `cc`, run by us, so that errors carry the compiler's own words and all
//! cores are used.

use crate::Error;
use crate::progress::Progress;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// A compiler with the flags every translation unit gets.
pub(crate) struct Cxx {
    build: cc::Build,
    tool: cc::Tool,
    /// Version text and flags: what a cache key must contain.
    pub(crate) identity: String,
}

/// Work for one process.
pub(crate) struct Job {
    pub(crate) operation: String,
    pub(crate) command: Command,
    /// Bytes of text that it reads, for [`Progress`].
    pub(crate) bytes: u64,
}

/// `-Bsymbolic`-like behaviour without the flag: nothing but the entry point leaves a shared object,
/// so two models in one process cannot share a Verilator runtime by accident.
const HIDDEN: &str = "-fvisibility=hidden";

/// All state of a model is one struct, and gcc asks of each read which of the writes before it could matter. It may ask less
/// often: a card builds in three quarters of the time, and its code is as small and quick.
const FEW_QUESTIONS: &str = "--param=sccvn-max-alias-queries-per-access=20";

impl Cxx {
    /// The compiler of this process, looked up once: finding it starts two processes.
    pub(crate) fn get() -> Result<&'static Self, Error> {
        static FOUND: OnceLock<Cxx> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let found = Self::find()?;
        Ok(FOUND.get_or_init(|| found))
    }

    fn find() -> Result<Self, Error> {
        let native = || format!("{}-unknown-linux-gnu", env::consts::ARCH);
        // What a build script would get from Cargo is set here: programs call this.
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .opt_level(2)
            .debug(false)
            .pic(true)
            .warnings(false)
            .inherit_rustflags(false)
            .target(&env::var("TARGET").unwrap_or_else(|_| native()))
            .host(&env::var("HOST").unwrap_or_else(|_| native()))
            .out_dir(env::temp_dir())
            .cargo_metadata(false)
            .cargo_warnings(false)
            .flag(HIDDEN)
            .flag_if_supported(FEW_QUESTIONS);
        let tool = build.try_get_compiler().map_err(|error| missing(&error))?;
        let version = Job::new("asking the compiler's version".into(), tool.to_command());
        let version = version.with(|command| command.arg("--version")).output()?;
        let identity = format!("{version}{:?}", tool.args());
        Ok(Self { build, tool, identity })
    }

    /// Starts a compiler command line with the common flags.
    pub(crate) fn job(&self, operation: String) -> Job {
        Job::new(operation, self.tool.to_command())
    }

    /// Joins objects into a static archive.
    pub(crate) fn archive(&self, archive: &Path, objects: &[PathBuf]) -> Result<(), Error> {
        let operation = format!("archiving {}", archive.display());
        let command = self.build.try_get_archiver().map_err(|error| missing(&error))?;
        let job = Job::new(operation, command);
        job.with(|command| command.arg("crs").arg(archive).args(objects)).output()?;
        Ok(())
    }
}

fn missing(error: &cc::Error) -> Error {
    Error::CompilerMissing { reason: error.to_string() }
}

impl Job {
    pub(crate) fn new(operation: String, command: Command) -> Self {
        Self { operation, command, bytes: 0 }
    }

    /// Adds arguments.
    pub(crate) fn with(mut self, add: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        add(&mut self.command);
        self
    }

    /// Runs to the end; standard output on success, both outputs inside the error otherwise.
    pub(crate) fn output(mut self) -> Result<String, Error> {
        let failed = |output| Error::Build { operation: self.operation, output };
        match self.command.output() {
            Err(error) => Err(failed(format!("{}: {error}", self.command.get_program().display()))),
            Ok(run) if run.status.success() => Ok(String::from_utf8_lossy(&run.stdout).into_owned()),
            Ok(run) => Err(failed(
                String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout),
            )),
        }
    }
}

/// How many compilers may run at once: `NUM_JOBS`, if it is set, else the cores.
fn parallelism() -> usize {
    let told = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    told.or_else(|| thread::available_parallelism().ok().map(usize::from)).unwrap_or(1)
}

/// Runs all jobs, in order of the list, on as many cores as there are, and shows how far they are if that is asked for.
pub(crate) fn run_all(jobs: Vec<Job>, progress: Option<&Progress>) -> Result<(), Error> {
    let workers = parallelism().min(jobs.len());
    let queue = Mutex::new(jobs.into_iter());
    let work = || -> Result<(), Error> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            match next {
                None => return Ok(()),
                Some(job) => {
                    let bytes = job.bytes;
                    job.output()?;
                    progress.inspect(|progress| progress.add(bytes));
                }
            }
        }
    };
    thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        started.into_iter().try_for_each(|worker| worker.join().expect("a compile worker does not panic"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Job {
        let job = Job::new("a shell".into(), Command::new("sh"));
        job.with(|command| command.args(["-c", script]))
    }

    #[test]
    fn a_failed_job_brings_its_words_home() {
        let error =
            run_all(vec![shell("true"), shell("echo broken >&2; exit 3")], None).unwrap_err().to_string();
        assert!(error.contains("a shell failed") && error.contains("broken"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let job = Job::new("linking".into(), Command::new("no-such-linker"));
        let error = job.output().unwrap_err().to_string();
        assert!(error.contains("no-such-linker"), "{error}");
    }
}
