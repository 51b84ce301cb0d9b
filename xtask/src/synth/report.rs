//! Figures as people read them: a table, the worst paths, and the page docs/area.md.

use std::fmt::Write;

use anyhow::Result;
use stroma_boards::Board;

use super::baseline::Baseline;
use super::figures::{Figures, nanoseconds};
use super::part::{self, Use};
use super::timing::Path;

/// What BALBOA, `StRoM`'s successor, is published to take: U55C, after routing, 500 queue pairs.
const BALBOA: &str = "| BALBOA (OSDI '26), published, U55C, after routing, 500 queue pairs | 43,700 |  | 103,000 | 101 |  |  |  |  |";

/// The heads of a table's columns.
pub(crate) fn head() -> String {
    format!(
        "{:<18} {:>7} {:>7} {:>7} {:>6} {:>5} {:>4} {:>6} {:>9}",
        "block", "LUT", "LUTRAM", "FF", "BRAM", "URAM", "DSP", "levels", "period ns"
    )
}

/// A row of a table.
pub(crate) fn line(name: &str, figures: &Figures) -> String {
    let Figures { lut, lut_ram, ff, uram, dsp, levels, .. } = figures;
    format!(
        "{name:<18} {lut:>7} {lut_ram:>7} {ff:>7} {:>6} {uram:>5} {dsp:>4} {levels:>6} {:>9}",
        figures.bram(),
        figures.period()
    )
}

/// What a top takes of a part.
pub(crate) fn uses(part: &str, uses: &[Use]) -> String {
    let mut text = format!("{:<18} {:>9} {:>9} {:>7}\n", "", "the top", "the part", "share");
    for one in uses {
        let _ = writeln!(text, "{:<18} {:>9} {:>9} {:>5} %", one.what, one.taken, one.has, one.percent());
    }
    text + &format!("the part is {part}; LUT RAM is part of LUT, BRAM in units of 36 Kb\n")
}

/// A path of a top, of which the lookup tables alone are told.
pub(crate) fn depth(path: &Path) -> String {
    format!("    {:>2} levels: {} -> {}\n", path.levels, path.from, path.to)
}

/// A path, from register to register, with the cells between.
pub(crate) fn path(path: &Path) -> String {
    let mut text =
        format!("{} ns, {} levels: {} -> {}\n", nanoseconds(path.period), path.levels, path.from, path.to);
    for step in &path.steps {
        let wire = step.wire.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}",
            format!("    {:>6} {:<9} {wire}", nanoseconds(step.at), step.kind).trim_end()
        );
    }
    text
}

/// The generated page.
pub(crate) fn page() -> Result<String> {
    render(&Baseline::load()?)
}

fn render(baseline: &Baseline) -> Result<String> {
    let mut text = String::from(
        "# Area and depth\n\n\
         Written by `cargo xtask docs` from [area.toml](../hw/top/area.toml); `cargo xtask synth --update` measures anew.\n\n\
         Profile `100g`: 512-bit datapath, 1024 queue pairs, a clock of 4 ns. yosys (`synth_xilinx -family xcup`) maps each\n\
         block by itself to UltraScale+. Lookup tables and periods are for comparing one version with the next. They are no\n\
         sign-off: nothing is placed or routed.\n\n",
    );
    text += COLUMNS;
    for (name, row) in &baseline.block {
        let _ = writeln!(text, "{}", markdown(&format!("`{name}`"), &row.figures));
    }
    text += "\n## The card\n\n";
    match &baseline.card {
        Some(card) => {
            text += COLUMNS;
            let _ = writeln!(
                text,
                "{}",
                markdown("`area.lut.card`: the card, mapped as one, yosys", &card.figures)
            );
            let _ = writeln!(text, "{BALBOA}");
        }
        None => {
            text += "`cargo xtask synth --card --update` maps the card as one, kernels and all; it has not been measured yet. The sum of the blocks is not\n\
                     the card: some are left out below, and the card joins them with more. BALBOA (OSDI '26, U55C, after routing, 500 queue\n\
                     pairs) is published with 43,700 LUT, 103,000 FF and 101 BRAM.\n";
        }
    }
    text += &tops(baseline)?;
    text += METHOD;
    text += "\n## Exceptions\n\n";
    let card = baseline.card.iter().map(|row| ("the card", row));
    let boards = baseline.board.iter().map(|(name, row)| (name.as_str(), row));
    let exceptions: Vec<_> = (baseline.block.iter().map(|(name, row)| (name.as_str(), row)))
        .chain(card)
        .chain(boards)
        .filter_map(|(name, row)| Some((name, row.exception.as_ref()?)))
        .collect();
    if exceptions.is_empty() {
        text += "None.\n";
    } else {
        text += "| block | why it may be over a limit |\n|---|---|\n";
    }
    for (name, why) in exceptions {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    text += "\n## Not measured\n\n| block | why |\n|---|---|\n";
    for (name, why) in &baseline.left_out {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    Ok(text)
}

/// The section on tops of boards.
fn tops(baseline: &Baseline) -> Result<String> {
    let mut text = String::from(TOPS);
    if baseline.board.is_empty() {
        return Ok(
            text + "`cargo xtask synth --board u55c --update` maps the top of U55C; it has not been measured yet.\n"
        );
    }
    text += "| board | LUT | of them LUT RAM | FF | BRAM | URAM | DSP | levels |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for (name, row) in &baseline.board {
        let board = Board::named(name)?;
        let uses = part::uses(&row.figures, &board.resources);
        let mut line = |what: &str, shown: &dyn Fn(&Use) -> String, levels: &str| {
            let cells: Vec<String> = uses.iter().map(shown).collect();
            let _ = writeln!(text, "| {what} | {} | {levels} |", cells.join(" | "));
        };
        line(&format!("`{name}`: the top, yosys"), &|one| one.taken.clone(), &row.figures.levels.to_string());
        line(&format!("`{}` has", board.part), &|one| one.has.to_string(), "");
        line("share", &|one| format!("{} %", one.percent()), "");
    }
    Ok(text)
}

const COLUMNS: &str = "| block | LUT | of them LUT RAM | FF | BRAM | URAM | DSP | levels | period, ns |\n\
                       |---|--:|--:|--:|--:|--:|--:|--:|--:|\n";

const TOPS: &str = "
## The top of a board

`cargo xtask synth --board NAME` writes the folder of a board as `cargo xtask bitstream` does and maps the top in it as one: shell, card
and all kernels. Vendor IP (PCIe block and MAC) and the primitives of clocks, pins and sensor are black boxes: the command counts
them by kind, and what they take of the chip themselves is not in the figures. There is no period: the top has several clocks, and
the model knows what a path asks for within one alone. Levels are those of any path. A top that takes more than its part has is an
error. Memories are mapped without their first contents, all zeros, with which yosys asks for more than 22 GB; on the shell of U55C
alone that came to the same registers and memories and to 1.5 % less logic in lookup tables. Operators and memories are mapped module
by module, and the rest flattened, so levels are more than those of a block that is flattened at once.

";

const METHOD: &str = "
## Method

- **LUT** counts lookup tables: logic, LUT RAM at the size of its primitive, shift registers, inverters that no table takes in. Vivado
  often fits two small tables into one: over 18 public designs yosys came to 1.26 times Vivado's count (median). **BRAM** is in
  units of 36 Kb.
- **Levels** is the most lookup tables on a path; a LUT RAM that is read counts as one, carry chains and slice multiplexers as none.
- **Period** is that of the slowest path under a simple model, written down in [cells.rs](../xtask/src/synth/cells.rs): a fixed
  delay for each kind of cell, and for each wire 0.20 + 0.03 log2(n) + 0.0015 n ns for n readers. On 18 public designs with routed
  reports such a model ranked them well (Spearman 0.89) and was within about 25 %. It knows no placement, no congestion and no
  crossing between dies.
- Ports and black boxes count as registers outside. Paths that begin at `reset` are left out: a wire to thousands of registers is
  given a tree of copies or a clock's buffer. Paths through several blocks show in the card and in a top alone.

`cargo xtask synth` fails when a block has grown against area.toml by more than 3 % LUT, 1 % FF or 3 % period, or by any RAM or DSP
slice, and when it takes more than 5.00 ns (1.25 times the clock's period) or 10 levels without an exception. `ci` does the same
for the blocks marked `ci` there, `--card` and `--board` for the card and for a top, which has no period. `ci` also checks on the card
as it is written that no output follows an input within the cycle.
`cargo xtask synth --block NAME` prints the worst paths of a block.
";

fn markdown(name: &str, figures: &Figures) -> String {
    let Figures { lut, lut_ram, ff, uram, dsp, levels, .. } = figures;
    let (bram, period) = (figures.bram(), figures.period());
    format!("| {name} | {lut} | {lut_ram} | {ff} | {bram} | {uram} | {dsp} | {levels} | {period} |")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::baseline::Row;
    use super::*;

    const FIGURES: Figures = Figures {
        lut: 2117,
        lut_ram: 1152,
        ff: 244,
        bram18: 69,
        uram: 2,
        dsp: 1,
        levels: 8,
        period_ps: Some(4234),
    };

    #[test]
    fn the_page_holds_every_block_exception_and_omission_and_the_card_beside_what_others_published() {
        let row = Row { ci: false, exception: Some("a reason".into()), figures: FIGURES };
        let baseline = Baseline {
            card: Some(Row { figures: FIGURES, exception: Some("another".into()), ..Row::default() }),
            board: BTreeMap::new(),
            left_out: BTreeMap::from([("skid".into(), "a primitive".into())]),
            block: BTreeMap::from([("parse".into(), row)]),
        };
        let page = render(&baseline).unwrap();
        for part in [
            "| `parse` | 2117 | 1152 | 244 | 34.5 | 2 | 1 | 8 | 4.23 |",
            "| `parse` | a reason |",
            "| `the card` | another |",
            "| `skid` | a primitive |",
            "area.lut.card",
            "43,700",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        let page = render(&Baseline { card: None, ..baseline }).unwrap();
        assert!(
            page.contains(
                "--card --update` maps the card as one, kernels and all; it has not been measured yet"
            ),
            "{page}"
        );
    }

    #[test]
    fn the_page_shows_the_top_of_a_board_beside_what_its_part_has_or_that_it_has_not_been_measured() {
        let page = render(&Baseline::default()).unwrap();
        let unmeasured =
            "`cargo xtask synth --board u55c --update` maps the top of U55C; it has not been measured yet.";
        assert!(page.contains(unmeasured), "{page}");
        let figures = Figures { period_ps: None, ..FIGURES };
        let row = Row { figures, exception: Some("wide".into()), ..Row::default() };
        let page = render(&Baseline { board: BTreeMap::from([("u55c".into(), row)]), ..Baseline::default() })
            .unwrap();
        for part in [
            "| `u55c`: the top, yosys | 2117 | 1152 | 244 | 34.5 | 2 | 1 | 8 |",
            "| `xcu55c-fsvh2892-2L-e` has | 1303680 | 600960 | 2607360 | 2016 | 960 | 9024 |  |",
            "| share | 0.2 % | 0.2 % | 0.0 % | 1.7 % | 0.2 % | 0.0 % |  |",
            "| `u55c` | wide |",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        assert!(!page.contains(unmeasured), "{page}");
    }

    #[test]
    fn what_a_top_takes_stands_beside_what_the_part_has() {
        let board = Board::named("u55c").unwrap();
        let text = uses(&board.part, &part::uses(&FIGURES, &board.resources));
        assert!(text.contains("\nBRAM                    34.5      2016   1.7 %\n"), "{text}");
        let widths: Vec<usize> = text.lines().take(7).map(str::len).collect();
        assert_eq!(widths, [widths[0]; 7], "{text}");
    }

    #[test]
    fn a_row_of_the_table_lines_up_with_its_head() {
        assert_eq!(head().len(), line("parse", &FIGURES).len());
        assert!(line("parse", &FIGURES).ends_with("34.5     2    1      8      4.23"));
    }
}
