//! Writes modules: one for each distinct body, inner ones first.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use rust_hdl::core::atom::AtomKind;
use rust_hdl::prelude::Verilog;

use super::collect::{AtomInfo, Node};
use super::error::{EmitError, Problem};
use super::expr::{Expr, sized};
use super::gate::{self, Face, Joined, Part, Size};
use super::lower::{Stmt, lower};
use super::names::{legal, module_stem};
use super::scope::{Role, Scope, SymbolId};
use super::split::{Piece, split};
use super::{Direction, Port, Rtl, Style, flow};

/// Prints the whole design; the root's instance name becomes the top module's name.
pub(crate) fn print(root: &Node, style: Style) -> Result<Rtl, EmitError> {
    let mut printer = Printer::new(root, style, None);
    let top = printer.module(root, Some(legal(&root.instance)))?.name;
    Ok(Rtl { top, text: printer.text, ports: top_ports(root), domains: Vec::new() })
}

/// As [`print`], with clock domains, for simulation.
pub(crate) fn print_gated(root: &Node, style: Style) -> Result<Rtl, EmitError> {
    let mut reference = Printer::new(root, style, None);
    reference.module(root, Some(legal(&root.instance)))?;
    let openers = gate::openers(root, &reference.sizes);
    let mut printer = Printer::new(root, style, Some(&openers));
    let inside = printer.module(root, None)?;
    let declared: Vec<String> = parameters(root).map(declaration).collect();
    let (body, domains) = gate::top(&inside.name, &inside.face, &declared, &top_ports(root));
    if domains.len() > gate::DOMAINS {
        return Err(EmitError::Domains { found: domains.len(), most: gate::DOMAINS });
    }
    let top = legal(&root.instance);
    let _ = write!(printer.text, "module {top}{body}endmodule\n\n");
    Ok(Rtl { top, text: printer.text, ports: top_ports(root), domains })
}

fn top_ports(root: &Node) -> Vec<Port> {
    parameters(root).map(port).collect()
}

fn parameters(node: &Node) -> impl Iterator<Item = &AtomInfo> {
    node.atoms.iter().filter(|atom| atom.kind.is_parameter())
}

fn port(atom: &AtomInfo) -> Port {
    let direction = match (atom.kind, atom.is_clock) {
        (AtomKind::InputParameter, true) => Direction::Clock,
        (AtomKind::InputParameter, false) => Direction::In,
        _ => Direction::Out,
    };
    Port { name: legal(&atom.name), direction, width: atom.width }
}

struct Printer<'a> {
    style: Style,
    /// The blocks that open a clock domain, by path; `None` for a text without domains.
    openers: Option<&'a BTreeSet<String>>,
    text: String,
    names: BTreeSet<String>,
    by_body: HashMap<String, String>,
    /// How large each block is, by path.
    sizes: HashMap<String, Size>,
}

/// What is inside a module, and how it is seen from around it.
struct Body {
    text: String,
    face: Face,
    /// For each block inside, the clock port of this one to which its first clock is connected.
    clocks: Vec<Option<String>>,
}

/// A module as those around it see it.
struct Printed {
    name: String,
    face: Face,
}

impl<'a> Printer<'a> {
    fn new(root: &Node, style: Style, openers: Option<&'a BTreeSet<String>>) -> Self {
        // The top keeps its name whatever is inside.
        let names = BTreeSet::from([legal(&root.instance)]);
        Self { style, openers, text: String::new(), names, by_body: HashMap::new(), sizes: HashMap::new() }
    }

    /// Prints a module unless one with the same body is there.
    fn module(&mut self, node: &Node, name: Option<String>) -> Result<Printed, EmitError> {
        let inner: Vec<Printed> =
            node.children.iter().map(|child| self.module(child, None)).collect::<Result<_, _>>()?;
        let wrap = |problem: Problem| EmitError::Kernel { module: node.path.clone(), problem };
        let Body { text: body, face, clocks } = match &node.code {
            Verilog::Custom(code) => self.primitive(node, code),
            Verilog::Combinatorial(kernel) => Module::new(node, &inner, self.openers)
                .and_then(|module| module.with_kernel(&lower(kernel, &module.scope, self.style)?)),
            Verilog::Empty => {
                Module::new(node, &inner, self.openers).and_then(|module| module.with_kernel(&[]))
            }
            other => Err(format!("{other:?} has no translation")),
        }
        .map_err(wrap)?;
        self.measure(node, &body, clocks);
        if name.is_none()
            && let Some(known) = self.by_body.get(&body)
        {
            return Ok(Printed { name: known.clone(), face });
        }
        let name = name.unwrap_or_else(|| self.fresh(&stem(node)));
        let _ = write!(self.text, "module {name}{body}endmodule\n\n");
        self.by_body.insert(body, name.clone());
        Ok(Printed { name, face })
    }

    /// A body written by hand. One that has state says when it moves.
    fn primitive(&self, node: &Node, code: &str) -> Result<Body, Problem> {
        let (code, moves) = gate::take_moves(code);
        let mut face = Face::default();
        let mut logic = indent(&code, 1);
        if self.openers.is_some() {
            let clocks: Vec<&AtomInfo> = parameters(node).filter(|atom| atom.is_clock).collect();
            match (moves, clocks.as_slice()) {
                (Some(moves), [clock]) => {
                    face.own.push(legal(&clock.name));
                    let _ = writeln!(logic, "    assign _moves_{} = {moves};", legal(&clock.name));
                }
                (None, _) if !code.contains("always_ff") => {}
                _ => return Err("a primitive with state has one clock, and says when it moves".into()),
            }
        }
        Ok(Body { text: format!("{}{logic}", ports(node, &face)), face, clocks: Vec::new() })
    }

    /// Notes how large a block is, and to which of its clocks those inside are connected; they have been measured.
    fn measure(&mut self, node: &Node, body: &str, clocks: Vec<Option<String>>) {
        let is_state = matches!(&node.code, Verilog::Custom(code) if gate::take_moves(code).1.is_some());
        let mut registers = usize::from(is_state);
        for (child, clock) in node.children.iter().zip(clocks) {
            if let Some(inner) = self.sizes.get_mut(&child.path) {
                registers += inner.registers;
                inner.clock = clock;
            }
        }
        let lines = body.lines().count();
        self.sizes.insert(node.path.clone(), Size { lines, registers, clock: None });
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

fn declaration(atom: &AtomInfo) -> String {
    let way = if atom.kind == AtomKind::InputParameter { "input" } else { "output" };
    let sign = if atom.signed { "signed " } else { "" };
    format!("    {way} logic {sign}{}{}", range(atom.width), legal(&atom.name))
}

fn ports(node: &Node, face: &Face) -> String {
    let lines: Vec<String> = parameters(node).map(declaration).chain(face.ports()).collect();
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
    inner: &'a [Printed],
    openers: Option<&'a BTreeSet<String>>,
    scope: Scope,
}

impl<'a> Module<'a> {
    fn new(
        node: &'a Node,
        inner: &'a [Printed],
        openers: Option<&'a BTreeSet<String>>,
    ) -> Result<Self, Problem> {
        Ok(Self { node, inner, openers, scope: Scope::new(node)? })
    }

    fn with_kernel(&self, kernel: &[Stmt]) -> Result<Body, Problem> {
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
        let joined = self.joined(&connected)?;
        let mut body = ports(self.node, &joined.face);
        body += &self.constants(kernel)?;
        body += &self.declarations(&connected);
        body += &joined.declarations;
        body += &self.instances(&connected, &joined);
        let clocks = self.node.children.iter().enumerate().map(|(at, child)| {
            let clock = parameters(child).find(|atom| atom.is_clock)?;
            self.clock_of(at, &clock.name, &connected)
        });
        Ok(Body { text: body + &logic + &joined.logic, face: joined.face, clocks: clocks.collect() })
    }

    /// How clock domains of the blocks inside are joined; of nothing for a text without domains.
    fn joined(&self, connected: &HashMap<SymbolId, String>) -> Result<Joined, Problem> {
        let opens = |child: &Node| self.openers.is_some_and(|openers| openers.contains(&child.path));
        let part = |(child, printed): (&'a Node, &'a Printed)| Part {
            instance: &child.instance,
            face: &printed.face,
            opens: opens(child),
        };
        let parts: Vec<Part<'_>> = self.node.children.iter().zip(self.inner).map(part).collect();
        gate::join(&parts, |at, clock| self.clock_of(at, clock, connected))
    }

    /// The clock port of this block to which a clock of a block inside is connected.
    fn clock_of(&self, at: usize, clock: &str, connected: &HashMap<SymbolId, String>) -> Option<String> {
        let wire = connected.get(&self.wire(&self.node.children[at], clock)?)?;
        let is_clock = |atom: &AtomInfo| atom.is_clock && legal(&atom.name) == *wire;
        parameters(self.node).any(is_clock).then(|| wire.clone())
    }

    /// The signal that a port of a block inside is connected to.
    fn wire(&self, child: &Node, port: &str) -> Option<SymbolId> {
        self.scope.find(&format!("{}${port}", child.instance))
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

    fn instances(&self, connected: &HashMap<SymbolId, String>, joined: &Joined) -> String {
        let mut text = String::new();
        for ((child, printed), gates) in self.node.children.iter().zip(self.inner).zip(&joined.connections) {
            let line = |(port, wire): (&str, &str)| format!("        .{port}({wire})");
            let replaced = |port: &str| gates.iter().any(|(gated, _)| gated == port);
            let mut lines = Vec::new();
            for atom in parameters(child) {
                let (id, port) =
                    (self.wire(child, &atom.name).expect("added by Scope::new"), legal(&atom.name));
                if !replaced(&port) {
                    lines.push(line((&port, connected.get(&id).unwrap_or(&self.scope.symbols[id].name))));
                }
            }
            lines.extend(gates.iter().map(|(port, wire)| line((port, wire))));
            let (module, instance) = (&printed.name, legal(&child.instance));
            let _ = writeln!(text, "    {module} {instance} (\n{}\n    );", lines.join(",\n"));
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
