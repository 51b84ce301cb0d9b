//! Verilog to machine code: `verilator_bin`, our shim, the C++ compiler, and the cache around them.
//!
//! - **Runtime** Verilator's C++ runtime (with VCD support) is built once per compiler and flags, a precompiled header once
//!   for each level of optimisation; all models share them. The header halves the time of a small model.
//! - **Model** generated files are gathered into translation units: a block of a unit test is one compiler run, a card
//!   keeps every core busy. A shared object, which tests of blocks load, is to be built quickly; an archive, which becomes
//!   part of a program, is to run quickly (see [`Speed`]).
//! - **Warnings** of Verilator are errors; the exceptions stand in [`VERILATE`] with their reasons.
//! - **X** does not exist in a two-state model: `--x-assign 0` and seeded initial state keep it
//!   deterministic (see [`Options::seed`](crate::Options)).

use crate::cache::{self, Artifact};
use crate::cxx::{Cxx, Job, run_all};
use crate::manifest::Verilog;
use crate::progress::Progress;
use crate::tool::{VERILATOR_VERSION, Verilator};
use crate::{Error, header, shim, steps};
use std::fs;
use std::path::{Path, PathBuf};

/// With or without waves. Tracing costs speed even while no file is open, so it is a build of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// As fast as possible.
    Plain,
    /// Able to write VCD. (FST would need two system libraries; VCD needs none.)
    Traced,
}

/// Options of every Verilator run.
pub(crate) const VERILATE: [&str; 14] = [
    "--cc",
    "-O3",
    "--no-timing",
    "--x-assign",
    "0",
    "--x-initial",
    "unique",
    "--output-split",
    "5000",
    // Words wider than a machine's are copied in loops: written out word by word, they are a third of all text.
    "--expand-limit",
    "1",
    "--quiet-stats",
    // Slices of one vector may feed each other without a true loop; it costs speed, not correctness.
    "-Wno-UNOPTFLAT",
    // The shim reads the C++ spelling from the header, so a port named `template` is fine.
    "-Wno-SYMRSVDWORD",
];

/// More for a text with clock domains: a cycle calls few of a thousand functions, and they lie apart.
pub(crate) const GATED: [&str; 4] = ["--inline-cfuncs", "0", "--inline-cfuncs-product", "0"];

/// Runtime sources from the Verilator package.
const RUNTIME: [&str; 3] = ["verilated.cpp", "verilated_vcd_c.cpp", "verilated_threads.cpp"];

/// The archive's name as a linker knows it.
pub(crate) const RUNTIME_LIBRARY: &str = "stroma_verilated";

/// What every unit begins with. The variable tells a model's `eval` whether inputs have moved, see [`guard_inputs`].
const PRELUDE: &str = concat!(
    "#include \"verilated.h\"\n#include \"verilated_vcd_c.h\"\n",
    "inline thread_local bool stroma_inputs_moved = true;\n",
    include_str!("shim/wide.h")
);

/// How a model's `eval` says that logic behind inputs is evaluated, and how it says so after [`guard_inputs`].
const INPUTS_MOVE: [&str; 2] =
    ["vlSelfRef.__VicoFirstIteration = 1U;", "vlSelfRef.__VicoFirstIteration = stroma_inputs_moved;"];

/// A design in a folder: its text, and its port manifest.
const TEXT: &str = "design.v";
const PORTS: &str = "design.ports";

/// The Verilated class of a model, and prefix of every C++ symbol.
pub(crate) const CLASS: &str = "Vmodel";
/// The one C symbol that a model exports.
pub(crate) const SYMBOL: &str = "stroma_model";

/// Builds, or finds in the cache, the shared object of a design.
///
/// # Errors
/// When Verilator or the compiler is missing or refuses the text, or the manifest does not fit it.
pub fn shared_object(design: &Verilog, variant: Variant, speed: Speed) -> Result<Artifact, Error> {
    let cxx = Cxx::get()?;
    let (ports, flags) = (design.manifest.to_string(), VERILATE.join(" "));
    let key = cache::hash(&[
        &design.text,
        &ports,
        &flags,
        &format!("{variant:?} {speed:?}"),
        VERILATOR_VERSION,
        &cxx.identity,
        shim::API_H,
        shim::MODEL_H,
        shim::GENERATOR,
        include_str!("compile.rs"),
        include_str!("steps.rs"),
        PRELUDE,
    ]);
    let entry = cache::ensure(&design.manifest.top, key, |folder| {
        let work = folder.join("work");
        verilate(design, variant, &work)?;
        let objects = compile(cxx, &design.manifest.top, &work, speed)?;
        let runtime = runtime()?.join(format!("lib{RUNTIME_LIBRARY}.a"));
        let job = cxx.job(format!("linking the model of `{}`", design.manifest.top));
        job.with(|command| {
            command
                .args(["-shared", "-pthread", "-Wl,--exclude-libs,ALL", "-o"])
                .arg(folder.join("model.so"))
                .args(objects)
                .arg(runtime)
        })
        .output()?;
        // The text stays for whoever wants to know what an entry is; the C++ is only bulk.
        write(&folder.join(TEXT), &design.text)?;
        write(&folder.join(PORTS), &ports)?;
        fs::remove_dir_all(&work).map_err(Error::io("removing", &work))
    })?;
    Ok(Artifact { path: entry.path.join("model.so"), ..entry })
}

/// The design that is kept under this name, or the one that `make` gives, which is kept from now on. The name says all that the
/// design depends on.
///
/// # Errors
/// What `make` reports, and [`Error::Io`].
pub fn kept(name: &str, make: impl FnOnce() -> Result<Verilog, Error>) -> Result<Verilog, Error> {
    let entry = cache::ensure(name, cache::hash(&[name]), |folder| {
        let design = make()?;
        write(&folder.join(TEXT), &design.text)?;
        write(&folder.join(PORTS), &design.manifest.to_string())
    })?;
    let read = |file: &str| {
        let path = entry.path.join(file);
        fs::read_to_string(&path).map_err(Error::io("reading", &path))
    };
    Verilog::new(read(TEXT)?, &read(PORTS)?)
}

/// Verilog to C++, in the folder `work`.
pub(crate) fn translate(design: &Verilog, prefix: &str, more: &[&str], work: &Path) -> Result<(), Error> {
    let top = &design.manifest.top;
    fs::create_dir_all(work).map_err(Error::io("creating", work))?;
    write(&work.join(TEXT), &design.text)?;
    let mut command = Verilator::find()?.command();
    command.current_dir(work).args(VERILATE).args(["--Mdir", ".", "--prefix", prefix]);
    command.args(["--top-module", top]).args(more).arg(TEXT);
    Job::new("verilating".into(), command).output().map_err(|error| match error {
        Error::Build { output, .. } => Error::Verilator { top: top.clone(), output },
        other => other,
    })?;
    Ok(())
}

/// Verilog to C++, with the shim beside it.
fn verilate(design: &Verilog, variant: Variant, work: &Path) -> Result<(), Error> {
    let top = &design.manifest.top;
    let traced: &[&str] = if variant == Variant::Traced { &["--trace-vcd"] } else { &[] };
    let gated = if design.manifest.domains.is_empty() { &[][..] } else { &GATED };
    translate(design, CLASS, &[traced, gated].concat(), work)?;
    guard_inputs(work)?;
    let path = work.join(format!("{CLASS}.h"));
    let text = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
    let declared = header::matched(&text, &design.manifest)
        .map_err(|details| Error::PortMismatch { top: top.clone(), details })?;
    let steps = if design.manifest.domains.is_empty() { Vec::new() } else { steps::take(work)? };
    let path = work.join(format!("{CLASS}___024root.h"));
    let root = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
    let shim = shim::generate(&shim::Design {
        class: CLASS,
        symbol: SYMBOL,
        manifest: &design.manifest,
        declared: &declared,
        variables: &header::variables(&root).collect::<Vec<_>>(),
        steps: &steps,
        variant,
    });
    write(&work.join("shim.cpp"), &shim)?;
    write(&work.join("api.h"), shim::API_H)?;
    write(&work.join("model.h"), shim::MODEL_H)
}

/// Verilator evaluates what lies between inputs and registers at every call, twice a cycle, though inputs move at most
/// once; here it learns to ask. A model without such logic does not say so, and one that says it otherwise than the
/// pinned Verilator is as right as before, and slower.
fn guard_inputs(work: &Path) -> Result<(), Error> {
    for (name, _) in generated(work)? {
        let path = work.join(name);
        let text = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
        if text.contains(INPUTS_MOVE[0]) {
            write(&path, &text.replace(INPUTS_MOVE[0], INPUTS_MOVE[1]))?;
        }
    }
    Ok(())
}

/// Whether a model's cycles or its build are to be quick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Of cycles, for models that run millions.
    Full,
    /// Of the build, for models that run thousands.
    Build,
}

impl Speed {
    /// How the compiler optimises. Start-up code runs once: its compile time is worth more than its speed.
    ///
    /// Measured on gcc 12 with blocks of our own: `-Og` takes half the time of `-O2`, and as long as `-O0` where functions are
    /// large; its code needs a fifth more time than that of `-O1`, a third of that of `-O0`.
    fn level(self, is_slow: bool) -> &'static str {
        match self {
            Self::Full if is_slow => "-O0",
            Self::Full => "-O2",
            Self::Build => "-Og",
        }
    }

    /// Text that one compiler run should get. Starting a run costs about as much as 100 kB of generated code: parts are
    /// so small only where all cores are to be kept busy.
    fn unit_bytes(self) -> u64 {
        match self {
            Self::Full => 192 << 10,
            Self::Build => 1 << 20,
        }
    }
}

/// C++ to objects, all cores busy. A build that takes minutes shows how far it is.
pub(crate) fn compile(cxx: &Cxx, top: &str, work: &Path, speed: Speed) -> Result<Vec<PathBuf>, Error> {
    let include = Verilator::find()?.include();
    let mut objects = Vec::new();
    let mut jobs = Vec::new();
    for (index, unit) in pack(generated(work)?, speed.unit_bytes()).into_iter().enumerate() {
        let level = speed.level(unit.is_slow);
        let prelude = prelude(level)?;
        let source = work.join(format!("unit{index}.cc"));
        let object = source.with_extension("o");
        let lines: Vec<String> = unit.files.iter().map(|file| format!("#include \"{file}\"")).collect();
        write(&source, &(lines.join("\n") + "\n"))?;
        let job = Job { bytes: unit.cost(), ..cxx.job(format!("compiling {}", unit.files.join(", "))) };
        jobs.push(job.with(|command| {
            command.arg("-include").arg(&prelude).arg("-I").arg(&include).arg("-I").arg(work);
            // Headers of the standard's own, for models with a VPI.
            command.arg("-I").arg(include.join("vltstd"));
            command.arg(level).arg("-c").arg(&source).arg("-o").arg(&object)
        }));
        objects.push(object);
    }
    let total = jobs.iter().map(|job| job.bytes).sum();
    let progress = (speed == Speed::Full).then(|| Progress::new(format!("building the card {top}"), total));
    run_all(jobs, progress.as_ref())?;
    Ok(objects)
}

/// Generated files that go through the compiler together.
struct Unit {
    files: Vec<String>,
    bytes: u64,
    is_slow: bool,
}

impl Unit {
    /// How long it takes the compiler, in bytes of text that is optimised.
    fn cost(&self) -> u64 {
        if self.is_slow { self.bytes / START_UP } else { self.bytes }
    }
}

/// By how much quicker start-up code is compiled.
const START_UP: u64 = 4;

/// Names and sizes of the C++ files in a folder.
pub(crate) fn generated(work: &Path) -> Result<Vec<(String, u64)>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(work).map_err(Error::io("listing", work))?.flatten() {
        if entry.path().extension() == Some("cpp".as_ref()) {
            let bytes = entry.metadata().map_err(Error::io("reading the size in", work))?.len();
            files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Everything in one unit if it is little; else start-up code apart from the rest, in units of about
/// this size.
fn pack(files: Vec<(String, u64)>, unit_bytes: u64) -> Vec<Unit> {
    let bytes = files.iter().map(|(_, bytes)| bytes).sum();
    if bytes <= unit_bytes {
        let files = files.into_iter().map(|(name, _)| name).collect();
        return vec![Unit { files, bytes, is_slow: false }];
    }
    let (slow, fast): (Vec<_>, Vec<_>) = files.into_iter().partition(|(name, _)| name.contains("__Slow"));
    let mut units = Vec::new();
    for (files, is_slow) in [(fast, false), (slow, true)] {
        let mut open: Option<Unit> = None;
        for (name, bytes) in files {
            let is_full = |unit: &mut Unit| unit.bytes + bytes > unit_bytes;
            units.extend(open.take_if(is_full));
            let unit = open.get_or_insert_with(|| Unit { files: Vec::new(), bytes: 0, is_slow });
            unit.bytes += bytes;
            unit.files.push(name);
        }
        units.extend(open);
    }
    units
}

/// `prelude.h`, precompiled on first use for one level of optimisation: at another, gcc reads the header's text again, which
/// takes a second, or trips over it.
fn prelude(level: &str) -> Result<PathBuf, Error> {
    let cxx = Cxx::get()?;
    let key = cache::hash(&[VERILATOR_VERSION, &cxx.identity, PRELUDE, level, include_str!("compile.rs")]);
    let entry = cache::ensure("prelude", key, |folder| {
        let prelude = folder.join("prelude.h");
        let include = Verilator::find()?.include();
        write(&prelude, PRELUDE)?;
        let job = cxx.job("precompiling Verilator's headers".into()).with(|command| {
            command.arg(level).arg("-I").arg(&include);
            command.args(["-x", "c++-header"]).arg(&prelude).arg("-o").arg(folder.join("prelude.h.gch"))
        });
        job.output().map(drop)
    })?;
    Ok(entry.path.join("prelude.h"))
}

/// Folder with the runtime archive, built on first use.
pub(crate) fn runtime() -> Result<PathBuf, Error> {
    let cxx = Cxx::get()?;
    let key = cache::hash(&[
        VERILATOR_VERSION,
        &cxx.identity,
        shim::FATAL_CPP,
        &RUNTIME.join(" "),
        include_str!("compile.rs"),
    ]);
    let entry = cache::ensure("runtime", key, |folder| {
        let include = Verilator::find()?.include();
        let fatal = folder.join("fatal.cpp");
        write(&fatal, shim::FATAL_CPP)?;
        let sources: Vec<PathBuf> = RUNTIME.iter().map(|name| include.join(name)).chain([fatal]).collect();
        let mut objects = Vec::new();
        let mut jobs = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let object = folder.join(format!("{index}.o"));
            jobs.push(cxx.job(format!("compiling {}", source.display())).with(|command| {
                command.arg("-DVL_USER_FATAL").arg("-I").arg(&include);
                command.arg("-c").arg(source).arg("-o").arg(&object)
            }));
            objects.push(object);
        }
        run_all(jobs, None)?;
        cxx.archive(&folder.join(format!("lib{RUNTIME_LIBRARY}.a")), &objects)?;
        objects.iter().try_for_each(|object| fs::remove_file(object).map_err(Error::io("removing", object)))
    })?;
    Ok(entry.path)
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("writing", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, u64)]) -> Vec<(String, bool)> {
        let files = files.iter().map(|(name, kilobytes)| ((*name).to_owned(), kilobytes << 10)).collect();
        pack(files, 192 << 10).into_iter().map(|unit| (unit.files.join("+"), unit.is_slow)).collect()
    }

    #[test]
    fn a_small_model_is_one_compiler_run() {
        let units = packed(&[("a.cpp", 90), ("a__Slow.cpp", 90)]);
        assert_eq!(units, [("a.cpp+a__Slow.cpp".to_owned(), false)]);
    }

    #[test]
    fn a_large_model_is_spread_and_its_start_up_code_kept_apart() {
        let units =
            packed(&[("a.cpp", 100), ("a__Slow.cpp", 10), ("b.cpp", 90), ("c.cpp", 500), ("d__Slow.cpp", 1)]);
        let expected = [("a.cpp+b.cpp", false), ("c.cpp", false), ("a__Slow.cpp+d__Slow.cpp", true)];
        assert_eq!(units, expected.map(|(files, is_slow)| (files.to_owned(), is_slow)));
    }

    /// Were the words of the pinned Verilator others, models would be right and slow.
    #[test]
    fn what_lies_behind_inputs_waits_until_they_move() {
        let text = "module gate (input wire a, input wire b, output wire c);\nassign c = a & b;\nendmodule";
        let design = Verilog::new(text, "top gate\nin a 1\nin b 1\nout c 1").unwrap();
        let work = std::env::temp_dir().join(format!("stroma-guard-{}", std::process::id()));
        translate(&design, "Vgate", &[], &work).unwrap();
        let count = |words: &str| {
            let texts =
                generated(&work).unwrap().into_iter().map(|(name, _)| fs::read_to_string(work.join(name)));
            texts.map(|text| text.unwrap().matches(words).count()).sum::<usize>()
        };
        assert_eq!(INPUTS_MOVE.map(count), [1, 0], "what Verilator writes");
        guard_inputs(&work).unwrap();
        assert_eq!(INPUTS_MOVE.map(count), [0, 1], "what is compiled");
        fs::remove_dir_all(&work).unwrap();
    }
}
