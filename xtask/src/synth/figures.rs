//! What a netlist comes to: cells by what they take of the chip, and its longest paths.

use anyhow::Result;
use serde::Deserialize;

use super::cells::{self, Class};
use super::netlist::Netlist;
use super::timing::Timing;

/// One block's figures.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figures {
    /// Lookup tables: logic, inverters that stand alone, shift registers and LUT RAM. Two small tables that fit one, which Vivado
    /// often manages to join, count as two.
    pub(crate) lut: u64,
    /// Those of them that are LUT RAM.
    pub(crate) lut_ram: u64,
    /// Flip-flops.
    pub(crate) ff: u64,
    /// Block RAM, in halves of 18 Kb.
    pub(crate) bram18: u64,
    /// Ultra RAM.
    pub(crate) uram: u64,
    /// DSP slices.
    pub(crate) dsp: u64,
    /// The most lookup tables on a path.
    pub(crate) levels: u32,
    /// The period that the slowest path asks for; none where there is more than one clock.
    pub(crate) period_ps: Option<u32>,
}

impl Figures {
    /// Counts the cells of a netlist whose paths are known.
    pub(crate) fn of(netlist: &Netlist, timing: &Timing) -> Result<Self> {
        let mut figures = Self {
            lut: timing.inverters(),
            levels: timing.deepest(1).first().map_or(0, |path| path.levels),
            period_ps: Some(timing.slowest(1).first().map_or(0, |path| path.period)),
            ..Self::default()
        };
        for cell in netlist.cells.values() {
            match cells::class(cell)? {
                Class::Lut | Class::ShiftRegister => figures.lut += 1,
                Class::LutRam => figures.lut_ram += cells::lut_ram_tables(&cell.kind).unwrap_or(0),
                Class::FlipFlop => figures.ff += 1,
                Class::BlockRam => figures.bram18 += cells::halves(&cell.kind),
                Class::UltraRam => figures.uram += 1,
                Class::Dsp => figures.dsp += 1,
                Class::Inverter | Class::SliceMux | Class::Carry | Class::BlackBox | Class::Note => {}
            }
        }
        figures.lut += figures.lut_ram;
        Ok(figures)
    }

    /// Block RAM in units of 36 Kb, as data sheets count it.
    pub(crate) fn bram(&self) -> String {
        blocks(self.bram18)
    }

    /// The period in nanoseconds.
    pub(crate) fn period(&self) -> String {
        self.period_ps.map(nanoseconds).unwrap_or_default()
    }
}

/// Halves of block RAMs in units of 36 Kb.
pub(crate) fn blocks(halves: u64) -> String {
    format!("{}{}", halves / 2, if halves % 2 == 1 { ".5" } else { "" })
}

/// Picoseconds as nanoseconds, to a hundredth.
pub(crate) fn nanoseconds(picoseconds: u32) -> String {
    format!("{:.2}", f64::from(picoseconds) / 1000.0)
}
