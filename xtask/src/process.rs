//! Starting programs: aloud, or quietly behind a spinner.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

/// How much of a failed program's output is repeated: enough for the message, not the whole log.
const SHOWN_LINES: usize = 40;

/// Runs a program whose own output is what the user wants to see.
pub(crate) fn aloud(mut command: Command) -> Result<()> {
    let line = line(&command);
    let status = command.status().with_context(|| format!("start {line}"))?;
    if !status.success() {
        bail!("{line}\nended with {status}");
    }
    Ok(())
}

/// Runs a program and keeps its output. A terminal shows a spinner with `label`; a log gets one line when it starts
/// and one when it ends, so that neither looks dead during a long step.
pub(crate) fn quietly(label: &str, mut command: Command) -> Result<Output> {
    let started = Instant::now();
    let spinner = spinner(label);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start {}", line(&command)));
    spinner.finish_and_clear();
    let output = output?;
    println!("  {label} ({:.1} s)", started.elapsed().as_secs_f64());
    Ok(output)
}

/// As [`quietly`], and a failure becomes an error with the end of the program's output.
pub(crate) fn quietly_or_fail(label: &str, command: Command) -> Result<Output> {
    let shown = line(&command);
    let output = quietly(label, command)?;
    if !output.status.success() {
        bail!("{shown}\nended with {}\n{}", output.status, tail(&output));
    }
    Ok(output)
}

/// The last lines a program printed, both streams.
pub(crate) fn tail(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// An error, its causes and at the end what to do next; without the traces that `RUST_BACKTRACE` would add, which are of
/// no use to who runs xtask.
pub(crate) fn explain(error: &anyhow::Error) -> String {
    let messages = error.chain().map(ToString::to_string);
    let (next, causes): (Vec<_>, Vec<_>) = messages.partition(|message| message.starts_with("next step:"));
    [causes, next].concat().join("\n")
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

fn spinner(label: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if spinner.is_hidden() {
        println!("  {label} ...");
    }
    let style = ProgressStyle::with_template("  {spinner} {msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    spinner.set_style(style);
    spinner.set_message(label.to_string());
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_an_error_that_repeats_its_last_words() {
        let mut command = Command::new("rustc");
        command.arg("--no-such-flag");
        let error = quietly_or_fail("rustc with a wrong flag", command).unwrap_err().to_string();
        assert!(error.contains("rustc --no-such-flag"), "{error}");
        assert!(error.contains("no-such-flag"), "{error}");
    }

    #[test]
    fn what_to_do_next_comes_after_what_went_wrong() {
        let error = anyhow::anyhow!("no such package").context("next step: add it").context("apt-get failed");
        assert_eq!(explain(&error), "apt-get failed\nno such package\nnext step: add it");
    }

    #[test]
    fn a_program_that_cannot_start_is_named() {
        let mut command = Command::new("rustc");
        command.current_dir("/no/such/folder");
        let error = aloud(command).unwrap_err().to_string();
        assert!(error.contains("start rustc"), "{error}");
    }
}
