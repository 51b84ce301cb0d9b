//! The manual and the completions, as the installed program itself writes them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::place::Prefix;
use crate::{process, workspace};

/// Where shells look for what completes a command, below a prefix.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/stroma"),
    ("zsh", "share/zsh/site-functions/_stroma"),
    ("fish", "share/fish/vendor_completions.d/stroma.fish"),
];

/// Installs both beside the program, which is there already.
pub(super) fn install(prefix: &mut Prefix) -> Result<()> {
    let stroma = prefix.folder().join("bin/stroma");
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(&stroma);
        let output = command.args(arguments).output();
        let line = process::line(&command);
        let output = output.with_context(|| format!("start {line}"))?;
        ensure!(output.status.success(), "{line}\nended with {}\n{}", output.status, process::tail(&output));
        String::from_utf8(output.stdout).with_context(|| format!("read what {line} wrote"))
    };
    let pages = scratch();
    ask(&["man", "--folder", &pages.to_string_lossy()])?;
    for page in workspace::files(&pages, "1")? {
        let name = page.file_name().context("a page has a name")?.to_string_lossy().into_owned();
        prefix.file(&format!("share/man/man1/{name}"), &page)?;
    }
    crate::setup::remove(&pages)?;
    for (shell, place) in COMPLETIONS {
        prefix.text(place, &ask(&["completions", shell])?)?;
    }
    Ok(())
}

/// Where pages are written first: what is in the prefix's folder may be of others.
fn scratch() -> PathBuf {
    workspace::target().join(format!("man-{}", std::process::id()))
}
