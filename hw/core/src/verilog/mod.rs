//! Our own Verilog emitter: RustHDL blocks in, Verilog that means what Rust means out.
//!
//! RustHDL's printer drops widths, parentheses and whole constructs, so its text and its simulator disagree
//! (`docs/adr/0001-rusthdl-with-our-own-emitter.md`). This one walks the same public syntax tree, gives every
//! expression the width Rust gives it, and refuses what it cannot translate faithfully.
//!
//! `collect` gathers the tree of blocks, `translate` and `lower` give types and unroll, `flow` proves that every
//! signal is assigned before it is read and on every path, `split` cuts a kernel into independent pieces and
//! `print` writes one module per distinct body.

mod collect;
mod error;
mod expr;
mod flow;
mod gate;
mod index;
mod lower;
mod names;
mod print;
mod scope;
mod split;
mod translate;

#[cfg(any(test, feature = "testing"))]
pub mod differential;

pub use error::EmitError;
use rust_hdl::prelude::Block;

/// Which way a port of the emitted module points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Driven from outside.
    In,
    /// Driven by the module.
    Out,
    /// A clock, driven from outside.
    Clock,
}

/// One port of the emitted top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name in the Verilog.
    pub name: String,
    /// Which way it points.
    pub direction: Direction,
    /// Its width in bits.
    pub width: usize,
}

/// An emitted design: every module it needs, the top one last.
#[derive(Clone, Debug)]
pub struct Rtl {
    /// Name of the top module.
    pub top: String,
    /// The Verilog text.
    pub text: String,
    /// The top module's ports, in order.
    pub ports: Vec<Port>,
    /// The clock of each clock domain, or the input from which it takes its edges; empty for the reference text, which has none.
    pub domains: Vec<String>,
}

impl Rtl {
    /// The port manifest: `top NAME`, then one line a port, `in|out|clock NAME WIDTH`, then one line a clock domain, `domain CLOCK` or `domain INPUT`.
    #[must_use]
    pub fn manifest(&self) -> String {
        let line = |port: &Port| {
            let kind = match port.direction {
                Direction::In => "in",
                Direction::Out => "out",
                Direction::Clock => "clock",
            };
            format!("{kind} {} {}\n", port.name, port.width)
        };
        let ports: String = self.ports.iter().map(line).collect();
        let domain = |clock: &String| format!("domain {clock}\n");
        let domains: String = self.domains.iter().map(domain).collect();
        format!("top {}\n{ports}{domains}", self.top)
    }
}

/// What the printer may leave out. Only tests ask for less than [`Style::SOUND`], to see the differential suite fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    parentheses: bool,
    truncation: bool,
}

impl Style {
    pub(crate) const SOUND: Self = Self { parentheses: true, truncation: true };
    #[cfg(test)]
    pub(crate) const WITHOUT_PARENTHESES: Self = Self { parentheses: false, truncation: true };
    #[cfg(test)]
    pub(crate) const WITHOUT_TRUNCATION: Self = Self { parentheses: true, truncation: false };
}

/// RustHDL keeps three copies of every signal inline, `[bool; N]` each: a card of 512-bit stages needs room.
const STACK_BYTES: usize = 1 << 30;

/// Emits the block that `build` makes, as module `name`.
///
/// # Errors
/// When RustHDL's own checks fail, or a kernel uses what cannot be translated faithfully; the error names the module.
///
/// # Panics
/// When `build` does.
pub fn emit<B: Block>(name: &str, build: impl FnOnce() -> B + Send) -> Result<Rtl, EmitError> {
    emit_as(name, Style::SOUND, |_| false, build)
}

/// As [`emit`], but the blocks inside of which `is_absent` says so, by instance names from the outside in with dots between, are left empty: they have
/// their ports, and all outputs are zero. Whatever stands behind them is gone once a synthesiser has seen that.
///
/// # Errors
/// As [`emit`].
///
/// # Panics
/// When `build` does.
pub fn emit_without<B: Block>(
    name: &str,
    is_absent: impl Fn(&str) -> bool + Sync,
    build: impl FnOnce() -> B + Send,
) -> Result<Rtl, EmitError> {
    emit_as(name, Style::SOUND, is_absent, build)
}

/// As [`emit_without`], with clock domains that have an edge only when a register in them would change. For simulation alone.
///
/// # Errors
/// As [`emit`], and when the design has more domains than a machine word has bits.
///
/// # Panics
/// When `build` does.
pub fn emit_gated<B: Block>(
    name: &str,
    is_absent: impl Fn(&str) -> bool + Sync,
    build: impl FnOnce() -> B + Send,
) -> Result<Rtl, EmitError> {
    with_tree(name, is_absent, build, |tree| print::print_gated(tree, Style::SOUND))
}

pub(crate) fn emit_as<B: Block>(
    name: &str,
    style: Style,
    is_absent: impl Fn(&str) -> bool + Sync,
    build: impl FnOnce() -> B + Send,
) -> Result<Rtl, EmitError> {
    with_tree(name, is_absent, build, |tree| print::print(tree, style))
}

fn with_tree<B: Block>(
    name: &str,
    is_absent: impl Fn(&str) -> bool + Sync,
    build: impl FnOnce() -> B + Send,
    print: impl FnOnce(&collect::Node) -> Result<Rtl, EmitError> + Send,
) -> Result<Rtl, EmitError> {
    let work = || {
        let mut block = Box::new(build());
        block.connect_all();
        let mut tree = collect::collect(name, &*block)?;
        tree.leave_out(&is_absent);
        print(&tree)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let outcome = thread.expect("a thread can be started").join();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
