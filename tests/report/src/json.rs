//! The figures as a file for programs, and for the next run to compare itself with.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::document::{Document, FORM};

/// The one field that every form of the file has.
#[derive(Deserialize)]
struct Form {
    form: String,
}

/// Writes a document.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, document: &Document) -> Result<()> {
    let text = serde_json::to_string_pretty(document).context("figures as JSON")?;
    std::fs::write(path, text + "\n").with_context(|| format!("write {}", path.display()))
}

/// Reads a document that an earlier run wrote.
///
/// # Errors
/// When there is no such file, or it is of another form, or broken: with the place.
pub fn read(path: &Path) -> Result<Document> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    parse(&text).with_context(|| format!("figures of an earlier run in {}", path.display()))
}

/// The form is looked at first: what is wrong with the fields of another form tells nobody anything.
fn parse(text: &str) -> Result<Document> {
    let Form { form } = serde_json::from_str(text).context("not a file of `cargo xtask bench --json`")?;
    if form != FORM {
        bail!("field `form` is \"{form}\", and this program reads \"{FORM}\"");
    }
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Breakdown, Curve, Figure, Origin, Plot};

    fn document() -> Document {
        let figure = Figure {
            name: "write.rate.64B.qp1".into(),
            value: 0.1 + 0.2,
            unit: "M msg/s".into(),
            origin: Origin::Simulated,
            profile: "100g".into(),
            timing: "alveo-gen3x16".into(),
            how: "\"inline\" <64 B>".into(),
        };
        let curve = Curve { plot: Plot::QueuePairs, name: "WRITE".into(), points: vec![[1.0, 9.5]] };
        let bar = Breakdown { name: "READ".into(), host: 1.0, card: 0.5, wire: 0.25 };
        Document {
            figures: vec![figure],
            curves: vec![curve],
            breakdowns: vec![bar],
            ..Document::new(Vec::new(), String::new())
        }
    }

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        let mut written = document();
        // A value that the parser rounds wrongly unless it is told to take care.
        written.figures[0].value = 98.025_240_721_697_67;
        write(&path, &written).unwrap();
        assert_eq!(read(&path).unwrap(), written);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = format!("{:#}", read(Path::new("/no/such/old.json")).unwrap_err());
        assert!(error.contains("/no/such/old.json"), "{error}");
    }

    #[test]
    fn broken_json_is_told_with_file_line_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.json");
        std::fs::write(&path, "{\n  \"form\": \"stroma-bench-1\",\n  \"figures\": oops\n}").unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("old.json") && error.contains("line 3 column 14"), "{error}");
    }

    #[test]
    fn another_form_is_told_by_its_name() {
        let error = format!("{:#}", parse("{\"form\": \"stroma-bench-2\", \"runs\": []}").unwrap_err());
        assert!(error.contains("stroma-bench-2") && error.contains(FORM), "{error}");
        // A list of figures, which earlier versions wrote.
        let error = format!("{:#}", parse("[\n  {\"name\": \"a\"}\n]").unwrap_err());
        assert!(error.contains("line 2 column "), "{error}");
    }

    #[test]
    fn a_figure_without_its_unit_is_told_by_the_field_and_the_place() {
        let text = serde_json::to_string_pretty(&document()).unwrap();
        let text: Vec<&str> = text.lines().filter(|line| !line.contains("\"unit\"")).collect();
        let error = format!("{:#}", parse(&text.join("\n")).unwrap_err());
        assert!(error.contains("missing field `unit` at line "), "{error}");
    }
}
