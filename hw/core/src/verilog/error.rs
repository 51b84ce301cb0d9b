//! What can keep a block from becoming Verilog.

/// Why a design was not emitted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// RustHDL's checks (open inputs, logic loops, writes to inputs) refused the design.
    #[error("RustHDL refuses the design: {0}")]
    Check(String),
    /// A kernel holds something that has no faithful translation.
    #[error("module {module}: {problem}")]
    Kernel {
        /// Path of the module, outermost first.
        module: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The simulated text would have more clock domains than a simulator takes.
    #[error(
        "the design has {found} clock domains, and at most {most} can be simulated: raise the size of a block that opens one"
    )]
    Domains {
        /// How many the rule finds.
        found: usize,
        /// How many there may be.
        most: usize,
    },
}

/// A problem inside one kernel, before it is known which module it belongs to.
pub(crate) type Problem = String;
