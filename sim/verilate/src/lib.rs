//! Verilog text and a port manifest in, a running model out.
//!
//! ```no_run
//! use stroma_verilate::{Bench, Model, Pause, Verilog};
//! # fn main() -> Result<(), stroma_verilate::Error> {
//! # let (text, manifest) = ("", "");
//! let mut bench = Bench::new(Model::load(&Verilog::new(text, manifest)?)?)?;
//! let (input, output) = (bench.source("sink")?, bench.sink("source")?);
//! bench[output].pause(Pause::Random { seed: 1, percent: 30 });
//! bench.reset(2);
//! bench[input].send([7]);
//! bench.run_until(|bench| bench[output].received().len() == 1, 100)?;
//! assert_eq!(bench[output].received(), [[7]]);
//! # Ok(()) }
//! ```
//!
//! ```text
//! text + manifest ─ tool ─▶ C++ ─ header ─▶ shim ─ cxx ─▶ model.so ─ ffi ─▶ Model ─▶ Bench
//!                   └────────────── compile, once per text (cache) ──────┘          streams
//! ```
//!
//! - [`Model`] is any block under Verilator: ports by name, [`Model::tick`]. A first build takes a second
//!   or two, every later one milliseconds.
//! - [`Bench`] adds clock, reset and the drivers of [`stream`], which assert the stream law.
//! - [`bundle()`] puts many small blocks into one build.
//! - [`kept`] remembers a text that takes long to make.
//! - [`vpi_program`] is a simulator for a test bench that is not ours.
//!
//! # Waves
//!
//! `STROMA_WAVES=/tmp/waves cargo test …` makes every model write `/tmp/waves/<test name>-<n>.vcd`,
//! n counting the models of that test. Tests run in their package's folder, so an absolute path is
//! best. The file is complete when the model is dropped, also by a failing test. The first run
//! with waves builds the traced variant of each model; it is cached beside the fast one.
//!
//! # Cache
//!
//! Builds live in [`models_dir`], a folder of the user's, under a hash of everything that made them. [`build_log`] gets a
//! line for each real build: a warm run adds none. [`prune`] removes what nobody used for some days; `cargo xtask setup` does.
//!
//! # Safety model
//!
//! All unsafe code is in `ffi.rs`: calls into the shim, and reads and writes of port memory whose
//! size the shim asserts at compile time.

#![deny(unsafe_code)]

mod bench;
mod bundle;
mod cache;
mod compile;
mod cxx;
pub mod effort;
mod error;
mod ffi;
mod header;
mod manifest;
mod model;
mod pause;
mod progress;
mod rng;
mod shadow;
mod shim;
mod steps;
pub mod stream;
mod tool;
mod vpi;
mod waves;

pub use bench::{Bench, SinkId, SourceId};
pub use bundle::bundle;
pub use cache::{Artifact, MODELS_VARIABLE, build_log, models_dir, prune};
pub use compile::{Speed, Variant, kept, shared_object};
pub use error::Error;
pub use manifest::{Direction, Manifest, Port, Verilog};
pub use model::{Model, Options, PortId};
pub use pause::Pause;
pub use rng::SplitMix64;
pub use shadow::{SHADOW_LOG_VARIABLE, SHADOW_VARIABLE, Shadow};
pub use stream::{Sink, Source, StreamPorts};
pub use tool::{ROOT_VARIABLE, VERILATOR_VERSION, Verilator, target_dir, tools_dir, verilator_root};
pub use vpi::{VpiHarness, vpi_program};
pub use waves::WAVES_VARIABLE;
