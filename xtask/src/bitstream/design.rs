//! The design without its hierarchy: wires, registers, memories, black boxes, and the logic between them.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail};

use super::netlist::{Bit, Cell, Module, Netlist};

/// A wire of the whole design; constants are none.
pub(crate) type Net = Option<usize>;

/// A register.
pub(crate) struct Register {
    /// The instance it is in.
    pub(crate) path: String,
    /// The module of that instance.
    pub(crate) module: String,
    /// What it is called there.
    pub(crate) name: String,
    pub(crate) clock: Net,
    pub(crate) data: Vec<Net>,
    /// Enables and resets.
    pub(crate) control: Vec<Net>,
    pub(crate) output: Vec<Net>,
}

/// A memory with ports to read that have no clock.
pub(crate) struct Memory {
    pub(crate) path: String,
    pub(crate) name: String,
    /// Clocks of the ports that write.
    pub(crate) clocks: Vec<Net>,
    /// What those ports are given.
    pub(crate) inputs: Vec<Net>,
    /// Addresses and data of each port that reads.
    pub(crate) reads: Vec<(Vec<Net>, Vec<Net>)>,
}

/// An instance of which the ports alone are known.
pub(crate) struct BlackBox {
    pub(crate) path: String,
    pub(crate) module: String,
    /// By name: whether the box drives it, and its wires.
    pub(crate) ports: BTreeMap<String, (bool, Vec<Net>)>,
}

/// An operator: each bit of its output follows the bits of one group, or all.
pub(crate) struct Logic {
    pub(crate) inputs: Vec<Vec<Net>>,
    /// These act on all bits of the output.
    pub(crate) all: Vec<Net>,
    pub(crate) output: Vec<Net>,
}

/// An instance, with what can be named in it.
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) module: String,
    /// Instances in it.
    pub(crate) children: Vec<String>,
    /// Its named wires and how wide they are.
    pub(crate) wires: Vec<(String, usize)>,
    /// Its ports and how wide they are.
    pub(crate) ports: Vec<(String, usize)>,
}

/// The design.
#[derive(Default)]
pub(crate) struct Design {
    pub(crate) registers: Vec<Register>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) boxes: Vec<BlackBox>,
    pub(crate) logic: Vec<Logic>,
    pub(crate) places: Vec<Place>,
    /// Ports of the top: whether it drives the design, and its wires.
    pub(crate) ports: BTreeMap<String, (bool, Vec<Net>)>,
    /// Named wires of the top.
    pub(crate) wires: BTreeMap<String, Vec<Net>>,
    /// Wires that are one: a port that leads straight to another joins two.
    same: Vec<usize>,
}

/// Registers, as yosys calls them.
const REGISTERS: [&str; 11] = [
    "$dff", "$dffe", "$adff", "$adffe", "$sdff", "$sdffe", "$sdffce", "$aldff", "$aldffe", "$dffsr",
    "$dffsre",
];

/// Operators whose bits do not mix.
const BITWISE: [&str; 7] = ["$and", "$or", "$xor", "$xnor", "$not", "$pos", "$mux"];

/// Cells that are no hardware.
const NOTHING: [&str; 4] = ["$scopeinfo", "$print", "$check", "$meminit_v2"];

impl Design {
    /// Takes a netlist apart, from its top on.
    pub(crate) fn new(netlist: &Netlist, top: &str) -> Result<Self> {
        let mut design = Self::default();
        let module = netlist.modules.get(top).with_context(|| format!("the netlist has no module {top}"))?;
        let mut own: HashMap<u32, usize> = HashMap::new();
        for (name, port) in &module.ports {
            let nets = design.nets(&mut own, &port.bits);
            design.ports.insert(name.clone(), (port.direction == "input", nets));
        }
        for (name, net) in module.netnames.iter().filter(|(_, net)| net.hide_name == 0) {
            let nets = design.nets(&mut own, &net.bits);
            design.wires.insert(name.clone(), nets);
        }
        design.enter(netlist, top, module, "", own)?;
        Ok(design)
    }

    /// The one that stands for all that a wire is joined to.
    pub(crate) fn root(&self, net: usize) -> usize {
        let mut net = net;
        while self.same[net] != net {
            net = self.same[net];
        }
        net
    }

    /// How many wires there are.
    pub(crate) fn count(&self) -> usize {
        self.same.len()
    }

    fn nets(&mut self, own: &mut HashMap<u32, usize>, bits: &[Bit]) -> Vec<Net> {
        let mut net = |bit: &Bit| match bit {
            Bit::Constant(_) => None,
            Bit::Wire(wire) => Some(*own.entry(*wire).or_insert_with(|| {
                self.same.push(self.same.len());
                self.same.len() - 1
            })),
        };
        bits.iter().map(&mut net).collect()
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.same[other] = one;
    }

    fn enter(
        &mut self,
        netlist: &Netlist,
        name: &str,
        module: &Module,
        path: &str,
        mut own: HashMap<u32, usize>,
    ) -> Result<()> {
        let names = Names::new(module);
        self.places.push(place(path, name, module, netlist));
        for (instance, cell) in &module.cells {
            let connections: BTreeMap<&str, Vec<Net>> = cell
                .connections
                .iter()
                .map(|(port, bits)| (port.as_str(), self.nets(&mut own, bits)))
                .collect();
            let inner = if path.is_empty() { instance.clone() } else { format!("{path}/{instance}") };
            if let Some(child) = netlist.modules.get(&cell.kind) {
                if child.is_black_box() {
                    self.boxes.push(black_box(inner, &cell.kind, child, &connections));
                    self.places.push(place(
                        &self.boxes[self.boxes.len() - 1].path,
                        &cell.kind,
                        child,
                        netlist,
                    ));
                } else {
                    let inside = self.inside(child, &connections);
                    self.enter(netlist, &cell.kind, child, &inner, inside)?;
                }
            } else if REGISTERS.contains(&cell.kind.as_str()) {
                let output = cell.connections.get("Q").map(Vec::as_slice).unwrap_or_default();
                let called = names.of(output).unwrap_or_else(|| instance.clone());
                self.registers.push(register(path, name, called, &connections));
            } else if cell.kind == "$mem_v2" {
                self.memories.push(memory(path, cell, &connections)?);
            } else if cell.kind.starts_with('$') {
                if !NOTHING.contains(&cell.kind.as_str()) {
                    self.logic.push(logic(cell, &connections));
                }
            } else {
                bail!("{inner} is a {}, and there is no such module", cell.kind);
            }
        }
        Ok(())
    }

    /// The wires of a module that are its ports, joined to what its instance is connected to.
    fn inside(&mut self, child: &Module, connections: &BTreeMap<&str, Vec<Net>>) -> HashMap<u32, usize> {
        let mut own: HashMap<u32, usize> = HashMap::new();
        for (name, port) in &child.ports {
            let outer = connections.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
            for (bit, net) in port.bits.iter().zip(outer) {
                let (Bit::Wire(wire), Some(net)) = (bit, net) else { continue };
                match own.get(wire) {
                    Some(known) => self.join(*known, *net),
                    None => drop(own.insert(*wire, *net)),
                }
            }
        }
        own
    }
}

fn place(path: &str, name: &str, module: &Module, netlist: &Netlist) -> Place {
    let is_instance = |cell: &Cell| netlist.modules.contains_key(&cell.kind);
    Place {
        path: path.to_owned(),
        module: name.to_owned(),
        children: module
            .cells
            .iter()
            .filter(|(_, cell)| is_instance(cell))
            .map(|(name, _)| name.clone())
            .collect(),
        wires: (module.netnames.iter())
            .filter(|(_, net)| net.hide_name == 0)
            .map(|(name, net)| (name.clone(), net.bits.len()))
            .collect(),
        ports: module.ports.iter().map(|(name, port)| (name.clone(), port.bits.len())).collect(),
    }
}

fn black_box(path: String, kind: &str, module: &Module, connections: &BTreeMap<&str, Vec<Net>>) -> BlackBox {
    let ports = module.ports.iter().map(|(name, port)| {
        let nets = connections.get(name.as_str()).cloned().unwrap_or_default();
        (name.clone(), (port.direction == "output", nets))
    });
    BlackBox { path, module: kind.to_owned(), ports: ports.collect() }
}

fn register(path: &str, module: &str, name: String, connections: &BTreeMap<&str, Vec<Net>>) -> Register {
    let of = |port: &str| connections.get(port).cloned().unwrap_or_default();
    let control = connections.iter().filter(|(port, _)| !["CLK", "D", "Q"].contains(port));
    Register {
        path: path.to_owned(),
        module: module.to_owned(),
        name,
        clock: of("CLK").first().copied().flatten(),
        data: of("D"),
        control: control.flat_map(|(_, nets)| nets.clone()).collect(),
        output: of("Q"),
    }
}

fn memory(path: &str, cell: &Cell, connections: &BTreeMap<&str, Vec<Net>>) -> Result<Memory> {
    let of = |port: &str| connections.get(port).cloned().unwrap_or_default();
    let name = cell.parameters.get("MEMID").and_then(|name| name.as_str()).unwrap_or("memory");
    let name = name.trim_start_matches('\\').to_owned();
    if cell.number("RD_CLK_ENABLE") != 0 {
        bail!("{path}: memory {name} has a clock to read by, which the netlist should show as a register");
    }
    let (ports, width, address) = (cell.number("RD_PORTS"), cell.number("WIDTH"), cell.number("ABITS"));
    let (addresses, data) = (of("RD_ADDR"), of("RD_DATA"));
    let part = |nets: &[Net], port: usize, width: usize| nets[port * width..(port + 1) * width].to_vec();
    let writes = if cell.number("WR_PORTS") == 0 { Vec::new() } else { of("WR_CLK") };
    Ok(Memory {
        path: path.to_owned(),
        name,
        clocks: writes,
        inputs: ["WR_EN", "WR_ADDR", "WR_DATA"].into_iter().flat_map(of).collect(),
        reads: (0..ports).map(|port| (part(&addresses, port, address), part(&data, port, width))).collect(),
    })
}

fn logic(cell: &Cell, connections: &BTreeMap<&str, Vec<Net>>) -> Logic {
    let drives = |port: &str| cell.port_directions.get(port).is_some_and(|direction| direction == "output");
    let output: Vec<Net> =
        connections.iter().filter(|(port, _)| drives(port)).flat_map(|(_, nets)| nets.clone()).collect();
    let is_bitwise = BITWISE.contains(&cell.kind.as_str()) || cell.kind == "$pmux";
    let (mut inputs, mut all) = (Vec::new(), Vec::new());
    for (port, nets) in connections.iter().filter(|(port, _)| !drives(port)) {
        let is_group =
            is_bitwise && *port != "S" && !output.is_empty() && nets.len().is_multiple_of(output.len());
        if is_group {
            inputs.extend(nets.chunks(output.len()).map(<[Net]>::to_vec));
        } else {
            all.extend(nets);
        }
    }
    Logic { inputs, all, output }
}

/// What wires of a module are called.
struct Names {
    /// By their first bit: the others, whether it is a port, and the name.
    by_first: HashMap<u32, Vec<(Vec<u32>, bool, String)>>,
}

impl Names {
    fn new(module: &Module) -> Self {
        let mut by_first: HashMap<u32, Vec<(Vec<u32>, bool, String)>> = HashMap::new();
        for (name, net) in module.netnames.iter().filter(|(_, net)| net.hide_name == 0) {
            let bits = wires(&net.bits);
            let is_port = module.ports.contains_key(name);
            if let Some(first) = bits.first() {
                by_first.entry(*first).or_default().push((bits, is_port, name.clone()));
            }
        }
        Self { by_first }
    }

    /// The wire of these very bits: the one that is no port, if there is one, for a register is declared inside.
    fn of(&self, bits: &[Bit]) -> Option<String> {
        let bits = wires(bits);
        let known = self.by_first.get(bits.first()?)?;
        let mut fitting: Vec<_> = known.iter().filter(|(other, ..)| *other == bits).collect();
        fitting.sort_by_key(|(_, is_port, _)| *is_port);
        fitting.first().map(|(.., name)| name.clone())
    }
}

fn wires(bits: &[Bit]) -> Vec<u32> {
    let wire = |bit: &Bit| match bit {
        Bit::Wire(wire) => Some(*wire),
        Bit::Constant(_) => None,
    };
    bits.iter().filter_map(wire).collect()
}
