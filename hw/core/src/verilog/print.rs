//! Writes modules: one for each distinct body, inner ones first.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use rust_hdl::core::atom::AtomKind;
use rust_hdl::prelude::Verilog;

use super::collect::{AtomInfo, Node};
use super::error::{EmitError, Problem};
use super::expr::{Expr, sized};
use super::lower::{Stmt, lower};
use super::names::{legal, module_stem};
use super::scope::{Role, Scope, SymbolId};
use super::split::{Piece, split};
use super::{Direction, Port, Rtl, Style, flow};

/// Prints the whole design; the root's instance name becomes the top module's name.
pub(crate) fn print(root: &Node, style: Style) -> Result<Rtl, EmitError> {
    let mut printer = Printer { style, text: String::new(), names: BTreeSet::new(), by_body: HashMap::new() };
    // The top keeps its name whatever is inside.
    printer.names.insert(legal(&root.instance));
    let top = printer.module(root, Some(legal(&root.instance)))?;
    let ports = root.atoms.iter().filter(|atom| atom.kind.is_parameter()).map(port).collect();
    Ok(Rtl { top, text: printer.text, ports })
}

fn port(atom: &AtomInfo) -> Port {
    let direction = match (atom.kind, atom.is_clock) {
        (AtomKind::InputParameter, true) => Direction::Clock,
        (AtomKind::InputParameter, false) => Direction::In,
        _ => Direction::Out,
    };
    Port { name: legal(&atom.name), direction, width: atom.width }
}

struct Printer {
    style: Style,
    text: String,
    names: BTreeSet<String>,
    by_body: HashMap<String, String>,
}

impl Printer {
    /// Prints a module unless one with the same body is there, and gives its name.
    fn module(&mut self, node: &Node, name: Option<String>) -> Result<String, EmitError> {
        let inner: Vec<String> =
            node.children.iter().map(|child| self.module(child, None)).collect::<Result<_, _>>()?;
        let wrap = |problem: Problem| EmitError::Kernel { module: node.path.clone(), problem };
        let body = match &node.code {
            Verilog::Custom(code) => Ok(format!("{}{}", ports(node), indent(code, 1))),
            Verilog::Combinatorial(kernel) => Module::new(node, &inner)
                .and_then(|module| module.with_kernel(&lower(kernel, &module.scope, self.style)?)),
            Verilog::Empty => Module::new(node, &inner).and_then(|module| module.with_kernel(&[])),
            other => Err(format!("{other:?} has no translation")),
        }
        .map_err(wrap)?;
        if name.is_none()
            && let Some(known) = self.by_body.get(&body)
        {
            return Ok(known.clone());
        }
        let name = name.unwrap_or_else(|| self.fresh(&stem(node)));
        let _ = write!(self.text, "module {name}{body}endmodule\n\n");
        self.by_body.insert(body, name.clone());
        Ok(name)
    }

    fn fresh(&mut self, stem: &str) -> String {
        let mut name = stem.to_string();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{stem}_{count}");
        }
        name
    }
}

/// Hand-written primitives name themselves in their first line, `// module NAME`; others go by their instance.
fn stem(node: &Node) -> String {
    let named = match &node.code {
        Verilog::Custom(code) => code.lines().next().and_then(|line| line.strip_prefix("// module ")),
        _ => None,
    };
    named.map_or_else(|| module_stem(&node.instance), |name| legal(name.trim()))
}

fn range(width: usize) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

fn ports(node: &Node) -> String {
    let line = |atom: &AtomInfo| {
        let way = if atom.kind == AtomKind::InputParameter { "input" } else { "output" };
        let sign = if atom.signed { "signed " } else { "" };
        format!("    {way} logic {sign}{}{}", range(atom.width), legal(&atom.name))
    };
    let lines: Vec<String> = node.atoms.iter().filter(|atom| atom.kind.is_parameter()).map(line).collect();
    format!(" (\n{}\n);\n", lines.join(",\n"))
}

fn indent(text: &str, depth: usize) -> String {
    let pad = "    ".repeat(depth);
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_string() } else { format!("{pad}{line}\n") })
        .collect()
}

/// One module with a kernel, on its way to text.
struct Module<'a> {
    node: &'a Node,
    inner: &'a [String],
    scope: Scope,
}

impl<'a> Module<'a> {
    fn new(node: &'a Node, inner: &'a [String]) -> Result<Self, Problem> {
        Ok(Self { node, inner, scope: Scope::new(node)? })
    }

    fn with_kernel(&self, kernel: &[Stmt]) -> Result<String, Problem> {
        flow::check(kernel, &self.scope)?;
        let pieces = split(kernel);
        let connected = self.direct_connections(kernel, &pieces);
        let mut logic = String::new();
        for piece in &pieces {
            match piece {
                Piece::Continuous(at) => {
                    if let Stmt::Assign { target, value } = &kernel[*at]
                        && !connected.contains_key(&target.symbol)
                    {
                        let _ = writeln!(logic, "    assign {} = {};", self.scope.place(*target), value.text);
                    }
                }
                Piece::Procedural(positions) => {
                    logic += "    always_comb begin\n";
                    for at in positions {
                        self.statement(&kernel[*at], 2, &mut logic);
                    }
                    logic += "    end\n";
                }
            }
        }
        let mut body = ports(self.node);
        body += &self.constants(kernel)?;
        body += &self.declarations(&connected);
        body += &self.instances(&connected);
        Ok(body + &logic)
    }

    /// Inputs of inner blocks that carry one bare signal all the time (clocks first of all) are connected to it.
    fn direct_connections(&self, kernel: &[Stmt], pieces: &[Piece]) -> HashMap<SymbolId, String> {
        let mut connected = HashMap::new();
        for piece in pieces {
            if let Piece::Continuous(at) = piece
                && let Stmt::Assign { target, value } = &kernel[*at]
                && self.scope.symbols[target.symbol].role == Role::ChildInput
                && target.width == self.scope.symbols[target.symbol].width
                && value.place.is_some()
            {
                connected.insert(target.symbol, value.text.clone());
            }
        }
        connected
    }

    /// Named constants and enumeration labels, those that the kernel mentions.
    fn constants(&self, kernel: &[Stmt]) -> Result<String, Problem> {
        let mut used = Used::default();
        for statement in kernel {
            used.statement(statement);
        }
        let mut text = String::new();
        for (id, symbol) in self.scope.symbols.iter().enumerate() {
            if let Some(value) = symbol.value.as_ref().filter(|_| used.symbols.contains(&id)) {
                let sign = if symbol.signed { "signed " } else { "" };
                let value = sized(value, symbol.width);
                let _ = writeln!(
                    text,
                    "    localparam logic {sign}{}{} = {value};",
                    range(symbol.width),
                    symbol.name
                );
            }
        }
        for name in used.labels {
            let label = self.scope.label(&name)?.ok_or_else(|| format!("label `{name}` is not known"))?;
            let value = sized(&label.value.into(), label.width);
            let _ = writeln!(text, "    localparam logic {}{name} = {value};", range(label.width));
        }
        Ok(text)
    }

    fn declarations(&self, connected: &HashMap<SymbolId, String>) -> String {
        let mut text = String::new();
        for (id, symbol) in self.scope.symbols.iter().enumerate() {
            let declared = matches!(symbol.role, Role::Local | Role::ChildInput | Role::ChildOutput);
            if declared && !connected.contains_key(&id) {
                let sign = if symbol.signed { "signed " } else { "" };
                let _ = writeln!(text, "    logic {sign}{}{};", range(symbol.width), symbol.name);
            }
        }
        text
    }

    fn instances(&self, connected: &HashMap<SymbolId, String>) -> String {
        let mut text = String::new();
        for (child, module) in self.node.children.iter().zip(self.inner) {
            let line = |atom: &AtomInfo| {
                let id = self
                    .scope
                    .find(&format!("{}${}", child.instance, atom.name))
                    .expect("added by Scope::new");
                let wire = connected.get(&id).unwrap_or(&self.scope.symbols[id].name);
                format!("        .{}({wire})", legal(&atom.name))
            };
            let lines: Vec<String> =
                child.atoms.iter().filter(|atom| atom.kind.is_parameter()).map(line).collect();
            let _ =
                writeln!(text, "    {module} {} (\n{}\n    );", legal(&child.instance), lines.join(",\n"));
        }
        text
    }

    fn statement(&self, statement: &Stmt, depth: usize, text: &mut String) {
        let pad = "    ".repeat(depth);
        match statement {
            Stmt::Assign { target, value } => {
                let _ = writeln!(text, "{pad}{} = {};", self.scope.place(*target), value.text);
            }
            Stmt::If { test, then, otherwise } => {
                let _ = writeln!(text, "{pad}if ({}) begin", test.text);
                for inner in then {
                    self.statement(inner, depth + 1, text);
                }
                if !otherwise.is_empty() {
                    let _ = writeln!(text, "{pad}end else begin");
                    for inner in otherwise {
                        self.statement(inner, depth + 1, text);
                    }
                }
                let _ = writeln!(text, "{pad}end");
            }
            Stmt::Case { test, arms, default } => {
                let _ = writeln!(text, "{pad}case ({})", test.text);
                for (label, body) in
                    arms.iter().map(|arm| (arm.label.text.as_str(), &arm.body)).chain([("default", default)])
                {
                    let _ = writeln!(text, "{pad}    {label}: begin");
                    for inner in body {
                        self.statement(inner, depth + 2, text);
                    }
                    let _ = writeln!(text, "{pad}    end");
                }
                let _ = writeln!(text, "{pad}endcase");
            }
        }
    }
}

/// Which symbols and labels a kernel mentions.
#[derive(Default)]
struct Used {
    symbols: BTreeSet<SymbolId>,
    labels: BTreeSet<String>,
}

impl Used {
    fn expr(&mut self, expr: &Expr) {
        self.symbols.extend(expr.reads.iter().map(|span| span.symbol));
        self.labels.extend(expr.labels.iter().cloned());
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign { value, .. } => self.expr(value),
            Stmt::If { test, then, otherwise } => {
                self.expr(test);
                then.iter().chain(otherwise).for_each(|inner| self.statement(inner));
            }
            Stmt::Case { test, arms, default } => {
                self.expr(test);
                for arm in arms {
                    self.expr(&arm.label);
                    for inner in &arm.body {
                        self.statement(inner);
                    }
                }
                for inner in default {
                    self.statement(inner);
                }
            }
        }
    }
}
