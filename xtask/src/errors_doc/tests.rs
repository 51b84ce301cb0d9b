use super::*;

fn truth() -> Truth {
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let tests = [("tests/a.rs::works", false), ("tests/a.rs::waits", true)];
    Truth {
        tests: tests.into_iter().map(|(name, ignored)| (name.to_string(), ignored)).collect(),
        codes: set(&["Flushed", "NAK RemoteAccess", "Success"]),
        events: set(&["CardError"]),
    }
}

/// A document with one row, whose last three cells are given, and a code without one.
fn document(responder: &str, states: &str, test: &str) -> String {
    let header = HEADER.join(" | ");
    let row = format!("| a key | `NAK RemoteAccess` | `Flushed` | {responder} | {states} | {test} |");
    format!(
        "| {header} |\n|---|---|---|---|---|---|\n{row}\n\n| code | why |\n|---|---|\n| `Success` | none |\n"
    )
}

fn judge(text: &str) -> Result<usize> {
    check(text, &truth(), &|_, case| Ok(case == "a case"))
}

#[test]
fn a_document_whose_rows_have_tests_and_whose_codes_have_rows_is_good() {
    assert_eq!(judge(&document("`CardError`", "Error; –", "`tests/a.rs::works`")).unwrap(), 1);
    assert_eq!(judge(&document("–", "Error; as it was", "`tests/a.rs::works`: \"a case\"")).unwrap(), 1);
}

#[test]
fn a_row_without_a_test_that_runs_and_a_code_without_a_row_are_refused() {
    let good = document("–", "Error; Error", "`tests/a.rs::works`");
    for (text, says) in [
        (document("–", "Error; Error", ""), "no test: a key"),
        (document("–", "Error; Error", "`tests/a.rs::gone`"), "`tests/a.rs::gone` does not exist"),
        (document("–", "Error; Error", "`tests/a.rs::waits`"), "is ignored"),
        (document("–", "Error; Error", "`tests/a.rs::works`: \"another\""), "has no case \"another\""),
        (document("`Nonsense`", "Error; Error", "`tests/a.rs::works`"), "`Nonsense` is no code"),
        (document("–", "Error", "`tests/a.rs::works`"), "is not two of"),
        (good.replace("| `Flushed`", "| nothing"), "no row has `Flushed`"),
        (good.replace("| `Success`", "| nothing"), "no row has `Success`"),
        (String::new(), "0 rows"),
    ] {
        let error = judge(&text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}\nand not: {says}");
    }
}

#[test]
fn the_codes_of_the_sources_are_found() {
    let codes = codes().unwrap();
    for code in ["LocalQueuePair", "NAK InvalidRequest", "RNR NAK", "Cause::PageList", "Defect::Sum"] {
        assert!(codes.contains(code), "{code}");
    }
}
