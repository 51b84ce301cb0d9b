use super::*;
use crate::document::Conditions;

/// A run with every figure that the tables name, as `value` says of its name.
fn run(value: impl Fn(&str) -> f64) -> Document {
    let conditions = Conditions {
        profile: "100g".into(),
        clock: "250 MHz".into(),
        pcie: "x16 | x8".into(),
        wire: "cable".into(),
    };
    let mut document = Document::new(vec![conditions], "2 cores".into());
    for table in &TABLES {
        for name in table.rows.iter().flat_map(|row| row.cells.iter().copied().flatten()) {
            document.figures.push(Figure {
                name: (*name).into(),
                value: value(name),
                unit: unit(name).into(),
                origin: table.origin,
                profile: "100g".into(),
                timing: "t".into(),
                how: String::new(),
            });
        }
    }
    document
}

/// As the bench has it.
fn unit(name: &str) -> &'static str {
    let units = [
        ("goodput", "Gb/s"),
        ("rate.", "M msg/s"),
        ("card.", "cycles"),
        ("latency", "us"),
        ("wall", "s"),
        ("speed", "cycles/s"),
    ];
    units.iter().find(|(part, _)| name.contains(part)).map_or("", |(_, unit)| unit)
}

fn page(name: &str) -> String {
    format!("# Title\n\n<!-- figures: {name} -->\nold | text\n<!-- figures: end -->\n\nbelow\n")
}

/// The rows of one table.
fn filled(name: &str, document: &Document) -> String {
    fill(&page(name), &[name], document).unwrap()
}

fn told(page: &str, names: &[&str], document: &Document) -> String {
    format!("{:#}", fill(page, names, document).unwrap_err())
}

#[test]
fn every_table_is_written_between_its_marks_and_nothing_else_changes() {
    let document = run(|_| 1.25);
    for table in &TABLES {
        let text = filled(table.name, &document);
        let (before, rest) = text.split_once(&format!("<!-- figures: {} -->\n\n", table.name)).unwrap();
        let (inside, after) = rest.split_once("\n<!-- figures: end -->\n").unwrap();
        assert_eq!((before, after), ("# Title\n\n", "\nbelow\n"));
        let lines: Vec<&str> = inside.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), table.rows.len() + 2, "{text}");
        let columns = |line: &str| line.matches('|').count() - 1;
        assert!(lines.iter().all(|line| columns(line) == table.head.len()), "{text}");
        assert_eq!(fill(&text, &[table.name], &document).unwrap(), text, "a second time changes nothing");
    }
}

#[test]
fn values_stand_in_their_unit_and_several_share_it() {
    let value = |name: &str| match name {
        "write.rate.64B.qp1" => 18.66,
        "write.rate.64B.qp32" => 67.84,
        "write.rate.64B.qp1024" => 67.75,
        "read.latency.64B.qp1" => 3.196,
        "card.tx_latency.64B" => 29.0,
        "write.goodput.64KiB.qp1" => 98.025,
        _ => 1.0,
    };
    let text = filled("rate", &run(value));
    for row in [
        "| WRITEs of 64 bytes, inline, one queue pair; 32; 1022 | 18.7; 67.8; 67.8 million a second |",
        "| one READ of 64 bytes, pushed, to its completion in memory | 3.20 us |",
        "| commit of a push of 64 inline bytes to the first beat of its frame | 29 cycles |",
        "| payload of WRITEs of 64 KiB, one queue pair; 32 | 98.0; 1.0 Gb/s |",
    ] {
        assert!(text.contains(row), "{row} is not in\n{text}");
    }
}

#[test]
fn a_column_without_a_figure_is_empty() {
    let text = filled("rc", &run(|_| 46.34));
    assert!(
        text.contains("| FETCH_ADD on one word, eight queue pairs together |  | 46.3 million a second |"),
        "{text}"
    );
}

#[test]
fn wall_clock_time_is_told_with_the_machine_and_in_no_table_of_cycles() {
    let mut document = run(|name| match name {
        "sim.speed.idle" => 12_345.6,
        "sim.quiet" => 5797.4,
        _ => 16.94,
    });
    let text = filled("speed", &document);
    assert!(text.contains("one machine (2 cores):\n\n| what is simulated | speed |\n|---|---|\n"), "{text}");
    assert!(text.contains("| 12.3 thousand cycles a second |") && text.contains("| 16.9 times |"), "{text}");
    assert!(text.contains("| 5797 times |"), "{text}");
    let wall = document.figures.iter_mut().find(|figure| figure.name == "read.latency.64B.qp1").unwrap();
    wall.origin = Origin::Machine;
    assert!(told(&page("rate"), &["rate"], &document).contains("figure `read.latency.64B.qp1` is Machine"));
}

#[test]
fn conditions_are_a_row_each_and_cannot_break_it() {
    let text = filled("conditions", &run(|_| 1.0));
    assert!(text.contains("| 100g | 250 MHz | x16 \\| x8 | cable |\n"), "{text}");
}

#[test]
fn a_missing_figure_is_named_with_its_table() {
    let mut document = run(|_| 1.0);
    document.figures.retain(|figure| figure.name != "card.rx_latency.64B");
    let error = told(&page("rate"), &["rate"], &document);
    assert!(error.contains("table `rate`: there is no figure `card.rx_latency.64B`"), "{error}");
    assert!(error.contains("next step: cargo xtask bench all --readme"), "{error}");
}

#[test]
fn units_that_differ_or_are_unknown_are_refused() {
    let change = |name: &str, to: &str| {
        let mut document = run(|_| 1.0);
        document.figures.iter_mut().find(|figure| figure.name == name).unwrap().unit = to.into();
        told(&page("rate"), &["rate"], &document)
    };
    let error = change("read.rate.64B.qp1024", "us");
    assert!(
        error.contains("`read.rate.64B.qp32` and `read.rate.64B.qp1024` have different units"),
        "{error}"
    );
    let error = change("10g.write.goodput", "furlongs");
    assert!(error.contains("`10g.write.goodput` has the unit \"furlongs\""), "{error}");
}

#[test]
fn missing_double_and_misplaced_marks_are_refused() {
    let document = run(|_| 1.0);
    let told = |page: &str, names: &[&str]| told(page, names, &document);
    assert!(told("no marks\n", &["rate"]).contains("table `rate` is missing"));
    assert!(told(&page("rate").repeat(2), &["rate"]).contains("line 10: table `rate` is there twice"));
    assert!(
        told(&page("speed"), &["rate"]).contains("table `speed` is there twice, or does not belong here")
    );
    assert!(told("<!-- figures: rate -->\n", &["rate"]).contains("table `rate` does not end"));
    assert!(told("<!-- figures: end -->\n", &[]).contains("line 1: a table ends and none has begun"));
    let nested = "<!-- figures: rate -->\n<!-- figures: rc -->\n<!-- figures: end -->\n";
    assert!(told(nested, &["rate", "rc"]).contains("line 2: table `rc` begins inside table `rate`"));
    assert!(told(&page("nobody"), &["nobody"]).contains("table `nobody`: nobody knows"));
}
