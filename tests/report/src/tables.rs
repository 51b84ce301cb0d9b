//! Tables of figures inside pages that people write.
//!
//! A page says where: between `<!-- figures: NAME -->` and `<!-- figures: end -->`, each on a line of its own, stands what the
//! table of that name shows, and is written anew from the figures. All else in the page stays.

mod rows;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, bail, ensure};

use crate::document::{Document, Figure, Origin};
use rows::{Row, TABLES, Table};

const MARK: (&str, &str) = ("<!-- figures: ", " -->");
/// The name that ends a table.
const END: &str = "end";
/// What helps when figures are missing; when marks are, their page wants an editor.
const MEASURE: &str = "next step: cargo xtask bench all --readme";
/// The table of what shapes the figures.
const CONDITIONS: &str = "conditions";

/// Writes every table of a page anew. `names` are those that the page must have, each once, and no others.
///
/// # Errors
/// When a mark is missing, double or out of place, or when there is no such figure: with its name.
pub fn fill(page: &str, names: &[&str], document: &Document) -> Result<String> {
    let mut filled = Vec::new();
    let (mut missing, mut open) = (names.to_vec(), None);
    for (line, number) in page.lines().zip(1..) {
        match (mark(line), open) {
            (None, Some(_)) => continue,
            (None, None) => {}
            (Some(END), Some(_)) => open = None,
            (Some(END), None) => bail!("line {number}: a table ends and none has begun"),
            (Some(name), Some(other)) => bail!("line {number}: table `{name}` begins inside table `{other}`"),
            (Some(name), None) => {
                let place = missing.iter().position(|wanted| *wanted == name);
                let place = place.with_context(|| {
                    format!("line {number}: table `{name}` is there twice, or does not belong here")
                })?;
                missing.remove(place);
                open = Some(name);
                let table =
                    render(name, document).with_context(|| format!("table `{name}`")).context(MEASURE)?;
                filled.extend([line.to_owned(), String::new(), table]);
                continue;
            }
        }
        filled.push(line.to_owned());
    }
    if let Some(name) = open {
        bail!("table `{name}` does not end: the line `{}{END}{}` is missing", MARK.0, MARK.1);
    }
    if let Some(name) = missing.first() {
        bail!("table `{name}` is missing: no line is `{}{name}{}`", MARK.0, MARK.1);
    }
    Ok(filled.join("\n") + "\n")
}

/// The name in a line that is a mark.
fn mark(line: &str) -> Option<&str> {
    line.trim().strip_prefix(MARK.0)?.strip_suffix(MARK.1)
}

fn render(name: &str, document: &Document) -> Result<String> {
    if name == CONDITIONS {
        return Ok(conditions(document));
    }
    let table = TABLES.iter().find(|table| table.name == name).context("nobody knows what it shows")?;
    let rows = table.rows.iter().map(|row| Ok(line(&cells(table, row, document)?)));
    let rows = rows.collect::<Result<String>>()?;
    let note = match table.origin {
        Origin::Simulated => String::new(),
        Origin::Machine => format!("Wall-clock time of one run on one machine ({}):\n\n", document.machine),
    };
    Ok(note + &head(table.head) + &rows)
}

fn conditions(document: &Document) -> String {
    let rows = document.conditions.iter().map(|of| line(&[&of.profile, &of.clock, &of.pcie, &of.wire]));
    head(&["profile", "clock", "PCIe", "wire"]) + &rows.collect::<String>()
}

fn head(titles: &[&str]) -> String {
    format!("{}|{}\n", line(titles), "---|".repeat(titles.len()))
}

fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// What a row says, and nothing in the columns that it has no figures for.
fn cells(table: &Table, row: &Row, document: &Document) -> Result<Vec<String>> {
    let mut cells = vec![row.label.to_owned()];
    for names in row.cells {
        let figures = names.iter().map(|name| document.figure(name)).collect::<Result<Vec<&Figure>>>()?;
        for figure in &figures {
            let Figure { name, origin, .. } = figure;
            ensure!(
                *origin == table.origin,
                "figure `{name}` is {origin:?}, and the table {:?}",
                table.origin
            );
        }
        cells.push(values(&figures)?);
    }
    ensure!(cells.len() == table.head.len(), "row \"{}\" has {} cells", row.label, cells.len());
    Ok(cells)
}

/// Values of one unit, with the unit once.
fn values(figures: &[&Figure]) -> Result<String> {
    let Some(first) = figures.first() else { return Ok(String::new()) };
    let mut texts = Vec::new();
    for figure in figures {
        ensure!(
            figure.unit == first.unit,
            "figures `{}` and `{}` have different units",
            first.name,
            figure.name
        );
        texts.push(value(figure)?);
    }
    let unit = match &*first.unit {
        "M msg/s" => "million a second",
        "k op/s" => "thousand a second",
        "cycles/s" => "thousand cycles a second",
        "" => "times",
        unit => unit,
    };
    Ok(format!("{} {unit}", texts.join("; ")))
}

/// With the digits that its unit deserves.
fn value(Figure { name, value, unit, .. }: &Figure) -> Result<String> {
    Ok(match &**unit {
        "" if *value >= 100.0 => format!("{value:.0}"),
        "" if *value < 10.0 => format!("{value:.2}"),
        "Gb/s" | "M msg/s" | "k op/s" | "" => format!("{value:.1}"),
        "us" | "s" => format!("{value:.2}"),
        "cycles" => format!("{value:.0}"),
        "cycles/s" => format!("{:.1}", value / 1000.0),
        _ => bail!("figure `{name}` has the unit \"{unit}\", which no table knows"),
    })
}
