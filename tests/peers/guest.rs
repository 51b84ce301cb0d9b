//! The Linux guest: `eth0` is its end of the card's wire, `eth1` leads to this machine, for the TCP connections of perftest.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use stroma_tests::emulator::{BOOT, Emulator, Machine};

use crate::cards::free_port;

/// The two ends of the wire, in the folder of sockets.
pub(crate) const GUEST_SOCKET: &str = "guest";
pub(crate) const CARD_SOCKET: &str = "wire";
/// This machine, as the guest sees it: QEMU's own network has it there.
pub(crate) const HOST: &str = "10.0.2.2";
/// The guest in that network.
const HERE: &str = "10.0.2.15/24";
/// Where the guest's programs listen.
const GUEST_PORT: u16 = 18515;
/// The guest's addresses on the wire: the card is 10.83.0.1 by default.
const WORDS: &str = "guest_address=10.83.0.9 guest_address6=fd83::9";
const MAC: &str = "02:53:54:52:00:09";
/// Its memory.
const MEBIBYTES: usize = 384;
/// How long an order may take: longer than `peer.sh` waits for anything.
const PATIENCE: Duration = Duration::from_secs(90);
/// Where the guest has the script.
const PEER: &str = "sh /bin/peer.sh";

/// A running guest.
pub(crate) struct Guest {
    emulator: Emulator,
    /// The port of this machine behind which is the guest's.
    port: u16,
    console: std::path::PathBuf,
}

impl Guest {
    /// Boots; the console goes to a file.
    pub(crate) fn boot(machine: &Machine, sockets: &Path, console: &Path) -> Result<Self> {
        let port = free_port()?;
        let [near, far] = [GUEST_SOCKET, CARD_SOCKET].map(|name| sockets.join(name).display().to_string());
        let wire =
            format!("dgram,id=wire,local.type=unix,local.path={near},remote.type=unix,remote.path={far}");
        let talk = format!("user,id=talk,hostfwd=tcp:127.0.0.1:{port}-:{GUEST_PORT}");
        let mut command = machine.command(MEBIBYTES, WORDS, console);
        command.args(["-netdev", &wire, "-netdev", &talk]);
        command.args(["-device", &format!("virtio-net-pci,netdev=wire,mac={MAC},romfile=")]);
        command.args(["-device", "virtio-net-pci,netdev=talk,romfile="]);
        let mut emulator = Emulator::start(command, sockets)?;
        let answer = emulator.wait(BOOT)?;
        ensure!(answer == "ready", "the guest says: {answer}");
        let mut guest = Self { emulator, port, console: console.to_owned() };
        guest.shell(&format!("ip address add {HERE} dev eth1 && ip link set eth1 up && mkdir -p /tmp"))?;
        Ok(guest)
    }

    /// The port of this machine by which a program reaches the guest's.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Starts a program that listens, and waits until it does.
    pub(crate) fn serve(&mut self, command: &str) -> Result<()> {
        self.program(&format!("{PEER} serve {GUEST_PORT} {command}"))
    }

    /// Waits for its end, which must be a good one.
    pub(crate) fn served(&mut self) -> Result<()> {
        self.program(&format!("{PEER} served"))
    }

    /// Runs a program to its end; what it printed.
    pub(crate) fn call(&mut self, command: &str) -> Result<String> {
        self.program(&format!("{PEER} call {command}"))?;
        self.printed()
    }

    fn program(&mut self, order: &str) -> Result<()> {
        let Err(error) = self.shell(order) else { return Ok(()) };
        let printed = self.printed()?;
        Err(error.context(format!("a program of the guest printed:\n{printed}")))
    }

    /// What its last program printed: the console has it.
    fn printed(&mut self) -> Result<String> {
        let read = |path: &Path| std::fs::read(path).context("read the guest's console");
        let before = read(&self.console)?.len();
        self.shell(&format!("{PEER} show > /dev/console"))?;
        Ok(String::from_utf8_lossy(&read(&self.console)?[before..]).into_owned())
    }

    /// A command of the guest's shell, which must end well.
    fn shell(&mut self, command: &str) -> Result<()> {
        self.emulator.order(&format!("shell {command}"))?;
        match self.emulator.wait(PATIENCE)?.as_str() {
            "ended 0" => Ok(()),
            answer => bail!("the guest says to `{command}`: {answer}"),
        }
    }
}
