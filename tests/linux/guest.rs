//! The Linux guest: an emulated machine that ends with its owner, and its serial line.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use stroma_tests::pair::address;
use tempfile::TempDir;

use crate::card::GUEST;

/// How long the guest may take to boot: it takes four seconds, on a busy machine more.
const BOOT: Duration = Duration::from_mins(2);
/// Between two looks at the serial line while nothing is simulated.
const NAP: Duration = Duration::from_millis(5);
/// An answer, if it is an error.
const FAILURES: [&str; 2] = ["failed ", "bad "];

/// What the guest is made of.
#[derive(Args)]
pub(crate) struct Machine {
    /// Emulator of a PC with an x86-64 processor, called as QEMU is.
    #[arg(long)]
    emulator: PathBuf,
    /// Linux, not compressed.
    #[arg(long)]
    kernel: PathBuf,
    /// Its first file system.
    #[arg(long)]
    initrd: PathBuf,
}

/// A running guest. Dropped, it is killed, whatever became of the story.
pub(crate) struct Guest {
    child: Child,
    line: UnixStream,
    /// What has come over the line and is no whole answer yet.
    beginning: Vec<u8>,
    /// The sockets' folder; under the system's one for temporary files because a socket's path has 108 bytes at most.
    sockets: TempDir,
}

impl Guest {
    /// Boots; the console goes to a file.
    pub(crate) fn boot(machine: &Machine, console: &Path) -> Result<Self> {
        let sockets = tempfile::tempdir().context("make a folder for sockets")?;
        let control = sockets.path().join("control");
        let listener = UnixListener::bind(&control).context("listen to the guest's serial line")?;
        listener.set_nonblocking(true)?;
        let mut command = command(machine, sockets.path(), console);
        let mut child = command.spawn().with_context(|| format!("start {}", machine.emulator.display()))?;
        let line = accept(&listener, &mut child);
        if line.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let mut guest = Self { child, line: line?, beginning: Vec::new(), sockets };
        guest.line.set_nonblocking(true)?;
        let started = Instant::now();
        let answer = loop {
            if let Some(answer) = guest.answer()? {
                break answer;
            }
            ensure!(started.elapsed() < BOOT, "the guest is not ready after {BOOT:?}");
            std::thread::sleep(NAP);
        };
        ensure!(answer == "ready", "the guest says: {answer}");
        Ok(guest)
    }

    /// The socket of its network card, and the one it sends to.
    pub(crate) fn network(&self) -> [PathBuf; 2] {
        ["guest", "card"].map(|name| self.sockets.path().join(name))
    }

    /// Gives an order.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        writeln!(self.line, "{order}").with_context(|| format!("order to the guest: {order}"))
    }

    /// The next answer, if it is there; one that tells of a failure is an error.
    pub(crate) fn answer(&mut self) -> Result<Option<String>> {
        if let Some(status) = self.child.try_wait().context("ask for the emulator")? {
            bail!("the emulator ended with {status}");
        }
        let mut byte = [0];
        loop {
            match self.line.read(&mut byte) {
                Ok(0) => bail!("the guest's serial line is closed"),
                Ok(_) if byte == [b'\n'] => break,
                Ok(_) => self.beginning.extend(byte),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error).context("listen to the guest"),
            }
        }
        let answer = String::from_utf8_lossy(&std::mem::take(&mut self.beginning)).into_owned();
        ensure!(!FAILURES.iter().any(|word| answer.starts_with(word)), "the guest says: {answer}");
        Ok(Some(answer))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the emulator to take up the line.
fn accept(listener: &UnixListener, child: &mut Child) -> Result<UnixStream> {
    let started = Instant::now();
    loop {
        match listener.accept() {
            Ok((line, _)) => return Ok(line),
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                return Err(error).context("the guest's line");
            }
            Err(_) => {}
        }
        if let Some(status) = child.try_wait().context("ask for the emulator")? {
            bail!("the emulator ended with {status} before it had begun");
        }
        ensure!(started.elapsed() < BOOT, "the emulator does not begin");
        std::thread::sleep(NAP);
    }
}

fn command(machine: &Machine, sockets: &Path, console: &Path) -> Command {
    let guest = address(GUEST);
    let mac = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
    // The guest's first process gets the last as a variable.
    let words = format!("console=ttyS0 quiet panic=-1 guest_address={}", guest.ip);
    let path = |name: &str| sockets.join(name).display().to_string();
    let network = format!(
        "dgram,id=wire,local.type=unix,local.path={},remote.type=unix,remote.path={}",
        path("guest"),
        path("card")
    );
    let mut command = Command::new(&machine.emulator);
    command.args([
        "-M",
        "q35",
        "-accel",
        "tcg",
        "-m",
        "256",
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.arg("-kernel").arg(&machine.kernel).arg("-initrd").arg(&machine.initrd).args(["-append", &words]);
    command.args(["-serial", &format!("file:{}", console.display())]);
    command.args(["-chardev", &format!("socket,id=control,path={}", path("control"))]);
    command.args(["-serial", "chardev:control", "-netdev", &network]);
    command.args(["-device", &format!("virtio-net-pci,netdev=wire,mac={},romfile=", mac(guest.mac))]);
    command.stdin(Stdio::null());
    command
}
