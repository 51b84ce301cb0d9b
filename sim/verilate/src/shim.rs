//! The C++ between a Verilated class and Rust: one exported function that returns one table.
//!
//! Only the port table is generated; the code itself is `shim/model.h`, `shim/api.h` and
//! `shim/fatal.cpp`, ordinary C++ that can be read and linted as such.

use crate::compile::Variant;
use crate::header::Declared;
use crate::manifest::{Direction, Manifest};
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

/// The shim of one model. `prefix` is the Verilated class; `symbol` the exported C function.
pub(crate) fn generate(
    prefix: &str,
    symbol: &str,
    manifest: &Manifest,
    declared: &[Declared],
    variant: Variant,
) -> String {
    let mut rows = String::new();
    let mut addresses = String::new();
    for (index, (port, cpp)) in manifest.ports.iter().zip(declared).enumerate() {
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
    let traced = u8::from(variant == Variant::Traced);
    format!(
        r#"#include "api.h"
#include "verilated.h"
#include "verilated_vcd_c.h"
#include "{prefix}.h"
#define MODEL {prefix}
#define TRACED {traced}
static const StromaPort PORTS[] = {{
{rows}}};
static void ADDRESSES(MODEL* model, void** addresses) {{
{addresses}}}
#include "model.h"
extern "C" __attribute__((visibility("default"))) const StromaApi* {symbol}() {{ return &API; }}
"#
    )
}
