//! Empty modules in place of IP and primitives, for readers that have no Vivado.

use std::fmt::Write;

use crate::board::Board;
use crate::ip::{Direction, Ip, Port};
use crate::manifest::Manifest;
use crate::primitive::Primitives;
use crate::top::{MAC_MODULE, PCIE_MODULE};
use crate::verilog::range;

/// IP and primitives of a board's top as empty modules.
///
/// # Errors
/// When what is known of them cannot be read.
pub fn blackboxes(board: &Board) -> Result<String, toml::de::Error> {
    let mut text = String::new();
    for (module, ip) in [(PCIE_MODULE, board.pcie_ip()), (MAC_MODULE, "cmac_usplus")] {
        write(&mut text, module, &[], &Ip::known(ip)?.ports);
    }
    for primitive in Primitives::known()?.primitive {
        write(&mut text, &primitive.name, &primitive.parameters, &primitive.ports);
    }
    Ok(text)
}

fn write(text: &mut String, module: &str, parameters: &[String], ports: &[Port]) {
    let _ = write!(text, "(* blackbox *)\nmodule {module} ");
    if !parameters.is_empty() {
        let set: Vec<String> = parameters.iter().map(|name| format!("    parameter {name} = 0")).collect();
        let _ = write!(text, "#(\n{}\n) ", set.join(",\n"));
    }
    let declared: Vec<String> = ports
        .iter()
        .map(|port| {
            let direction = if port.direction == Direction::In { "input" } else { "output" };
            format!("    {direction} wire {}{}", range(port.width), port.name)
        })
        .collect();
    let _ = write!(text, "(\n{}\n);\nendmodule\n\n", declared.join(",\n"));
}

/// A module of which the ports alone are known.
#[must_use]
pub fn blackbox(manifest: &Manifest) -> String {
    let declared: Vec<String> = manifest
        .ports
        .iter()
        .map(|port| {
            let direction = if port.way.drives() { "output" } else { "input" };
            format!("    {direction} wire {}{}", range(port.width), port.name)
        })
        .collect();
    format!("(* blackbox *)\nmodule {} (\n{}\n);\nendmodule\n", manifest.top, declared.join(",\n"))
}
