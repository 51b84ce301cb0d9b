//! A simulator with a VPI: the card for a test bench that is not ours.
//!
//! Such a bench brings a `main` that runs time, and a library that is loaded with it and reaches the ports through the VPI.
//! Both come from [`VpiHarness`]; here they meet the Verilated text. Of the design only the ports are public, so that the rest
//! is optimised as ever. The build is made quick rather than the cycles: a bench in an interpreted language is slower than
//! either.

use crate::Error;
use crate::cache::{self, Artifact};
use crate::compile::{self, RUNTIME_LIBRARY, Speed, VERILATE};
use crate::cxx::{Cxx, run_all};
use crate::manifest::{Direction, Manifest, Verilog};
use crate::tool::{VERILATOR_VERSION, Verilator};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The class name that foreign mains include as `Vtop.h`.
const PREFIX: &str = "Vtop";

/// Runtime sources that only a VPI needs.
const RUNTIME: [&str; 2] = ["verilated_vpi.cpp", "verilated_dpi.cpp"];

/// What a test bench brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VpiHarness {
    /// C++ with `main`, for a class `Vtop`.
    pub main: PathBuf,
    /// Folder of the library.
    pub folder: PathBuf,
    /// Its name as a linker knows it.
    pub library: String,
}

/// Builds, or finds in the cache, the simulator of a design; `path` is the program.
///
/// # Errors
/// When Verilator or the compiler is missing or refuses the text, or a part of the harness is missing.
pub fn vpi_program(design: &Verilog, harness: &VpiHarness) -> Result<Artifact, Error> {
    let cxx = Cxx::get()?;
    let main = fs::read_to_string(&harness.main).map_err(Error::io("reading", &harness.main))?;
    let ports = design.manifest.to_string();
    let key = cache::hash(&[
        &design.text,
        &ports,
        &VERILATE.join(" "),
        VERILATOR_VERSION,
        &cxx.identity,
        &main,
        &harness.folder.display().to_string(),
        &harness.library,
        include_str!("vpi.rs"),
        include_str!("compile.rs"),
    ]);
    let top = &design.manifest.top;
    let entry = cache::ensure(&format!("{top}-vpi"), key, |folder| {
        let work = folder.join("work");
        fs::create_dir_all(&work).map_err(Error::io("creating", &work))?;
        compile::write(&work.join("public.vlt"), &public(&design.manifest))?;
        compile::translate(design, PREFIX, &["--vpi", "--timescale", "1ns/1ps", "public.vlt"], &work)?;
        compile::write(&work.join("main.cpp"), &main)?;
        let mut objects = compile::compile(cxx, top, &work, Speed::Build)?;
        objects.extend(runtime(cxx)?);
        link(cxx, harness, &folder.join(top), &objects)?;
        fs::remove_dir_all(&work).map_err(Error::io("removing", &work))
    })?;
    Ok(Artifact { path: entry.path.join(top), ..entry })
}

/// Verilator's word for what the VPI may see: inputs to write, outputs to read.
fn public(manifest: &Manifest) -> String {
    let mut text = String::from("`verilator_config\n");
    for port in &manifest.ports {
        let right = if port.direction == Direction::Out { "rd" } else { "rw" };
        writeln!(text, "public_flat_{right} -module \"{}\" -var \"{}\"", manifest.top, port.name)
            .expect("a String takes any text");
    }
    text
}

/// Objects of the VPI itself, the same for every design.
fn runtime(cxx: &Cxx) -> Result<Vec<PathBuf>, Error> {
    let key = cache::hash(&[VERILATOR_VERSION, &cxx.identity, &RUNTIME.join(" "), include_str!("vpi.rs")]);
    let objects = |folder: &Path| RUNTIME.map(|source| folder.join(source).with_extension("o"));
    let entry = cache::ensure("vpi", key, |folder| {
        let include = Verilator::find()?.include();
        let job = |(source, object): (&str, PathBuf)| {
            cxx.job(format!("compiling {source}")).with(|command| {
                command.arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
                // The library finds its functions in the program, so they must be seen from outside.
                command.args(["-O0", "-fvisibility=default", "-c"]).arg(include.join(source));
                command.arg("-o").arg(object)
            })
        };
        run_all(RUNTIME.into_iter().zip(objects(folder)).map(job).collect(), None)
    })?;
    Ok(objects(&entry.path).into())
}

fn link(cxx: &Cxx, harness: &VpiHarness, program: &Path, objects: &[PathBuf]) -> Result<(), Error> {
    let runtime = compile::runtime()?.join(format!("lib{RUNTIME_LIBRARY}.a"));
    let job = cxx.job(format!("linking {}", program.display())).with(|command| {
        command.arg("-o").arg(program).args(objects).arg(runtime).args(["-pthread", "-rdynamic", "-L"]);
        command.arg(&harness.folder).arg(format!("-l{}", harness.library));
        command.arg(format!("-Wl,-rpath,{}", harness.folder.display()))
    });
    job.output().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_alone_are_public_and_outputs_cannot_be_written() {
        let manifest: Manifest =
            "top skid\nclock clock 1\nin sink$valid 1\nout sink$ready 1".parse().unwrap();
        let text = public(&manifest);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                r#"public_flat_rw -module "skid" -var "clock""#,
                r#"public_flat_rw -module "skid" -var "sink$valid""#,
                r#"public_flat_rd -module "skid" -var "sink$ready""#,
            ]
        );
    }
}
