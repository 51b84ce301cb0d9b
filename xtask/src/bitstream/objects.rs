//! The objects of a design that constraints may speak of, for the stand-ins of Vivado's commands.

use std::collections::BTreeMap;
use std::fmt::Write;

use stroma_boards::crossing::CLOCKS;

use super::design::Design;

/// Ports, instances, registers, wires and pins, as Tcl: for each path a list of names and widths, 0 for what is no vector.
pub(crate) fn tcl(design: &Design) -> String {
    let mut tables: BTreeMap<(&str, &str), Vec<(String, usize)>> = BTreeMap::new();
    for (name, (_, nets)) in &design.ports {
        tables.entry(("ports", "")).or_default().push((name.clone(), nets.len()));
    }
    for place in &design.places {
        let children = place.children.iter().map(|name| (name.clone(), 1));
        tables.entry(("children", &place.path)).or_default().extend(children);
        tables.entry(("nets", &place.path)).or_default().extend(place.wires.iter().cloned());
        tables.entry(("cell_pins", &place.path)).or_default().extend(place.ports.iter().cloned());
    }
    for register in &design.registers {
        // As Vivado calls the flip-flops of a register.
        let entry = (format!("{}_reg", register.name), register.output.len());
        tables.entry(("registers", &register.path)).or_default().push(entry);
    }
    let mut text = String::new();
    for ((table, path), mut entries) in tables {
        entries.sort();
        let words: Vec<String> = entries
            .into_iter()
            .map(|(name, width)| format!("{{{name}}} {}", if width == 1 { 0 } else { width }))
            .collect();
        let _ = writeln!(text, "set {{{table}({path})}} {{{}}}", words.join(" "));
    }
    let clocks: Vec<&str> =
        CLOCKS.iter().map(|(name, _)| *name).filter(|name| design.wires.contains_key(*name)).collect();
    let _ = writeln!(text, "set clock_nets {{{}}}", clocks.join(" "));
    text
}
