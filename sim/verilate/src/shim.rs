//! The C++ between a Verilated class and Rust: one exported function that returns one table.
//!
//! Only the port table is generated; the code itself is `shim/model.h`, `shim/api.h` and
//! `shim/fatal.cpp`, ordinary C++ that can be read and linted as such.

use crate::compile::Variant;
use crate::header::Declared;
use crate::manifest::{Direction, EDGES, MOVES, Manifest, Port, WORD};
use crate::steps::{self, Step};
use std::fmt::Write;

/// Interface structs; every shim includes it.
pub(crate) const API_H: &str = include_str!("shim/api.h");
/// The model-independent functions.
pub(crate) const MODEL_H: &str = include_str!("shim/model.h");
/// The runtime's replacement for process exit.
pub(crate) const FATAL_CPP: &str = include_str!("shim/fatal.cpp");
/// This file: part of the cache key, so that a changed generator never meets an old model.
pub(crate) const GENERATOR: &str = include_str!("shim.rs");

/// Bytes Verilator uses for a port: 1, 2, 4, 8, then whole 32-bit words.
pub(crate) fn port_bytes(width: u32) -> usize {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        _ => 4 * width.div_ceil(32) as usize,
    }
}

/// What the shim of one model is made of.
pub(crate) struct Design<'a> {
    /// The Verilated class.
    pub(crate) class: &'a str,
    /// The exported C function.
    pub(crate) symbol: &'a str,
    pub(crate) manifest: &'a Manifest,
    /// The ports of the manifest, as the class declares them.
    pub(crate) declared: &'a [Declared],
    /// Variables of the class's root.
    pub(crate) variables: &'a [&'a str],
    /// What edges of clock domains evaluate.
    pub(crate) steps: &'a [Step],
    pub(crate) variant: Variant,
}

/// The shim of one model.
pub(crate) fn generate(design: &Design<'_>) -> String {
    let Design { class, symbol, manifest, declared, variables, steps, variant } = design;
    let mut rows = String::new();
    let mut addresses = String::new();
    for (index, (port, cpp)) in manifest.ports.iter().zip(*declared).enumerate() {
        let direction = match port.direction {
            Direction::In => 0,
            Direction::Out => 1,
            Direction::Clock => 2,
        };
        let (name, cpp, bytes) = (&port.name, &cpp.cpp, port_bytes(port.width));
        writeln!(rows, "    {{\"{name}\", {}u, {direction}u}},", port.width)
            .expect("a String takes any text");
        writeln!(
            addresses,
            "    static_assert(sizeof(model->{cpp}) == {bytes}, \"{name}\");\n    addresses[{index}] = &model->{cpp};"
        )
        .expect("a String takes any text");
    }
    let (mut kept, mut places) = (String::new(), String::new());
    for (index, name) in variables.iter().enumerate() {
        writeln!(kept, "    {{\"{name}\", sizeof({class}___024root::{name})}},")
            .expect("a String takes any text");
        writeln!(places, "    addresses[{index}] = &root->{name};").expect("a String takes any text");
    }
    let traced = u8::from(*variant == Variant::Traced);
    let domains = domains(manifest, declared, steps);
    format!(
        r#"#include "api.h"
#include "verilated.h"
#include "verilated_vcd_c.h"
#include "{class}.h"
#include "{class}___024root.h"
#define MODEL {class}
#define ROOT {class}___024root
#define IN_ROOT(name) {class}___024root___##name
#define TRACED {traced}
static const StromaPort PORTS[] = {{
{rows}}};
static void ADDRESSES(MODEL* model, void** addresses) {{
{addresses}}}
static const StromaVariable VARIABLES[] = {{
{kept}    {{nullptr, 0}}}};
static void LOCATE({class}___024root* root, const void** addresses) {{
{places}}}
{domains}#include "model.h"
extern "C" __attribute__((visibility("default"))) const StromaApi* {symbol}() {{ return &API; }}
"#
    )
}

/// `GATED`, which domains have an edge when clocks rise and when inputs are written, and where the model keeps what they say and get.
fn domains(manifest: &Manifest, declared: &[Declared], steps: &[Step]) -> String {
    let words = manifest.domain_words();
    if words == 0 {
        return "#define GATED 0\n".into();
    }
    let clocks = manifest.ports.iter().zip(declared).filter(|(port, _)| port.direction == Direction::Clock);
    let (mut rows, mut count) = (String::new(), 0);
    for (port, Declared { cpp, .. }) in clocks {
        writeln!(rows, "    if (model->{cpp} && !levels[{count}]) {{").expect("a String takes any text");
        for (word, domains) in manifest.domains.chunks(WORD).enumerate() {
            let of_clock = domains.iter().enumerate().filter(|(_, clock)| **clock == port.name);
            let mask = of_clock.fold(0_u64, |mask, (domain, _)| mask | 1 << domain);
            writeln!(rows, "        risen[{word}] |= {mask:#x}ull;").expect("a String takes any text");
        }
        writeln!(rows, "    }}\n    levels[{count}] = model->{cpp};").expect("a String takes any text");
        count += 1;
    }
    let holder = |port: &Port| {
        let at = manifest.domains.iter().position(|input| *input == port.name);
        at.filter(|_| port.direction == Direction::In).map_or_else(|| "-1".into(), |at| at.to_string())
    };
    let holders: Vec<String> = manifest.ports.iter().map(holder).collect();
    let words_of = |name: &str| {
        let ports: Vec<String> = (0..words).map(|word| format!("&model->{name}{word}")).collect();
        ports.join(", ")
    };
    format!(
        "#define GATED 1\nenum {{ CLOCKS = {count}, WORDS = {words}, COUNT = {domains} }};\n{steps}\
         static const int16_t HOLDERS[] = {{{holders}}};\n\
         static void RISEN(const MODEL* model, uint8_t* levels, uint64_t* risen) {{\n{rows}}}\n\
         static void DOMAINS(MODEL* model, QData** edges, QData** moves) {{\n\
         \x20   QData* const inputs[] = {{{edges}}};\n    QData* const outputs[] = {{{moves}}};\n\
         \x20   for (int word = 0; word < WORDS; ++word) {{\n\
         \x20       edges[word] = inputs[word];\n        moves[word] = outputs[word];\n    }}\n}}\n",
        domains = manifest.domains.len(),
        holders = holders.join(", "),
        steps = steps::table(steps),
        edges = words_of(EDGES),
        moves = words_of(MOVES),
    )
}
