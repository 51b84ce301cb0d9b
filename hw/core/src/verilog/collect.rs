//! Gathers a RustHDL design into a tree of plain nodes.

use rust_hdl::core::atom::{Atom, AtomKind};
use rust_hdl::core::probe::Probe;
use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::{Block, Verilog, check_all};

use super::error::EmitError;
use super::names::legal;
use crate::prim::own_clock::OwnClock;

/// One signal or constant of a block, under the name the kernel uses.
pub(crate) struct AtomInfo {
    pub(crate) name: String,
    pub(crate) kind: AtomKind,
    pub(crate) width: usize,
    pub(crate) signed: bool,
    pub(crate) is_clock: bool,
    pub(crate) value: String,
    pub(crate) labels: Vec<Vec<String>>,
}

/// One block: its signals, its kernel, the blocks inside.
pub(crate) struct Node {
    pub(crate) instance: String,
    pub(crate) path: String,
    pub(crate) atoms: Vec<AtomInfo>,
    pub(crate) code: Verilog,
    pub(crate) children: Vec<Node>,
    /// Does it hold an [`OwnClock`]?
    pub(crate) has_own_clock: bool,
}

impl Node {
    /// Empties the blocks of which `is_absent` says so.
    pub(crate) fn leave_out(&mut self, is_absent: &impl Fn(&str) -> bool) {
        for child in &mut self.children {
            let inside = child.path.split_once('.').map_or("", |(_, inside)| inside);
            if is_absent(inside) {
                child.empty();
            } else {
                child.leave_out(is_absent);
            }
        }
    }

    fn empty(&mut self) {
        let is_output = |atom: &&AtomInfo| atom.kind == AtomKind::OutputParameter;
        let line = |atom: &AtomInfo| format!("assign {} = '0;\n", legal(&atom.name));
        let outputs: String = self.atoms.iter().filter(is_output).map(line).collect();
        self.code = Verilog::Custom(format!("// module absent\n{outputs}"));
        self.children.clear();
    }
}

/// Checks the design with RustHDL's own checks, then gathers it under the instance name `name`.
pub(crate) fn collect(name: &str, block: &dyn Block) -> Result<Node, EmitError> {
    check_all(block).map_err(|error| EmitError::Check(format!("{error:?}")))?;
    let mut collector = Collector::default();
    block.accept(name, &mut collector);
    collector.done.ok_or_else(|| EmitError::Check(format!("{name} is no block but a bare signal")))
}

#[derive(Default)]
struct Collector {
    open: Vec<Node>,
    spaces: Vec<String>,
    done: Option<Node>,
}

impl Probe for Collector {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let path = self.open.last().map_or(String::new(), |parent| format!("{}.", parent.path)) + name;
        let children = Vec::new();
        self.open.push(Node {
            instance: name.to_string(),
            path,
            atoms: Vec::new(),
            code: node.hdl(),
            children,
            has_own_clock: false,
        });
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.spaces.push(name.to_string());
    }

    fn visit_atom(&mut self, name: &str, atom: &dyn Atom) {
        let descriptor = atom.descriptor();
        let mut labels = Vec::new();
        collect_labels(&descriptor, &mut labels);
        let full: Vec<&str> = self.spaces.iter().map(String::as_str).chain([name]).collect();
        let info = AtomInfo {
            name: full.join("$"),
            kind: atom.kind(),
            width: atom.bits(),
            signed: matches!(descriptor.kind, TypeKind::Signed(_)),
            is_clock: descriptor.name == "clock",
            value: if atom.kind() == AtomKind::Constant {
                format!("{:x}", atom.verilog())
            } else {
                String::new()
            },
            labels,
        };
        if let Some(node) = self.open.last_mut() {
            node.atoms.push(info);
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        self.spaces.pop();
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        let node = self.open.pop().expect("every scope that ends was started");
        match self.open.last_mut() {
            Some(parent) if matches!(&node.code, Verilog::Custom(code) if code == OwnClock::TEXT) => {
                parent.has_own_clock = true;
            }
            Some(parent) => parent.children.push(node),
            None => self.done = Some(node),
        }
    }
}

/// The label lists of every enumeration inside a type.
fn collect_labels(descriptor: &TypeDescriptor, into: &mut Vec<Vec<String>>) {
    match &descriptor.kind {
        TypeKind::Enum(labels) => into.push(labels.clone()),
        TypeKind::Composite(fields) => fields.iter().for_each(|field| collect_labels(&field.kind, into)),
        TypeKind::Bits(_) | TypeKind::Signed(_) => {}
    }
}
