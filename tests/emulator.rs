//! An emulated machine that ends with its owner, and the serial line on which it takes orders.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

/// How long a guest may take to boot: it takes four seconds, on a busy machine more.
pub const BOOT: Duration = Duration::from_mins(2);
/// Between two looks at the serial line while nothing is simulated.
const NAP: Duration = Duration::from_millis(5);

/// What a guest is made of.
#[derive(Args)]
pub struct Machine {
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

impl Machine {
    /// A machine without a network and with so many MiB, to which devices can be added. The guest's first process gets `words` as
    /// variables, the kernel's console goes to a file.
    #[must_use]
    pub fn command(&self, mebibytes: usize, words: &str, console: &Path) -> Command {
        let words = format!("console=ttyS0 quiet panic=-1 {words}");
        let mut command = Command::new(&self.emulator);
        // A machine may offer KVM and not be able to use it.
        command.args(["-M", "q35", "-accel", "tcg", "-m", &mebibytes.to_string()]);
        command.args(["-nodefaults", "-display", "none", "-no-reboot"]);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.initrd).args(["-append", &words]);
        command.args(["-serial", &format!("file:{}", console.display())]);
        command.stdin(Stdio::null());
        command
    }
}

/// A running machine. Dropped, it is killed, whatever became of the story.
pub struct Emulator {
    child: Child,
    line: UnixStream,
    /// What has come over the line and is no whole answer yet.
    beginning: Vec<u8>,
}

impl Emulator {
    /// Starts a machine whose second serial port is a line to here, through a socket in this folder.
    ///
    /// # Errors
    /// When it cannot be started, or ends at once.
    pub fn start(mut command: Command, sockets: &Path) -> Result<Self> {
        let control = sockets.join("control");
        let listener = UnixListener::bind(&control).context("listen to the guest's serial line")?;
        listener.set_nonblocking(true)?;
        command.args(["-chardev", &format!("socket,id=control,path={}", control.display())]);
        command.args(["-serial", "chardev:control"]);
        let program = command.get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("start {}", program.display()))?;
        let line = accept(&listener, &mut child);
        if line.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let emulator = Self { child, line: line?, beginning: Vec::new() };
        emulator.line.set_nonblocking(true)?;
        Ok(emulator)
    }

    /// Gives an order.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn order(&mut self, order: &str) -> Result<()> {
        writeln!(self.line, "{order}").with_context(|| format!("order to the guest: {order}"))
    }

    /// The next answer, if it is there.
    ///
    /// # Errors
    /// When none will come.
    pub fn answer(&mut self) -> Result<Option<String>> {
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
        Ok(Some(String::from_utf8_lossy(&std::mem::take(&mut self.beginning)).into_owned()))
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// When none comes.
    pub fn wait(&mut self, patience: Duration) -> Result<String> {
        let started = Instant::now();
        loop {
            if let Some(answer) = self.answer()? {
                return Ok(answer);
            }
            ensure!(started.elapsed() < patience, "the guest says nothing for {patience:?}");
            std::thread::sleep(NAP);
        }
    }
}

impl Drop for Emulator {
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
