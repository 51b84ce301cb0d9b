//! Small netlists for tests, written as yosys would write them.

use std::fmt::Write;

use super::netlist::Netlist;

/// A netlist in the making.
#[derive(Default)]
pub(crate) struct Sample {
    ports: Vec<String>,
    cells: Vec<String>,
    names: Vec<String>,
}

impl Sample {
    /// A port of the module: `input` or `output`.
    pub(crate) fn port(mut self, name: &str, direction: &str, bits: &[u32]) -> Self {
        self.ports.push(format!(r#""{name}": {{ "direction": "{direction}", "bits": {bits:?} }}"#));
        self
    }

    /// A cell; its connections are words `PORT<1,2` for inputs and `PORT>3` for outputs, its parameters words `NAME=1`.
    pub(crate) fn cell(mut self, name: &str, kind: &str, words: &str) -> Self {
        let (mut directions, mut connections, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
        for word in words.split_whitespace() {
            if let Some((parameter, value)) = word.split_once('=') {
                parameters.push(format!(r#""{parameter}": "{value}""#));
                continue;
            }
            let (port, bits, direction) = match (word.split_once('<'), word.split_once('>')) {
                (Some((port, bits)), _) => (port, bits, "input"),
                (_, Some((port, bits))) => (port, bits, "output"),
                _ => panic!("`{word}` is no connection"),
            };
            directions.push(format!(r#""{port}": "{direction}""#));
            connections.push(format!(r#""{port}": [{bits}]"#));
        }
        self.cells.push(format!(
            r#""{name}": {{ "type": "{kind}", "parameters": {{ {} }}, "port_directions": {{ {} }}, "connections": {{ {} }} }}"#,
            parameters.join(", "),
            directions.join(", "),
            connections.join(", ")
        ));
        self
    }

    /// A flip-flop of this name, from one wire to another.
    pub(crate) fn register(self, name: &str, d: u32, q: u32) -> Self {
        self.cell(&format!("{name}_cell"), "FDRE", &format!("C<1 CE<\"1\" R<\"0\" D<{d} Q>{q}"))
            .name(&format!("{name}$q"), &[q])
    }

    /// What the source calls a wire.
    pub(crate) fn name(mut self, name: &str, bits: &[u32]) -> Self {
        self.names.push(format!(r#""{name}": {{ "hide_name": 0, "bits": {bits:?} }}"#));
        self
    }

    /// The text of the module.
    pub(crate) fn module(&self, name: &str) -> String {
        let mut text = format!(r#""{name}": {{"#);
        for (part, rows) in [("ports", &self.ports), ("cells", &self.cells), ("netnames", &self.names)] {
            let _ = write!(text, r#""{part}": {{ {} }}, "#, rows.join(", "));
        }
        text + r#""attributes": {} }"#
    }

    /// The module read back.
    pub(crate) fn netlist(&self) -> Netlist {
        Netlist::parse(&file(&[self.module("top")]), "top").unwrap()
    }
}

/// A file of modules.
pub(crate) fn file(modules: &[String]) -> String {
    format!(r#"{{ "creator": "by hand", "modules": {{ {} }} }}"#, modules.join(", "))
}
