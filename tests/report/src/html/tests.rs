use super::*;
use crate::compare::compare;
use crate::document::{Breakdown, Curve};

fn figure(name: &str, value: f64, unit: &str) -> Figure {
    Figure {
        name: name.into(),
        value,
        unit: unit.into(),
        origin: Origin::Simulated,
        profile: "100g".into(),
        timing: "t".into(),
        how: "window: <1000 cycles>".into(),
    }
}

fn document(figures: Vec<Figure>) -> Document {
    Document { figures, ..Document::new(Vec::new(), String::new()) }
}

/// The cells of the row of a figure.
fn cells(page: &str, name: &str) -> Vec<String> {
    let start = page.find(&format!(">{name}</th>")).expect("a row of that name");
    let row = &page[start..start + page[start..].find("</tr>").expect("its end")];
    row.split("</td>")
        .map(|cell| cell.rsplit_once("<td").map_or("", |(_, cell)| cell))
        .map(str::to_owned)
        .collect()
}

#[test]
fn everything_that_means_something_in_html_is_escaped() {
    assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    let page = page(&document(vec![figure("<script>alert(1)</script>", 1.0, "<i>")]), None);
    assert!(!page.contains("<script") && !page.contains("<i>"), "{page}");
    assert!(page.contains("window: &lt;1000 cycles&gt;"));
}

#[test]
fn a_figure_stands_beside_what_others_published_and_is_marked_simulated() {
    let page = page(
        &document(vec![figure("read.latency.64B.qp1", 3.5, "us"), figure("no.anchor", 1.0, "us")]),
        None,
    );
    let row = cells(&page, "read.latency.64B.qp1");
    assert!(row[0].ends_with("3.50") && row[2].ends_with("simulated"), "{row:?}");
    assert!(
        row[5].contains("published") && row[5].contains("7.68 us") && row[6].contains("BALBOA"),
        "{row:?}"
    );
    assert!(!row[..5].concat().contains("7.68"), "never mixed: {row:?}");
    assert_eq!(cells(&page, "no.anchor")[5..8], [" class=\"published\">"; 3], "empty, but there");
}

#[test]
fn each_published_figure_has_a_row_beside_the_one_of_ours() {
    let page = page(&document(vec![figure("read.latency.64B.qp1", 3.5, "us")]), None);
    assert_eq!(anchors::beside("read.latency.64B.qp1").count(), 2);
    let (_, rows) = page.split_once("rowspan=\"2\">read.latency.64B.qp1<").expect("two rows");
    let rows: Vec<&str> = rows.split("</tr>").collect();
    assert!(
        rows[0].contains("7.68 us") && rows[1].contains("2.5 us median") && rows[1].contains("Clio"),
        "{rows:?}"
    );
    assert_eq!(rows[1].matches("<td").count(), 3);
}

#[test]
fn time_of_this_machine_is_marked_so() {
    let wall = Figure { origin: Origin::Machine, ..figure("write.wall.2MiB", 2.0, "s") };
    assert!(cells(&page(&document(vec![wall]), None), "write.wall.2MiB")[2].ends_with("this machine"));
}

#[test]
fn changes_have_a_column_and_lost_figures_a_line() {
    let old = document(vec![figure("a", 4.0, "us"), figure("b", 4.0, "us"), figure("lost<", 1.0, "us")]);
    let new = document(vec![figure("a", 5.0, "us"), figure("b", 4.0, "cycles"), figure("c", 1.0, "us")]);
    let page = page(&new, Some(&compare(&old, &new)));
    assert!(cells(&page, "a")[3].ends_with(">+25.0 %"));
    assert!(cells(&page, "b")[3].ends_with(">was in &quot;us&quot;"));
    assert!(cells(&page, "c")[3].ends_with(">new"));
    assert!(page.contains("not in this one: lost&lt;."));
}

#[test]
fn a_run_without_curves_has_no_plots_and_one_with_them_has_each() {
    let mut run = document(vec![figure("a", 4.0, "us")]);
    assert!(!page(&run, None).contains("<svg"));
    run.curves = vec![Curve { plot: Plot::QueuePairs, name: "WRITE".into(), points: vec![[1.0, 2.0]] }];
    run.breakdowns = vec![Breakdown { name: "READ".into(), host: 1.0, card: 1.0, wire: 1.0 }];
    assert_eq!(page(&run, None).matches("<svg").count(), 2);
}

#[test]
fn the_page_asks_for_nothing_from_outside() {
    let page = page(&document(vec![figure("write.latency.64B.qp1", 4.0, "us")]), None);
    for way in ["http:", "https:", "src=", "url(", "@import"] {
        assert!(!page.contains(way), "{way}");
    }
}

#[test]
fn every_anchor_says_whose_it_is_and_how_it_was_measured() {
    for anchor in &anchors::ANCHORS {
        assert!(!anchor.value.is_empty() && !anchor.source.is_empty() && !anchor.measured.is_empty());
    }
}
