//! One page that needs no network and no script: conditions, figures beside what others have published, plots.

use crate::compare::{Change, Compared};
use crate::document::{Document, Figure, Origin, Plot};
use crate::svg::{PAGE_STYLE, PLOT_STYLE};
use crate::{anchors, bars, plot};

/// Above the table of figures.
const NOTE: &str = "Figures marked <b>simulated</b> are cycle counts of the RTL under the conditions above: the same on every \
                    machine, and no result of hardware. Those marked <b>this machine</b> are wall-clock time of one run. What \
                    others have <b>published</b> has columns of its own, and was measured as it says there.";

/// Text as it may stand in an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The page, with what changed since an earlier run if there is one.
#[must_use]
pub fn page(document: &Document, compared: Option<&[Compared]>) -> String {
    let mut body = String::from("<h1>Stroma: figures of the simulated card</h1>\n");
    body += &conditions(document);
    body += "<h2>Figures</h2>\n<p>";
    body += NOTE;
    body += "</p>\n";
    body += &figures(document, compared);
    body += &gone(compared.unwrap_or_default());
    for plot in Plot::ALL {
        if let Some(drawn) = plot::draw(plot, &document.curves) {
            body += &section(plot.title(), &drawn);
        }
    }
    if let Some(drawn) = bars::draw(&document.breakdowns) {
        body += &section("Latency by host, card and wire (simulated)", &drawn);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>Stroma bench</title>\n<style>\n{PAGE_STYLE}{PLOT_STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn section(title: &str, drawn: &str) -> String {
    format!("<h2>{}</h2>\n<figure>\n{drawn}</figure>\n", escape(title))
}

fn row(cells: &[String]) -> String {
    format!("<tr>{}</tr>\n", cells.concat())
}

fn cell(text: &str) -> String {
    format!("<td>{}</td>", escape(text))
}

fn head(titles: &[&str]) -> String {
    let cells: Vec<String> = titles.iter().map(|title| format!("<th>{}</th>", escape(title))).collect();
    format!("<thead>{}</thead>\n", row(&cells))
}

fn conditions(document: &Document) -> String {
    let rows = document
        .conditions
        .iter()
        .map(|of| row(&[cell(&of.profile), cell(&of.clock), cell(&of.pcie), cell(&of.wire)]));
    let head = head(&["profile", "clock", "PCIe", "wire"]);
    format!("<h2>Conditions</h2>\n<table>\n{head}<tbody>\n{}</tbody>\n</table>\n", rows.collect::<String>())
}

fn figures(document: &Document, compared: Option<&[Compared]>) -> String {
    let mut titles = vec!["figure", "value", "unit", "origin"];
    if compared.is_some() {
        titles.push("change");
    }
    titles.extend([
        "profile",
        "how it was measured",
        "published",
        "published: source",
        "published: measured how",
    ]);
    let rows = document.figures.iter().map(|figure| {
        let change = compared.map(|all| change(all, &figure.name));
        figure_rows(figure, change)
    });
    let rows: String = rows.collect();
    format!("<div class=\"wide\"><table>\n{}<tbody>\n{rows}</tbody>\n</table></div>\n", head(&titles))
}

/// What became of the figure of a name, in words.
fn change(compared: &[Compared], name: &str) -> String {
    compared.iter().find(|one| one.name == name).map(|one| one.change.text()).unwrap_or_default()
}

/// A figure, over as many rows as others have published beside it. `change` is there when two runs are compared.
fn figure_rows(figure: &Figure, change: Option<String>) -> String {
    let origin = match figure.origin {
        Origin::Simulated => "simulated",
        Origin::Machine => "this machine",
    };
    let published: Vec<[&str; 3]> =
        anchors::beside(&figure.name).map(|anchor| [anchor.value, anchor.source, anchor.measured]).collect();
    let span = published.len().max(1);
    let own = |text: &str| format!("<td rowspan=\"{span}\">{}</td>", escape(text));
    let mut cells = vec![
        format!("<th scope=\"row\" rowspan=\"{span}\">{}</th>", escape(&figure.name)),
        format!("<td rowspan=\"{span}\" class=\"number\">{:.2}</td>", figure.value),
        own(&figure.unit),
        own(origin),
    ];
    if let Some(change) = change {
        cells.push(own(&change));
    }
    cells.extend([own(&figure.profile), own(&figure.how)]);
    let theirs =
        |texts: &[&str; 3]| texts.map(|text| format!("<td class=\"published\">{}</td>", escape(text)));
    let (first, others) =
        published.split_first().map_or((&[""; 3], &[][..]), |(first, others)| (first, others));
    cells.extend(theirs(first));
    row(&cells) + &others.iter().map(|texts| row(&theirs(texts))).collect::<String>()
}

/// What the earlier run had and this one has not.
fn gone(compared: &[Compared]) -> String {
    let names: Vec<String> =
        compared.iter().filter(|one| one.change == Change::Gone).map(|one| escape(&one.name)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("<p>Measured in the earlier run and not in this one: {}.</p>\n", names.join(", "))
}

#[cfg(test)]
mod tests;
