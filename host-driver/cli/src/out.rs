//! What commands say on standard output. When nobody reads it any more, as behind `| head`, the command is done.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

/// Nobody reads any more: an end, and no error.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output any more")]
pub(crate) struct Closed;

/// Text as it is.
pub(crate) fn text(text: &impl Display) -> anyhow::Result<()> {
    write(&mut io::stdout().lock(), &text.to_string())
}

/// A line.
pub(crate) fn line(line: &str) -> anyhow::Result<()> {
    write(&mut io::stdout().lock(), &format!("{line}\n"))
}

/// For programs.
pub(crate) fn json(what: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(what).context("writing JSON")?)
}

fn write(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Closed.into()),
        written => written.context("writing to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_is_told_apart_from_errors() {
        let (reader, mut writer) = io::pipe().unwrap();
        write(&mut writer, "x").unwrap();
        drop(reader);
        assert!(write(&mut writer, "x").unwrap_err().is::<Closed>());
        let error = write(&mut std::fs::File::open("/dev/null").unwrap(), "x").unwrap_err();
        assert!(!error.is::<Closed>(), "{error:#}");
    }
}
