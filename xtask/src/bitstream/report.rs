//! One page of what Vivado's reports say.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use stroma_boards::{Board, REPORTS};

/// Writes `build/report.md`, and returns its text.
pub(crate) fn collect(board: &Board, out: &Path) -> Result<String> {
    let folder = out.join("build/reports");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let text = page(board, &read("timing.rpt"), &read("utilisation.rpt"), &read("power.rpt"), |name| {
        folder.join(name).is_file()
    });
    let path = out.join("build/report.md");
    fs::write(&path, &text).with_context(|| format!("write {}", path.display()))?;
    Ok(text)
}

fn page(
    board: &Board,
    timing: &str,
    utilisation: &str,
    power: &str,
    is_there: impl Fn(&str) -> bool,
) -> String {
    let mut text = format!("# What Vivado says of Stroma on {}\n\n", board.name);
    text += "## Timing\n\n| | ns |\n|---|---|\n";
    match slacks(timing) {
        Some([setup, hold]) => {
            let _ = writeln!(text, "| worst setup slack | {setup} |\n| worst hold slack | {hold} |");
        }
        None => text += "| not found | see `reports/timing.rpt` |\n",
    }
    text += "\n## Utilisation\n\n";
    text += &table(utilisation, "Instance")
        .unwrap_or_else(|| "Not found: see `reports/utilisation.rpt`.\n".to_owned());
    text += "\n## Power\n\n";
    match watts(power) {
        Some(watts) => {
            let _ = writeln!(text, "{watts} W, as estimated.");
        }
        None => text += "Not found: see `reports/power.rpt`.\n",
    }
    text += "\n## Reports\n\n";
    for (name, _) in REPORTS {
        let note = if is_there(name) { "" } else { ": missing" };
        let _ = writeln!(text, "- `reports/{name}`{note}");
    }
    text
}

/// Worst slacks of setup and hold: below the heading `Design Timing Summary` is a line of column names with `WNS(ns)` and `WHS(ns)`, a line of dashes, and
/// a line of values. Names have spaces in them, so the columns are told by where they begin.
fn slacks(report: &str) -> Option<[String; 2]> {
    let lines: Vec<&str> = report.lines().collect();
    let heading = lines.iter().position(|line| line.contains("Design Timing Summary"))?;
    let names = heading + lines[heading..].iter().position(|line| line.contains("WNS(ns)"))?;
    let values = lines.get(names + 2)?;
    let value = |column: &str| {
        let at = lines[names].find(column)?;
        // Values begin under their names, or a little before or behind them.
        let from = values.get(at.saturating_sub(1)..)?;
        from.split_whitespace().next().map(str::to_owned)
    };
    Some([value("WNS(ns)")?, value("WHS(ns)")?])
}

/// Rows of the table whose first column has a name, of the top and what is right below it.
fn table(report: &str, first: &str) -> Option<String> {
    let mut rows = report.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim_end().to_owned()).collect()
    };
    let header = cells(rows.find(|line| line.trim_start_matches('|').trim_start().starts_with(first))?);
    let mut text = format!("| {} |\n|{}\n", join(&header), "---|".repeat(header.len()));
    for row in rows.map(cells) {
        // One space stands before the top, two more a level below.
        let depth = row[0].len() - row[0].trim_start().len();
        if depth <= 5 {
            let _ = writeln!(text, "| {} |", join(&row));
        }
    }
    Some(text)
}

fn join(cells: &[String]) -> String {
    cells.iter().map(|cell| cell.trim()).collect::<Vec<_>>().join(" | ")
}

/// Watts of the row `Total On-Chip Power (W)`.
fn watts(report: &str) -> Option<String> {
    let row = report.lines().find(|line| line.contains("Total On-Chip Power (W)"))?;
    row.split('|').nth(2).map(|cell| cell.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: &str = "\
------------------------------------------------------------------------------------------------
| Design Timing Summary
| ---------------------
------------------------------------------------------------------------------------------------

    WNS(ns)      TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints      WHS(ns)      THS(ns)  THS Failing Endpoints  THS Total Endpoints
    -------      -------  ---------------------  -------------------      -------      -------  ---------------------  -------------------
     -0.042       -1.250                     57               912345        0.010        0.000                      0               912345
";

    const UTILISATION: &str = "\
+------------+------------+------------+---------+
|  Instance  |   Module   | Total LUTs |   FFs   |
+------------+------------+------------+---------+
| board      |      (top) |     301234 |  402345 |
|   core     | stroma_core|     290000 |  400000 |
|     card   | stroma_100g|     250000 |  350000 |
|       deep |       deep |        100 |     100 |
+------------+------------+------------+---------+
";

    const POWER: &str = "| Total On-Chip Power (W)  | 41.234       |\n";

    #[test]
    fn the_page_has_slack_area_and_power_and_tells_what_is_missing() {
        let board = Board::named("u50").unwrap();
        let text = page(&board, TIMING, UTILISATION, POWER, |name| name != "cdc.rpt");
        for line in [
            "| worst setup slack | -0.042 |",
            "| worst hold slack | 0.010 |",
            "| Instance | Module | Total LUTs | FFs |",
            "| core | stroma_core | 290000 | 400000 |",
            "41.234 W, as estimated.",
            "- `reports/cdc.rpt`: missing",
            "- `reports/timing.rpt`",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing:\n{text}");
        }
        assert!(!text.contains("deep"), "{text}");
    }

    #[test]
    fn reports_that_are_none_are_said_to_be_so() {
        let text = page(&Board::named("u50").unwrap(), "", "", "", |_| false);
        assert_eq!(text.to_lowercase().matches("not found").count(), 3, "{text}");
    }
}
