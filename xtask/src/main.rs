//! One entry to every routine: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod bench;
mod bitstream;
mod ci;
mod cocotb;
mod demo;
mod deny;
mod dist;
mod docs;
mod errors_doc;
mod figures;
mod formal;
mod frames;
mod fuzz;
mod install;
mod libclang;
mod lint;
mod linux;
mod loom;
mod mutants;
mod new_kernel;
mod nightly;
mod page;
mod process;
mod program;
mod programs;
mod quotes;
mod rtl;
mod setup;
mod soak;
mod source_check;
mod stage;
mod synth;
mod test;
mod testplan;
mod tools;
mod unpack;
mod wheels;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Every routine of the workspace. New here? `cargo xtask demo`, then `cargo xtask test`.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what tools.toml lists and this machine lacks
    ///
    /// System packages come from apt (as root; otherwise the exact command is printed), Python wheels at pinned versions
    /// go to target/tools/python and touch nothing else, nor do the Debian packages that are unpacked into
    /// target/tools/linux, and those of a newer suite beside it. Every other command calls this by itself. When nothing is
    /// missing it takes milliseconds and no network.
    Setup {
        /// The routine to make ready for
        #[arg(long = "for", default_value = "ci")]
        routine: tools::Routine,
    },
    /// Install the command line and libibverbs below a folder
    ///
    /// PREFIX/bin/stroma finds the simulated cards in PREFIX/lib/stroma; `stroma exec -- PROGRAM` runs any program of libibverbs on them. A second run
    /// takes seconds.
    Install(install::Options),
    /// Make one archive of what `install` installs, for machines without Rust and Verilator
    ///
    /// target/dist/stroma-VERSION-x86_64-linux.tar.gz with its checksum beside it. Programs and libraries are optimised and stripped, and
    /// each is checked to need nothing but what every Debian 12 has. examples/ci shows what a repository of others does with it.
    Dist(dist::Options),
    /// Run two simulated cards on a cable, an application on each
    ///
    /// The applications exchange letters by WRITE and READ, and a table tells where the time of one request goes. The frames of
    /// the first card are kept in target/demo/first-light.pcapng.
    Demo,
    /// Run every test of the workspace, and the checks of the sources
    ///
    /// Checks first that kernels say what their Verilog will say, that every started program is listed, and that the test
    /// plan names existing tests. `STROMA_WAVES=DIR` records waves of each simulated block.
    Test {
        /// Run only tests whose name contains this, and build no other test programs
        #[arg(long, value_name = "NAME")]
        filter: Option<String>,
    },
    /// Measure the simulated card
    ///
    /// Cycle counts are exact and the same on every machine; wall-clock figures are of this machine and this run. Every figure
    /// is printed with the profile and the timing it depends on. A page with tables, plots and what others have published is
    /// left in target/bench/report.html. `all --readme` also writes README's tables and plot anew.
    Bench(bench::Options),
    /// Open the page that `bench` wrote in headless Chromium, and fail when the browser complains
    ///
    /// Pictures of it in light and in dark are left beside the page. Fetches a browser of 160 MB the first time, and is no part of
    /// `ci`.
    Page {
        /// The page [default: target/bench/report.html]
        file: Option<std::path::PathBuf>,
    },
    /// Send random requests of every kind over a bad wire, and compare what they leave behind
    ///
    /// Frames are lost, doubled and overtaken by chance, from seeds. Every operation must complete once and in order, and both
    /// memories must be as a plain copy says. Each run of 500 operations prints its seed.
    Soak(soak::Options),
    /// Compare cards with clock domains, as they are simulated, with cards without them: every output in every cycle
    ///
    /// Whole-card tests run with two models of each card, which get the same inputs; registers and memories are compared when a card ends.
    Gating {
        /// Against the reference text, at both widths, over many more cycles; takes hours
        #[arg(long)]
        whole: bool,
    },
    /// Feed any bytes to everything that takes them from strangers, and see that none of them does harm
    ///
    /// Frames, descriptors, messages of drivers, requests to a fabric, neighbours' frames, kernels' parameters: a target each, in fuzz, with a kept
    /// corpus. libFuzzer drives them; the compiler is the one of the workspace. What is found is left in target/fuzz/found.
    Fuzz(fuzz::Options),
    /// Run what threads share in all orders of their steps
    ///
    /// Files of the driver, of libibverbs and of the fabric are compiled once more in tests/loom, with loom's locks and atomics. Takes seconds.
    Loom {
        /// Only models whose names contain this
        name: Option<String>,
    },
    /// Put faults into a copy of the sources, one at a time, and see that the tests find each
    ///
    /// The list is xtask/mutants.toml; each fault names the tests that have to fail with it, and those are among the ones that `test` runs.
    /// They run without a fault first. The copy, what is built and the logs are in target/mutants; the work tree is never changed. All of it takes
    /// an hour, most of it for compiling, and is no part of `ci`, whose tests check that the list fits the sources.
    Mutants(mutants::Options),
    /// Run everything a change must pass
    ///
    /// fmt, generated docs, clippy, rustdoc, `test`, RTL lint, synthesis of chosen blocks, cocotb, frames, Linux, proofs, cargo-deny
    /// where installed. Stops at the first failure, and ends with a table of minutes and of what was not run.
    Ci,
    /// Run what is too long for `ci`: soak, tests in full, all benches, the page in a browser, synthesis of every block and of the card
    ///
    /// Takes hours, and 8 GB for the card. Stops at the first failure, and ends with a table of minutes.
    Nightly,
    /// Lay down a kernel that works: hardware, model, typed request, and a test in which hardware and model agree
    ///
    /// docs/kernels.md takes it from there. A folder that exists is left alone.
    NewKernel(new_kernel::Options),
    /// Emit the card's Verilog and its port manifest, or one block's
    Rtl(rtl::Options),
    /// Emit the RTL and have Verilator's lint and yosys read it
    Lint {
        /// Only this card [default: both]
        #[arg(long)]
        profile: Option<rtl::Profile>,
    },
    /// Write everything that Vivado needs to build the card for an Alveo board, check it, and build it where there is a Vivado
    ///
    /// Emits card and shell, writes top module, IP scripts, constraints and build script into one folder, and checks them without Vivado: lint, hierarchy, the scripts
    /// under stand-ins of Vivado's commands, a source for each property and port of the IP, and every way from one clock to another. Vivado takes hours.
    Bitstream(bitstream::Options),
    /// Map the card's blocks to the chip: area, depth of logic, and a comparison with what they were
    ///
    /// yosys maps each block of the 100g card to UltraScale+, a simple model estimates the period of its slowest path, and
    /// hw/top/area.toml says what it came to before. An estimate to compare versions by, not what a placed card will do.
    /// With --board it is the whole top of a board, beside what the part has.
    Synth(synth::Options),
    /// Drive the emitted Verilog with cocotb: registers, a copy, a WRITE to and from a peer made of scapy
    ///
    /// None of our own simulator or driver takes part: tests/cocotb talks AXI to the card through cocotbext-axi, and Ethernet
    /// through cocotbext-eth. The simulator is built once for an RTL text; later runs take seconds.
    Cocotb {
        /// Only this card [default: both]
        #[arg(long)]
        profile: Option<rtl::Profile>,
    },
    /// Have the simulated cards send every kind of frame, and tshark and Python's CRC judge each
    ///
    /// Captures go to target/frames, one a profile, and stay there for Wireshark. A kind of frame that is missing, a frame
    /// that tshark stumbles over and a wrong ICRC are errors. Kernel invocations come from the encoders, and tshark shows them with
    /// docs/wireshark/stroma.lua.
    Frames,
    /// Bring simulated cards together with Linux and its programs
    ///
    /// Rung 3 runs programs that others wrote for libibverbs: pingpongs, perftest, pyverbs' tests, UCX, libfabric; perftest also against a guest's. Rung 4 has Soft-RoCE at the other end of the wire: both ends ask the other for every operation, with both path MTUs, and check
    /// every byte. Rung 5 has the card in the guest, behind an IOMMU, and our driver with it, on vfio-pci. Needs no KVM and no root
    /// but to fetch package lists. Captures and the guest's console stay in target/linux.
    Linux {
        /// What to try, by its rung on the ladder of proofs [default: all]
        #[arg(long)]
        rung: Option<linux::Rung>,
        #[command(flatten)]
        choice: linux::Choice,
    },
    /// Run the proofs, seeded bugs included
    ///
    /// Each proof prints one line with its result and seconds. A seeded bug that is not found is an error, and so is a run
    /// without proofs.
    Formal {
        /// Run one proof
        #[arg(long)]
        task: Option<String>,
        /// Prove the runner itself on a small sample
        #[arg(long, conflicts_with = "task")]
        self_test: bool,
    },
    /// Write what is generated: docs/registers.md from the code, docs/area.md from hw/top/area.toml, tables and plot of README from docs/figures.json
    ///
    /// The figures are those of the last `cargo xtask bench all --readme`. Nothing is measured, and no card is built.
    Docs {
        /// Change nothing; fail when a page is stale
        #[arg(long)]
        check: bool,
    },
    /// Refuse kernels that `RustHDL`'s macro would silently turn into other hardware
    ///
    /// Each refusal names the place, the reason and what to write instead.
    SourceCheck,
    /// Check that docs/testplan.md and SECURITY.md name tests that exist and run
    Testplan {
        /// Print the name of every test there is, as the plan would write it
        #[arg(long)]
        list: bool,
    },
    /// Check that every program the sources start is listed in tools.toml
    Programs,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", process::explain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup { routine } => setup::run(routine),
        Task::Install(options) => install::run(&options),
        Task::Dist(options) => dist::run(&options),
        Task::Demo => demo::run(),
        Task::Test { filter } => test::run(filter),
        Task::Bench(options) => bench::run(&options),
        Task::Page { file } => page::run(file),
        Task::Soak(options) => soak::run(&options),
        Task::Gating { whole } => test::gating::run(whole),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Loom { name } => loom::run(name.as_deref()),
        Task::Mutants(options) => mutants::run(&options),
        Task::Ci => ci::run(),
        Task::Nightly => nightly::run(),
        Task::NewKernel(options) => new_kernel::run(&options),
        Task::Rtl(options) => rtl::run(&options),
        Task::Lint { profile } => {
            setup::run(tools::Routine::Ci)?;
            lint::run(profile)
        }
        Task::Bitstream(options) => bitstream::run(&options),
        Task::Synth(options) => synth::run(&options),
        Task::Cocotb { profile } => {
            setup::run(tools::Routine::Ci)?;
            cocotb::run(profile)
        }
        Task::Frames => {
            setup::run(tools::Routine::Ci)?;
            frames::run()
        }
        Task::Linux { rung, choice } => {
            setup::run(tools::Routine::Linux)?;
            for rung in rung.map_or(linux::Rung::ALL.to_vec(), |rung| vec![rung]) {
                if let stage::Outcome::Skipped(reason) = linux::run(rung, &choice)? {
                    println!("skipped: {reason}");
                }
            }
            Ok(())
        }
        Task::Formal { self_test: true, .. } => formal::self_test(),
        Task::Formal { task, .. } => formal::run(task.as_deref()),
        Task::Docs { check } => docs::run(check),
        Task::SourceCheck => source_check::run(),
        Task::Testplan { list } => testplan::run(list),
        Task::Programs => programs::run(),
    }
}
