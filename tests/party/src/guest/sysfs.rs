//! The card in sysfs: where it is, which driver it has, which group it is in.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const DEVICES: &str = "/sys/bus/pci/devices";
const PROBE: &str = "/sys/bus/pci/drivers_probe";
const DRIVER: &str = "vfio-pci";
/// What the card answers when it is asked who it is.
const VENDOR: &str = "0x10ee";
const DEVICE: &str = "0x5354";

/// The PCI address of the card.
pub(crate) fn find() -> Result<String> {
    let is = |folder: &Path, file: &str, wanted: &str| {
        fs::read_to_string(folder.join(file)).is_ok_and(|found| found.trim() == wanted)
    };
    let folders = fs::read_dir(DEVICES).with_context(|| format!("list {DEVICES}"))?;
    let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
    let mut cards = folders.filter(|folder| is(folder, "vendor", VENDOR) && is(folder, "device", DEVICE));
    let card = cards.next().with_context(|| format!("no device {VENDOR}:{DEVICE} in {DEVICES}"))?;
    Ok(card.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

fn folder(address: &str) -> PathBuf {
    Path::new(DEVICES).join(address)
}

/// Gives the card to vfio-pci.
pub(crate) fn bind(address: &str) -> Result<()> {
    store(&folder(address).join("driver_override"), DRIVER)?;
    store(Path::new(PROBE), address)?;
    let driver = fs::read_link(folder(address).join("driver")).context("the card has no driver")?;
    let name = driver.file_name().unwrap_or_default();
    anyhow::ensure!(name == DRIVER, "the card has the driver {}", name.display());
    Ok(())
}

fn store(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {text} to {}", path.display()))
}

/// Lets a user at the card's group.
pub(crate) fn give(address: &str, user: u32) -> Result<()> {
    let group =
        fs::read_link(folder(address).join("iommu_group")).context("the card is in no IOMMU group")?;
    let device = Path::new("/dev/vfio").join(group.file_name().unwrap_or_default());
    chown(&device, Some(user), Some(user))
        .with_context(|| format!("give {} to user {user}", device.display()))
}
