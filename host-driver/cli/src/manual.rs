//! What shells and `man` want to know of the command line.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{Arguments, out};

/// Of which command, and where to.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct ManArguments {
    /// Of this command; of `stroma` itself, if none is named.
    command: Option<String>,
    /// Writes the pages of all commands to a folder: stroma.1, stroma-exec.1 and so on.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    folder: Option<PathBuf>,
}

/// Completions for a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "stroma", &mut text);
    out::text(&String::from_utf8_lossy(&text))
}

/// A page of the manual, or all of them.
pub(crate) fn man(arguments: &ManArguments) -> anyhow::Result<()> {
    let pages = pages();
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
        return pages.iter().try_for_each(|(name, command)| write(folder, name, command));
    }
    let name =
        arguments.command.as_ref().map_or_else(|| "stroma".to_owned(), |name| format!("stroma-{name}"));
    let page = pages.into_iter().find(|(page, _)| *page == name);
    let (_, command) = page.with_context(|| format!("no page {name}: `stroma --help` lists the commands"))?;
    let mut text = Vec::new();
    Man::new(command).render(&mut text).context("writing the manual")?;
    out::text(&String::from_utf8_lossy(&text))
}

/// A page of each command, by its name.
fn pages() -> Vec<(String, clap::Command)> {
    let mut stroma = Arguments::command();
    stroma.build();
    let subcommands = stroma.get_subcommands().filter(|command| command.get_name() != "help");
    // Once it is built, each of them knows its whole name.
    let page = |command: &clap::Command| (format!("stroma-{}", command.get_name()), command.clone());
    let pages: Vec<_> = subcommands.map(page).collect();
    [("stroma".to_owned(), Arguments::command())].into_iter().chain(pages).collect()
}

fn write(folder: &Path, name: &str, command: &clap::Command) -> anyhow::Result<()> {
    let path = folder.join(format!("{name}.1"));
    let mut file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    let written = Man::new(command.clone()).render(&mut file).and_then(|()| file.flush());
    written.with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_of_each_command() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ManArguments { command: None, folder: Some(folder.path().join("man1")) };
        man(&arguments).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
        assert!(page("stroma.1").contains("Exit codes:"));
        assert!(page("stroma-exec.1").contains("\\-\\-card"));
        assert!(page("stroma-perf.1").contains(".TH stroma-perf 1"));
        let wrong = ManArguments { command: Some("juggle".to_owned()), folder: None };
        assert!(man(&wrong).unwrap_err().to_string().contains("no page stroma-juggle"));
    }

    #[test]
    fn shells_know_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "stroma", &mut text);
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("devices") && text.contains("perf"), "{shell}");
        }
    }
}
