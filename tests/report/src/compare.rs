//! Two runs side by side: what changed, in per cent.

use crate::document::{Document, Figure};

/// What became of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// By so many per cent of the old value.
    Percent(f64),
    /// It was 0, of which there are no per cent.
    FromZero,
    /// The unit is another, so that the values say nothing of each other.
    Unit {
        /// What it was.
        old: String,
    },
    /// Only the new run has it.
    New,
    /// Only the old run has it.
    Gone,
}

/// A figure of either run.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// As in the runs.
    pub name: String,
    /// Of the new value, or of the old one where there is no other.
    pub unit: String,
    /// In the old run.
    pub old: Option<f64>,
    /// In the new run.
    pub new: Option<f64>,
    /// From one to the other.
    pub change: Change,
}

/// Every figure of the new run in its order, then those that are gone.
#[must_use]
pub fn compare(old: &Document, new: &Document) -> Vec<Compared> {
    let find =
        |document: &'_ Document, name: &str| document.figures.iter().position(|figure| figure.name == name);
    let kept = new.figures.iter().map(|figure| {
        let before = find(old, &figure.name).map(|at| &old.figures[at]);
        Compared {
            name: figure.name.clone(),
            unit: figure.unit.clone(),
            old: before.map(|before| before.value),
            new: Some(figure.value),
            change: before.map_or(Change::New, |before| change(before, figure)),
        }
    });
    let gone = old.figures.iter().filter(|figure| find(new, &figure.name).is_none()).map(|figure| Compared {
        name: figure.name.clone(),
        unit: figure.unit.clone(),
        old: Some(figure.value),
        new: None,
        change: Change::Gone,
    });
    kept.chain(gone).collect()
}

fn change(old: &Figure, new: &Figure) -> Change {
    if old.unit != new.unit {
        return Change::Unit { old: old.unit.clone() };
    }
    let difference = new.value - old.value;
    if difference == 0.0 {
        Change::Percent(0.0)
    } else if old.value == 0.0 {
        Change::FromZero
    } else {
        Change::Percent(difference / old.value.abs() * 100.0)
    }
}

impl Change {
    /// In words.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Percent(0.0) => "same".to_owned(),
            Self::Percent(percent) => format!("{percent:+.1} %"),
            Self::FromZero => "was 0".to_owned(),
            Self::Unit { old } => format!("was in \"{old}\""),
            Self::New => "new".to_owned(),
            Self::Gone => "gone".to_owned(),
        }
    }
}

/// For the terminal.
#[must_use]
pub fn table(compared: &[Compared]) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let mut lines = vec![format!("{:<36} {:>14} {:>14} {:<9} change", "figure", "old", "new", "unit")];
    for Compared { name, unit, old, new, change } in compared {
        let (old, new, change) = (value(*old), value(*new), change.text());
        lines.push(format!("{name:<36} {old:>14} {new:>14} {unit:<9} {change}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Origin;

    fn run(figures: &[(&str, f64, &str)]) -> Document {
        let figures = figures.iter().map(|(name, value, unit)| Figure {
            name: (*name).into(),
            value: *value,
            unit: (*unit).into(),
            origin: Origin::Simulated,
            profile: "100g".into(),
            timing: "t".into(),
            how: String::new(),
        });
        Document { figures: figures.collect(), ..Document::new(Vec::new(), String::new()) }
    }

    fn changes(old: &[(&str, f64, &str)], new: &[(&str, f64, &str)]) -> Vec<(String, Change)> {
        compare(&run(old), &run(new)).into_iter().map(|found| (found.name, found.change)).collect()
    }

    #[test]
    fn changes_are_in_per_cent_of_the_old_value() {
        let found = changes(
            &[("up", 40.0, "us"), ("down", 40.0, "us"), ("same", 7.0, "us"), ("zero", 0.0, "us")],
            &[("up", 50.0, "us"), ("down", 30.0, "us"), ("same", 7.0, "us"), ("zero", 1.0, "us")],
        );
        let wanted = [Change::Percent(25.0), Change::Percent(-25.0), Change::Percent(0.0), Change::FromZero];
        assert_eq!(found.into_iter().map(|(_, change)| change).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_figure_in_another_unit_is_not_compared() {
        let found = changes(&[("a", 4.0, "us")], &[("a", 1000.0, "cycles")]);
        assert_eq!(found, [("a".to_owned(), Change::Unit { old: "us".into() })]);
    }

    #[test]
    fn figures_of_one_run_alone_are_listed_the_lost_ones_last() {
        let found =
            changes(&[("old", 1.0, "us"), ("both", 1.0, "us")], &[("both", 1.0, "us"), ("new", 1.0, "us")]);
        let wanted = [("both", Change::Percent(0.0)), ("new", Change::New), ("old", Change::Gone)]
            .map(|(name, change)| (name.to_owned(), change));
        assert_eq!(found, wanted);
        let text = table(&compare(&run(&[("old", 1.0, "us")]), &run(&[("new", 2.5, "us")])));
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows[1..],
            [vec!["new", "-", "2.50", "us", "new"], vec!["old", "1.00", "-", "us", "gone"]]
        );
    }

    #[test]
    fn a_change_shows_its_sign() {
        assert_eq!(Change::Percent(25.04).text(), "+25.0 %");
        assert_eq!(Change::Percent(-0.26).text(), "-0.3 %");
        assert_eq!(Change::Percent(0.0).text(), "same");
    }
}
