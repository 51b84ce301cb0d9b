//! Runs one block twice, in RustHDL's simulator and under Verilator, and compares every output.

use std::collections::BTreeMap;

use rust_hdl::core::atom::{Atom, AtomKind};
use rust_hdl::core::probe::Probe;
use rust_hdl::core::simulate::simulate;
use rust_hdl::prelude::Block;
use stroma_verilate::effort::share;
use stroma_verilate::{Model, SplitMix64, Verilog, bundle};

use crate::pack::Packed;
use crate::verilog::{EmitError, Rtl, Style, emit_as};

/// Rounds of RustHDL's simulator after which a block counts as one that never settles.
const SETTLE_LIMIT: usize = 100;

/// Random inputs, remembered so that both sides get the same.
pub struct Draw {
    random: SplitMix64,
    drawn: Vec<(String, Vec<u32>)>,
}

impl Draw {
    /// A value for the port called `name` (its path, each part behind a `$`): random, or one of the corners.
    pub fn value<T: Packed>(&mut self, name: &str) -> T {
        let corner = self.random.next_u64() % 8;
        let mut words: Vec<u32> = Vec::new();
        while words.len() * 32 < T::BITS {
            words.push(match corner {
                0 => 0,
                1 => u32::MAX,
                2 => u32::from(words.is_empty()),
                _ => (self.random.next_u64() >> 32) as u32,
            });
        }
        // The round trip through the type cuts what is too much.
        let value = T::from_words(&words);
        self.drawn.push((name.trim_start_matches('$').to_string(), value.to_words()));
        value
    }
}

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    pub shapes: usize,
    pub compared: usize,
    pub mismatches: Vec<String>,
}

impl Report {
    /// Fails on a difference, and on a run that looked at nothing.
    ///
    /// # Errors
    /// What was found.
    pub fn verdict(&self) -> Result<(), String> {
        match (self.compared, self.mismatches.first()) {
            (0, _) => Err("nothing was compared".into()),
            (_, None) => Ok(()),
            (_, Some(first)) => {
                Err(format!("{} of {} differ; first: {first}", self.mismatches.len(), self.compared))
            }
        }
    }

    pub fn add(&mut self, other: Self) {
        self.shapes += other.shapes;
        self.compared += other.compared;
        self.mismatches.extend(other.mismatches);
    }
}

type Runner = Box<dyn FnOnce(&mut Model, usize) -> Report + Send>;

/// One block of the suite.
pub struct Case {
    pub name: String,
    emit: Box<dyn Fn(Style) -> Result<Rtl, EmitError> + Send>,
    runner: Runner,
}

impl Case {
    pub fn combinational<B: Block + 'static>(
        name: &str,
        build: fn() -> B,
        drive: fn(&mut B, &mut Draw),
    ) -> Self {
        Self::new(name, build, drive, None)
    }

    pub fn clocked<B: Block + 'static>(
        name: &str,
        build: fn() -> B,
        drive: fn(&mut B, &mut Draw),
        clock: fn(&mut B, bool),
    ) -> Self {
        Self::new(name, build, drive, Some(clock))
    }

    fn new<B: Block + 'static>(
        name: &str,
        build: fn() -> B,
        drive: fn(&mut B, &mut Draw),
        clock: Option<fn(&mut B, bool)>,
    ) -> Self {
        let name = name.to_string();
        let top = name.clone();
        Self {
            emit: Box::new(move |style| emit_as(&top, style, |_| false, build)),
            runner: Box::new(move |model, vectors| compare(model, build, drive, clock, vectors)),
            name,
        }
    }

    fn design(&self, style: Style) -> Verilog {
        let rtl = (self.emit)(style).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        // A wrong emitter is to be found by what its text does, so Verilator may not refuse the text for its widths.
        let leniency = if style == Style::SOUND { "" } else { "/* verilator lint_off WIDTH */\n" };
        Verilog::new(format!("{leniency}{}", rtl.text), &rtl.manifest()).expect("our own manifest parses")
    }

    fn compare(self, mut model: Model, vectors: usize) -> Report {
        let runner = self.runner;
        // RustHDL's blocks are large: simulate on a stack that holds them.
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(1 << 28);
            let thread =
                thread.spawn_scoped(scope, || runner(&mut model, vectors)).expect("a thread can be started");
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Emits a case in the given style, verilates it and compares.
#[cfg(test)]
pub(crate) fn run(case: Case, style: Style, vectors: usize) -> Report {
    let model = load(&case.design(style), &case.name);
    case.compare(model, vectors)
}

/// Fails on the first case in which Rust and Verilog differ; gives the sum of all. Several cases share one model,
/// because building C++ costs seconds a model and almost nothing a block. A quarter of the vectors is drawn unless
/// [all are asked for](stroma_verilate::effort).
///
/// # Panics
/// On that first case, and on one that cannot be emitted or built.
pub fn assert_agree(cases: impl IntoIterator<Item = Case>, vectors: usize) -> Report {
    let cases: Vec<Case> = cases.into_iter().collect();
    let designs: Vec<(String, Verilog)> =
        (0..).zip(&cases).map(|(at, case)| (format!("case_{at}"), case.design(Style::SOUND))).collect();
    let members: Vec<(&str, &Verilog)> =
        designs.iter().map(|(member, design)| (member.as_str(), design)).collect();
    let whole = (cases.len() > 1).then(|| {
        let name = format!("{}_and_others", cases[0].name);
        bundle(&name, &members).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    let mut total = Report::default();
    for (case, (member, design)) in cases.into_iter().zip(&members) {
        let name = case.name.clone();
        let model = match &whole {
            Some(whole) => load(whole, &name).view(member).unwrap_or_else(|error| panic!("{name}: {error}")),
            None => load(design, &name),
        };
        let report = case.compare(model, share(vectors));
        report.verdict().unwrap_or_else(|found| panic!("{name}: {found}"));
        total.add(report);
    }
    total
}

fn load(design: &Verilog, name: &str) -> Model {
    Model::load(design).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn compare<B: Block>(
    model: &mut Model,
    build: fn() -> B,
    drive: fn(&mut B, &mut Draw),
    clock: Option<fn(&mut B, bool)>,
    vectors: usize,
) -> Report {
    let mut block = Box::new(build());
    block.connect_all();
    let mut draw = Draw { random: SplitMix64::new(0x5eed), drawn: Vec::new() };
    let mut report = Report::default();
    for vector in 0..vectors {
        draw.drawn.clear();
        drive(&mut block, &mut draw);
        for (port, words) in &draw.drawn {
            let port = model.port(port).expect("every input drawn is a port");
            model.set_wide(port, words);
        }
        let levels: &[bool] = if clock.is_some() { &[false, true] } else { &[false] };
        for level in levels {
            if let Some(clock) = clock {
                clock(&mut block, *level);
                let port = model.port("clock").expect("a clocked block has a clock");
                model.set(port, u64::from(*level));
            }
            assert!(simulate(&mut *block, SETTLE_LIMIT), "the block never settles");
            model.eval();
            let outputs = outputs(&*block);
            report.shapes = outputs.len();
            for (name, expected) in outputs {
                let port = model.port(&name).expect("every output is a port");
                let found = number(&model.get_wide(port));
                report.compared += 1;
                if found != expected {
                    let inputs = &draw.drawn;
                    let text = format!(
                        "vector {vector}, {name}: Rust {expected}, Verilog {found}, inputs {inputs:x?}"
                    );
                    report.mismatches.push(text);
                }
            }
        }
    }
    report
}

/// Words as hexadecimal digits without leading zeros, RustHDL's own way to print a value.
fn number(words: &[u32]) -> String {
    format!("{:x}", num_bigint::BigUint::new(words.to_vec()))
}

/// The outputs of the top block with their values.
fn outputs(block: &dyn Block) -> BTreeMap<String, String> {
    #[derive(Default)]
    struct Outputs {
        depth: usize,
        spaces: Vec<String>,
        found: BTreeMap<String, String>,
    }
    impl Probe for Outputs {
        fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
            self.depth += 1;
        }
        fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
            self.spaces.push(name.to_string());
        }
        fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
            if self.depth == 1 && signal.kind() == AtomKind::OutputParameter {
                let path: Vec<&str> = self.spaces.iter().map(String::as_str).chain([name]).collect();
                let literal = format!("{:x}", signal.verilog());
                let digits = literal.split_once("'h").expect("a literal has a width").1;
                self.found.insert(path.join("$"), digits.to_string());
            }
        }
        fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
            self.spaces.pop();
        }
        fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
            self.depth -= 1;
        }
    }
    let mut outputs = Outputs::default();
    block.accept("top", &mut outputs);
    outputs.found
}
