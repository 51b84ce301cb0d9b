//! The ports of a board's top module, each with the pins that it is on.

use crate::board::{Board, Pin};
use crate::ip::Direction;

/// A port of the top module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pad<'a> {
    /// Its name.
    pub(crate) name: &'static str,
    /// Which way it goes.
    pub(crate) direction: Direction,
    /// Its pins, bit 0 first.
    pub(crate) pins: Vec<&'a str>,
    /// It is a vector, if only of one bit.
    pub(crate) is_vector: bool,
    /// Its I/O standard; transceivers have none.
    pub(crate) standard: Option<&'a str>,
    /// Milliamperes it drives.
    pub(crate) drive: Option<u8>,
    /// Which way it is pulled.
    pub(crate) pull: Option<&'a str>,
}

impl Pad<'_> {
    /// Bits.
    pub(crate) fn width(&self) -> u16 {
        u16::try_from(self.pins.len()).unwrap_or(u16::MAX)
    }
}

fn bare<'a>(name: &'static str, direction: Direction, pins: Vec<&'a str>, is_vector: bool) -> Pad<'a> {
    Pad { name, direction, pins, is_vector, standard: None, drive: None, pull: None }
}

fn wire<'a>(name: &'static str, direction: Direction, pin: &'a Pin) -> Pad<'a> {
    Pad {
        standard: Some(&pin.standard),
        drive: pin.drive,
        pull: pin.pull.as_deref(),
        ..bare(name, direction, vec![&pin.pin], false)
    }
}

/// All of them. The satellite controller's lines are none: they rest, pulled up like every pin that is not used.
pub(crate) fn pads(board: &Board) -> Vec<Pad<'_>> {
    use Direction::{In, Out};
    let Board { pcie, qsfp, clock, satellite, .. } = board;
    let lanes = [
        ("pcie_rx_p", In, &pcie.lanes.rx_p),
        ("pcie_rx_n", In, &pcie.lanes.rx_n),
        ("pcie_tx_p", Out, &pcie.lanes.tx_p),
        ("pcie_tx_n", Out, &pcie.lanes.tx_n),
        ("qsfp_rx_p", In, &qsfp.lanes.rx_p),
        ("qsfp_rx_n", In, &qsfp.lanes.rx_n),
        ("qsfp_tx_p", Out, &qsfp.lanes.tx_p),
        ("qsfp_tx_n", Out, &qsfp.lanes.tx_n),
    ];
    let mut pads = vec![
        bare("pcie_refclk_p", In, vec![&pcie.clock.p], false),
        bare("pcie_refclk_n", In, vec![&pcie.clock.n], false),
        wire("pcie_reset_l", In, &pcie.reset),
        bare("qsfp_refclk_p", In, vec![&qsfp.clock.p], false),
        bare("qsfp_refclk_n", In, vec![&qsfp.clock.n], false),
    ];
    for (name, pin) in [("free_clock_p", &clock.p), ("free_clock_n", &clock.n)] {
        pads.push(Pad { standard: Some(&clock.standard), ..bare(name, In, vec![pin], false) });
    }
    pads.extend(
        lanes.map(|(name, way, pins)| bare(name, way, pins.iter().map(String::as_str).collect(), true)),
    );
    let optional = [
        ("qsfp_modsel_l", Out, &qsfp.modsell),
        ("qsfp_reset_l", Out, &qsfp.resetl),
        ("qsfp_lpmode", Out, &qsfp.lpmode),
        ("qsfp_modprs_l", In, &qsfp.modprsl),
        ("qsfp_int_l", In, &qsfp.intl),
        ("led_activity", Out, &qsfp.led_activity),
        ("led_green", Out, &qsfp.led_green),
        ("led_yellow", Out, &qsfp.led_yellow),
        ("hbm_cattrip", Out, &satellite.too_hot),
    ];
    pads.extend(optional.into_iter().filter_map(|(name, way, pin)| Some(wire(name, way, pin.as_ref()?))));
    pads
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_pin_of_a_board_but_the_satellite_controllers_is_on_a_port() {
        for name in crate::names() {
            let board = Board::named(name).unwrap();
            let used: BTreeSet<&str> = pads(&board).into_iter().flat_map(|pad| pad.pins).collect();
            let all = board.pins();
            let left: Vec<&str> =
                all.iter().filter(|(_, pin)| !used.contains(pin)).map(|(what, _)| what.as_str()).collect();
            assert_eq!(left, ["satellite.transmit", "satellite.receive"], "{name}");
        }
    }
}
