//! Which registers are meant.

use std::str::FromStr;

use anyhow::bail;
use stroma_abi::regs::{BAR0, Block, Reg};

use super::{is_head, is_readable};

/// A block, a register in all blocks that have it, or a register of a block; of an array perhaps one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    block: Option<String>,
    name: String,
    index: Option<usize>,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, index) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((path, index)) => {
                let index = index.parse().map_err(|_| format!("{index:?} is no place in an array"))?;
                (path, Some(index))
            }
            None => (text, None),
        };
        let (block, name) = path.split_once('.').map_or((None, path), |(block, name)| (Some(block), name));
        if name.is_empty() || path.contains(['[', ']']) {
            return Err(
                "a block, a register or both: counters, tx_frames, port.mac, kernels.invoked[3]".to_owned()
            );
        }
        Ok(Self { block: block.map(str::to_owned), name: name.to_owned(), index })
    }
}

/// A register that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) block: &'static Block,
    pub(super) reg: &'static Reg,
    pub(super) index: usize,
    pub(super) is_named: bool,
}

impl Choice {
    /// What it says of a register: whether it is meant, and by its own name.
    fn means(&self, block: &Block, reg: &Reg, index: usize) -> Option<bool> {
        let by_name = self.name == reg.name && self.block.as_deref().is_none_or(|name| name == block.name);
        let by_block = self.block.is_none() && self.name == block.name;
        let is_element = self.index.is_none_or(|wanted| wanted == index);
        (is_element && (by_name || by_block && self.index.is_none() && !is_head(block, reg)))
            .then_some(by_name)
    }
}

/// All registers that can be read, as blocks and arrays have them.
fn all() -> impl Iterator<Item = Row> {
    let elements = |block: &'static Block, reg: &'static Reg| {
        (0..reg.count).map(move |index| Row { block, reg, index, is_named: false })
    };
    BAR0.blocks
        .iter()
        .flat_map(|block| block.regs.iter().map(move |reg| (block, reg)))
        .filter(|(_, reg)| is_readable(reg))
        .flat_map(move |(block, reg)| elements(block, reg))
}

/// What was chosen, all of it but the heads of blocks if nothing was, in the order of the map.
pub(super) fn rows(choices: &[Choice]) -> anyhow::Result<Vec<Row>> {
    if choices.is_empty() {
        return Ok(all().filter(|row| !is_head(row.block, row.reg)).collect());
    }
    for choice in choices {
        if !all().any(|row| choice.means(row.block, row.reg, row.index).is_some()) {
            bail!("{}: {}", choice.text(), choice.fault());
        }
    }
    let meant = |row: &Row| {
        let says = choices.iter().filter_map(|choice| choice.means(row.block, row.reg, row.index));
        says.reduce(|one, other| one || other)
    };
    Ok(all().filter_map(|row| meant(&row).map(|is_named| Row { is_named, ..row })).collect())
}

impl Choice {
    fn text(&self) -> String {
        let block = self.block.as_ref().map_or_else(String::new, |block| format!("{block}."));
        let index = self.index.map_or_else(String::new, |index| format!("[{index}]"));
        format!("{block}{}{index}", self.name)
    }

    /// Why it means nothing.
    fn fault(&self) -> String {
        let is_block = |block: &&Block| self.block.as_deref().is_none_or(|name| name == block.name);
        let mut named = BAR0
            .blocks
            .iter()
            .filter(is_block)
            .flat_map(|block| block.regs)
            .filter(|reg| reg.name == self.name);
        match named.next() {
            Some(reg) if !is_readable(reg) => "it can be stored to, and reads nothing".to_owned(),
            Some(reg) => format!("there are {} of it, counted from 0", reg.count),
            None => {
                let blocks: Vec<&str> = BAR0.blocks.iter().map(|block| block.name).collect();
                format!("no register and no block is called so; blocks are {}", blocks.join(", "))
            }
        }
    }
}
