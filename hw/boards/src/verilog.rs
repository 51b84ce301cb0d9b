//! Writing Verilog: modules that hold instances and wires, and nothing that computes.

use std::fmt::Write;

/// What a port of an instance is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The port.
    pub(crate) port: String,
    /// An expression; empty leaves the port open.
    pub(crate) to: String,
    /// Why, if that does not speak for itself.
    pub(crate) reason: Option<String>,
}

impl Connection {
    pub(crate) fn new(port: &str, to: impl Into<String>) -> Self {
        Self { port: port.to_owned(), to: to.into(), reason: None }
    }
}

/// A module inside another one.
pub(crate) struct Instance {
    /// The module.
    pub(crate) module: String,
    /// What this one of it is called.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) reason: &'static str,
    /// Its parameters.
    pub(crate) parameters: Vec<(&'static str, String)>,
    /// Its ports, all of them.
    pub(crate) connections: Vec<Connection>,
}

impl Instance {
    pub(crate) fn write(&self, out: &mut String) {
        let mut text = format!("\n    // {}\n    {} ", self.reason, self.module);
        if !self.parameters.is_empty() {
            let set: Vec<String> =
                self.parameters.iter().map(|(name, value)| format!("        .{name}({value})")).collect();
            let _ = write!(text, "#(\n{}\n    ) ", set.join(",\n"));
        }
        let _ = writeln!(text, "{} (", self.name);
        for (index, Connection { port, to, reason }) in self.connections.iter().enumerate() {
            let comma = if index + 1 == self.connections.len() { "" } else { "," };
            let reason = reason.as_ref().map(|reason| format!(" // {reason}")).unwrap_or_default();
            let _ = writeln!(text, "        .{port}({to}){comma}{reason}");
        }
        text += "    );\n";
        *out += &text;
    }
}

/// The range of a declaration, with a space behind it; nothing for a single bit.
pub(crate) fn range(width: u16) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

/// A constant of a port's width.
pub(crate) fn constant(width: u16, value: &str) -> String {
    format!("{width}'d{value}")
}
