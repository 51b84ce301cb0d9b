//! Static timing: the longest paths of a netlist, by delay and by lookup tables.
//!
//! Paths run from register to register. A port counts as a register outside: a path from it begins with a flip-flop's clock to
//! output, a path to it ends with a flip-flop's setup. So does a black box.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::cells::{self, Class};
use super::netlist::{Cell, Net, Netlist};

/// The port that paths do not begin at. It reaches most registers from one: tools give such a wire a tree of copies or a clock's
/// buffer, and what the model says of a wire with thousands of readers tells nothing.
const RESET: &str = "reset";

/// A cell on a path, and the wire behind it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Step {
    /// The primitive.
    pub(crate) kind: String,
    /// What the source calls the wire it drives, if anything.
    pub(crate) wire: Option<String>,
    /// When the wire changes, in picoseconds after the clock.
    pub(crate) at: u32,
}

/// One path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Path {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) steps: Vec<Step>,
    /// The longest period that any path to this end asks for, in picoseconds.
    pub(crate) period: u32,
    /// The most lookup tables on any path to this end.
    pub(crate) levels: u32,
}

/// What is known of a wire.
#[derive(Clone, Copy, Default)]
struct Arrival {
    /// When it changes at the latest; nothing if no path reaches it.
    time: Option<u32>,
    /// The wire before it on that path; itself where the path begins.
    before: Net,
    /// The most lookup tables on any path to it, and the wire before it on that one.
    levels: u32,
    before_by_levels: Net,
}

/// Where a path can end.
struct End {
    net: Net,
    /// From the wire's change to the clock: the wire itself, the setup.
    more: u32,
    name: String,
}

/// A way along a wire and through a cell.
#[derive(Clone, Copy)]
struct Edge {
    from: Net,
    /// Along the wire, and through the cell if that does not depend on the order of its inputs.
    delay: u32,
}

/// How a wire is driven.
#[derive(Clone, Copy)]
struct Driver<'a> {
    name: &'a str,
    kind: &'a str,
    class: Class,
    /// Part of the lookup tables behind it: adds neither delay nor level.
    folded: bool,
}

/// The paths of a netlist.
pub(crate) struct Timing<'a> {
    names: BTreeMap<Net, String>,
    drivers: Vec<Option<Driver<'a>>>,
    edges: Vec<Vec<Edge>>,
    begins: Vec<Option<u32>>,
    ends: Vec<End>,
    arrivals: Vec<Arrival>,
    inverters: u64,
}

impl<'a> Timing<'a> {
    /// Follows all paths of a netlist.
    pub(crate) fn of(netlist: &'a Netlist) -> Result<Self> {
        let wires = netlist.wire_count();
        let mut timing = Self {
            names: netlist.names(),
            drivers: vec![None; wires],
            edges: vec![Vec::new(); wires],
            begins: vec![None; wires],
            ends: Vec::new(),
            arrivals: vec![Arrival::default(); wires],
            inverters: 0,
        };
        timing.connect(netlist)?;
        timing.arrive()?;
        Ok(timing)
    }

    /// Inverters that no lookup table takes in.
    pub(crate) fn inverters(&self) -> u64 {
        self.inverters
    }

    fn connect(&mut self, netlist: &'a Netlist) -> Result<()> {
        let mut readers = vec![0_usize; self.drivers.len()];
        let mut read_by_luts_alone = vec![true; self.drivers.len()];
        let mut cells = Vec::new();
        for (name, cell) in &netlist.cells {
            let class = cells::class(cell)?;
            cells.push((name, cell, class));
            for pin in cell.inputs() {
                readers[pin.net as usize] += 1;
                let takes_in = class == Class::Lut || (class == Class::Carry && pin.port == "S");
                read_by_luts_alone[pin.net as usize] &= takes_in;
            }
        }
        for pin in netlist.outputs() {
            readers[pin.net as usize] += 1;
            read_by_luts_alone[pin.net as usize] = false;
        }
        for (name, cell, class) in &cells {
            for pin in cell.outputs() {
                let folded = *class == Class::Inverter && read_by_luts_alone[pin.net as usize];
                self.inverters += u64::from(*class == Class::Inverter && !folded);
                self.drivers[pin.net as usize] =
                    Some(Driver { name, kind: &cell.kind, class: *class, folded });
            }
        }
        self.name_registers(&cells);
        for pin in netlist.inputs().filter(|pin| pin.port != RESET) {
            self.begins[pin.net as usize] = Some(cells::CLOCK_TO_OUTPUT);
            self.names.entry(pin.net).or_insert_with(|| pin.port.to_string());
        }
        for (name, cell, class) in &cells {
            let along = |net: Net, port: &str| {
                let (driver, readers) = (self.drivers[net as usize], readers[net as usize]);
                let driver_class = driver.map(|driver| driver.class);
                let inside = driver
                    .is_some_and(|driver| cells::stays_in_slice(driver.class, *class, port, readers))
                    || driver.is_some_and(|driver| driver.folded);
                let wire = if inside { 0 } else { cells::wire(readers) };
                wire + cells::at_pin(driver_class, *class, port)
            };
            let paths = cells::paths(cell, *class);
            for arc in paths.through {
                let delay = along(arc.from.net, arc.from.port) + arc.delay;
                self.edges[arc.to as usize].push(Edge { from: arc.from.net, delay });
            }
            for (pin, setup) in paths.end {
                let more = along(pin.net, pin.port) + setup;
                let register = cell.outputs().find_map(|output| self.names.get(&output.net));
                let register = if *class == Class::FlipFlop { register } else { None };
                let name = format!("{} {}", register.unwrap_or(name), pin.port);
                self.ends.push(End { net: pin.net, more, name });
            }
            for (net, delay) in paths.begin {
                self.begins[net as usize] = Some(delay);
            }
        }
        for pin in netlist.outputs() {
            let more = cells::wire(readers[pin.net as usize]) + cells::SETUP;
            let name = format!("{} port", pin.port);
            self.ends.push(End { net: pin.net, more, name });
        }
        Ok(())
    }

    /// Registers that yosys made or moved have no name in the source: they are told by the memory they address, or by the wire before
    /// them.
    fn name_registers(&mut self, cells: &[(&'a String, &'a Cell, Class)]) {
        let mut addressed: BTreeMap<Net, String> = BTreeMap::new();
        let memories = [Class::LutRam, Class::BlockRam, Class::UltraRam];
        for (name, cell, _) in cells.iter().filter(|(_, _, class)| memories.contains(class)) {
            for pin in cell.inputs().filter(|pin| pin.port.starts_with("ADDR")) {
                let shown = format!("(address of {})", without_numbers(name));
                addressed.entry(pin.net).or_insert(shown);
            }
        }
        for (_, cell, _) in cells.iter().filter(|(_, _, class)| *class == Class::FlipFlop) {
            for output in cell.outputs().filter(|output| !self.names.contains_key(&output.net)) {
                let data = cell.inputs().find(|pin| pin.port == "D").and_then(|pin| self.names.get(&pin.net));
                let name = addressed.get(&output.net).cloned().or_else(|| Some(format!("(after {})", data?)));
                if let Some(name) = name {
                    addressed.insert(output.net, name);
                }
            }
        }
        for (net, name) in addressed {
            self.names.entry(net).or_insert(name);
        }
    }

    /// Settles every wire, those first that no unsettled one reaches.
    fn arrive(&mut self) -> Result<()> {
        let mut waiting: Vec<usize> = self.edges.iter().map(Vec::len).collect();
        let mut readers: Vec<Vec<Net>> = vec![Vec::new(); self.edges.len()];
        for (to, edges) in (0..).zip(&self.edges) {
            for edge in edges {
                readers[edge.from as usize].push(to);
            }
        }
        let mut ready: Vec<Net> =
            (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(net, _)| net).collect();
        let mut settled = 0;
        while let Some(net) = ready.pop() {
            settled += 1;
            self.arrivals[net as usize] = self.settle(net);
            for reader in &readers[net as usize] {
                waiting[*reader as usize] -= 1;
                if waiting[*reader as usize] == 0 {
                    ready.push(*reader);
                }
            }
        }
        if settled < self.edges.len() {
            bail!("combinational loop: {}", self.find_loop(&waiting).join(" <- "));
        }
        Ok(())
    }

    fn settle(&self, net: Net) -> Arrival {
        let mut arrival =
            Arrival { time: self.begins[net as usize], before: net, levels: 0, before_by_levels: net };
        let driver = self.drivers[net as usize];
        let table = driver.is_some_and(|driver| {
            !driver.folded
                && matches!(driver.class, Class::Lut | Class::Inverter | Class::LutRam | Class::ShiftRegister)
        });
        let ranked =
            table && driver.is_some_and(|driver| matches!(driver.class, Class::Lut | Class::Inverter));
        let mut inputs: Vec<(u32, Net)> = (self.edges[net as usize].iter())
            .filter_map(|edge| Some((self.arrivals[edge.from as usize].time? + edge.delay, edge.from)))
            .collect();
        inputs.sort_unstable_by(|one, other| other.cmp(one));
        let mut most = None;
        for (rank, (time, from)) in inputs.into_iter().enumerate() {
            let time = time + if ranked { cells::lut_pin(rank) } else { 0 };
            if arrival.time.is_none_or(|known| time > known) {
                (arrival.time, arrival.before) = (Some(time), from);
            }
            let levels = self.arrivals[from as usize].levels;
            if most.is_none_or(|most| levels > most) {
                most = Some(levels);
                (arrival.levels, arrival.before_by_levels) = (levels + u32::from(table), from);
            }
        }
        arrival
    }

    /// The wires of one loop among those that still wait.
    fn find_loop(&self, waiting: &[usize]) -> Vec<String> {
        let unsettled = |net: Net| waiting[net as usize] > 0;
        let Some(mut net) = (0..).zip(waiting).find(|(_, count)| **count > 0).map(|(net, _)| net) else {
            return Vec::new();
        };
        let mut seen: Vec<Net> = Vec::new();
        while !seen.contains(&net) {
            seen.push(net);
            let back = self.edges[net as usize].iter().map(|edge| edge.from).find(|from| unsettled(*from));
            let Some(back) = back else { break };
            net = back;
        }
        let start = seen.iter().position(|known| *known == net).unwrap_or(0);
        seen[start..].iter().map(|net| self.name(*net)).collect()
    }

    fn name(&self, net: Net) -> String {
        let driver = self.drivers[net as usize];
        let cell = || driver.map_or_else(|| format!("wire {net}"), |driver| driver.name.to_string());
        self.names.get(&net).cloned().unwrap_or_else(cell)
    }

    /// The path of each end register that asks for the longest period, the longest first.
    pub(crate) fn slowest(&self, count: usize) -> Vec<Path> {
        self.worst(
            count,
            |end| Some(self.arrivals[end.net as usize].time? + end.more),
            |arrival| arrival.before,
        )
    }

    /// The same by lookup tables.
    pub(crate) fn deepest(&self, count: usize) -> Vec<Path> {
        let reached = |end: &End| self.arrivals[end.net as usize].time.is_some();
        self.worst(
            count,
            |end| reached(end).then(|| self.arrivals[end.net as usize].levels),
            |arrival| arrival.before_by_levels,
        )
    }

    fn worst(
        &self,
        count: usize,
        cost: impl Fn(&End) -> Option<u32>,
        back: impl Fn(Arrival) -> Net,
    ) -> Vec<Path> {
        let mut ends: Vec<(u32, &End)> = self.ends.iter().filter_map(|end| Some((cost(end)?, end))).collect();
        ends.sort_by(|(one, _), (other, _)| other.cmp(one));
        let mut registers = BTreeSet::new();
        ends.retain(|(_, end)| registers.len() < count && registers.insert(register(&end.name)));
        ends.into_iter().map(|(_, end)| self.trace(end, &back)).collect()
    }

    fn trace(&self, end: &End, back: impl Fn(Arrival) -> Net) -> Path {
        let mut steps = Vec::new();
        let mut net = end.net;
        loop {
            let arrival = self.arrivals[net as usize];
            let before = back(arrival);
            if before == net {
                break;
            }
            if let Some(driver) = self.drivers[net as usize].filter(|driver| !driver.folded) {
                steps.push(Step {
                    kind: driver.kind.to_string(),
                    wire: self.names.get(&net).cloned(),
                    at: arrival.time.unwrap_or(0),
                });
            }
            net = before;
        }
        steps.reverse();
        let arrival = self.arrivals[end.net as usize];
        Path {
            from: self.name(net),
            to: end.name.clone(),
            steps,
            period: arrival.time.unwrap_or(0) + end.more + cells::UNCERTAINTY,
            levels: arrival.levels,
        }
    }
}

/// A register's or memory's name without the bit, the part and the pin.
fn register(end: &str) -> String {
    let name = end.rsplit_once(' ').map_or(end, |(name, _)| name);
    without_numbers(name.split('[').next().unwrap_or(name)).to_string()
}

/// A memory's name without the numbers of its parts: `held.words.0.3` is one of `held.words`.
fn without_numbers(name: &str) -> &str {
    name.trim_end_matches(|each: char| each == '.' || each.is_ascii_digit())
}

#[cfg(test)]
mod tests;
