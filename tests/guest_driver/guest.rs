//! A guest with a card: the card is in another process, the IOMMU before it is the emulator's, the driver is ours.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use stroma_tests::emulator::{BOOT, Emulator, Machine};
use tempfile::TempDir;

/// Its memory.
const MEBIBYTES: usize = 256;
/// How long an answer may take: longer than the guest itself waits for anything.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long the kernel may take to write a line.
const WRITTEN: Duration = Duration::from_secs(20);
/// Between two looks at the console.
const NAP: Duration = Duration::from_millis(50);

/// A running guest.
pub(crate) struct Guest {
    emulator: Emulator,
    console: PathBuf,
    /// The card's PCI address there.
    pub(crate) card: String,
    /// Kept for as long as its sockets are used.
    _sockets: TempDir,
}

impl Guest {
    /// Boots with the card that is served at `socket`, and with these words to the kernel; the console goes to a file.
    pub(crate) fn boot(machine: &Machine, socket: &Path, words: &str, console: &Path) -> Result<Self> {
        let sockets = tempfile::tempdir().context("make a folder for sockets")?;
        let mut command = machine.command(MEBIBYTES, words, console);
        // The card's process reaches the guest's memory through a descriptor, page by page as the IOMMU says.
        command.args(["-object", &format!("memory-backend-memfd,id=memory,size={MEBIBYTES}M,share=on")]);
        command.args(["-machine", "memory-backend=memory"]);
        // VFIO wants interrupts to be remapped as well; with caching the emulator hears of every mapping.
        command.args(["-device", "intel-iommu,caching-mode=on,intremap=on"]);
        let card = format!(
            r#"{{"driver":"vfio-user-pci","socket":{{"type":"unix","path":"{}"}}}}"#,
            socket.display()
        );
        command.args(["-device", &card]);
        // It has a line for each access that its IOMMU refuses.
        let errors =
            File::create(console.with_extension("qemu")).context("a file for the emulator's errors")?;
        command.stderr(errors);
        let mut emulator = Emulator::start(command, sockets.path())?;
        let first = emulator.wait(BOOT)?;
        let card = first.strip_prefix("ok ").with_context(|| format!("the guest says: {first}"))?.to_owned();
        Ok(Self { emulator, console: console.to_owned(), card, _sockets: sockets })
    }

    /// Gives an order without waiting for the answer.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        self.emulator.order(order)
    }

    /// Waits for the answer to an order; what is behind its `ok`.
    pub(crate) fn answer(&mut self) -> Result<String> {
        let answer = self.emulator.wait(PATIENCE)?;
        let rest = answer.strip_prefix("ok").with_context(|| format!("the guest says: {answer}"))?;
        Ok(rest.trim_start().to_owned())
    }

    /// Gives an order; what is behind the `ok` of its answer.
    pub(crate) fn ask(&mut self, order: &str) -> Result<String> {
        self.order(order)?;
        self.answer().with_context(|| format!("order to the guest: {order}"))
    }

    /// Gives orders, one behind the other, each of which must succeed.
    pub(crate) fn tell(&mut self, orders: &[&str]) -> Result<()> {
        orders.iter().try_for_each(|order| self.ask(order).map(drop))
    }

    /// Gives an order that must fail, and say all these words about it.
    pub(crate) fn refuses(&mut self, order: &str, words: &[&str]) -> Result<String> {
        self.order(order)?;
        let answer = self.emulator.wait(PATIENCE)?;
        let Some(said) = answer.strip_prefix("no: ") else { bail!("`{order}` succeeded: {answer}") };
        for word in words {
            ensure!(said.contains(word), "what went wrong does not say `{word}`: {said}");
        }
        Ok(said.to_owned())
    }

    /// Waits until the kernel has told of a fault of the card's at this address; the line.
    pub(crate) fn fault(&self, address: u64) -> Result<String> {
        let started = Instant::now();
        // Without its domain, and with the page alone.
        let (_, card) = self.card.split_once(':').context("a PCI address")?;
        let words = ["DMAR:", &format!("device [{card}]"), &format!("fault addr {:#x}", address & !0xfff)];
        loop {
            let log = std::fs::read(&self.console).context("read the guest's console")?;
            let log = String::from_utf8_lossy(&log);
            if let Some(line) = log.lines().find(|line| words.iter().all(|word| line.contains(word))) {
                let (_, line) = line.split_once("DMAR: ").context("a line of DMAR")?;
                return Ok(line.trim().to_owned());
            }
            ensure!(started.elapsed() < WRITTEN, "the guest's kernel tells of no fault with {words:?}");
            std::thread::sleep(NAP);
        }
    }
}
