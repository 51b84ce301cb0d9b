//! The command line of `stroma fabric`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stroma_local::Log;
use stroma_top::Profile;

use crate::{EndPlan, Error, Fabric, FaultPlan, LinkPlan, Plan, Report, TimingPlan, Wire};

/// Bytes of a fabric's log; as many are kept of the one before.
const LOG_MAX: u64 = 4 << 20;

/// Runs simulated cards, and serves each at a socket for one process at a time.
///
/// Once they are served, a line for each card tells where, `card0 /tmp/stroma/card0`, and an empty one that these are all. What happens afterwards is told on standard
/// error. Programs open a card by its socket. Whatever a flag says goes before what the plan says.
#[derive(Clone, Debug, Parser)]
#[group(skip)]
pub struct Arguments {
    /// A TOML file that says all of this; - for standard input.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Which cards; 10g if nobody says.
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// How many; 2 if nobody says.
    #[arg(long)]
    cards: Option<usize>,
    /// What is between them; a cable if nobody says.
    #[arg(long, value_enum)]
    wire: Option<Wire>,
    /// Where chance begins.
    #[arg(long)]
    seed: Option<u64>,
    /// Folder of the sockets; `$STROMA_FABRIC` if nobody says, else `$XDG_RUNTIME_DIR/stroma`, else `/tmp/stroma-UID`.
    #[arg(long, visible_alias = "fabric", value_name = "FOLDER")]
    sockets: Option<PathBuf>,
    /// Ends by itself when no program has had a card for so many seconds; never, if nobody says.
    #[arg(long, value_name = "SECONDS")]
    linger: Option<u64>,
    /// One more end of the wire: the fabric's Unix datagram socket, and the other's.
    #[arg(long, value_name = "NEAR=FAR", value_parser = datagram)]
    datagram: Vec<EndPlan>,
    /// One more end of the wire: a TAP interface of this machine.
    #[arg(long, value_name = "NAME")]
    tap: Vec<String>,
    /// Folder where the frames of each card's port are recorded, for Wireshark.
    #[arg(long, value_name = "FOLDER")]
    capture: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Lines")]
    link: LinkPlan,
    #[command(flatten, next_help_heading = "Faults")]
    faults: FaultPlan,
    #[command(flatten, next_help_heading = "Hosts")]
    timing: TimingPlan,
}

fn datagram(text: &str) -> Result<EndPlan, String> {
    let (near, far) = text.split_once('=').ok_or("two paths are needed, NEAR=FAR")?;
    Ok(EndPlan::Datagram { near: near.into(), far: far.into() })
}

/// Reads the file of a plan.
fn read(path: &Path) -> Result<Plan, Error> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|source| Error::File { path: path.to_path_buf(), source })?;
    toml::from_str(&text).map_err(|source| Error::Plan { path: path.to_path_buf(), source: Box::new(source) })
}

impl Arguments {
    /// Where cards are served, as far as flags and the environment say.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.sockets.clone().unwrap_or_else(stroma_control::folder)
    }

    /// What the file and the flags say together.
    ///
    /// # Errors
    /// When the file is no plan.
    pub fn plan(self) -> Result<Plan, Error> {
        let plan = self.plan.as_deref().map_or_else(|| Ok(Plan::new(Path::new(""))), read)?;
        let mut plan = self.over(plan);
        if plan.sockets.as_os_str().is_empty() {
            plan.sockets = stroma_control::folder();
        }
        Ok(plan)
    }

    /// What a fabric that runs would have to be: what was [asked for](Self::plan), or where there was no file, as it is but for the
    /// flags. Where it is and when it ends is as it is.
    #[must_use]
    pub fn wanted(mut self, asked: &Plan, running: &Plan) -> Plan {
        // What it has need not be added.
        self.datagram.retain(|end| !running.ends.contains(end));
        self.tap.retain(|name| !running.ends.contains(&EndPlan::Tap(name.clone())));
        self.faults.rules.retain(|rule| !running.faults.rules.contains(rule));
        let wanted = if self.plan.is_some() { asked.clone() } else { self.over(running.clone()) };
        Plan { sockets: running.sockets.clone(), linger: running.linger, ..wanted }
    }

    /// A plan, with what the flags say instead.
    fn over(self, mut plan: Plan) -> Plan {
        plan.sockets = self.sockets.unwrap_or(plan.sockets);
        plan.profile = self.profile.unwrap_or(plan.profile);
        plan.cards = self.cards.unwrap_or(plan.cards);
        plan.wire = self.wire.unwrap_or(plan.wire);
        plan.seed = self.seed.unwrap_or(plan.seed);
        plan.ends.extend(self.datagram);
        plan.ends.extend(self.tap.into_iter().map(EndPlan::Tap));
        plan.capture = self.capture.or(plan.capture);
        plan.link = plan.link.but(self.link);
        plan.faults = plan.faults.but(self.faults);
        plan.timing = plan.timing.but(self.timing);
        plan.linger = self.linger.or(plan.linger);
        plan
    }
}

/// Runs the cards until the process is ended, or nobody has come for as long as the plan says.
#[must_use]
pub fn run(arguments: Arguments) -> ExitCode {
    serve(arguments).unwrap_or_else(|error| {
        stroma_local::tell(&format!("error: {error}"));
        ExitCode::FAILURE
    })
}

fn serve(arguments: Arguments) -> Result<ExitCode, Error> {
    let plan = arguments.plan()?;
    may_open_more();
    let log = Log::start(&stroma_control::log(&plan.sockets), LOG_MAX).map_err(Error::Log)?;
    let teller = log.clone();
    let report: Report = Arc::new(move |line| teller.tell(line));
    let started = Fabric::start(&plan, &report);
    if started.is_err() {
        log.settle();
    }
    let fabric = started?;
    // Nobody may be listening, and the cards are served all the same.
    let _ = tell(&plan);
    let ended_well = fabric.wait();
    log.settle();
    Ok(if ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes as many descriptors as this process may have: those that clients lend come on top of its own, and the usual limit would be
/// reached by the clients of five cards together.
fn may_open_more() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer it is as before.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A line for each card, and an empty one: all of them are served.
fn tell(plan: &Plan) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for card in 0..plan.cards {
        writeln!(out, "card{card} {}", plan.socket(card).display())?;
    }
    writeln!(out)?;
    out.flush()
}
