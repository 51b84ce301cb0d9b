//! Pages of the folder: what it is, and who says what of the IP.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::board::Board;
use crate::folder::Unwritten;
use crate::ip::Ip;
use crate::manifest::Manifest;
use crate::primitive::Primitives;
use crate::script::{REPORTS, VIVADO};
use crate::settings::settings;
use crate::top;

/// `README.md`.
pub(crate) fn readme(board: &Board, ila: bool) -> Result<String, Unwritten> {
    let [first, last] = VIVADO;
    let mut text = format!(
        "# Stroma on {}\n\n\
         Everything that Vivado needs for a bitstream of the 100g card on this board ({}). Written by `cargo xtask bitstream`; the same sources give the same bytes.\n\n\
         ## To build\n\n\
         On a machine with Vivado {first} to {last}, a licence for this part and the free one of the 100G MAC (`cmac_usplus`), in this folder:\n\n\
         ```sh\n\
         vivado -mode batch -notrace -source build.tcl\n\
         ```\n\n\
         Leaves `build/stroma.bit`, `build/stroma.mcs` for the flash (a user's bitstream begins at 0x{:08x}), checkpoints after every step, and in `build/reports` {}. \
         Exits with 1 when something is wrong and with 2 when a path is too slow.\n\n",
        board.name,
        board.part,
        board.flash.offset,
        REPORTS.map(|(file, _)| format!("`{file}`")).join(", ")
    );
    if ila {
        text += "A logic analyser is on the streams (`ila.tcl`); `build/stroma.ltx` names its probes.\n\n";
    }
    text += "## What is here\n\n\
         | file | |\n|---|---|\n\
         | `rtl/board.v` | the top module: vendor IP, clocks, pins |\n\
         | `rtl/stroma_core.v` | shell and card, joined |\n\
         | `rtl/stroma_shell.v` | between vendor IP and the card; emitted from RustHDL |\n\
         | `rtl/stroma_100g.v` | the card; emitted from RustHDL |\n\
         | `ip/*.tcl` | what the IP is set to |\n\
         | `constraints/*.xdc` | pins, timing, dies |\n\
         | `build.tcl` | all steps |\n\
         | `citations.md` | who says so, for each property and port of the IP |\n\
         | `crossings.md` | every way from one clock to another, and why it is safe |\n\n\
         ## What was checked, and what was not\n\n\
         Checked without Vivado: the whole top passes Verilator's lint and yosys with IP and primitives as black boxes, whose ports are those of the documents; \
         the scripts run to their end under stand-ins of Vivado's commands, which refuse commands, options, files, IP, properties, values, ports, nets, cells and clocks that \
         do not exist, and pins with two uses; every property and port of the IP has its source; every way between clocks ends in a synchroniser.\n\n\
         Not checked: that this Vivado's IP takes these properties and has these ports, that names of cells after synthesis are those of the netlist here, placement, timing, power, and the board itself. \
         Nothing of this has run in Vivado or on a board.\n\n\
         ## Doubtful\n\n\
         Where sources disagree, or one alone says so. Look here first when something fails.\n\n";
    let parts: [&[String]; 6] = [
        &board.doubtful,
        &board.pcie.doubtful,
        &board.qsfp.doubtful,
        &board.clock.doubtful,
        &board.satellite.doubtful,
        &board.flash.doubtful,
    ];
    for doubt in parts.into_iter().flatten() {
        let _ = writeln!(text, "- {doubt}");
    }
    for setting in settings(board)? {
        for doubt in &setting.ip.doubtful {
            let _ = writeln!(text, "- `{}`: {doubt}", setting.ip.name);
        }
    }
    for primitive in Primitives::known()?.primitive {
        for note in &primitive.notes {
            let _ = writeln!(text, "- `{}`: {note}", primitive.name);
        }
    }
    Ok(text)
}

/// `citations.md`.
pub(crate) fn citations(board: &Board, core: &Manifest) -> Result<String, Unwritten> {
    let mut text =
        "# Citations\n\nWho says so, for each property and port of vendor IP that is used.\n".to_owned();
    for (setting, (_, connections)) in settings(board)?.iter().zip(top::connections(board, core)?) {
        let ip = &setting.ip;
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let _ = write!(
            text,
            "\n## `{}` ({})\n\n| property | value | sources |\n|---|---|---|\n",
            ip.name, ip.document
        );
        for (name, value) in &setting.properties {
            let sources = ip
                .properties
                .iter()
                .find(|property| property.name == *name)
                .map(|property| &property.sources);
            cite(&mut text, &mut used, name, value, sources);
        }
        text += "\n| port | connected to | sources |\n|---|---|---|\n";
        for connection in &connections {
            let sources = ip.ports.iter().find(|port| port.name == connection.port).map(|port| &port.sources);
            cite(&mut text, &mut used, &connection.port, &connection.to, sources);
        }
        explain(&mut text, ip, &used);
    }
    Ok(text)
}

fn cite<'a>(
    text: &mut String,
    used: &mut BTreeSet<&'a str>,
    name: &str,
    value: &str,
    sources: Option<&'a Vec<String>>,
) {
    let sources = sources.map(Vec::as_slice).unwrap_or_default();
    used.extend(sources.iter().map(String::as_str));
    let _ = writeln!(text, "| {name} | `{value}` | {} |", sources.join(", "));
}

fn explain(text: &mut String, ip: &Ip, used: &BTreeSet<&str>) {
    text.push('\n');
    for (name, source) in ip.sources.iter().filter(|(name, _)| used.contains(name.as_str())) {
        let _ = writeln!(text, "- {name}: {source}");
    }
}
