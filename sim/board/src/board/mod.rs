//! A board: the card in its shell, both Verilated, with models of the IP around them.
//!
//! Card and shell are two models in lock step. No output of the card follows an input within a cycle, so a cycle is: both see the edge, the
//! card's outputs go to the shell, the shell settles, and before the next edge its outputs go to the card.

mod join;
mod pins;
#[cfg(test)]
mod tests;

pub use join::JoinError;

use stroma_sim::Kind;
use stroma_sim::host::timing::Timing;
use stroma_top::Profile;
use stroma_verilate::{Manifest, Model, Options, PortId, Verilog};

use crate::mac::{self, Mac};
use crate::pcie::{Config, PciBlock};
use join::join;
use pins::Pins;

/// Period of the core's clock in picoseconds: 250 MHz.
pub const CORE_PS: u64 = 4000;
/// That of the MAC's: 322.265625 MHz.
pub const MAC_PS: u64 = 3103;
/// Cycles of the core's clock for which the block holds its reset.
const RESET_CYCLES: u64 = 32;
/// What the sensor in the chip tells, and after how many cycles: 16 bits, some 45 degrees Celsius.
const SENSOR: u64 = 0xa300;
const SENSOR_CYCLES: u64 = 8;

/// Why there is no board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model could not be built or has no such pin.
    #[error(transparent)]
    Model(#[from] stroma_verilate::Error),
    /// The pins do not fit.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// A card of the 100G profile in its shell.
pub struct Board {
    card: Model,
    shell: Model,
    to_shell: Vec<(PortId, PortId)>,
    to_card: Vec<(PortId, PortId)>,
    card_clocks: Vec<PortId>,
    core_clock: PortId,
    mac_clock: PortId,
    pins: Pins,
    /// The PCIe block and the host behind it.
    pub pci: PciBlock,
    /// The MAC.
    pub mac: Mac,
    cycle: u64,
    /// Since when the block holds its reset.
    reset_at: u64,
    sensor_at: Option<u64>,
    /// When the clocks rise next, in picoseconds.
    core_due: u64,
    mac_due: u64,
}

impl Board {
    /// A board with this shell, just powered up. Its clocks rise first at `phase`, in picoseconds.
    ///
    /// # Errors
    /// When shell and card do not fit.
    pub fn new(shell: &Verilog, phase: (u64, u64), options: &Options) -> Result<Self, Error> {
        let kind = Kind::from(Profile::HundredGig);
        let manifest = kind.verilog_reference()?.manifest;
        let card = kind.model(options)?;
        let shell_model = Model::load_with(shell, options)?;
        Self::of(card, &manifest, shell_model, &shell.manifest, phase, options.seed)
    }

    fn of(
        mut card: Model,
        card_manifest: &Manifest,
        mut shell: Model,
        shell_manifest: &Manifest,
        phase: (u64, u64),
        seed: u64,
    ) -> Result<Self, Error> {
        let plan = join(card_manifest, shell_manifest)?;
        let ids = |from: &Model, to: &Model, names: &[(String, String)], is_to_shell: bool| {
            let id = |(card_name, shell_name): &(String, String)| {
                let (source, target) =
                    if is_to_shell { (card_name, shell_name) } else { (shell_name, card_name) };
                Ok((from.port(source)?, to.port(target)?))
            };
            names.iter().map(id).collect::<Result<Vec<_>, stroma_verilate::Error>>()
        };
        let (to_shell, to_card) =
            (ids(&card, &shell, &plan.to_shell, true)?, ids(&shell, &card, &plan.to_card, false)?);
        for name in &plan.card_zero {
            let port = card.port(name)?;
            card.set(port, 0);
        }
        for (name, value) in &plan.shell_constant {
            let port = shell.port(name)?;
            shell.set(port, *value);
        }
        let pins = Pins::find(&shell, &plan.pins)?;
        let (timing, khz) = (Timing::ALVEO_GEN3X16, Profile::HundredGig.clock_khz());
        let mut board = Self {
            card_clocks: card.clocks().collect(),
            core_clock: shell.port(join::SHELL_CLOCKS[0])?,
            mac_clock: shell.port(join::SHELL_CLOCKS[1])?,
            to_shell,
            to_card,
            pins,
            pci: PciBlock::new(Config::default(), &timing, khz, seed),
            mac: Mac::new(seed),
            cycle: 0,
            reset_at: 0,
            sensor_at: None,
            core_due: phase.0,
            mac_due: phase.1,
            card,
            shell,
        };
        board.settle();
        Ok(board)
    }

    /// When the next edge is, in picoseconds.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.core_due.min(self.mac_due)
    }

    /// Goes on to the next edge of either clock.
    ///
    /// # Panics
    /// When the shell breaks a rule of the IP.
    pub fn step(&mut self) {
        if self.mac_due <= self.core_due {
            self.mac_due += MAC_PS;
            self.mac_edge();
        } else {
            self.core_due += CORE_PS;
            self.core_edge();
        }
    }

    fn mac_edge(&mut self) {
        let shown = self.pins.to_mac(&self.shell);
        self.shell.tick(self.mac_clock);
        self.mac.edge(&shown);
        self.pins.show_mac(&mut self.shell, self.mac.pins());
        self.shell.eval();
    }

    fn core_edge(&mut self) {
        copy(&self.to_card, &self.shell, &mut self.card);
        let (shown, asks_sensor) = (self.pins.to_block(&self.shell), self.pins.asks_sensor(&self.shell));
        for level in [1, 0] {
            for clock in &self.card_clocks {
                self.card.set(*clock, level);
            }
            self.card.eval();
            self.card.advance(1);
        }
        self.shell.tick(self.core_clock);
        self.cycle += 1;
        if !self.is_in_reset() {
            self.pci.edge(&shown);
        }
        if asks_sensor {
            self.sensor_at = Some(self.cycle + SENSOR_CYCLES);
        }
        self.settle();
    }

    fn is_in_reset(&self) -> bool {
        self.cycle < self.reset_at + RESET_CYCLES
    }

    /// After an edge of the core's clock: what the others show now reaches the shell.
    fn settle(&mut self) {
        copy(&self.to_shell, &self.card, &mut self.shell);
        self.pins.show_block(&mut self.shell, self.pci.pins());
        self.pins.show_mac(&mut self.shell, self.mac.pins());
        let is_in_reset = self.is_in_reset();
        self.pins.set(&mut self.shell, "reset", u64::from(is_in_reset));
        let is_measured = self.sensor_at.take_if(|due| *due <= self.cycle).is_some();
        self.pins.set(&mut self.shell, "sysmon_do", SENSOR);
        self.pins.set(&mut self.shell, "sysmon_drdy", u64::from(is_measured));
        self.shell.eval();
    }

    /// The link to the host goes down and comes up again.
    pub fn reset_link(&mut self) {
        self.pci.reset_link();
        self.reset_at = self.cycle;
        self.settle();
    }

    /// Cycles of the core's clock since power-up.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// A pin of the card or, failing that, of the shell, by its name.
    ///
    /// # Errors
    /// When neither has it.
    pub fn peek(&self, name: &str) -> Result<Vec<u32>, Error> {
        let (model, port) = match self.card.port(name) {
            Ok(port) => (&self.card, port),
            Err(_) => (&self.shell, self.shell.port(name)?),
        };
        Ok(model.get_wide(port))
    }

    /// Does the MAC send remote fault? What the other end of a cable hears.
    pub(crate) fn hear(&mut self, peer: Option<bool>) {
        self.mac.hear(peer);
    }

    /// Frames that have left.
    pub(crate) fn sent(&mut self) -> Option<mac::Frame> {
        self.mac.sent()
    }
}

/// Copies values of pins.
fn copy(pins: &[(PortId, PortId)], from: &Model, to: &mut Model) {
    let mut words = [0; 16];
    for (source, target) in pins {
        let words = &mut words[..from.word_count(*source)];
        from.read_words(*source, words);
        to.set_wide(*target, words);
    }
}
