//! Shell and card, side by side: the module `stroma_core`, joined by the names of their ports.

use std::fmt::Write;

use crate::manifest::{Manifest, Signal, Way};
use crate::verilog::{Connection, Instance, constant, range};

/// Why modules do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// A port of the card that nobody knows.
    #[error(
        "port {port} of the card is none of the shell's and not in the table of hw/boards/src/join.rs: join it or list it"
    )]
    Loose {
        /// The port.
        port: String,
    },
    /// A port of the shell that nobody knows.
    #[error(
        "port {port} of the shell is none of the card's, of {ip}, of cmac_usplus, nor in the table of hw/boards/src/links.rs: rename it or list it"
    )]
    Stranger {
        /// The port.
        port: String,
        /// The board's PCIe IP.
        ip: String,
    },
    /// Both sides drive, or both listen.
    #[error("port {port}: {one} and {other} both drive it or both listen")]
    Ways {
        /// The port.
        port: String,
        /// One side.
        one: String,
        /// The other.
        other: String,
    },
    /// Both sides have it at different widths.
    #[error("port {port} has {found} bits at {one} and {expected} at {other}")]
    Widths {
        /// The port.
        port: String,
        /// One side.
        one: String,
        /// Its bits.
        found: u16,
        /// The other side.
        other: String,
        /// Its bits.
        expected: u16,
    },
    /// Nobody drives an input of an IP.
    #[error(
        "input {port} of {ip} is driven by nobody: give the shell a port of that name, or a `tie` in hw/boards/ip"
    )]
    Undriven {
        /// The IP.
        ip: String,
        /// Its port.
        port: String,
    },
    /// What is known of IP cannot be read.
    #[error("hw/boards/ip: {0}")]
    Facts(String),
}

/// What becomes of a port of the card that the shell has no use for.
enum Fate {
    /// Tied to zero.
    Zero,
    /// Driven by the core's clock.
    Clock,
    /// Left open.
    Open,
}

/// Those ports. A name that ends in `$` stands for all that begin so.
const CARD: [(&str, Fate); 14] = [
    ("clock", Fate::Clock),
    // Kernels may rest in simulation; on a board their clock runs with the other.
    ("kernel_clock", Fate::Clock),
    // A simulation skips quiet cycles; a board lives through them.
    ("skip", Fate::Zero),
    ("quiet", Fate::Open),
    ("wake", Fate::Open),
    ("kernel_clock_rests", Fate::Open),
    // Counters that tests read; the host reads them as registers.
    ("cycles", Fate::Open),
    ("rx_counts$", Fate::Open),
    ("tx_mismatched", Fate::Open),
    // Always the same: bursts of whole beats at rising addresses, writes of one ID.
    ("m_axi_awsize", Fate::Open),
    ("m_axi_awburst", Fate::Open),
    ("m_axi_awid", Fate::Open),
    ("m_axi_arsize", Fate::Open),
    ("m_axi_arburst", Fate::Open),
];

fn fate(port: &str) -> Option<&'static Fate> {
    let is_meant = |name: &str| name == port || (name.ends_with('$') && port.starts_with(name));
    CARD.iter().find(|(name, _)| is_meant(name)).map(|(_, fate)| fate)
}

/// The port of the shell that resets the card, if it has one; otherwise the card shares the shell's reset.
const CARD_RESET: &str = "card_reset";

/// The module `stroma_core`, and the ports that it has.
///
/// # Errors
/// When a port of the card is joined to nothing, or not to its like.
pub fn core(shell: &Manifest, card: &Manifest) -> Result<(String, Manifest), Misfit> {
    let is_inner = |port: &Signal| {
        port.name == CARD_RESET
            || (port.way != Way::Clock && port.name != "reset" && card.port(&port.name).is_some())
    };
    let (inner, outer): (Vec<&Signal>, Vec<&Signal>) = shell.ports.iter().partition(|port| is_inner(port));
    let outer: Vec<Signal> = outer.into_iter().cloned().collect();

    let mut text = "// Shell and card, joined by the names of their ports.\n`default_nettype none\n\nmodule stroma_core (\n".to_owned();
    for (index, port) in outer.iter().enumerate() {
        let direction = if port.way.drives() { "output" } else { "input" };
        let comma = if index + 1 == outer.len() { "" } else { "," };
        let _ = writeln!(text, "    {direction} wire {}{}{comma}", range(port.width), port.name);
    }
    text += ");\n";
    for port in &inner {
        let _ = writeln!(text, "    wire {}{};", range(port.width), port.name);
    }
    let own = shell.ports.iter().map(|port| Connection::new(&port.name, &port.name)).collect();
    let instance = Instance {
        module: shell.top.clone(),
        name: "shell",
        reason: "Between vendor IP and the card.",
        parameters: Vec::new(),
        connections: own,
    };
    instance.write(&mut text);
    let connections = card.ports.iter().map(|port| joined(port, shell)).collect::<Result<_, _>>()?;
    let instance = Instance {
        module: card.top.clone(),
        name: "card",
        reason: "The card.",
        parameters: Vec::new(),
        connections,
    };
    instance.write(&mut text);
    text += "endmodule\n\n`default_nettype wire\n";
    Ok((text, Manifest { top: "stroma_core".to_owned(), ports: outer }))
}

/// What a port of the card is connected to.
fn joined(port: &Signal, shell: &Manifest) -> Result<Connection, Misfit> {
    let name = &port.name;
    if name == "reset" {
        let source = if shell.port(CARD_RESET).is_some() { CARD_RESET } else { "reset" };
        return Ok(Connection::new(name, source));
    }
    let other = shell.port(name).filter(|_| port.way != Way::Clock);
    let Some(other) = other else {
        return Ok(match fate(name).ok_or_else(|| Misfit::Loose { port: name.clone() })? {
            Fate::Zero => Connection::new(name, constant(port.width, "0")),
            Fate::Clock => Connection::new(name, "clock"),
            Fate::Open => Connection::new(name, ""),
        });
    };
    if port.way.drives() == other.way.drives() {
        return Err(Misfit::Ways { port: name.clone(), one: "shell".to_owned(), other: "card".to_owned() });
    }
    if port.width != other.width {
        return Err(Misfit::Widths {
            port: name.clone(),
            one: "shell".to_owned(),
            found: other.width,
            other: "card".to_owned(),
            expected: port.width,
        });
    }
    Ok(Connection::new(name, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: &str =
        "top shell\nclock clock 1\nin reset 1\nin rx_tready 1\nout rx_tdata 8\nin pin 4\nout other 1\n";
    const CARD: &str = "top card\nclock clock 1\nclock kernel_clock 1\nin reset 1\nin rx_tdata 8\nout rx_tready 1\nin skip 32\nout rx_counts$0 32\n";

    fn try_core(shell: &str, card: &str) -> Result<(String, Manifest), Misfit> {
        core(&Manifest::parse(shell).unwrap(), &Manifest::parse(card).unwrap())
    }

    #[test]
    fn equal_names_are_joined_and_the_rest_is_shown_outside() {
        let (text, outer) = try_core(SHELL, CARD).unwrap();
        let names: Vec<&str> = outer.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["clock", "reset", "pin", "other"]);
        for line in [
            "    input wire [3:0] pin,",
            "    output wire other",
            "    wire [7:0] rx_tdata;",
            "        .rx_tdata(rx_tdata),",
            "        .kernel_clock(clock),",
            "        .skip(32'd0),",
            "        .rx_counts$0()",
            "        .reset(reset),",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing:\n{text}");
        }
    }

    #[test]
    fn a_shell_that_resets_the_card_does_so() {
        let (text, outer) = try_core(&format!("{SHELL}out card_reset 1\n"), CARD).unwrap();
        assert!(text.contains("        .reset(card_reset),\n"), "{text}");
        assert!(outer.port("card_reset").is_none());
    }

    #[test]
    fn ports_that_do_not_fit_are_named() {
        let cases = [
            (
                SHELL.replace("rx_tdata 8", "rx_tdata 9"),
                CARD.to_owned(),
                "port rx_tdata has 9 bits at shell and 8 at card",
            ),
            (
                SHELL.replace("out rx_tdata", "in rx_tdata"),
                CARD.to_owned(),
                "port rx_tdata: shell and card both drive it or both listen",
            ),
            (
                SHELL.to_owned(),
                format!("{CARD}in link_up 1\n"),
                "port link_up of the card is none of the shell's and not in the table of hw/boards/src/join.rs: join it or list it",
            ),
        ];
        for (shell, card, expected) in cases {
            assert_eq!(try_core(&shell, &card).unwrap_err().to_string(), expected);
        }
    }
}
