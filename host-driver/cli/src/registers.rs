//! Registers by the names of the map, with their parts told apart.
//!
//! No register of the map changes by being read. Those that can only be stored to read zero, and are left out.

mod choice;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use stroma_abi::regs::map::rx_classes;
use stroma_abi::regs::{Access, Block, Reg};
use stroma_abi::wire::Class;
use stroma_device::Card;

pub(crate) use choice::Choice;
use choice::Row;

/// What a register holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reading {
    block: &'static str,
    register: &'static str,
    /// Which of an array.
    index: Option<usize>,
    offset: usize,
    width: usize,
    access: &'static str,
    value: u64,
    /// What an element of an array counts, where that has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'static str>,
    #[serde(serialize_with = "by_name")]
    parts: Vec<(&'static str, u64)>,
    /// Was it asked for by name? Otherwise an element of an array that is zero is not worth a line.
    #[serde(skip)]
    is_named: bool,
}

fn by_name<S: serde::Serializer>(parts: &[(&'static str, u64)], to: S) -> Result<S::Ok, S::Error> {
    parts
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
        .collect::<Map<_, _>>()
        .serialize(to)
}

/// All that were chosen, in the order of the map.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Readings(Vec<Reading>);

/// Reads what was chosen.
pub(crate) fn read(card: &Card, choices: &[Choice]) -> anyhow::Result<Readings> {
    let rows = choice::rows(choices)?;
    let readings = rows.into_iter().map(|row| {
        let Row { block, reg, index, .. } = row;
        let value = card.read_element(block, reg, index)?;
        Ok(reading(row, value))
    });
    Ok(Readings(readings.collect::<anyhow::Result<_>>()?))
}

fn reading(Row { block, reg, index, is_named }: Row, value: u64) -> Reading {
    Reading {
        block: block.name,
        register: reg.name,
        index: (reg.count > 1).then_some(index),
        offset: block.offset + reg.element(index),
        width: reg.width,
        access: reg.access.name(),
        value,
        label: label(block, reg, index),
        parts: parts(reg, value),
        is_named,
    }
}

/// The class of frames that is counted.
fn label(block: &Block, reg: &Reg, index: usize) -> Option<&'static str> {
    let is_class = block.name == rx_classes::BLOCK.name && reg.name == rx_classes::FRAMES.name;
    Class::ALL.get(index).filter(|_| is_class).map(|class| class.name())
}

/// The named parts of a register.
pub(crate) fn parts(reg: &Reg, value: u64) -> Vec<(&'static str, u64)> {
    reg.fields.iter().map(|entry| (entry.name, entry.field.get(&value.to_le_bytes()))).collect()
}

/// Can it be read?
fn is_readable(reg: &Reg) -> bool {
    reg.access != Access::WriteOnly
}

/// Beginning of every block: what it is, and where the next one is.
fn is_head(block: &Block, reg: &Reg) -> bool {
    block.regs.iter().take(3).any(|head| head.offset == reg.offset)
}

impl fmt::Display for Readings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = || self.0.iter().filter(|reading| reading.is_worth_a_line());
        let width = shown().map(|reading| reading.name().len()).max().unwrap_or(0);
        let mut block = "";
        for reading in shown() {
            if reading.block != block {
                block = reading.block;
                writeln!(out, "{block}")?;
            }
            let digits = reading.width / 4;
            let (offset, name, value) = (reading.offset, reading.name(), reading.value);
            let value = format!("{value:#0width$x}", width = digits + 2);
            let parts: Vec<String> =
                reading.parts.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let parts = match (reading.label, parts.as_slice()) {
                (Some(label), _) => format!("{} {label}", reading.value),
                (None, []) => reading.value.to_string(),
                (None, parts) => parts.join(" "),
            };
            writeln!(out, "  {offset:#06x}  {name:<width$}  {:<3}  {value:<18}  {parts}", reading.access)?;
        }
        let left_out = self.0.len() - shown().count();
        if left_out > 0 {
            writeln!(
                out,
                "({left_out} that are zero, elements of arrays, are left out; name them to see them)"
            )?;
        }
        Ok(())
    }
}

impl Reading {
    fn name(&self) -> String {
        self.index.map_or_else(|| self.register.to_owned(), |index| format!("{}[{index}]", self.register))
    }

    fn is_worth_a_line(&self) -> bool {
        self.is_named || self.index.is_none() || self.value != 0
    }
}

#[cfg(test)]
mod tests;
