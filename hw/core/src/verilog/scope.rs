//! What the names in one kernel stand for.

use std::collections::HashMap;

use num_bigint::BigInt;
use rust_hdl::core::atom::AtomKind;

use super::collect::{AtomInfo, Node};
use super::error::Problem;
use super::names::legal;

/// A signal of the module being emitted, by position in [`Scope::symbols`].
pub(crate) type SymbolId = usize;

/// Bits `low .. low + width` of a symbol that an expression depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) symbol: SymbolId,
    pub(crate) low: usize,
    pub(crate) width: usize,
}

/// How a kernel may use a symbol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// The module's own input: read only.
    Input,
    /// The module's own output: assigned here, may be read after.
    Output,
    /// A signal of the module: assigned here, may be read after.
    Local,
    /// A constant, printed as a named localparam.
    Constant,
    /// An input of a block inside: assigned here, never read.
    ChildInput,
    /// An output of a block inside: read only.
    ChildOutput,
}

impl Role {
    pub(crate) fn is_assigned_here(self) -> bool {
        matches!(self, Self::Output | Self::Local | Self::ChildInput)
    }
}

/// One name of the module.
#[derive(Debug)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) width: usize,
    pub(crate) signed: bool,
    pub(crate) role: Role,
    pub(crate) value: Option<BigInt>,
}

/// A label of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) width: usize,
    pub(crate) value: usize,
    pub(crate) count: usize,
}

/// All names of one module.
pub(crate) struct Scope {
    pub(crate) symbols: Vec<Symbol>,
    by_name: HashMap<String, SymbolId>,
    labels: HashMap<String, Option<Label>>,
}

impl Scope {
    pub(crate) fn new(node: &Node) -> Result<Self, Problem> {
        let mut scope = Self { symbols: Vec::new(), by_name: HashMap::new(), labels: HashMap::new() };
        for atom in &node.atoms {
            let role = match atom.kind {
                AtomKind::InputParameter => Role::Input,
                AtomKind::OutputParameter => Role::Output,
                AtomKind::LocalSignal => Role::Local,
                AtomKind::Constant => Role::Constant,
                kind => return Err(format!("signal `{}` is {kind:?}, which has no translation", atom.name)),
            };
            scope.add(&atom.name, atom, role)?;
        }
        for child in &node.children {
            for atom in child.atoms.iter().filter(|atom| atom.kind.is_parameter()) {
                let role =
                    if atom.kind == AtomKind::InputParameter { Role::ChildInput } else { Role::ChildOutput };
                scope.add(&format!("{}${}", child.instance, atom.name), atom, role)?;
            }
        }
        Ok(scope)
    }

    fn add(&mut self, name: &str, atom: &AtomInfo, role: Role) -> Result<(), Problem> {
        for labels in &atom.labels {
            for (value, label) in labels.iter().enumerate() {
                let width = labels.len().next_power_of_two().trailing_zeros() as usize;
                let label_info = Label { width, value, count: labels.len() };
                let entry = self.labels.entry(label.replace("::", "$")).or_insert(Some(label_info.clone()));
                if entry.as_ref() != Some(&label_info) {
                    // Two enumerations of one name meet here: using the label would be a guess.
                    *entry = None;
                }
            }
        }
        let value = (role == Role::Constant).then(|| parse_literal(&atom.value).map(|(value, _)| value));
        let value = value.transpose()?;
        let symbol = Symbol { name: legal(name), width: atom.width, signed: atom.signed, role, value };
        if self.by_name.insert(name.to_string(), self.symbols.len()).is_some() {
            return Err(format!("two signals are called `{name}`"));
        }
        self.symbols.push(symbol);
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    /// The text of a signal or of a slice of it.
    pub(crate) fn place(&self, span: Span) -> String {
        let symbol = &self.symbols[span.symbol];
        match (span.width == symbol.width, span.width) {
            (true, _) => symbol.name.clone(),
            (_, 1) => format!("{}[{}]", symbol.name, span.low),
            _ => format!("{}[{}:{}]", symbol.name, span.low + span.width - 1, span.low),
        }
    }

    pub(crate) fn label(&self, name: &str) -> Result<Option<&Label>, Problem> {
        match self.labels.get(name) {
            Some(None) => Err(format!("label `{name}` belongs to two enumerations of one name")),
            Some(label) => Ok(label.as_ref()),
            None => Ok(None),
        }
    }
}

/// Reads RustHDL's literal, `WIDTH'hVALUE`, whose fields are private.
pub(crate) fn parse_literal(text: &str) -> Result<(BigInt, usize), Problem> {
    let bad = || format!("literal `{text}` is not WIDTH'hVALUE");
    let (width, digits) = text.split_once("'h").ok_or_else(bad)?;
    let value = BigInt::parse_bytes(digits.as_bytes(), 16).ok_or_else(bad)?;
    Ok((value, width.parse().map_err(|_| bad())?))
}
