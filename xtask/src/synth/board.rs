//! The top of a board as a whole: shell, card and kernels, with vendor IP as black boxes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use stroma_boards::{Board, TOP, blackboxes};

use super::baseline::{self, Baseline};
use super::cells::{self, Class};
use super::figures::{Figures, blocks};
use super::netlist::Netlist;
use super::timing::Timing;
use super::{SHOWN_PATHS, part, report, yosys};
use crate::tools::Routine;
use crate::{bitstream, rtl, setup};

/// Writes the folder of a board as `bitstream` does, maps it, and compares what it takes with the part and with area.toml.
pub(crate) fn run(name: &str, update: bool) -> Result<()> {
    let board = &Board::named(name)?;
    setup::run(Routine::Ci)?;
    let sources = bitstream::folder_of(name)?;
    let folder = super::folder(&format!("top-{name}"))?;
    let boxes = blackboxes(board)?;
    let path = folder.join("blackboxes.v");
    fs::write(&path, &boxes).with_context(|| format!("write {}", path.display()))?;
    let mut files = rtl::verilog(&sources.join("rtl"))?;
    files.push(path);
    let bare = yosys::bare(&folder, &files)?;
    let started = Instant::now();
    let bar = super::bar(0);
    let text = yosys::run(&folder, &yosys::mapped_whole(&[bare], TOP), |pass| {
        bar.set_message(format!("the top of {}: {pass}", board.name));
    });
    bar.finish_and_clear();
    let netlist = Netlist::parse(&text?, TOP)?.with_black_boxes(&kinds(&boxes));
    println!("the top of {}, mapped in {:.0} minutes", board.name, started.elapsed().as_secs_f64() / 60.0);
    let (figures, told) = measure(&netlist, board)?;
    print!("{told}");
    part::fits(board, &figures)?;
    let mut baseline = Baseline::load()?;
    if update {
        baseline.board.entry(name.to_owned()).or_default().figures = figures;
        super::keep(&baseline)?;
    }
    let findings = baseline.board.get(name).map(|row| baseline::findings(name, row, &figures));
    super::judge(1, &findings.unwrap_or_default())
}

/// The modules that a text of black boxes declares.
fn kinds(boxes: &str) -> BTreeSet<String> {
    let modules = boxes.lines().filter_map(|line| line.strip_prefix("module ")?.split([' ', '(']).next());
    modules.map(str::to_owned).collect()
}

/// The figures of a top, and what to tell of it. A period is not among them: registers of several clocks and vendor IP are joined here, and
/// a path between two clocks asks for none.
fn measure(netlist: &Netlist, board: &Board) -> Result<(Figures, String)> {
    let timing = Timing::of(netlist)?;
    let figures = Figures { period_ps: None, ..Figures::of(netlist, &timing)? };
    let mut text = report::uses(&board.part, &part::uses(&figures, &board.resources));
    text += "\nblack boxes, of which nothing is counted above:\n";
    for (kind, count) in black_boxes(netlist) {
        let _ = writeln!(text, "    {kind:<18} {count:>3}");
    }
    text += "\nmemories, by part:\n";
    text += &memories(netlist)?;
    let _ = writeln!(
        text,
        "\n{} LUT levels at most; deepest, one for each register or memory at the end:",
        figures.levels
    );
    text.extend(timing.deepest(SHOWN_PATHS).iter().map(report::depth));
    Ok((figures, text))
}

/// How many there are of each kind.
fn black_boxes(netlist: &Netlist) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for cell in netlist.cells.values().filter(|cell| cell.is_black_box) {
        *counts.entry(cell.kind.as_str()).or_insert(0) += 1;
    }
    counts
}

/// What memories take, by the part of the top that they are in. Memories alone keep the names of their instances: lookup tables come out of
/// mapping with none, and a register with that of any wire behind it, which may be in another part.
fn memories(netlist: &Netlist) -> Result<String> {
    let mut parts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (name, cell) in &netlist.cells {
        let taken = match cells::class(cell)? {
            Class::LutRam => [cells::lut_ram_tables(&cell.kind).unwrap_or(0), 0, 0],
            Class::BlockRam => [0, cells::halves(&cell.kind), 0],
            Class::UltraRam => [0, 0, 1],
            _ => continue,
        };
        let sum = parts.entry(part_of(name)).or_default();
        for (sum, taken) in sum.iter_mut().zip(taken) {
            *sum += taken;
        }
    }
    let mut text = format!("    {:<34} {:>7} {:>6} {:>5}\n", "part", "LUTRAM", "BRAM", "URAM");
    for (name, [lut_ram, bram18, uram]) in parts {
        let _ = writeln!(text, "    {name:<34} {lut_ram:>7} {:>6} {uram:>5}", blocks(bram18));
    }
    Ok(text)
}

/// Where in the top a memory is: a block of the shell, or of a part of the card.
fn part_of(memory: &str) -> String {
    if memory.starts_with('$') {
        return "without a name".to_owned();
    }
    let path = memory.strip_prefix("core.").unwrap_or(memory);
    let deep = if path.starts_with("card.") { 3 } else { 2 };
    path.split('.').take(deep).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    fn top() -> Sample {
        Sample::default()
            .cell("mac", "stroma_mac", "tx_clk>1 tready>2 tvalid<6")
            .cell("clock_buffer", "BUFGCE_DIV", "I<1 O>7")
            .register("core.shell.transmit.ready", 2, 3)
            .cell("$abc$1", "LUT2", "I0<3 I1<2 O>4")
            .cell("$abc$2", "LUT1", "I0<4 O>6")
            .cell("core.shell.transmit.data.words.0.0", "RAMB18E2", "CLKARDCLK<1 ADDRARDADDR<3 DOUTADOUT>8")
            .cell(
                "core.card.host.transport.packets.words.0.0",
                "RAMB36E2",
                "CLKARDCLK<1 ADDRARDADDR<3 DOUTADOUT>9",
            )
            .cell("core.card.host.transport.packets.words.0.1", "URAM288", "CLK<1 ADDR_A<3 DOUT_A>10")
            .cell("$mem$3.0.0", "RAM32M", "WCLK<1 ADDRA<3 DOA>11")
    }

    fn boxes() -> BTreeSet<String> {
        kinds(&blackboxes(&Board::named("u55c").unwrap()).unwrap())
    }

    #[test]
    fn the_black_boxes_are_vendor_ip_and_the_primitives_of_the_top() {
        let boxes = boxes();
        for kind in ["stroma_pcie", "stroma_mac", "IBUFDS_GTE4", "IBUFDS", "BUFGCE_DIV", "SYSMONE4"] {
            assert!(boxes.contains(kind), "{kind}: {boxes:?}");
        }
        assert_eq!(boxes.len(), 6, "{boxes:?}");
    }

    #[test]
    fn a_board_that_there_is_not_is_told_with_those_that_there_are() {
        let error = run("u30", false).unwrap_err().to_string();
        assert_eq!(error, "no board is called u30; there are u50, u55c, u200, u250, u280");
    }

    #[test]
    fn black_boxes_are_counted_by_kind_and_take_nothing() {
        let netlist = top().netlist().with_black_boxes(&boxes());
        let (figures, text) = measure(&netlist, &Board::named("u55c").unwrap()).unwrap();
        let expected =
            Figures { lut: 6, lut_ram: 4, ff: 1, bram18: 3, uram: 1, dsp: 0, levels: 2, period_ps: None };
        assert_eq!(figures, expected);
        for line in ["    BUFGCE_DIV           1", "    stroma_mac           1"] {
            assert!(text.lines().any(|told| told == line), "{line}: {text}");
        }
    }

    #[test]
    fn a_kind_that_is_neither_known_nor_a_black_box_of_the_board_is_refused() {
        let netlist = top().cell("delay", "IDELAYE3", "CLK<1").netlist().with_black_boxes(&boxes());
        let error = measure(&netlist, &Board::named("u55c").unwrap()).unwrap_err().to_string();
        assert!(error.contains("the netlist holds a `IDELAYE3`"), "{error}");
        let error = measure(&top().netlist(), &Board::named("u55c").unwrap()).unwrap_err().to_string();
        assert!(error.contains("the netlist holds a `BUFGCE_DIV`"), "{error}");
    }

    #[test]
    fn a_black_box_ends_and_begins_paths() {
        let netlist = top().netlist().with_black_boxes(&boxes());
        let path = Timing::of(&netlist).unwrap().deepest(1).remove(0);
        assert_eq!((path.to.as_str(), path.levels), ("mac tvalid", 2));
        let begun = Sample::default()
            .cell("mac", "stroma_mac", "tready>2")
            .cell("one", "LUT1", "I0<2 O>3")
            .register("ready", 3, 4)
            .netlist()
            .with_black_boxes(&boxes());
        let path = Timing::of(&begun).unwrap().deepest(1).remove(0);
        assert_eq!((path.from.as_str(), path.to.as_str()), ("mac", "ready$q D"));
    }

    #[test]
    fn memories_are_told_by_the_block_of_the_shell_or_of_the_card_that_they_are_in() {
        let netlist = top().netlist().with_black_boxes(&boxes());
        let rows: Vec<Vec<String>> = (memories(&netlist).unwrap().lines().skip(1))
            .map(|line| {
                line.split("  ").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            })
            .collect();
        assert_eq!(
            rows,
            [
                ["card.host.transport", "0", "1", "1"],
                ["shell.transmit", "0", "0.5", "0"],
                ["without a name", "4", "0", "0"],
            ]
        );
    }
}
