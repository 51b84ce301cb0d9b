//! A fabric of one card whose wire ends at the guest, and programs on that card.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::guest::{CARD_SOCKET, GUEST_SOCKET};

/// Waits until somebody listens, and more that the guest uses.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/peer.sh");
const PAUSE: Duration = Duration::from_millis(20);

/// The running fabric. Dropped, it is killed, whatever became of the story.
pub(crate) struct Cards {
    fabric: Child,
    stroma: PathBuf,
    sockets: PathBuf,
    out: PathBuf,
}

/// A program on the card that serves.
pub(crate) struct Server {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Cards {
    /// Starts the card beside the guest's socket.
    pub(crate) fn start(stroma: &Path, sockets: &Path, out: &Path) -> Result<Self> {
        let [near, far] = [CARD_SOCKET, GUEST_SOCKET].map(|name| sockets.join(name).display().to_string());
        let log = File::create(out.join("fabric.log")).context("create the fabric's log")?;
        let mut fabric = Command::new(stroma)
            .args(["fabric", "--cards", "1", "--datagram", &format!("{near}={far}"), "--sockets"])
            .arg(sockets)
            .arg("--capture")
            .arg(out)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", stroma.display()))?;
        // It tells where its cards are, and an empty line when they are all served.
        let told = fabric.stdout.take().context("the fabric's output")?;
        let cards =
            Self { fabric, stroma: stroma.to_owned(), sockets: sockets.to_owned(), out: out.to_owned() };
        let is_served = BufReader::new(told).lines().any(|line| line.is_ok_and(|line| line.is_empty()));
        ensure!(is_served, "the card ended before it was served");
        Ok(cards)
    }

    /// Runs a program on the card, to its end; what it printed.
    pub(crate) fn call(&self, command: &str, limit: Duration) -> Result<String> {
        let (mut child, log) = self.program(command)?;
        finish(&mut child, &log, limit)
    }

    /// Starts a program on the card that listens at a port, and waits until it does.
    pub(crate) fn serve(&self, command: &str, limit: Duration) -> Result<Server> {
        let port = free_port()?;
        let (child, log) = self.program(&format!("{command} -p {port}"))?;
        let mut server = Server { child, port, log };
        let listening = Command::new("sh").args([SCRIPT, "listening", &port.to_string()]).status();
        if !listening.context("start peer.sh")?.success() {
            finish(&mut server.child, &server.log, limit)?;
            bail!("{command} does not listen at port {port}");
        }
        Ok(server)
    }

    fn program(&self, command: &str) -> Result<(Child, PathBuf)> {
        let log = self.out.join("card.log");
        let file = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let errors = file.try_clone().context("a log for both streams")?;
        let mut exec = Command::new(&self.stroma);
        exec.arg("exec").arg("--fabric").arg(&self.sockets).arg("--").args(command.split_whitespace());
        exec.stdin(Stdio::null()).stdout(file).stderr(errors);
        Ok((exec.spawn().with_context(|| format!("start {command}"))?, log))
    }
}

impl Drop for Cards {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.fabric.kill();
        let _ = self.fabric.wait();
    }
}

impl Server {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for its end, which must be a good one.
    pub(crate) fn ended(mut self, limit: Duration) -> Result<()> {
        finish(&mut self.child, &self.log, limit).map(drop)
    }
}

/// A server that nobody waits for any more would keep the card.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn finish(child: &mut Child, log: &Path, limit: Duration) -> Result<String> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("look after the card's program")? {
            break Some(status);
        }
        if started.elapsed() > limit {
            // It may end at this very moment.
            let _ = child.kill();
            child.wait().context("wait for the card's program")?;
            break None;
        }
        std::thread::sleep(PAUSE);
    };
    let output = std::fs::read_to_string(log).with_context(|| format!("read {}", log.display()))?;
    match status {
        Some(status) if status.success() => Ok(output),
        Some(status) => bail!("the card's program ended with {status}:\n{output}"),
        None => bail!("the card's program took more than {limit:?}:\n{output}"),
    }
}

/// A port that nobody has; somebody could take it before it is used, and the row would say so.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("look for a free port")?;
    Ok(listener.local_addr().context("look for a free port")?.port())
}
