//! The board around a card, where there is one: its sensor, its cage, its links as the shell sees them.

use stroma_abi::{
    Value,
    regs::{
        Reg,
        map::{BOARD_AT, board},
    },
};

use crate::{BarId, Card, Error, Result, compose, part};

/// Degrees Celsius of all codes of the sensor together, and below zero of the first (UG580, on-chip reference).
const SPAN: f64 = 509.314_006_4;
const ZERO: f64 = 280.230_878_7;
const CODES: f64 = 65_536.0;

/// The board that a card sits on.
#[derive(Clone, Copy, Debug)]
pub struct Board<'card> {
    card: &'card Card,
    name: [u8; 4],
}

impl Card {
    /// The board, if the card sits on one: a simulated card does not.
    ///
    /// # Errors
    /// When the card cannot be reached, or has left the bus.
    pub fn board(&self) -> Result<Option<Board<'_>>> {
        let name = self.backend().read32(BarId::Bar0, BOARD_AT + board::NAME.offset)?;
        match name {
            0 => Ok(None),
            u32::MAX => Err(Error::Gone { register: board::NAME.name }),
            _ => Ok(Some(Board { card: self, name: name.to_le_bytes() })),
        }
    }
}

impl Board<'_> {
    /// Its name, such as `U55C`.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.iter().take_while(|letter| **letter != 0).map(|letter| char::from(*letter)).collect()
    }

    /// Reads one of its registers.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn read(&self, reg: &Reg) -> Result<u32> {
        self.card.backend().read32(BarId::Bar0, BOARD_AT + reg.offset)
    }

    /// Stores to one of them.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn write(&self, reg: &Reg, value: u32) -> Result<()> {
        self.card.backend().write32(BarId::Bar0, BOARD_AT + reg.offset, value)
    }

    /// Degrees Celsius in the chip, once they have been measured.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn temperature(&self) -> Result<Option<f64>> {
        let value = self.read(&board::TEMPERATURE)?.into();
        let code: u16 = part(&board::TEMPERATURE, "code", value);
        Ok(part::<bool>(&board::TEMPERATURE, "valid", value).then(|| celsius(code)))
    }

    /// From how many degrees on the board is to cut the power, if it ever is.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn limit(&self) -> Result<Option<f64>> {
        let code: u16 = part(&board::HOT, "limit", self.read(&board::HOT)?.into());
        Ok((code != 0).then(|| celsius(code)))
    }

    /// Sets that, or that it never is. What was too hot before is forgotten.
    ///
    /// # Errors
    /// [`Error::NoTemperature`] for degrees that the sensor has no code for; when the card cannot be reached.
    pub fn set_limit(&self, degrees: Option<f64>) -> Result<()> {
        let code = degrees.map_or(Ok(0), code)?;
        self.write(&board::HOT, u32::from_bits(compose(&board::HOT, [("limit", code.into())]).into()))
    }
}

fn celsius(code: u16) -> f64 {
    f64::from(code) * SPAN / CODES - ZERO
}

/// The first code that stands for at least so many degrees; 0 stands for no limit.
fn code(degrees: f64) -> Result<u16> {
    let wanted = ((degrees + ZERO) * CODES / SPAN).ceil();
    if (1.0..CODES).contains(&wanted) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a code, as just seen")]
        return Ok(wanted as u16);
    }
    Err(Error::NoTemperature { degrees })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::mock::Mock;

    fn open(mock: &Arc<Mock>) -> Card {
        Card::open(Arc::clone(mock) as _, Duration::ZERO).unwrap()
    }

    fn on_board() -> (Arc<Mock>, Card) {
        let mock = Arc::new(Mock::card());
        mock.poke32(BarId::Bar0, 0xf000, u32::from_le_bytes(*b"U50\0"));
        let card = open(&mock);
        (mock, card)
    }

    #[test]
    fn a_card_without_a_board_says_so() {
        let mock = Arc::new(Mock::card());
        assert!(open(&mock).board().unwrap().is_none());
        let card = open(&mock);
        mock.poke32(BarId::Bar0, 0xf000, u32::MAX);
        assert!(matches!(card.board(), Err(Error::Gone { register: "name" })));
    }

    #[test]
    fn a_board_has_a_name_and_a_temperature() {
        let (mock, card) = on_board();
        let board = card.board().unwrap().unwrap();
        assert_eq!((board.name(), board.temperature().unwrap()), ("U50".to_owned(), None));
        // Half of all codes are half of the span: 254.657 degrees above the first.
        mock.poke32(BarId::Bar0, 0xf008, 0x8000_8000);
        let degrees = board.temperature().unwrap().unwrap();
        assert!((degrees + 25.574).abs() < 0.001, "{degrees}");
    }

    #[test]
    fn a_limit_is_kept_as_the_next_code_and_none_as_zero() {
        let (mock, card) = on_board();
        let board = card.board().unwrap().unwrap();
        assert_eq!(board.limit().unwrap(), None);
        board.set_limit(Some(95.0)).unwrap();
        let stored = board.read(&board::HOT).unwrap();
        mock.poke32(BarId::Bar0, 0xf00c, stored);
        let limit = board.limit().unwrap().unwrap();
        assert!((95.0..95.01).contains(&limit), "{limit}");
        for degrees in [-300.0, 230.0, f64::NAN, f64::INFINITY] {
            let refused = board.set_limit(Some(degrees)).unwrap_err();
            assert!(matches!(refused, Error::NoTemperature { .. }), "{refused}");
        }
        board.set_limit(None).unwrap();
        mock.poke32(BarId::Bar0, 0xf00c, 0);
        assert_eq!(board.limit().unwrap(), None);
    }
}
