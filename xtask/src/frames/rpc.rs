//! Kernel invocations as the script for Wireshark shows them, against the encoders that made them. No card takes part.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::capture;
use super::invocations::{Case, Shown, cases};
use crate::{process, workspace};

/// What shows kernel invocations.
const SCRIPT: &str = "docs/wireshark/stroma.lua";
/// What tshark prints of a frame; the first tells that the script threw, the next two that something is wrong with the frame.
const FIELDS: [&str; 20] = [
    "_ws.lua.error",
    "_ws.malformed",
    "_ws.expert.message",
    "_ws.col.Protocol",
    "_ws.col.Info",
    "stroma.opcode",
    "stroma.response_max",
    "stroma.flags",
    "stroma.parameter_words",
    "stroma.operation",
    "stroma.key",
    "stroma.length",
    "stroma.syndrome",
    "stroma.msn",
    "stroma.status",
    "stroma.bytes",
    "stroma.parameters",
    "stroma.payload",
    "stroma.payload_length",
    "stroma.icrc",
];
/// Writes a capture of every kind of invocation to `folder`, has tshark read it with the script, and compares. Returns the
/// capture.
pub(super) fn check(folder: &Path) -> Result<PathBuf> {
    let cases = cases();
    let path = folder.join("rpc.pcapng");
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let frames: Vec<_> = cases.iter().map(|case| case.bytes.clone()).collect();
    fs::write(&path, capture::file(&frames)).with_context(|| format!("write {}", path.display()))?;
    let label = format!("tshark shows {} kernel invocations", cases.len());
    let output = process::quietly_or_fail(&label, tshark(&path)?).context("next step: cargo xtask setup")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    compare(&cases, &printed).with_context(|| {
        let path = workspace::shown(&path);
        format!("next step: tshark -X lua_script:{SCRIPT} -r {path} -V shows how {SCRIPT} reads them")
    })?;
    Ok(path)
}

fn tshark(path: &Path) -> Result<Command> {
    let mut tshark = super::tshark(path)?;
    tshark.arg("-X").arg(format!("lua_script:{}", workspace::root().join(SCRIPT).display()));
    tshark.args(["-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    Ok(tshark)
}

/// Every frame is shown as it should be, and no other field of it is.
fn compare(cases: &[Case], printed: &str) -> Result<()> {
    let lines: Vec<&str> = printed.lines().collect();
    if lines.len() != cases.len() {
        bail!("tshark printed {} frames of {}:\n{printed}", lines.len(), cases.len());
    }
    for ((case, line), number) in cases.iter().zip(lines).zip(1..) {
        let columns = FIELDS.into_iter().zip(line.split('\t').map(str::to_string));
        let shown: Shown = columns.filter(|(_, value)| !value.is_empty()).collect();
        if shown != case.shown {
            bail!("frame {number} is shown as\n{shown:?}\ninstead of\n{:?}", case.shown);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_shows_each_invocation_with_its_fields_and_survives_those_cut_short() {
        let folder = std::env::temp_dir().join(format!("stroma-rpc-{}", std::process::id()));
        let checked = check(&folder);
        fs::remove_dir_all(&folder).unwrap();
        checked.unwrap();
    }

    #[test]
    fn a_field_shown_wrong_or_not_at_all_fails_the_run() {
        let cases = cases();
        let row = |case: &Case| {
            FIELDS.map(|field| case.shown.get(field).cloned().unwrap_or_default()).join("\t") + "\n"
        };
        let rows: Vec<String> = cases.iter().map(row).collect();
        assert!(compare(&cases, &rows.concat()).is_ok());
        for (right, wrong) in [
            ("\t0xd8\t", "\t0xd9\t"),
            ("\tStroma\t", "\tRRoCE\t"),
            ("0xfeedf00d", ""),
            ("\t\t\tStroma", "Lua Error\t\t\tStroma"),
        ] {
            let printed = rows.concat().replacen(right, wrong, 1);
            assert_ne!(printed, rows.concat(), "{right}");
            let error = compare(&cases, &printed).unwrap_err().to_string();
            assert!(error.starts_with("frame 1 is shown as"), "{error}");
        }
        assert!(compare(&cases, &rows[1..].concat()).is_err());
    }
}
