//! A driver as a process of its own.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, setrlimit};

/// SIGKILL's number.
const KILLED: i32 = 9;
const KIB: u64 = 1024;

/// A running driver.
pub(crate) struct Driver {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    /// Starts a driver of the card at this address as an ordinary user who may lock so much memory.
    pub(crate) fn start(address: &str, user: u32, locked_kib: u64) -> Result<Self> {
        let bytes = Some(locked_kib * KIB);
        // Children have the limit of who starts them.
        setrlimit(Resource::Memlock, Rlimit { current: bytes, maximum: bytes })
            .with_context(|| format!("set the limit of locked memory to {locked_kib} KiB"))?;
        let program = std::env::current_exe().context("the guest's own program")?;
        let mut command = Command::new(program);
        command.args(["driver", address]).uid(user).gid(user).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("start a driver")?;
        let orders = child.stdin.take().context("the driver's input")?;
        let answers = BufReader::new(child.stdout.take().context("the driver's output")?).lines();
        Ok(Self { child, orders, answers })
    }

    /// Gives it an order.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        writeln!(self.orders, "{order}").with_context(|| format!("tell the driver: {order}"))
    }

    /// Its next answer.
    pub(crate) fn answer(&mut self) -> Result<String> {
        self.answers.next().context("the driver has ended")?.context("hear the driver")
    }

    /// Kills it, wherever it is.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("kill the driver")?;
        let status = self.child.wait().context("wait for the driver")?;
        ensure!(status.signal() == Some(KILLED), "the driver was not killed, it ended with {status}");
        Ok(())
    }

    /// Has it end by itself.
    pub(crate) fn end(mut self) -> Result<()> {
        drop(self.orders);
        let status = self.child.wait().context("wait for the driver")?;
        ensure!(status.success(), "the driver ended with {status}");
        Ok(())
    }
}
