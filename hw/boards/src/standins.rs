//! Stand-ins of Vivado's commands, and what they have to know of it and of a board.

use std::fmt::Write;

use crate::board::Board;
use crate::facts::Vivado;
use crate::settings::settings;
use crate::top::{MAC_MODULE, PCIE_MODULE, TOP};

/// The stand-ins: a program of Tcl.
pub const STANDINS: &str = include_str!("../tcl/standins.tcl");

/// What they have to know: commands, IP, properties and the board's part, as Tcl.
///
/// # Errors
/// When what is known cannot be read.
pub fn facts(board: &Board) -> Result<String, toml::de::Error> {
    let Vivado { command, property } = Vivado::known()?;
    let mut text = String::new();
    for each in command {
        let _ = writeln!(
            text,
            "set commands({}) {{{{{}}} {{{}}}}}",
            each.name,
            each.flags.join(" "),
            each.values.join(" ")
        );
    }
    for each in property {
        let _ =
            writeln!(text, "set {{object_properties({},{})}} {{{}}}", each.of, each.name, list(&each.values));
    }
    let settings = settings(board)?;
    for setting in &settings {
        for each in &setting.ip.properties {
            let _ = writeln!(
                text,
                "set {{ip_properties({},{})}} {{{}}}",
                setting.ip.name,
                each.name,
                list(&each.values)
            );
        }
    }
    let names: Vec<&str> = settings.iter().map(|setting| setting.ip.name.as_str()).collect();
    let _ = write!(
        text,
        "set ips {{{}}}\nset ip_modules {{{MAC_MODULE} {PCIE_MODULE}}}\nset part {}\nset dies {}\nset top {TOP}\nset vivado_version 2024.1\n\
         set verilog {{rtl/stroma_100g.v rtl/stroma_shell.v rtl/stroma_core.v rtl/board.v}}\n",
        names.join(" "),
        board.part,
        board.slrs
    );
    Ok(text)
}

fn list(values: &[String]) -> String {
    values.iter().map(|value| format!("{{{value}}}")).collect::<Vec<_>>().join(" ")
}
