//! Cards for rows, and the rows on them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::row::{PORT, Row};
use crate::workspace;

/// Gives a program character devices.
const DEVICES: &str = "tests/programs/devices.sh";
/// The first of the TCP ports over which pairs meet.
const FIRST_PORT: u16 = 18_515;
/// How long a program may take until it can be connected to.
const START: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// How much of a failed program's output is repeated.
const SHOWN_LINES: usize = 15;

/// Where rows run.
pub(super) struct Bench {
    stroma: PathBuf,
    folder: PathBuf,
    /// The cards that are running, and which they are.
    fabric: Option<(&'static str, Child)>,
    /// What the first cards of all fabrics so far have sent and heard.
    captures: Vec<PathBuf>,
    rows: u16,
}

impl Bench {
    pub(super) fn new(prefix: &Path, folder: &Path) -> Self {
        let stroma = prefix.join("bin/stroma");
        Self { stroma, folder: folder.to_path_buf(), fabric: None, captures: Vec::new(), rows: 0 }
    }

    /// Where everything is kept.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the frames of first cards are kept.
    pub(super) fn captures(&self) -> &[PathBuf] {
        &self.captures
    }

    fn sockets(&self, profile: &str) -> PathBuf {
        self.folder.join(profile).join("cards")
    }

    /// Has two cards of a profile running, on a cable.
    fn need(&mut self, profile: &'static str) -> Result<()> {
        if self.fabric.as_ref().is_some_and(|(running, _)| *running == profile) {
            return Ok(());
        }
        self.end();
        let (sockets, capture) =
            (self.sockets(profile), self.folder.join(format!("frames{}", self.captures.len())));
        self.captures.push(capture.join("card0.pcapng"));
        fs::create_dir_all(&capture).with_context(|| format!("create {}", capture.display()))?;
        let log = self.log(&format!("fabric{}", self.captures.len() - 1))?;
        let mut child = Command::new(&self.stroma)
            .args(["fabric", "--profile", profile, "--sockets"])
            .arg(sockets)
            .arg("--capture")
            .arg(capture)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("start the cards")?;
        // It tells where its cards are, and an empty line when they are all served.
        let told = child.stdout.take().context("the fabric's output")?;
        let served = BufReader::new(told).lines().any(|line| line.is_ok_and(|line| line.is_empty()));
        self.fabric = Some((profile, child));
        ensure!(
            served,
            "the cards ended before they were served; see the last fabric's log in {}",
            self.folder.display()
        );
        Ok(())
    }

    /// Ends the cards that are running.
    pub(super) fn end(&mut self) {
        if let Some((_, mut child)) = self.fabric.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn log(&self, name: &str) -> Result<File> {
        let path = self.folder.join(format!("{name}.log"));
        File::create(&path).with_context(|| format!("create {}", path.display()))
    }

    /// A program on a card, with its output in a file.
    pub(super) fn start(&mut self, row: &Row, card: usize, command: &[String], log: &str) -> Result<Child> {
        self.need(row.profile)?;
        let mut exec = Command::new(&self.stroma);
        exec.arg("exec").arg("--fabric").arg(self.sockets(row.profile));
        if !row.has_both {
            exec.arg("--card").arg(card.to_string());
        }
        exec.arg("--");
        if row.wants_devices {
            let room = self.folder.join(format!("room{card}"));
            fs::create_dir_all(&room).with_context(|| format!("create {}", room.display()))?;
            exec.args(["unshare", "--mount", "sh"]).arg(workspace::root().join(DEVICES)).arg(room);
        }
        let port = (FIRST_PORT + self.rows).to_string();
        exec.args(command.iter().map(|word| if word == PORT { port.clone() } else { word.clone() }));
        let out = self.log(log)?;
        let errors = out.try_clone().context("a log for both streams")?;
        exec.current_dir(&self.folder).stdin(Stdio::null()).stdout(out).stderr(errors);
        exec.spawn().with_context(|| format!("start {}", self.stroma.display()))
    }

    /// Runs a row; how many seconds it took.
    pub(super) fn run(&mut self, row: &Row) -> Result<f64> {
        let started = Instant::now();
        self.rows += 1;
        let names = [format!("{:03}-first", self.rows), format!("{:03}-second", self.rows)];
        let mut running = vec![self.start(row, 0, &row.server, &names[0])?];
        if let Some(client) = &row.client {
            self.await_listener(FIRST_PORT + self.rows, &mut running[0])?;
            running.push(self.start(row, 1, client, &names[1])?);
        }
        let last = names[running.len() - 1].clone();
        let mut ends = Vec::new();
        for mut child in running.into_iter().rev() {
            ends.push(wait(&mut child, row.limit.saturating_sub(started.elapsed()))?);
        }
        let failed = ends.iter().any(|end| !end.is_some_and(|status| status.success()));
        let output = self.output(&last);
        if failed || !output.contains(row.expected) {
            let first = if row.client.is_some() { self.output(&names[0]) } else { String::new() };
            bail!("{}\n{}\n{}", told(&ends), tail(&first), tail(&output));
        }
        Ok(started.elapsed().as_secs_f64())
    }

    fn output(&self, log: &str) -> String {
        let bytes = fs::read(self.folder.join(format!("{log}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until somebody listens on a TCP port of this machine.
    fn await_listener(&self, port: u16, server: &mut Child) -> Result<()> {
        let started = Instant::now();
        while !is_listening(port) {
            if let Some(status) = server.try_wait().context("look after the first program")? {
                bail!(
                    "the first program {status} before it could be connected to\n{}",
                    tail(&self.output(&format!("{:03}-first", self.rows)))
                );
            }
            if started.elapsed() > START {
                let _ = server.kill();
                bail!("nobody listens on port {port} after {START:?}");
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.end();
    }
}

/// Does the kernel's table of sockets have one that listens there?
fn is_listening(port: u16) -> bool {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .any(|table| fs::read_to_string(table).is_ok_and(|text| listens(&text, port)))
}

/// A line has a number, the local address and port in hexadecimal digits, the other's, and a state: 0A listens.
fn listens(table: &str, port: u16) -> bool {
    let suffix = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&suffix)) && words.nth(1) == Some("0A")
    })
}

/// How a program ended; `None` if it was ended, because it took too long.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("look after a program")? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            // It may end at this very moment.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

fn told(ends: &[Option<ExitStatus>]) -> String {
    let all: Vec<String> =
        ends.iter().map(|end| end.map_or("took too long".to_owned(), |status| status.to_string())).collect();
    format!("the last program and those before it: {}", all.join(", "))
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_in_the_table_of_sockets() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
             0: 00000000:4853 00000000:0000 0A 00000000:00000000\n   \
             1: 0100007F:4854 0100007F:9999 01 00000000:00000000\n";
        assert!(listens(table, 0x4853));
        assert!(!listens(table, 0x4854), "it is connected, and does not listen");
        assert!(!listens(table, 0x9999));
    }
}
