//! What a file of a board has in it.

use serde::Deserialize;

/// A board.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name, for people.
    pub name: String,
    /// The part, as Vivado names it.
    pub part: String,
    /// The board, as Vivado names it.
    pub board_part: String,
    /// Dies of the part.
    pub slrs: u8,
    /// What the part has for a design.
    pub resources: Resources,
    /// The host.
    pub pcie: Pcie,
    /// The network.
    pub qsfp: Cage,
    /// A clock that always runs.
    pub clock: Oscillator,
    /// Who watches over the board.
    pub satellite: Satellite,
    /// Where the bitstream is kept.
    pub flash: Flash,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

impl Board {
    /// The IP of its PCIe block.
    #[must_use]
    pub fn pcie_ip(&self) -> &'static str {
        if self.pcie.block.starts_with("PCIE4CE4") { "pcie4c_uscale_plus" } else { "pcie4_uscale_plus" }
    }
}

/// What a part has for a design.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Lookup tables.
    pub lut: u64,
    /// Those of them that can be RAM or shift register.
    pub lut_ram: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block RAM, in units of 36 Kb.
    pub bram: u64,
    /// Ultra RAM.
    pub uram: u64,
    /// DSP slices.
    pub dsp: u64,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

/// A pin of a single wire.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The package's pin.
    pub pin: String,
    /// Its I/O standard.
    pub standard: String,
    /// Milliamperes it drives.
    pub drive: Option<u8>,
    /// Which way it is pulled.
    pub pull: Option<String>,
}

/// A clock for transceivers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differential {
    /// Positive pin.
    pub p: String,
    /// Negative pin.
    pub n: String,
    /// Frequency.
    pub mhz: f64,
}

/// Pins of transceivers, the first lane first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// Received, positive.
    pub rx_p: Vec<String>,
    /// Received, negative.
    pub rx_n: Vec<String>,
    /// Sent, positive.
    pub tx_p: Vec<String>,
    /// Sent, negative.
    pub tx_n: Vec<String>,
}

/// The way to the host.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Site of the hard block.
    pub block: String,
    /// The same, as the IP's properties name it.
    pub location: String,
    /// Quad of the first lane, as the IP's properties name it.
    pub quad: String,
    /// Its die.
    pub slr: u8,
    /// The slot's clock.
    pub clock: Differential,
    /// The slot's reset, low when it is one.
    pub reset: Pin,
    /// Its lanes.
    pub lanes: Lanes,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

/// A cage for a QSFP28 module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cage {
    /// Sites of its transceivers.
    pub transceivers: String,
    /// Site of the hard MAC.
    pub mac: String,
    /// All sites that its transceivers reach.
    pub macs: Vec<String>,
    /// The MAC's die.
    pub slr: u8,
    /// The clock of its transceivers.
    pub clock: Differential,
    /// Its lanes.
    pub lanes: Lanes,
    /// Low: the module is spoken to.
    pub modsell: Option<Pin>,
    /// Low: the module is reset.
    pub resetl: Option<Pin>,
    /// Low: there is a module.
    pub modprsl: Option<Pin>,
    /// Low: the module has something to say.
    pub intl: Option<Pin>,
    /// High: the module saves power.
    pub lpmode: Option<Pin>,
    /// Lit with traffic.
    pub led_activity: Option<Pin>,
    /// Two colours of the link's state.
    pub led_green: Option<Pin>,
    /// The other.
    pub led_yellow: Option<Pin>,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

impl Cage {
    /// Sites of its transceivers, one by one: `X0Y24~X0Y27` stands for four.
    #[must_use]
    pub fn sites(&self) -> Vec<String> {
        let place = |site: &str| {
            let (column, row) = site.split_once('Y')?;
            Some((column.to_owned(), row.parse::<u16>().ok()?))
        };
        let ends =
            self.transceivers.split_once('~').and_then(|(first, last)| Some((place(first)?, place(last)?)));
        let Some(((column, first), (_, last))) = ends else { return Vec::new() };
        (first..=last).map(|row| format!("{column}Y{row}")).collect()
    }
}

/// A clock that always runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oscillator {
    /// Positive pin.
    pub p: String,
    /// Negative pin.
    pub n: String,
    /// I/O standard.
    pub standard: String,
    /// Frequency.
    pub mhz: f64,
    /// Voltage of its bank.
    pub bank_volts: f64,
    /// The input has to give it a bias.
    pub biased: bool,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

/// The satellite controller.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Satellite {
    /// The line to it.
    pub transmit: Pin,
    /// The line from it.
    pub receive: Pin,
    /// Bits a second on both.
    pub baud: u32,
    /// High: memory on the part is too hot, and the power is cut. Low where no such memory is used.
    pub too_hot: Option<Pin>,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}

/// The memory that the part is configured from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// The memory, as Vivado names it.
    pub part: String,
    /// Its size.
    pub megabytes: u32,
    /// Where a user's bitstream begins: the factory's is before it.
    pub offset: u32,
    /// Megahertz of its clock.
    pub rate: f64,
    /// What the board's power supply is good for, as far as AMD says.
    pub power_watts: Option<u32>,
    /// Who says so.
    pub sources: Vec<String>,
    /// Where they disagree, and what one of them alone says.
    pub doubtful: Vec<String>,
}
