//! The top module of a board: vendor IP and primitives around shell and card.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::board::Board;
use crate::ip::{Direction, Ip, Port};
use crate::join::Misfit;
use crate::links::{LOW_BITS, MAC, NAME, PCIE, PINS, SHELL};
use crate::manifest::{Manifest, Signal};
use crate::pads::{Pad, pads};
use crate::verilog::{Connection, Instance, constant, range};

/// The modules that Vivado makes of the IP.
pub const MAC_MODULE: &str = "stroma_mac";
/// The same of PCIe.
pub const PCIE_MODULE: &str = "stroma_pcie";
/// The top module.
pub const TOP: &str = "board";

/// What the free-running clock is divided to: the CMAC takes 50 to 250 MHz and is told which (`GT_DRP_CLK`).
pub(crate) const INIT_MHZ: f64 = 100.0;

/// Wires that `--ila` shows, by the clock that they belong to.
pub(crate) const PROBES: [(&str, &[&str]); 2] = [
    (
        "core_clock",
        &[
            "m_axis_cq_tvalid",
            "m_axis_cq_tready",
            "s_axis_cc_tvalid",
            "s_axis_cc_tready",
            "s_axis_rq_tvalid",
            "s_axis_rq_tready",
            "m_axis_rc_tvalid",
            "m_axis_rc_tready",
        ],
    ),
    (
        "mac_clock",
        &["mac_rx_tvalid", "mac_rx_tlast", "mac_rx_tuser", "mac_tx_tvalid", "mac_tx_tready", "mac_tx_tlast"],
    ),
];

/// What a top module is made of.
struct Parts<'a> {
    board: &'a Board,
    core: &'a Manifest,
    pads: Vec<Pad<'a>>,
    pcie: Ip,
    mac: Ip,
}

/// The top module's text; with `ila`, wires that the analyser looks at are kept through synthesis.
///
/// # Errors
/// When a port of shell or IP is joined to nothing, or not to its like.
pub fn top(board: &Board, core: &Manifest, ila: bool) -> Result<String, Misfit> {
    let parts = Parts::new(board, core)?;
    let wires = parts.wires()?;
    let instances = [parts.pcie_instance()?, parts.mac_instance()?, parts.core_instance()?]
        .into_iter()
        .chain(parts.sysmon());

    let mut text = parts.head();
    for (name, width) in wires {
        let is_shown = ila && PROBES.iter().any(|(_, probes)| probes.contains(&name.as_str()));
        let mark = if is_shown { "(* mark_debug = \"true\" *) " } else { "" };
        let _ = writeln!(text, "    {mark}wire {}{name};", range(width));
    }
    for instance in parts.clocks() {
        instance.write(&mut text);
    }
    for instance in instances {
        instance.write(&mut text);
    }
    text += &parts.constants();
    text += "endmodule\n\n`default_nettype wire\n";
    Ok(text)
}

/// What the ports of the board's IP are connected to: IP, port, wire or constant. Those that are left open are not among them.
pub(crate) fn connections(board: &Board, core: &Manifest) -> Result<Vec<(Ip, Vec<Connection>)>, Misfit> {
    let parts = Parts::new(board, core)?;
    let instances = [parts.mac_instance()?, parts.pcie_instance()?];
    let used = |instance: Instance| {
        instance.connections.into_iter().filter(|connection| !connection.to.is_empty()).collect()
    };
    let [mac, pcie] = instances.map(used);
    Ok(vec![(parts.mac, mac), (parts.pcie, pcie)])
}

impl<'a> Parts<'a> {
    fn new(board: &'a Board, core: &'a Manifest) -> Result<Self, Misfit> {
        let fact = |error: toml::de::Error| Misfit::Facts(error.to_string());
        let pcie = Ip::known(board.pcie_ip()).map_err(fact)?;
        let mac = Ip::known("cmac_usplus").map_err(fact)?;
        Ok(Self { board, core, pads: pads(board), pcie, mac })
    }

    fn has_pad(&self, name: &str) -> bool {
        self.pads.iter().any(|pad| pad.name == name)
    }

    fn head(&self) -> String {
        let mut text = format!(
            "// {}: the top module. PCIe's hard block and the 100G MAC around shell and card.\n\
             // Clocks: core_clock is PCIe's user clock, 250 MHz; mac_clock the MAC's, 322.265625 MHz; init_clock runs from power-up on.\n\
             `default_nettype none\n\nmodule {TOP} (\n",
            self.board.name
        );
        for (index, pad) in self.pads.iter().enumerate() {
            let direction = if pad.direction == Direction::In { "input" } else { "output" };
            let comma = if index + 1 == self.pads.len() { "" } else { "," };
            let range = if pad.is_vector { range(pad.width()) } else { String::new() };
            let _ = writeln!(text, "    {direction} wire {range}{}{comma}", pad.name);
        }
        text + ");\n"
    }

    /// The last word of the board's name, as its register has it: the first letter lowest.
    fn name(&self) -> String {
        let word = self.board.name.split(' ').next_back().unwrap_or_default();
        let mut letters = [0; 4];
        letters.iter_mut().zip(word.bytes()).for_each(|(to, letter)| *to = letter);
        format!("32'h{:08x}", u32::from_le_bytes(letters))
    }

    /// The port of an IP that a port of the core is joined to by its name.
    fn namesake(&self, name: &str) -> Option<(&Ip, &Port)> {
        let of = |ip: &'_ Ip| ip.ports.iter().position(|port| port.name == name);
        if let Some(at) = of(&self.pcie) {
            return Some((&self.pcie, &self.pcie.ports[at]));
        }
        of(&self.mac).map(|at| (&self.mac, &self.mac.ports[at]))
    }

    /// What a port of the core is on: a wire, and the bits of it.
    fn wire_of(&self, port: &Signal) -> Result<(String, u16), Misfit> {
        let name = &port.name;
        let widths = |other: &str, expected| Misfit::Widths {
            port: name.clone(),
            one: "the shell".to_owned(),
            found: port.width,
            other: other.to_owned(),
            expected,
        };
        if let Some((_, wire, width)) = SHELL.iter().find(|(known, ..)| known == name) {
            return if *width == port.width {
                Ok(((*wire).to_owned(), *width))
            } else {
                Err(widths("the board", *width))
            };
        }
        if PINS.iter().any(|(known, _)| known == name) {
            return if port.width == 1 { Ok((name.clone(), 1)) } else { Err(widths("the pin", 1)) };
        }
        if name == NAME.0 {
            return if port.width == NAME.1 {
                Ok((self.name(), NAME.1))
            } else {
                Err(widths("the board", NAME.1))
            };
        }
        let stranger = || Misfit::Stranger { port: name.clone(), ip: self.pcie.name.clone() };
        let (ip, other) = self.namesake(name).ok_or_else(stranger)?;
        if port.way.drives() == (other.direction == Direction::Out) {
            return Err(Misfit::Ways {
                port: name.clone(),
                one: "the shell".to_owned(),
                other: ip.name.clone(),
            });
        }
        let is_part = LOW_BITS.iter().any(|(known, _)| known == name) && port.width < other.width;
        if port.width != other.width && !is_part {
            return Err(widths(&ip.name, other.width));
        }
        Ok((name.clone(), if port.way.drives() { port.width } else { other.width }))
    }

    /// Wires between instances, in the order of the shell's ports.
    fn wires(&self) -> Result<Vec<(String, u16)>, Misfit> {
        let mut wires: Vec<(String, u16)> = [
            "core_clock",
            "core_reset",
            "mac_clock",
            "mac_rx_reset",
            "mac_tx_reset",
            "pcie_clock",
            "pcie_clock_gt",
            "free_clock",
            "init_clock",
        ]
        .map(|name| (name.to_owned(), 1))
        .to_vec();
        for port in &self.core.ports {
            let wire = self.wire_of(port)?;
            let is_pin = PINS.iter().any(|(known, _)| *known == wire.0);
            if !is_pin && port.name != NAME.0 && !wires.contains(&wire) {
                wires.push(wire);
            }
        }
        Ok(wires)
    }

    /// Buffers of the clocks that come from pins.
    fn clocks(&self) -> [Instance; 3] {
        let divide = (self.board.clock.mhz / INIT_MHZ).round();
        let bias = if self.board.clock.biased { "\"TRUE\"" } else { "\"FALSE\"" };
        [
            Instance {
                module: "IBUFDS_GTE4".to_owned(),
                name: "pcie_clock_in",
                reason: "The slot's clock, to the transceivers and, undivided, to the block itself.",
                parameters: vec![("REFCLK_HROW_CK_SEL", "2'b00".to_owned())],
                connections: [
                    ("O", "pcie_clock_gt"),
                    ("ODIV2", "pcie_clock"),
                    ("CEB", "1'b0"),
                    ("I", "pcie_refclk_p"),
                    ("IB", "pcie_refclk_n"),
                ]
                .map(|(port, to)| Connection::new(port, to))
                .to_vec(),
            },
            Instance {
                module: "IBUFDS".to_owned(),
                name: "free_clock_in",
                reason: "A clock that runs from power-up on.",
                parameters: vec![("DQS_BIAS", bias.to_owned())],
                connections: [("O", "free_clock"), ("I", "free_clock_p"), ("IB", "free_clock_n")]
                    .map(|(port, to)| Connection::new(port, to))
                    .to_vec(),
            },
            Instance {
                module: "BUFGCE_DIV".to_owned(),
                name: "init_clock_out",
                reason: "The same at 100 MHz, for what the MAC does before it has a clock of its own.",
                parameters: vec![("BUFGCE_DIVIDE", format!("{divide}"))],
                connections: [("O", "init_clock"), ("CE", "1'b1"), ("CLR", "1'b0"), ("I", "free_clock")]
                    .map(|(port, to)| Connection::new(port, to))
                    .to_vec(),
            },
        ]
    }

    fn pcie_instance(&self) -> Result<Instance, Misfit> {
        Ok(Instance {
            module: PCIE_MODULE.to_owned(),
            name: "pcie",
            reason: "PCIe: 16 lanes of 8 GT/s.",
            parameters: Vec::new(),
            connections: self.pins(&self.pcie, &PCIE)?,
        })
    }

    fn mac_instance(&self) -> Result<Instance, Misfit> {
        Ok(Instance {
            module: MAC_MODULE.to_owned(),
            name: "mac",
            reason: "The 100G MAC with RS-FEC and its transceivers.",
            parameters: Vec::new(),
            connections: self.pins(&self.mac, &MAC)?,
        })
    }

    /// What the ports of an IP are connected to, every one of them.
    fn pins(&self, ip: &Ip, renamed: &[(&str, &str)]) -> Result<Vec<Connection>, Misfit> {
        ip.ports.iter().map(|port| self.pin(ip, port, renamed)).collect()
    }

    fn pin(&self, ip: &Ip, port: &Port, renamed: &[(&str, &str)]) -> Result<Connection, Misfit> {
        let undriven = || Misfit::Undriven { ip: ip.name.clone(), port: port.name.clone() };
        let is_input = port.direction == Direction::In;
        if let Some((_, wire)) = renamed.iter().find(|(known, _)| *known == port.name) {
            let by_shell = is_input && wire.starts_with("mac_tx_");
            let is_driven = self.core.port(wire).is_some_and(|signal| signal.way.drives());
            return if by_shell && !is_driven {
                Err(undriven())
            } else {
                Ok(Connection::new(&port.name, *wire))
            };
        }
        if let Some(signal) = self.core.port(&port.name) {
            let missing = port.width - signal.width.min(port.width);
            let to = if is_input && missing > 0 {
                format!("{{{}, {}}}", constant(missing, "0"), port.name)
            } else {
                port.name.clone()
            };
            return Ok(Connection::new(&port.name, to));
        }
        if !is_input {
            return Ok(Connection::new(&port.name, ""));
        }
        let value = port.tie.as_ref().ok_or_else(undriven)?;
        let reason = Some(port.meaning.clone());
        Ok(Connection { reason, ..Connection::new(&port.name, constant(port.width, value)) })
    }

    fn core_instance(&self) -> Result<Instance, Misfit> {
        let connect = |port: &Signal| {
            let (wire, width) = self.wire_of(port)?;
            let pin = PINS.iter().find(|(known, _)| *known == port.name);
            let to = match pin {
                Some((name, value)) if !self.has_pad(name) => {
                    value.map(|value| constant(1, value)).unwrap_or_default()
                }
                _ if !port.way.drives() && port.width < width => match port.width {
                    1 => format!("{wire}[0]"),
                    bits => format!("{wire}[{}:0]", bits - 1),
                },
                _ => wire,
            };
            Ok(Connection::new(&port.name, to))
        };
        Ok(Instance {
            module: self.core.top.clone(),
            name: "core",
            reason: "Shell and card.",
            parameters: Vec::new(),
            connections: self.core.ports.iter().map(connect).collect::<Result<_, _>>()?,
        })
    }

    /// The part's own thermometer, if the shell reads it.
    fn sysmon(&self) -> Option<Instance> {
        self.core.port("sysmon_den")?;
        let inputs = [
            ("CONVST", "1'd0"),
            ("CONVSTCLK", "1'd0"),
            ("DADDR", "sysmon_daddr"),
            ("DCLK", "core_clock"),
            ("DEN", "sysmon_den"),
            ("DI", "16'd0"),
            ("DWE", "1'd0"),
            ("I2C_SCLK", "1'd0"),
            ("I2C_SDA", "1'd0"),
            ("RESET", "1'd0"),
            ("VAUXN", "16'd0"),
            ("VAUXP", "16'd0"),
            ("VN", "1'd0"),
            ("VP", "1'd0"),
            ("DO", "sysmon_do"),
            ("DRDY", "sysmon_drdy"),
        ];
        let open = [
            "ADC_DATA",
            "ALM",
            "BUSY",
            "CHANNEL",
            "EOC",
            "EOS",
            "I2C_SCLK_TS",
            "I2C_SDA_TS",
            "JTAGBUSY",
            "JTAGLOCKED",
            "JTAGMODIFIED",
            "MUXADDR",
            "OT",
            "SMBALERT_TS",
        ];
        let all = inputs.into_iter().chain(open.map(|port| (port, "")));
        Some(Instance {
            module: "SYSMONE4".to_owned(),
            name: "sysmon",
            reason: "Temperature and voltages of the part; its converter gets the core clock divided by 50.",
            parameters: vec![("INIT_42", "16'h3200".to_owned())],
            connections: all.map(|(port, to)| Connection::new(port, to)).collect(),
        })
    }

    /// Pins that are held at a level.
    fn constants(&self) -> String {
        let levels = [
            ("qsfp_modsel_l", "1'b0", "The module is always spoken to."),
            ("qsfp_reset_l", "1'b1", "The module is out of reset."),
            ("qsfp_lpmode", "1'b0", "The module has full power."),
            ("hbm_cattrip", "1'b0", "Nobody says that the part is too hot."),
            ("led_activity", "1'b0", "Dark."),
            ("led_green", "1'b0", "Dark."),
            ("led_yellow", "1'b0", "Dark."),
        ];
        let mut text = String::new();
        for (name, level, reason) in levels {
            if self.has_pad(name) && self.core.port(name).is_none() {
                let _ = write!(text, "\n    // {reason}\n    assign {name} = {level};\n");
            }
        }
        text
    }
}
