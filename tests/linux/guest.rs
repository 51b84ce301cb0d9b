//! The Linux guest at the other end of the wire.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use stroma_tests::emulator::{BOOT, Emulator, Machine};
use stroma_tests::pair::address;
use tempfile::TempDir;

use crate::card::{GUEST, ip};
use crate::cases::Family;

/// Its memory.
const MEBIBYTES: usize = 256;
/// An answer, if it is an error.
const FAILURES: [&str; 2] = ["failed ", "bad "];

/// A running guest. Dropped, it is killed, whatever became of the story.
pub(crate) struct Guest {
    emulator: Emulator,
    /// The sockets' folder; under the system's one for temporary files because a socket's path has 108 bytes at most.
    sockets: TempDir,
}

impl Guest {
    /// Boots; the console goes to a file.
    pub(crate) fn boot(machine: &Machine, console: &Path) -> Result<Self> {
        let sockets = tempfile::tempdir().context("make a folder for sockets")?;
        let guest = address(GUEST);
        let mac = guest.mac.map(|byte| format!("{byte:02x}")).join(":");
        let path = |name: &str| sockets.path().join(name).display().to_string();
        let network = format!(
            "dgram,id=wire,local.type=unix,local.path={},remote.type=unix,remote.path={}",
            path("guest"),
            path("card")
        );
        let [v4, v6] = Family::BOTH.map(|family| ip(GUEST, family));
        let words = format!("guest_address={v4} guest_address6={v6}");
        let mut command = machine.command(MEBIBYTES, &words, console);
        command.args(["-netdev", &network]);
        command.args(["-device", &format!("virtio-net-pci,netdev=wire,mac={mac},romfile=")]);
        let mut emulator = Emulator::start(command, sockets.path())?;
        let answer = emulator.wait(BOOT)?;
        ensure!(answer == "ready", "the guest says: {answer}");
        Ok(Self { emulator, sockets })
    }

    /// The socket of its network card, and the one it sends to.
    pub(crate) fn network(&self) -> [PathBuf; 2] {
        ["guest", "card"].map(|name| self.sockets.path().join(name))
    }

    /// Gives an order.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        self.emulator.order(order)
    }

    /// The next answer, if it is there; one that tells of a failure is an error.
    pub(crate) fn answer(&mut self) -> Result<Option<String>> {
        let answer = self.emulator.answer()?;
        if let Some(answer) = &answer {
            ensure!(!FAILURES.iter().any(|word| answer.starts_with(word)), "the guest says: {answer}");
        }
        Ok(answer)
    }
}
