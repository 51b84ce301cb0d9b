//! `page`: opens the bench's page in a real browser, keeps pictures of it, and fails when the browser complains.
//!
//! A command of its own and no part of `ci`: a browser is large, and the page changes seldom. What the console shows is found
//! here; that the page asks for nothing from outside, of which the console would say nothing, a test of the bench sees to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::tools::Routine;
use crate::{process, setup, unpack, workspace};

/// Of the picture, in pixels: tall enough for all of the page.
const WINDOW: &str = "--window-size=1400,4200";
/// What the system asks for, as the browser counts it, and the end of the picture's name.
const SCHEMES: [(&str, &str); 2] = [("1", "png"), ("0", "dark.png")];

/// Where `bench` leaves its page unless told otherwise.
pub(crate) fn usual() -> PathBuf {
    workspace::target().join("bench/report.html")
}

/// Installs the browser if it is missing, and looks at a page in light and in dark.
pub(crate) fn run(page: Option<PathBuf>) -> Result<()> {
    let page = page.unwrap_or_else(usual);
    let page = fs::canonicalize(&page)
        .with_context(|| format!("find {}", page.display()))
        .context("next step: cargo xtask bench rate")?;
    setup::run(Routine::Page)?;
    for (scheme, ending) in SCHEMES {
        let picture = page.with_extension(ending);
        look(&page, scheme, &picture)?;
        println!("  {}", workspace::shown(&picture));
    }
    println!("page: {} opens without a complaint", workspace::shown(&page));
    Ok(())
}

fn look(page: &Path, scheme: &str, picture: &Path) -> Result<()> {
    if picture.exists() {
        fs::remove_file(picture).with_context(|| format!("remove {}", picture.display()))?;
    }
    let mut browser = Command::new(unpack::browser());
    browser.args(["--enable-logging=stderr", "--hide-scrollbars", "--timeout=60000", WINDOW]);
    browser.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
    browser.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display()));
    let output = process::quietly_or_fail("open the page", browser)?;
    let complaints = complaints(&String::from_utf8_lossy(&output.stderr));
    if !complaints.is_empty() {
        bail!(
            "the browser says of {}:\n{}\nnext step: repair tests/report",
            page.display(),
            complaints.join("\n")
        );
    }
    let length = fs::metadata(picture).map_or(0, |found| found.len());
    ensure!(length > 0, "the browser left no picture at {}\n{}", picture.display(), process::tail(&output));
    Ok(())
}

/// What a page wrote to the console, or the browser on its behalf. Ours writes nothing, so that every line is one too many.
fn complaints(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains(":CONSOLE:")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_is_told_from_the_browsers_own_log() {
        let log = "[1115/203906.882152:ERROR:dbus/bus.cc:405] Failed to connect to the bus: No such file or directory\n\
                   [1115/203907.347972:INFO:CONSOLE:1] \"bad thing\", source: file:///report.html (1)\n\
                   3998 bytes written to file /report.png\n";
        let found = complaints(log);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("bad thing"), "{found:?}");
        assert!(complaints("3998 bytes written to file /report.png\n").is_empty());
    }

    #[test]
    fn a_page_that_is_not_there_is_named_before_a_browser_is_fetched() {
        let error = process::explain(&run(Some("/no/such/report.html".into())).unwrap_err());
        assert!(error.contains("/no/such/report.html") && error.contains("next step"), "{error}");
    }
}
