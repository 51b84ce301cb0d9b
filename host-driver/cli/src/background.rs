//! A fabric that outlives the command that starts it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use stroma_control::Status;
use stroma_fabric::Plan;
use stroma_sim::Kind;

use crate::progress::Progress;

/// Between two looks at a fabric that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a fabric in a process group of its own, which signals of the terminal do not reach, and waits until it serves. What it tells goes to its log.
///
/// It is a child of this process; one that goes on should [`leave`] that to another.
pub(crate) fn start(plan: &Plan) -> anyhow::Result<Status> {
    let folder = &plan.sockets;
    // Here and not in the background, so that the user sees how long it takes.
    Kind::from(plan.profile).file().context("building the simulated card")?;
    stroma_control::make(folder)?;
    if let Some(process) = stroma_control::holder(folder) {
        return Err(stroma_control::Error::Taken { folder: folder.clone(), process }.into());
    }
    let path = stroma_control::log(folder);
    let log = stroma_local::create(&path).with_context(|| format!("making the log {}", path.display()))?;
    let copy = log.try_clone().context("two hands for a log")?;
    let mut command = ourselves()?;
    command.args(["fabric", "--plan", "-"]).process_group(0).stdout(copy).stderr(log);
    let mut child = spawn(command, plan)?;
    let _progress = Progress::of("starting cards");
    loop {
        let ended = child.try_wait().context("looking after the fabric")?;
        match stroma_control::find(folder)? {
            Some(status) if status.process == child.id() => return Ok(status),
            _ if ended.is_some() => bail!("the fabric has not started: {}", last_line(&path)),
            _ => thread::sleep(PAUSE),
        }
    }
}

/// The same, through a process that ends at once: whatever this one becomes has no child that it does not know of.
pub(crate) fn leave(plan: &Plan) -> anyhow::Result<()> {
    let mut command = ourselves()?;
    command.args(["fabric", "--detach", "--plan", "-"]).stdout(Stdio::null());
    let status = spawn(command, plan)?.wait().context("waiting for a fabric")?;
    if !status.success() {
        bail!("no fabric could be started");
    }
    Ok(())
}

fn ourselves() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe().context("finding this program")?))
}

/// Starts a process that reads the plan from its standard input.
fn spawn(mut command: Command, plan: &Plan) -> anyhow::Result<Child> {
    let text = toml::to_string(plan).context("writing the plan")?;
    let mut child = command.stdin(Stdio::piped()).spawn().context("starting a fabric")?;
    // It may have ended already; what it says is said elsewhere.
    let _ = child.stdin.take().context("a pipe")?.write_all(text.as_bytes());
    Ok(child)
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("it has said nothing").to_owned()
}
