//! `docs`: pages that are written from the code or from figures, and the parts of other pages that are.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::linux::programs::record;
use crate::{figures, quotes, synth, workspace};

/// A page, and how it is made of what it was: a page that people write keeps all but its tables.
struct Page {
    path: &'static str,
    render: fn(&str) -> Result<String>,
}

const PAGES: [Page; 6] = [
    Page { path: "docs/registers.md", render: |_| Ok(stroma_abi::regs::doc::render()) },
    Page { path: "docs/area.md", render: |_| synth::page() },
    Page { path: "README.md", render: figures::readme },
    Page { path: "docs/compat.md", render: record::page },
    Page { path: "docs/simulation-speed.md", render: figures::speed },
    Page { path: "docs/plots/goodput.svg", render: |_| figures::plot() },
];

/// Writes the pages, or with `check` compares them with what would be written; pages that quote code are checked either way.
pub(crate) fn run(check: bool) -> Result<()> {
    for Page { path, render } in PAGES {
        let file = workspace::root().join(path);
        let old = fs::read_to_string(&file).unwrap_or_default();
        let fresh = render(&old).with_context(|| path.to_owned())?;
        match (first_difference(&old, &fresh), check) {
            (None, _) => println!("docs: {path} is fresh"),
            (Some(difference), true) => bail!("{path} is stale\n{difference}\nnext step: cargo xtask docs"),
            (Some(_), false) => {
                fs::write(&file, fresh).with_context(|| format!("write {path}"))?;
                println!("docs: {path} written");
            }
        }
    }
    quotes::check()
}

/// The first line in which two texts differ, and its two versions.
fn first_difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let mut number = 1;
    let (mut old, mut new) = (old.lines(), new.lines());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return Some("the texts differ in line ends only".into()),
            (old, new) if old == new => number += 1,
            (old, new) => {
                let shown = |line: Option<&str>| line.unwrap_or("(end of file)").to_string();
                return Some(format!("line {number}\n- {}\n+ {}", shown(old), shown(new)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_shows_the_first_line_that_differs() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "line 2\n- b\n+ c");
        assert_eq!(first_difference("a\n", "a\nc\n").unwrap(), "line 2\n- (end of file)\n+ c");
        assert!(first_difference("a", "a\n").unwrap().contains("line ends"));
    }
}
