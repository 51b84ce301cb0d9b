//! `cocotb`: the emitted Verilog alone, driven by `tests/cocotb` through cocotb, cocotbext-axi, cocotbext-eth and scapy.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use stroma_verilate::{Verilog, VpiHarness, vpi_program};

use crate::rtl::{self, Profile};
use crate::{process, tools, workspace};

/// Where the tests are, and the modules that hold them.
const TESTS: &str = "tests/cocotb";
const MODULES: [&str; 2] = ["test_card", "test_wire"];

const NEXT_STEP: &str = "next step: repair the card or its tests in tests/cocotb, then `cargo xtask cocotb` again; \
                         `cargo xtask test` says whether the same card passes with our own driver";

/// Emits, builds and drives the given profiles, both when none is given.
pub(crate) fn run(profile: Option<Profile>) -> Result<()> {
    for profile in Profile::ALL.into_iter().filter(|each| profile.is_none_or(|only| only == *each)) {
        drive(profile)?;
    }
    Ok(())
}

fn drive(profile: Profile) -> Result<()> {
    let folder = rtl::emit_profile(profile)?;
    let mut describe = rtl::top(&["describe", "--profile", profile.name()])?;
    // Errors of the build are for the user, the description is not.
    let card = describe.stderr(std::process::Stdio::inherit()).output().context("start cargo")?;
    if !card.status.success() {
        bail!("{}\nended with {}", process::line(&describe), card.status);
    }
    fs::write(folder.join("card.json"), card.stdout).context("write the card's description")?;

    let top = rtl::top_module(&folder)?;
    let read = |ending: &str| {
        let path = folder.join(format!("{top}.{ending}"));
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let design = Verilog::new(read("v")?, &read("ports")?)?;
    println!("  {top}: simulator for cocotb (built once for a text) ...");
    let program = vpi_program(&design, &harness())
        .context("next step: cargo xtask setup; if all of it is there, the message above is a compiler's")?;

    let results = workspace::target().join("cocotb").join(profile.name()).join("results.xml");
    let output = simulate(&program.path, &top, &folder, &results)?;
    let text = fs::read_to_string(&results).unwrap_or_default();
    let cases = cases(&text);
    for case in &cases {
        println!("    {} {} ({} s)", if case.passed { "ok    " } else { "FAILED" }, case.name, case.seconds);
    }
    if !output.status.success() || cases.is_empty() || cases.iter().any(|case| !case.passed) {
        let what = if cases.is_empty() { "no test was run" } else { "the card fails" };
        bail!("{}\n{top}: {what} ({})\n{NEXT_STEP}", process::tail(&output), output.status);
    }
    Ok(())
}

/// The parts of cocotb that a Verilator simulation is linked with.
fn harness() -> VpiHarness {
    let cocotb = tools::python_folder().join("cocotb");
    VpiHarness {
        main: cocotb.join("share/lib/verilator/verilator.cpp"),
        folder: cocotb.join("libs"),
        library: "cocotbvpi_verilator".into(),
    }
}

/// Runs the simulator in a folder of its own, emptied of an older run's results.
fn simulate(program: &Path, top: &str, card: &Path, results: &Path) -> Result<Output> {
    let folder = results.parent().context("a file is in a folder")?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut python_path = tools::python_folder().into_os_string();
    python_path.push(":");
    python_path.push(workspace::root().join(TESTS));

    let mut command = Command::new(program);
    command.current_dir(folder).envs(tools::environment(&tools::python_folder()));
    command
        .env("PYTHONPATH", python_path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // cocotbext-axi still speaks cocotb 1; both are pinned.
        .env("PYTHONWARNINGS", "ignore::DeprecationWarning")
        .env("PYGPI_PYTHON_BIN", config("--python-bin")?)
        .env("GPI_USERS", format!("{};{}", config("--libpython")?, config("--pygpi-entry-point")?))
        .env("COCOTB_TOPLEVEL", top)
        .env("COCOTB_TEST_MODULES", MODULES.join(","))
        .env("COCOTB_RESULTS_FILE", results)
        .env("COCOTB_LOG_LEVEL", "WARNING")
        .env("COCOTB_RANDOM_SEED", "1")
        .env("COCOTB_TRUST_INERTIAL_WRITES", "1")
        .env("TOPLEVEL_LANG", "verilog")
        .env("STROMA_CARD", card);
    process::quietly(&format!("{top}: {TESTS}"), command)
}

/// What cocotb says of its own installation.
fn config(question: &str) -> Result<String> {
    let mut command = Command::new("python3");
    command.args(["-m", "cocotb_tools.config", question]).env("PYTHONPATH", tools::python_folder());
    let output = command.output().context("start python3")?;
    if !output.status.success() {
        bail!(
            "cocotb does not answer {question}\n{}\nnext step: cargo xtask setup; where Python has no shared library, \
             apt-get install python3-dev",
            process::tail(&output)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// One test's line in the results.
#[derive(Debug, Eq, PartialEq)]
struct Case {
    name: String,
    seconds: String,
    passed: bool,
}

/// The tests in cocotb's `JUnit` file. A skipped test has not passed: nothing here has a reason to be skipped.
fn cases(junit: &str) -> Vec<Case> {
    let attribute = |text: &str, name: &str| {
        let value = text.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        value.map_or_else(String::new, |(value, _)| value.to_string())
    };
    let case = |text: &str| Case {
        name: attribute(text, "name"),
        seconds: attribute(text, "time"),
        passed: !["<failure", "<error", "<skipped"].iter().any(|verdict| text.contains(verdict)),
    };
    junit.split("<testcase").skip(1).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_read_with_its_verdict() {
        let junit = r#"<testsuites><testsuite errors="0" failures="1" tests="3">
            <testcase classname="m" name="a" time="0.118"><properties><property name="line" value="1"/></properties></testcase>
            <testcase classname="m" name="b/x=1" time="2"><failure error_type="AssertionError"/></testcase>
            <testcase classname="m" name="c" time="0"><skipped/></testcase></testsuite></testsuites>"#;
        let expected = [("a", "0.118", true), ("b/x=1", "2", false), ("c", "0", false)];
        let expected = expected.map(|(name, seconds, passed)| Case {
            name: name.into(),
            seconds: seconds.into(),
            passed,
        });
        assert_eq!(cases(junit), expected);
    }

    #[test]
    fn results_that_are_missing_hold_no_test() {
        assert_eq!(cases(""), []);
    }

    #[test]
    fn the_modules_are_all_that_hold_tests() {
        let files = workspace::files(&workspace::root().join(TESTS), "py").unwrap();
        let stems = files.iter().filter_map(|path| path.file_stem()?.to_str());
        let mut found: Vec<&str> = stems.filter(|stem| stem.starts_with("test_")).collect();
        found.sort_unstable();
        assert_eq!(found, MODULES);
    }
}
