//! Starting yosys, in a process of its own, with its output in a log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{process, tools, workspace};

/// The wheel brings a library and no program.
const PROGRAM: &str = "import sys; from pyosys import libyosys; libyosys.run_pass('script ' + sys.argv[1])";

/// How much of the log an error repeats.
const SHOWN_LINES: usize = 12;

/// Reads Verilog, and has every module found and no latch.
fn read(files: &[PathBuf], top: &str) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    format!("read_verilog -sv {}\nhierarchy -check -top \\{top}\nproc -latches error\n", files.join(" "))
}

/// The primitives of UltraScale+, without pads and buffers of clocks.
const TARGET: &str = "-family xcup -noiopad -noclkbuf -uram";

/// The script that maps a block to those primitives.
pub(crate) fn mapped(files: &[PathBuf], top: &str) -> String {
    read(files, top) + &format!("synth_xilinx {TARGET} -flatten -top \\{top}\n") + &written(top)
}

/// The same for a card or a whole top. Operators and memories are mapped module by module: flattened at once it takes
/// ten times as long, and shifters at opposite ends of a chip are made one.
pub(crate) fn mapped_whole(files: &[PathBuf], top: &str) -> String {
    read(files, top)
        + &format!("synth_xilinx {TARGET} -top \\{top} -run begin:fine\n")
        + "flatten\nopt\n"
        + &format!("synth_xilinx {TARGET} -top \\{top} -run fine:\n")
        + &written(top)
}

/// Writes the module without those of the library, which are ten times what the netlist is.
fn written(top: &str) -> String {
    format!("select -module \\{top}\nwrite_json -selected netlist.json\n")
}

/// The script that leaves a design as it was written: modules, operators, registers.
pub(crate) fn unmapped(files: &[PathBuf], top: &str) -> String {
    read(files, top) + "write_json netlist.json\n"
}

/// The script that finds undriven and doubly driven nets, and combinational loops.
pub(crate) fn checked(files: &[PathBuf], top: &str) -> String {
    read(files, top) + "check -assert\n"
}

/// The given files as one in `folder`, without the first contents of memories: they are zeros, which join nothing and take next to nothing, and yosys
/// would unroll them word by word, for minutes and, in a whole card, gigabytes.
pub(crate) fn bare(folder: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let mut text = String::new();
    for file in files {
        let emitted = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        text += &without_contents(&emitted);
    }
    let bare = folder.join("bare.v");
    fs::write(&bare, text).with_context(|| format!("write {}", bare.display()))?;
    Ok(bare)
}

fn without_contents(verilog: &str) -> String {
    let lines = verilog.lines().filter(|line| !line.trim_start().starts_with("initial for ("));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Runs a script in a folder, tells of each pass that begins, and returns the netlist that it wrote.
pub(crate) fn run(folder: &Path, script: &str, on_pass: impl Fn(&str)) -> Result<String> {
    execute(folder, script, on_pass)?;
    let netlist = folder.join("netlist.json");
    fs::read_to_string(&netlist).with_context(|| format!("read {}", netlist.display()))
}

/// Runs a script in a folder, and tells of each pass that begins.
pub(crate) fn execute(folder: &Path, script: &str, on_pass: impl Fn(&str)) -> Result<()> {
    let python = tools::python_folder();
    if !python.join("pyosys").is_dir() {
        bail!("{} is missing\nnext step: cargo xtask setup --for ci", python.join("pyosys").display());
    }
    fs::write(folder.join("script.ys"), script).context("write script.ys")?;
    let path = folder.join("yosys.log");
    let mut log = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    let mut command = Command::new("python3");
    command.args(["-c", PROGRAM, "script.ys"]).envs(tools::environment(&python)).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.try_clone().context("share the log")?);
    let mut child = command.spawn().with_context(|| format!("start {}", process::line(&command)))?;
    let output = child.stdout.take().context("yosys has no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("read yosys' output")?;
        log.write_all(&line).and_then(|()| log.write_all(b"\n")).context("write the log")?;
        if let Some(pass) = pass(&String::from_utf8_lossy(&line)) {
            on_pass(&pass);
        }
    }
    let status = child.wait().context("wait for yosys")?;
    if !status.success() {
        let text = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        bail!(
            "yosys ended with {status}\n{}\nnext step: read {}",
            lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n"),
            workspace::shown(&path)
        );
    }
    Ok(())
}

/// The pass that a line of the log begins: `3.17. Executing ABC9_MAP pass ...`.
fn pass(line: &str) -> Option<String> {
    let (number, rest) = line.split_once(" Executing ")?;
    if !number.ends_with('.') || !number.chars().all(|each| each == '.' || each.is_ascii_digit()) {
        return None;
    }
    let (name, _) = rest.split_once(" pass")?;
    Some(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_under_way_is_read_from_the_log() {
        assert_eq!(pass("3.17.2. Executing ABC9_MAP pass (map).").as_deref(), Some("abc9_map"));
        assert_eq!(pass("2. Executing Verilog-2005 frontend: nic.v"), None);
        assert_eq!(pass("ABC: + Executing a pass"), None);
    }

    #[test]
    fn first_contents_of_memories_are_left_out_and_nothing_else() {
        let verilog =
            "logic a [0:1];\n    initial for (int i = 0; i < 2; i++) a[i] = 1'd0;\nassign b = a[c];\n";
        assert_eq!(without_contents(verilog), "logic a [0:1];\nassign b = a[c];\n");
    }

    #[test]
    fn scripts_refuse_latches_and_modules_that_are_missing() {
        let files = [PathBuf::from("nic.v")];
        let scripts = [mapped, mapped_whole, unmapped, checked].map(|script| script(&files, "nic"));
        for script in scripts {
            assert!(
                script.starts_with(
                    "read_verilog -sv nic.v\nhierarchy -check -top \\nic\nproc -latches error\n"
                )
            );
        }
        assert!(checked(&files, "nic").ends_with("check -assert\n"));
    }
}
