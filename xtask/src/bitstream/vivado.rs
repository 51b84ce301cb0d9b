//! Vivado, where the machine has it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use stroma_boards::{Board, VIVADO};

use super::report;
use crate::{process, workspace};

/// Builds the folder, or tells who could.
pub(crate) fn build(board: &Board, out: &Path) -> Result<()> {
    let Some(program) = found(env::var_os("PATH")) else {
        println!("{}", advice(board, out));
        return Ok(());
    };
    let mut asked = Command::new(&program);
    asked.arg("-version");
    let asked = process::quietly_or_fail("vivado -version", asked)?;
    let version = version(&String::from_utf8_lossy(&asked.stdout))?;
    let [first, last] = VIVADO;
    if !is_between(&version, first, last) {
        bail!(
            "{} is Vivado {version}, and the scripts were written for {first} to {last}\nnext step: put another one into PATH",
            program.display()
        );
    }
    println!("Vivado {version} builds {}; this takes hours", workspace::shown(out));
    let mut command = Command::new(&program);
    command.args(["-mode", "batch", "-notrace", "-source", "build.tcl"]).current_dir(out);
    let built = process::aloud(command);
    // A build that is too slow has its reports, too.
    if out.join("build/reports").is_dir() {
        println!("{}", report::collect(board, out)?);
    }
    built.with_context(|| format!("next step: read {}", workspace::shown(&out.join("build/report.md"))))
}

/// The program, if a folder of the path has it.
fn found(path: Option<std::ffi::OsString>) -> Option<PathBuf> {
    env::split_paths(&path?).map(|folder| folder.join("vivado")).find(|program| program.is_file())
}

/// What to run where.
fn advice(board: &Board, out: &Path) -> String {
    let [first, last] = VIVADO;
    format!(
        "There is no vivado in PATH, so this is where it ends: nothing has been synthesised, placed or timed.\n\
         next step: copy {} to a machine with Vivado {first} to {last}, a licence for {} and one (free of charge) for cmac_usplus, and run there, in that folder:\n\
         \x20   vivado -mode batch -notrace -source build.tcl",
        workspace::shown(out),
        board.part
    )
}

/// The version in what `vivado -version` prints: its first line is `Vivado v2023.1 (64-bit)`, or the same in lower case.
fn version(output: &str) -> Result<String> {
    let words = output.split_whitespace().filter_map(|word| word.strip_prefix('v'));
    let version = words.into_iter().find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    version
        .map(str::to_owned)
        .with_context(|| format!("no version in what `vivado -version` says: {output:?}"))
}

/// Is a version one of a range, as far as the range's ends say?
fn is_between(version: &str, first: &str, last: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        text.split(['.', '_']).take(2).map(|part| part.parse().unwrap_or(0)).collect()
    };
    (numbers(first)..=numbers(last)).contains(&numbers(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared_as_numbers() {
        let said = "vivado v2023.1 (64-bit)\nTool Version Limit: 2023.05\nSW Build 3865809\n";
        assert_eq!(version(said).unwrap(), "2023.1");
        assert!(version("command not found").is_err());
        for (version, expected) in
            [("2021.2", false), ("2022.1", true), ("2024.2.1", true), ("2025.2_AR1", true), ("2026.1", false)]
        {
            assert_eq!(is_between(version, "2022.1", "2025.2"), expected, "{version}");
        }
    }

    #[test]
    fn without_vivado_it_is_said_what_to_run_where() {
        assert_eq!(found(Some("/no/such/folder".into())), None);
        let board = Board::named("u280").unwrap();
        let text = advice(&board, Path::new("/somewhere/u280"));
        for part in [
            "/somewhere/u280",
            "2022.1 to 2025.2",
            "xcu280-fsvh2892-2L-e",
            "vivado -mode batch -notrace -source build.tcl",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
