//! Constraints: where pins are, what the clocks are, what may take longer.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::board::Board;
use crate::crossing::{Crossing, period};
use crate::pads::{Pad, pads};

/// Pins, and how the part is configured.
#[must_use]
pub fn pins(board: &Board) -> String {
    let mut text = format!("# Pins of {}, and how it is configured.\n\n", board.name);
    for pad in pads(board) {
        for (bit, pin) in pad.pins.iter().enumerate() {
            let name = if pad.is_vector { format!("{{{}[{bit}]}}", pad.name) } else { pad.name.to_owned() };
            let _ = writeln!(
                text,
                "set_property -dict {{PACKAGE_PIN {pin}{}}} [get_ports {name}]",
                electric(&pad)
            );
        }
    }
    let rate = format!("{:.1}", board.flash.rate);
    let design = [
        ("CONFIG_VOLTAGE", "1.8"),
        ("CONFIG_MODE", "SPIx4"),
        ("BITSTREAM.GENERAL.COMPRESS", "TRUE"),
        ("BITSTREAM.CONFIG.CONFIGFALLBACK", "ENABLE"),
        ("BITSTREAM.CONFIG.CONFIGRATE", rate.as_str()),
        ("BITSTREAM.CONFIG.EXTMASTERCCLK_EN", "DISABLE"),
        ("BITSTREAM.CONFIG.OVERTEMPSHUTDOWN", "Enable"),
        ("BITSTREAM.CONFIG.SPI_32BIT_ADDR", "YES"),
        ("BITSTREAM.CONFIG.SPI_BUSWIDTH", "4"),
        ("BITSTREAM.CONFIG.SPI_FALL_EDGE", "YES"),
        ("BITSTREAM.CONFIG.UNUSEDPIN", "PULLUP"),
    ];
    text += "\n# The flash that it is configured from.\n";
    for (name, value) in design {
        let _ = writeln!(text, "set_property {name} {value} [current_design]");
    }
    if let Some(watts) = board.flash.power_watts {
        let _ = write!(
            text,
            "\n# Watts that the board supplies.\nset_operating_conditions -design_power_budget {watts}\n"
        );
    }
    text
}

fn electric(pad: &Pad) -> String {
    let mut text = String::new();
    if let Some(standard) = pad.standard {
        let _ = write!(text, " IOSTANDARD {standard}");
    }
    if let Some(drive) = pad.drive {
        let _ = write!(text, " DRIVE {drive}");
    }
    if let Some(pull) = pad.pull {
        let _ = write!(text, " {pull} true");
    }
    text
}

/// Clocks, and an exception for each crossing.
#[must_use]
pub fn timing(board: &Board, crossings: &[Crossing]) -> String {
    let clocks = [
        ("pcie_refclk", "pcie_refclk_p", board.pcie.clock.mhz),
        ("qsfp_refclk", "qsfp_refclk_p", board.qsfp.clock.mhz),
        ("free_clock", "free_clock_p", board.clock.mhz),
    ];
    let mut text = "# Clocks that come from pins. Those of the IP (core_clock, mac_clock) come with the IP's own constraints.\n".to_owned();
    for (name, port, mhz) in clocks {
        let _ = writeln!(text, "create_clock -period {:.3} -name {name} [get_ports {port}]", 1000.0 / mhz);
    }
    text +=
        "\n# Levels on pins that nobody times: what listens to them has flip-flops of its own, or eyes.\n";
    let levels = [
        ("-from", "pcie_reset_l"),
        ("-from", "qsfp_modprs_l"),
        ("-from", "qsfp_int_l"),
        ("-to", "qsfp_reset_l"),
        ("-to", "qsfp_lpmode"),
        ("-to", "hbm_cattrip"),
        ("-to", "led_activity"),
        ("-to", "led_green"),
        ("-to", "led_yellow"),
    ];
    let pads = pads(board);
    for (end, port) in levels {
        if pads.iter().any(|pad| pad.name == port) {
            let _ = writeln!(text, "set_false_path {end} [get_ports {port}]");
        }
    }
    text += "\n# The MAC takes its reset as it comes.\nset_false_path -to [get_pins mac/sys_reset]\n";
    text += "\n# Crossings: bounded and not ignored, so that Gray codes stay codes and no way takes its time. crossings.md tells of each.\n";
    for crossing in crossings {
        let Crossing { from, sink, kind, .. } = crossing;
        // What comes from a pin is among the levels above.
        if let Some(period) = period(from) {
            let _ = write!(
                text,
                "# {}\nset_max_delay -datapath_only -from [get_clocks -of_objects [get_nets {from}]] -to [get_cells {{{sink}}}] {period:.3}\n",
                kind.reason()
            );
        }
    }
    text
}

/// On which dies shell and card are: those between the host's and the network's, where that leaves any out.
#[must_use]
pub fn place(board: &Board) -> String {
    let (pcie, qsfp) = (board.pcie.slr, board.qsfp.slr);
    let (first, last) = (pcie.min(qsfp), pcie.max(qsfp));
    let mut text = format!(
        "# PCIe is on die {pcie} and the MAC on die {qsfp} of {}: shell and card stay between them.\n",
        board.slrs
    );
    if last - first + 1 == board.slrs {
        return text + "# These are all dies of the part, so there is nothing to say.\n";
    }
    text += "create_pblock core_dies\nadd_cells_to_pblock [get_pblocks core_dies] [get_cells core]\n";
    for die in first..=last {
        let _ = writeln!(text, "resize_pblock [get_pblocks core_dies] -add {{SLR{die}}}");
    }
    text
}
