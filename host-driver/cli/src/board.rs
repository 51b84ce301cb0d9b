//! The board that a card sits on: its temperature, its cage, its links.

use std::fmt;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use stroma_abi::regs::map::board;
use stroma_device::Board;

use crate::card::Target;
use crate::look::Look;
use crate::registers;

/// What `stroma board` accepts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    card: Target,
    /// From so many degrees Celsius in the chip on the board cuts the power; `off`: never. The chip has a limit of its own, which stays.
    #[arg(long, value_name = "DEGREES|off")]
    limit: Option<Limit>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A temperature, or none.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<f64>);

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|degrees| Self(Some(degrees)))
                .map_err(|_| format!("{text:?} is neither degrees nor `off`")),
        }
    }
}

/// What there is to say of a board.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    name: String,
    /// Degrees Celsius; `None` before they have been measured.
    temperature: Option<f64>,
    limit: Option<f64>,
    /// Its other registers, and their parts, by name.
    registers: Map<String, Value>,
}

/// Sets what is to be set, and reads it all.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let look = Look::at(&arguments.card)?;
    let Some(board) = look.card.board()? else {
        bail!("{} sits on no board: it is simulated", look.name());
    };
    if let Some(Limit(degrees)) = arguments.limit {
        board.set_limit(degrees)?;
    }
    Report::of(&board)
}

impl Report {
    fn of(board: &Board) -> anyhow::Result<Self> {
        let told = [board::NAME.name, board::TEMPERATURE.name];
        let mut registers = Map::new();
        for reg in board::BLOCK.regs.iter().filter(|reg| !told.contains(&reg.name)) {
            let value = board.read(reg)?;
            if reg.fields.is_empty() {
                registers.insert(reg.name.to_owned(), value.into());
            }
            for (part, value) in registers::parts(reg, value.into()) {
                registers.insert(format!("{}.{part}", reg.name), value.into());
            }
        }
        Ok(Self { name: board.name(), temperature: board.temperature()?, limit: board.limit()?, registers })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(out, "  {name:<22} {value}");
        let degrees = |value: Option<f64>, none: &str| {
            value.map_or_else(|| none.to_owned(), |value| format!("{value:.1} degrees Celsius"))
        };
        line("board", &self.name)?;
        line("temperature", &degrees(self.temperature, "not measured yet"))?;
        line("power is cut from", &degrees(self.limit, "none"))?;
        self.registers.iter().try_for_each(|(name, value)| line(name, value))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use stroma_device::mock::Mock;
    use stroma_device::{BarId, Card};

    use super::*;

    #[test]
    fn a_report_has_every_register_of_the_map_by_name() {
        let mock = Arc::new(Mock::card());
        let at = |reg: &stroma_abi::regs::Reg| stroma_abi::regs::map::BOARD_AT + reg.offset;
        mock.poke32(BarId::Bar0, at(&board::NAME), u32::from_le_bytes(*b"U55C"));
        mock.poke32(BarId::Bar0, at(&board::TEMPERATURE), 1 << 31 | 0x9d00);
        mock.poke32(BarId::Bar0, at(&board::LINK), 0b11);
        mock.poke32(BarId::Bar0, at(&board::RX_OVERRUN), 77);
        let card = Card::open(mock, Duration::ZERO).unwrap();
        let report = Report::of(&card.board().unwrap().unwrap()).unwrap();
        let text = report.to_string();
        for line in [
            "board                  U55C",
            "link.up                1",
            "rx_overrun             77",
            "power is cut from      none",
        ] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
        assert!(text.contains("temperature            32.1 degrees"), "{text}");
        for reg in board::BLOCK.regs {
            assert!(text.contains(reg.name) || reg.name == board::NAME.name, "{}: {text}", reg.name);
        }
    }

    #[test]
    fn a_limit_is_degrees_or_off() {
        assert!(matches!("95.5".parse(), Ok(Limit(Some(degrees))) if (degrees - 95.5_f64).abs() < 1e-9));
        assert!(matches!("off".parse(), Ok(Limit(None))));
        assert_eq!("warm".parse::<Limit>().unwrap_err(), "\"warm\" is neither degrees nor `off`");
    }
}
