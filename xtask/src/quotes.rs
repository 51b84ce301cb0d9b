//! Code in pages that people write: each block with the name of a file is part of that file, so that no page teaches what is gone.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Pages that quote.
const PAGES: [&str; 1] = ["docs/kernels.md"];

/// A block of code in a page.
#[derive(Debug, PartialEq, Eq)]
struct Quote<'a> {
    /// Line of its fence.
    line: usize,
    file: &'a str,
    text: Vec<&'a str>,
}

/// Checks every quotation of every page.
pub(crate) fn check() -> Result<()> {
    let root = workspace::root();
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    for page in PAGES {
        let text = read(page)?;
        let quotes = quotes(&text);
        for quote in &quotes {
            if !holds(&read(quote.file).with_context(|| format!("{page}:{}", quote.line))?, &quote.text) {
                bail!(
                    "{page}:{}: {} does not say this any more\n{}",
                    quote.line,
                    quote.file,
                    quote.text.join("\n")
                );
            }
        }
        println!("docs: {page} quotes {} parts of files, as they are", quotes.len());
    }
    Ok(())
}

/// The blocks whose fence names a file behind the language.
fn quotes(page: &str) -> Vec<Quote<'_>> {
    let mut quotes = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((fence, line)) = lines.next() {
        let Some(words) = fence.strip_prefix("```") else { continue };
        let text: Vec<&str> =
            lines.by_ref().map(|(text, _)| text).take_while(|text| *text != "```").collect();
        if let Some((_, file)) = words.split_once(' ') {
            quotes.push(Quote { line, file, text });
        }
    }
    quotes
}

/// Does the file have these lines, one behind the other, however they are indented?
fn holds(file: &str, text: &[&str]) -> bool {
    let lines: Vec<&str> = file.lines().map(str::trim).collect();
    let wanted: Vec<&str> = text.iter().map(|line| line.trim()).collect();
    !wanted.is_empty() && lines.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "text\n\n```rust src/lib.rs\nfn one() {\n    two()\n```\n\n```text\nno code\n```\n";

    #[test]
    fn blocks_with_a_file_are_found_and_others_are_not() {
        let expected = Quote { line: 3, file: "src/lib.rs", text: vec!["fn one() {", "    two()"] };
        assert_eq!(quotes(PAGE), [expected]);
    }

    #[test]
    fn lines_count_in_their_order_and_indentation_does_not() {
        let file = "mod a {\n    fn one() {\n        two()\n    }\n}\n";
        assert!(holds(file, &["fn one() {", "two()"]));
        assert!(!holds(file, &["two()", "fn one() {"]));
        assert!(!holds(file, &["fn one() {", "}"]), "a line is left out");
        assert!(!holds(file, &["fn one()"]), "half a line");
        assert!(!holds(file, &[]));
    }

    #[test]
    fn every_quotation_of_the_pages_is_part_of_its_file() {
        check().unwrap();
    }
}
