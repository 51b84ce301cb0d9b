//! A design with its hierarchy, as yosys' `write_json` leaves it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// What a pin is tied to: a wire of its module, or a constant.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Bit {
    /// A wire.
    Wire(u32),
    #[expect(dead_code, reason = "which constant it is changes no path: none begins there")]
    Constant(String),
}

/// A port of a module.
#[derive(Deserialize)]
pub(crate) struct Port {
    pub(crate) direction: String,
    pub(crate) bits: Vec<Bit>,
}

/// An instance of a module or of an operator.
#[derive(Deserialize)]
pub(crate) struct Cell {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub(crate) port_directions: BTreeMap<String, String>,
    pub(crate) connections: BTreeMap<String, Vec<Bit>>,
}

impl Cell {
    /// A parameter that is a number, as yosys writes it: binary digits.
    pub(crate) fn number(&self, name: &str) -> usize {
        let digits = self.parameters.get(name).and_then(|value| value.as_str());
        digits.and_then(|digits| usize::from_str_radix(digits, 2).ok()).unwrap_or(0)
    }
}

/// A named wire.
#[derive(Deserialize)]
pub(crate) struct NetName {
    pub(crate) hide_name: u8,
    pub(crate) bits: Vec<Bit>,
}

/// A module.
#[derive(Deserialize)]
pub(crate) struct Module {
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub(crate) ports: BTreeMap<String, Port>,
    #[serde(default)]
    pub(crate) cells: BTreeMap<String, Cell>,
    #[serde(default)]
    pub(crate) netnames: BTreeMap<String, NetName>,
}

impl Module {
    /// Is nothing known of it but its ports?
    pub(crate) fn is_black_box(&self) -> bool {
        self.attributes.contains_key("blackbox")
    }
}

/// All modules by name.
#[derive(Deserialize)]
pub(crate) struct Netlist {
    pub(crate) modules: BTreeMap<String, Module>,
}

impl Netlist {
    /// Reads what yosys wrote.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("read yosys' netlist")
    }
}
