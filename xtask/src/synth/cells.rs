//! The primitives of UltraScale+: what each costs, where paths begin and end in it, and what it adds to one.
//!
//! The delays are a model for comparing one version of a block with the next, not a promise of the chip: on 18 public designs
//! with routed reports such a model was within about 25 %. All are picoseconds at speed grade 2.

use anyhow::{Result, bail};

use super::netlist::{Cell, Net, Pin};

/// Clock to output of a flip-flop.
pub(crate) const CLOCK_TO_OUTPUT: u32 = 93;
/// Data before the clock at a flip-flop, and at every other register: the larger values of RAMs vary by pin and stay unmodelled.
pub(crate) const SETUP: u32 = 25;
/// Jitter and skew, once for each path.
pub(crate) const UNCERTAINTY: u32 = 50;
/// Through a lookup table: 40 from its fastest pin, 170 from its slowest, even steps between. Tools put what comes last on the fastest.
const LUT_PINS: [u32; 6] = [40, 66, 92, 118, 144, 170];
/// From the address of a LUT RAM or shift register to its data: no pin can be chosen.
const LUT_RAM_READ: u32 = 170;
/// From the write clock of a LUT RAM or shift register to its data.
const LUT_RAM_CLOCK_TO_OUTPUT: u32 = 570;
/// Through a multiplexer of a slice.
const SLICE_MUX: u32 = 60;
/// Into a carry chain, from a sum or data pin to any output.
const CARRY_IN: u32 = 100;
/// Along a carry chain, through one cell of four bits.
const CARRY_ALONG: u32 = 15;
/// From a carry to a sum bit.
const CARRY_OUT: u32 = 70;
/// Clock to output of a block RAM or ultra RAM without output register.
const RAM_CLOCK_TO_OUTPUT: u32 = 1000;
/// And with it; of a DSP slice too.
const REGISTERED_CLOCK_TO_OUTPUT: u32 = 230;
/// Through the multiplier of a DSP slice to its product register, or from that register through the adder.
const DSP_STAGE: u32 = 1200;

/// A wire to `readers` pins.
pub(crate) fn wire(readers: usize) -> u32 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a wire has far fewer readers than a float counts exactly"
    )]
    let readers = readers.max(1) as f64;
    let picoseconds = 200.0 + 30.0 * readers.log2() + 1.5 * readers;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and small for any wire that fits a chip"
    )]
    {
        picoseconds.round() as u32
    }
}

/// The kinds of primitive that differ in cost or in paths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Lut,
    /// A lookup table of its own, or part of the tables that read it.
    Inverter,
    SliceMux,
    Carry,
    LutRam,
    ShiftRegister,
    FlipFlop,
    BlockRam,
    UltraRam,
    Dsp,
    /// Vendor IP, or a primitive that is neither logic nor memory: paths end and begin at it as they do at a port.
    BlackBox,
    /// A note of yosys, no hardware.
    Note,
}

/// The class of a cell.
pub(crate) fn class(cell: &Cell) -> Result<Class> {
    let kind = cell.kind.as_str();
    Ok(match kind {
        "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" => Class::Lut,
        "INV" => Class::Inverter,
        "MUXF7" | "MUXF8" | "MUXF9" => Class::SliceMux,
        "CARRY4" | "CARRY8" => Class::Carry,
        "FDRE" | "FDSE" | "FDCE" | "FDPE" => Class::FlipFlop,
        "SRL16E" | "SRLC16E" | "SRLC32E" => Class::ShiftRegister,
        "RAMB18E2" | "RAMB36E2" => Class::BlockRam,
        "URAM288" => Class::UltraRam,
        "DSP48E2" => Class::Dsp,
        "$scopeinfo" => Class::Note,
        _ if lut_ram_tables(kind).is_some() => Class::LutRam,
        _ if cell.is_black_box => Class::BlackBox,
        _ => bail!(
            "the netlist holds a `{kind}`, which the timing model does not know\nnext step: teach xtask/src/synth/cells.rs"
        ),
    })
}

/// How many lookup tables a LUT RAM takes, whether or not all are read.
pub(crate) fn lut_ram_tables(kind: &str) -> Option<u64> {
    Some(match kind {
        "RAM32X1S" | "RAM64X1S" => 1,
        "RAM32X1D" | "RAM64X1D" | "RAM128X1S" => 2,
        "RAM32M" | "RAM64M" | "RAM128X1D" | "RAM256X1S" => 4,
        "RAM32M16" | "RAM64M8" | "RAM256X1D" | "RAM512X1S" => 8,
        _ => return None,
    })
}

/// How many halves of 18 Kb a block RAM is.
pub(crate) fn halves(kind: &str) -> u64 {
    if kind == "RAMB36E2" { 2 } else { 1 }
}

/// A way through a cell, from a wire it reads to one it drives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc<'a> {
    pub(crate) from: Pin<'a>,
    pub(crate) to: Net,
    pub(crate) delay: u32,
}

/// What a cell does to paths.
#[derive(Default)]
pub(crate) struct Paths<'a> {
    /// Wires at which paths begin, and how long after the clock.
    pub(crate) begin: Vec<(Net, u32)>,
    /// Pins at which paths end, and how long before the clock.
    pub(crate) end: Vec<(Pin<'a>, u32)>,
    /// The ways through.
    pub(crate) through: Vec<Arc<'a>>,
}

/// The delay of a lookup table's `rank`th input, counted from the one that comes last.
pub(crate) fn lut_pin(rank: usize) -> u32 {
    LUT_PINS[rank.min(LUT_PINS.len() - 1)]
}

/// The paths of a cell. A lookup table's ways have no delay here: it depends on the order in which their signals come.
pub(crate) fn paths(cell: &Cell, class: Class) -> Paths<'_> {
    match class {
        Class::Note => Paths::default(),
        Class::Lut | Class::Inverter => every_way(cell, 0),
        Class::SliceMux => every_way(cell, SLICE_MUX),
        Class::Carry => carry(cell),
        Class::LutRam | Class::ShiftRegister => lut_ram(cell),
        Class::FlipFlop | Class::BlackBox => registers(cell, |_| CLOCK_TO_OUTPUT),
        Class::BlockRam | Class::UltraRam => registers(cell, |port| ram_output(cell, port)),
        Class::Dsp => dsp(cell),
    }
}

fn every_way(cell: &Cell, delay: u32) -> Paths<'_> {
    let through = cell
        .outputs()
        .flat_map(|to| cell.inputs().map(move |from| Arc { from, to: to.net, delay }))
        .collect();
    Paths { through, ..Paths::default() }
}

/// A pin that only carries a clock.
fn is_clock(port: &str) -> bool {
    matches!(port, "C" | "CLK" | "WCLK" | "CLKARDCLK" | "CLKBWRCLK")
}

fn registers(cell: &Cell, clock_to_output: impl Fn(&str) -> u32) -> Paths<'_> {
    Paths {
        begin: cell.outputs().map(|pin| (pin.net, clock_to_output(pin.port))).collect(),
        end: cell.inputs().filter(|pin| !is_clock(pin.port)).map(|pin| (pin, SETUP)).collect(),
        through: Vec::new(),
    }
}

/// Each RAM has two ports with an output register of their own: `DOA_REG` and `DOB_REG`, `OREG_A` and `OREG_B`.
fn ram_output(cell: &Cell, port: &str) -> u32 {
    let a = ["DOUTA", "DOUTPA", "DOUT_A"].iter().any(|start| port.starts_with(start));
    let registers = if a { ["DOA_REG", "OREG_A"] } else { ["DOB_REG", "OREG_B"] };
    let registered = registers.iter().any(|parameter| cell.number(parameter) == Some(1));
    if registered { REGISTERED_CLOCK_TO_OUTPUT } else { RAM_CLOCK_TO_OUTPUT }
}

/// Carry and sum `i` know the pins up to `i`; data bit `i` itself reaches the carry alone.
fn carry(cell: &Cell) -> Paths<'_> {
    let mut through = Vec::new();
    for to in cell.outputs() {
        for from in cell.inputs() {
            let delay = match (from.port, to.port) {
                ("CI" | "CYINIT" | "CI_TOP", "CO") => CARRY_ALONG,
                ("CI" | "CYINIT" | "CI_TOP", _) => CARRY_OUT,
                ("DI", "O") if from.bit >= to.bit => continue,
                _ if from.bit > to.bit => continue,
                _ => CARRY_IN,
            };
            through.push(Arc { from, to: to.net, delay });
        }
    }
    Paths { through, ..Paths::default() }
}

/// Written at the clock, read at once: data follows the address of its own port.
fn lut_ram(cell: &Cell) -> Paths<'_> {
    let reads = |address: &str, data: &str| match data.strip_prefix("DO") {
        Some(port) => address.strip_prefix("ADDR") == Some(port),
        None if data == "DPO" => address.starts_with("DPRA"),
        None => address.starts_with('A'),
    };
    let through = (cell.outputs())
        .flat_map(|to| cell.inputs().map(move |from| (from, to)))
        .filter(|(from, to)| reads(from.port, to.port))
        .map(|(from, to)| Arc { from, to: to.net, delay: LUT_RAM_READ })
        .collect();
    // Only the last address of several is written to; the others end no path.
    let written = if cell.inputs().any(|pin| pin.port == "ADDRH") { "ADDRH" } else { "ADDRD" };
    let only_read = |port: &str| port.starts_with("DPRA") || (port.starts_with("ADDR") && port != written);
    let ends = cell.inputs().filter(|pin| !is_clock(pin.port) && !only_read(pin.port));
    Paths {
        begin: cell.outputs().map(|pin| (pin.net, LUT_RAM_CLOCK_TO_OUTPUT)).collect(),
        end: ends.map(|pin| (pin, SETUP)).collect(),
        through,
    }
}

/// A DSP slice is cut by whichever of its registers are in use: at its inputs, behind the multiplier, behind the adder.
fn dsp(cell: &Cell) -> Paths<'_> {
    let has = |parameter: &str| cell.number(parameter).is_some_and(|count| count > 0);
    let held = |port: &str| !matches!(port, "A" | "B" | "C" | "D") || has(&format!("{port}REG"));
    // Stages of logic before the first register behind the inputs, and after the last one.
    let (before, after) = match (has("MREG"), has("PREG")) {
        (true, true) => (1, 0),
        (true, false) => (1, 1),
        (false, true) => (2, 0),
        (false, false) => (0, 2),
    };
    let mut paths = registers(cell, |_| REGISTERED_CLOCK_TO_OUTPUT + after * DSP_STAGE);
    for (pin, setup) in paths.end.iter_mut().filter(|(pin, _)| !held(pin.port)) {
        *setup += before * DSP_STAGE;
        if before == 0 {
            let ways = cell.outputs().map(|to| Arc { from: *pin, to: to.net, delay: after * DSP_STAGE });
            paths.through.extend(ways);
        }
    }
    paths
}

/// Does the signal stay inside a slice on its way from a cell of one class to a pin of another?
pub(crate) fn stays_in_slice(driver: Class, reader: Class, port: &str, readers: usize) -> bool {
    match (driver, reader) {
        (Class::Carry, Class::Carry) => port == "CI",
        (Class::Lut, Class::Carry) => port == "S",
        (Class::Lut | Class::LutRam | Class::SliceMux, Class::SliceMux) => port != "S",
        // A flip-flop sits behind the cell that computes its data, if that is all the cell does.
        (Class::Lut | Class::Inverter | Class::SliceMux | Class::Carry, Class::FlipFlop) => {
            port == "D" && readers == 1
        }
        _ => false,
    }
}

/// What a pin adds to a path before its cell: a sum pin of a carry chain can be reached through its lookup table only.
pub(crate) fn at_pin(driver: Option<Class>, reader: Class, port: &str) -> u32 {
    if reader == Class::Carry && port == "S" && driver != Some(Class::Lut) { lut_pin(0) } else { 0 }
}
