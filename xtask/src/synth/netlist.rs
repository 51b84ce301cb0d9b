//! A mapped netlist, as yosys' `write_json` leaves it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

/// A wire of one bit.
pub(crate) type Net = u32;

/// What a pin is tied to: a wire, or a constant, written "0", "1", "x" or "z".
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Bit {
    Wire(Net),
    #[expect(dead_code, reason = "which constant it is changes no path: none begins there")]
    Constant(String),
}

/// A port of the module.
#[derive(Deserialize)]
pub(crate) struct Port {
    direction: String,
    bits: Vec<Bit>,
}

/// One instance of a primitive.
#[derive(Deserialize)]
pub(crate) struct Cell {
    /// The primitive: `LUT6`, `FDRE`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    parameters: BTreeMap<String, String>,
    port_directions: BTreeMap<String, String>,
    connections: BTreeMap<String, Vec<Bit>>,
    /// Nothing is known of it but its ports.
    #[serde(skip)]
    pub(crate) is_black_box: bool,
}

/// One bit of a port, of a cell or of the module, that has a wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Pin<'a> {
    pub(crate) port: &'a str,
    pub(crate) bit: usize,
    pub(crate) net: Net,
}

impl Cell {
    /// The pins that read a wire.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Pin<'_>> {
        self.pins("input")
    }

    /// The pins that drive a wire.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = Pin<'_>> {
        self.pins("output")
    }

    fn pins<'a>(&'a self, direction: &'a str) -> impl Iterator<Item = Pin<'a>> {
        let ports = self.connections.iter().filter(move |(port, _)| {
            self.port_directions.get(*port).is_some_and(|declared| declared == direction)
        });
        ports.flat_map(|(port, bits)| wires(bits).map(|(bit, net)| Pin { port, bit, net }))
    }

    /// A parameter that is a number, as yosys writes it: binary digits.
    pub(crate) fn number(&self, parameter: &str) -> Option<u64> {
        u64::from_str_radix(self.parameters.get(parameter)?, 2).ok()
    }
}

#[derive(Deserialize)]
struct NetName {
    hide_name: u8,
    bits: Vec<Bit>,
}

/// The cells and ports of one module.
#[derive(Deserialize)]
pub(crate) struct Netlist {
    ports: BTreeMap<String, Port>,
    /// By the name of the instance.
    pub(crate) cells: BTreeMap<String, Cell>,
    netnames: BTreeMap<String, NetName>,
}

#[derive(Deserialize)]
struct File {
    modules: BTreeMap<String, Netlist>,
}

impl Netlist {
    /// The module `top` of a file.
    pub(crate) fn parse(text: &str, top: &str) -> Result<Self> {
        Self::parse_all(text)?.remove(top).with_context(|| format!("the netlist has no module `{top}`"))
    }

    /// Every module of a file.
    pub(crate) fn parse_all(text: &str) -> Result<BTreeMap<String, Self>> {
        let file: File = serde_json::from_str(text).context("the netlist is not what yosys writes")?;
        Ok(file.modules)
    }

    /// The same, in which cells of these kinds are black boxes.
    pub(crate) fn with_black_boxes(mut self, kinds: &BTreeSet<String>) -> Self {
        for cell in self.cells.values_mut() {
            cell.is_black_box = kinds.contains(&cell.kind);
        }
        self
    }

    /// The bits of ports that come from outside.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Pin<'_>> {
        self.pins("input")
    }

    /// The bits of ports that leave.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = Pin<'_>> {
        self.pins("output")
    }

    fn pins<'a>(&'a self, direction: &'a str) -> impl Iterator<Item = Pin<'a>> {
        let ports = self.ports.iter().filter(move |(_, port)| port.direction == direction);
        ports.flat_map(|(port, held)| wires(&held.bits).map(move |(bit, net)| Pin { port, bit, net }))
    }

    /// What each wire is called in the source, with its bit. Of several names that of a register wins, then the shortest.
    pub(crate) fn names(&self) -> BTreeMap<Net, String> {
        let mut names: BTreeMap<Net, (&str, Option<usize>)> = BTreeMap::new();
        let rank = |name: &str| (!name.ends_with("$q"), name.len());
        for (name, wire) in self.netnames.iter().filter(|(_, wire)| wire.hide_name == 0) {
            for (bit, net) in wires(&wire.bits) {
                if names.get(&net).is_none_or(|(known, _)| rank(name) < rank(known)) {
                    names.insert(net, (name, (wire.bits.len() > 1).then_some(bit)));
                }
            }
        }
        let shown = |(name, bit): (&str, Option<usize>)| match bit {
            Some(bit) => format!("{name}[{bit}]"),
            None => name.to_string(),
        };
        names.into_iter().map(|(net, name)| (net, shown(name))).collect()
    }

    /// One more than the highest number of a wire.
    pub(crate) fn wire_count(&self) -> usize {
        let in_cells =
            self.cells.values().flat_map(|cell| cell.connections.values()).flat_map(|bits| wires(bits));
        let in_ports = self.ports.values().flat_map(|port| wires(&port.bits));
        in_cells.chain(in_ports).map(|(_, net)| net as usize + 1).max().unwrap_or(0)
    }
}

fn wires(bits: &[Bit]) -> impl Iterator<Item = (usize, Net)> {
    bits.iter().enumerate().filter_map(|(at, bit)| match bit {
        Bit::Wire(net) => Some((at, *net)),
        Bit::Constant(_) => None,
    })
}
