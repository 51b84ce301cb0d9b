//! A running model: ports by name, values in and out, clocks.

use crate::compile::{Speed, Variant, shared_object};
use crate::ffi::{Instance, Table};
use crate::manifest::{Direction, Port, Verilog};
use crate::shadow::{self, Shadow};
use crate::{Error, waves};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A port of one model, looked up once and used every cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(u32);

/// How a model starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name in messages and of wave files; `None` takes the name of the running test.
    pub label: Option<String>,
    /// 0 starts registers and memories without reset at zero, as an FPGA does; any other value fills
    /// them with noise that depends on nothing but the seed.
    pub seed: u64,
    /// Folder to write waves to. The default is the value of `STROMA_WAVES`.
    pub waves: Option<PathBuf>,
    /// What a card is compared with, all the time. The default is the value of `STROMA_SHADOW`.
    pub shadow: Option<Shadow>,
    /// Is a card made of the reference text, which has no clock domains? It is much slower, and no different.
    pub reference: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            label: None,
            seed: 0,
            waves: waves::requested(),
            shadow: Shadow::requested(),
            reference: false,
        }
    }
}

/// One instance of a Verilated design. Instances share code and nothing else.
pub struct Model {
    label: String,
    instance: Instance,
    /// Indexed by [`PortId`].
    ports: Vec<Port>,
    /// Names as seen from outside: a view shows one member of a bundle, without its prefix. Tests ask for ports in every cycle.
    names: HashMap<String, PortId>,
    /// Has an input other than a clock changed since the last evaluation? Until then what lies between inputs and
    /// registers stays as it is; a sixth of a card's time went into evaluating it again.
    is_moved: bool,
    time: u64,
    waves: Option<PathBuf>,
    /// Gets the same inputs, and must give the same outputs.
    shadow: Option<Box<shadow::Pair>>,
}

impl Model {
    /// Builds the design, or finds it in the cache, and starts one instance. It is built quickly, for tests that run thousands of cycles; for
    /// millions, see [`shared_object`] and [`Model::load_file`].
    ///
    /// # Errors
    /// What [`shared_object`] reports, and [`Error::Load`].
    pub fn load(design: &Verilog) -> Result<Self, Error> {
        Self::load_with(design, &Options::default())
    }

    /// As [`Model::load`], with a label, a seed or waves chosen by the caller.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_with(design: &Verilog, options: &Options) -> Result<Self, Error> {
        let variant = if options.waves.is_some() { Variant::Traced } else { Variant::Plain };
        let object = shared_object(design, variant, Speed::Build)?;
        Self::start(Table::load(&object.path)?, options)
    }

    /// Starts an instance of a model that [`shared_object`] built before, wherever it was copied to since. It writes no waves.
    ///
    /// # Errors
    /// [`Error::Load`], and [`Error::Interface`] for a file of another version.
    pub fn load_file(path: &Path, options: &Options) -> Result<Self, Error> {
        Self::start(Table::load(path)?, &Options { waves: None, ..options.clone() })
    }

    fn start(table: Table, options: &Options) -> Result<Self, Error> {
        let label = options.label.clone().unwrap_or_else(waves::default_label);
        let mut instance = Instance::new(table, options.seed);
        let waves = options.waves.as_deref().map(|folder| open_waves(&mut instance, folder, &label));
        let ports = table.ports();
        let names = (0..).map(PortId).zip(&ports).map(|(id, port)| (port.name.clone(), id)).collect();
        let waves = waves.transpose()?;
        let mut model = Self { label, instance, ports, names, is_moved: true, time: 0, waves, shadow: None };
        // Verilator takes the levels of the first evaluation for granted: a clock that is high by then
        // has not risen.
        model.eval();
        Ok(model)
    }

    /// Shows one member of a bundle (see [`bundle`](crate::bundle)) as a model of its own: its ports
    /// lose their prefix, the ports of other members disappear.
    ///
    /// # Errors
    /// [`Error::Bundle`] when there is no such member.
    pub fn view(mut self, instance: &str) -> Result<Self, Error> {
        let inner = |name: &str| Some(name.strip_prefix(instance)?.strip_prefix('$')?.to_owned());
        self.names = self.names.iter().filter_map(|(name, id)| Some((inner(name)?, *id))).collect();
        if self.names.is_empty() {
            let reason = format!("model `{}` has no such member", self.label);
            return Err(Error::Bundle { instance: instance.to_owned(), reason });
        }
        Ok(self)
    }

    /// The port of this name.
    ///
    /// # Errors
    /// [`Error::UnknownPort`], with the names that look alike.
    pub fn port(&self, name: &str) -> Result<PortId, Error> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let mut near: Vec<_> = self.names.keys().map(|known| (edits(known, name), known)).collect();
        near.sort_unstable();
        let near = near.into_iter().take(3).map(|(_, known)| known.clone()).collect();
        Err(Error::UnknownPort { model: self.label.clone(), port: name.to_owned(), near })
    }

    /// All clock ports, in the order of the manifest.
    pub fn clocks(&self) -> impl Iterator<Item = PortId> {
        let ports = &self.ports;
        let is_clock = |id: &PortId| ports[id.0 as usize].direction == Direction::Clock;
        let mut clocks: Vec<_> = self.names.values().copied().filter(is_clock).collect();
        clocks.sort_unstable();
        clocks.into_iter()
    }

    /// Every port.
    pub(crate) fn all_ports(&self) -> impl Iterator<Item = PortId> {
        (0..).map(PortId).take(self.ports.len())
    }

    /// Which way a port points.
    pub(crate) fn direction(&self, port: PortId) -> Direction {
        self.ports[port.0 as usize].direction
    }

    /// Has another model of the same ports live through all that this one does from now on, and compares them, see
    /// [`Options::shadow`].
    ///
    /// # Panics
    /// When their ports differ.
    #[must_use]
    pub fn with_shadow(mut self, shadow: Self) -> Self {
        assert_eq!(self.ports, shadow.ports, "`{}` is compared with a model of other ports", self.label);
        self.shadow = Some(Box::new(shadow::Pair::new(shadow)));
        self
    }

    /// A port's name.
    #[must_use]
    pub fn name(&self, port: PortId) -> &str {
        &self.ports[port.0 as usize].name
    }

    /// Width of a port in bits.
    #[must_use]
    pub fn width(&self, port: PortId) -> u32 {
        self.ports[port.0 as usize].width
    }

    /// Number of 32-bit words that hold a port's value.
    #[must_use]
    pub fn word_count(&self, port: PortId) -> usize {
        self.width(port).div_ceil(32) as usize
    }

    /// Reads a port of up to 64 bits.
    ///
    /// # Panics
    /// When the port is wider.
    #[must_use]
    #[inline]
    pub fn get(&self, port: PortId) -> u64 {
        let Port { name, width, .. } = &self.ports[port.0 as usize];
        assert!(*width <= 64, "port `{name}` has {width} bits: read it with get_wide");
        self.instance.get(port.0 as usize)
    }

    /// Writes an input.
    ///
    /// # Panics
    /// When the value does not fit, or the port is an output.
    #[inline]
    pub fn set(&mut self, port: PortId, value: u64) {
        let Port { name, width, direction } = &self.ports[port.0 as usize];
        assert!(*direction != Direction::Out, "port `{name}` is an output and cannot be set");
        assert!(
            *width >= 64 || value >> *width == 0,
            "port `{name}` has {width} bits, too few for {value:#x}"
        );
        let is_edge = *direction == Direction::Clock;
        if *width > 64 || self.instance.get(port.0 as usize) != value {
            self.instance.set(port.0 as usize, value);
            if !is_edge {
                self.touch(port);
            }
        }
        if let Some(pair) = &mut self.shadow {
            pair.shadow.set(port, value);
        }
    }

    /// Reads a port of any width, lowest word first.
    #[must_use]
    pub fn get_wide(&self, port: PortId) -> Vec<u32> {
        let mut words = vec![0; self.word_count(port)];
        self.read_words(port, &mut words);
        words
    }

    /// As [`Model::get_wide`], into a buffer of [`Model::word_count`] words.
    ///
    /// # Panics
    /// When the buffer has another length.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a value are taken apart")]
    #[inline]
    pub fn read_words(&self, port: PortId, words: &mut [u32]) {
        let index = port.0 as usize;
        match (self.instance.words(index), words) {
            (Some(memory), words) => words.copy_from_slice(memory),
            (None, [low]) => *low = self.instance.get(index) as u32,
            (None, [low, high]) => {
                let value = self.instance.get(index);
                (*low, *high) = (value as u32, (value >> 32) as u32);
            }
            (None, words) => panic!("port `{}` is not {} words wide", self.ports[index].name, words.len()),
        }
    }

    /// Writes an input of any width, lowest word first.
    ///
    /// # Panics
    /// When the number of words is not [`Model::word_count`], the value does not fit, or the port is an
    /// output.
    #[inline]
    pub fn set_wide(&mut self, port: PortId, words: &[u32]) {
        let Port { name, width, direction } = &self.ports[port.0 as usize];
        assert!(*direction != Direction::Out, "port `{name}` is an output and cannot be set");
        let count = width.div_ceil(32) as usize;
        assert!(words.len() == count, "port `{name}` takes {count} words, not {}", words.len());
        let spare = width % 32;
        let top = words[count - 1];
        assert!(spare == 0 || top >> spare == 0, "port `{name}` has {width} bits, too few for {words:x?}");
        if let Some(memory) = self.instance.words_mut(port.0 as usize) {
            if memory != words {
                memory.copy_from_slice(words);
                self.touch(port);
            }
        } else {
            let value = words.iter().rev().fold(0, |value, word| value << 32 | u64::from(*word));
            self.set(port, value);
            return;
        }
        if let Some(pair) = &mut self.shadow {
            pair.shadow.set_wide(port, words);
        }
    }

    fn touch(&mut self, port: PortId) {
        self.instance.touch(port.0);
        self.is_moved = true;
    }

    /// Lets the model settle on its present inputs; a clock that changed since the last call is an edge.
    ///
    /// # Panics
    /// When the model stops by itself: `$stop`, `$fatal`, or a loop that does not settle.
    #[inline]
    pub fn eval(&mut self) {
        if let Err(reason) = self.instance.eval(std::mem::take(&mut self.is_moved)) {
            panic!("model `{}` stopped at time {}: {reason}", self.label, self.time);
        }
        if let Some(mut pair) = self.shadow.take() {
            pair.eval(self);
            self.shadow = Some(pair);
        }
    }

    /// Moves time on; waves show the present values until then.
    #[inline]
    pub fn advance(&mut self, units: u64) {
        self.time += units;
        self.instance.set_time(self.time);
        if let Some(pair) = &mut self.shadow {
            pair.shadow.advance(units);
        }
    }

    /// One whole cycle of a clock: rise, settle, fall, settle. Inputs set before are seen by the rise.
    /// With several clocks in step, or of different periods, use [`Model::set`], [`Model::eval`] and
    /// [`Model::advance`].
    #[inline]
    pub fn tick(&mut self, clock: PortId) {
        if self.get(clock) == 1 {
            // Left high by someone else: without a fall there would be no rise.
            self.set(clock, 0);
            self.eval();
        }
        for level in [1, 0] {
            self.set(clock, level);
            self.eval();
            self.advance(1);
        }
    }

    /// Do clock domains of the text have an edge only when one of their registers would change? They do, unless this says otherwise;
    /// nobody can tell but by the wall clock.
    pub fn gate(&mut self, gates: bool) {
        self.instance.gate(gates);
    }

    /// Every register, memory and signal that Verilator kept, by its path in the design, with its bytes. Two models of one design that
    /// have lived through the same have the same.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, Vec<u8>)> {
        self.instance.variables()
    }

    /// Time in units of half a cycle, as [`Model::tick`] counts it.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Name in messages.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The wave file being written, complete once the model is dropped.
    #[must_use]
    pub fn waves(&self) -> Option<&Path> {
        self.waves.as_deref()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // A test that has failed has said why.
        if let Some(pair) = self.shadow.take()
            && !std::thread::panicking()
        {
            pair.end(self);
        }
    }
}

fn open_waves(instance: &mut Instance, folder: &Path, label: &str) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(folder).map_err(Error::io("creating", folder))?;
    let path = waves::path(folder, label);
    if instance.trace_open(&path) {
        return Ok(path);
    }
    Err(Error::io("writing waves to", &path)(std::io::Error::other("the model cannot open the file")))
}

/// Levenshtein distance: how many letters to change, add or remove.
fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.bytes().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn edits_count_letters() {
        for (from, to, count) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0), ("ab", "ba", 2)]
        {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }
}
