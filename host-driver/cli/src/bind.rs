//! Which driver a PCI device has: sysfs says, and sysfs changes it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Who made the card, and which it is, as sysfs writes them.
const VENDOR: &str = "0x10ee";
const DEVICE: &str = "0x5354";
/// The driver that gives devices to programs.
const VFIO: &str = "vfio-pci";

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no PCI device {address}: `lspci -D` lists them, with the domain in front")]
    NoDevice { address: String },
    #[error(
        "{address} is in no IOMMU group: switch the IOMMU on in the firmware, and boot with intel_iommu=on or amd_iommu=on"
    )]
    NoGroup { address: String },
    #[error("the kernel has no driver vfio-pci: `modprobe vfio-pci`")]
    NoDriver,
    #[error(
        "{address} shares its IOMMU group with {others}: these have to be bound to vfio-pci, too, or to no driver"
    )]
    Shared { address: String, others: String },
    #[error("{address} was given to vfio-pci, and has {found} now: `dmesg` may say why")]
    Refused { address: String, found: String },
    #[error("writing {}: {source}{}", path.display(), match source.kind() {
        io::ErrorKind::PermissionDenied => "; drivers are changed by root",
        _ => "",
    })]
    Write { path: PathBuf, source: io::Error },
}

/// A user, and perhaps a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    user: u32,
    group: Option<u32>,
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number: see `id`"));
        let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
        Ok(Self { user: number(user)?, group: group.map(number).transpose()? })
    }
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    address: String,
    driver: Option<String>,
    group: Option<PathBuf>,
}

impl fmt::Display for Done {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} has {}", self.address, self.driver.as_deref().unwrap_or("no driver"))?;
        self.group.as_ref().map_or(Ok(()), |group| write!(out, "; programs open it by {}", group.display()))
    }
}

/// A card in this machine.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Board {
    pub(crate) address: String,
    pub(crate) driver: Option<String>,
}

impl Board {
    /// Can programs open it?
    pub(crate) fn is_open(&self) -> bool {
        self.driver.as_deref() == Some(VFIO)
    }
}

/// The machine, by its folders.
pub(crate) struct System {
    sys: PathBuf,
    dev: PathBuf,
}

impl System {
    /// This one.
    pub(crate) fn here() -> Self {
        Self { sys: "/sys/bus/pci".into(), dev: "/dev/vfio".into() }
    }

    fn device(&self, address: &str) -> Result<PathBuf, Error> {
        let path = self.sys.join("devices").join(address);
        if address.is_empty() || address.contains('/') || !path.exists() {
            return Err(Error::NoDevice { address: address.to_owned() });
        }
        Ok(path)
    }

    /// Our cards, by their addresses; none where there is no PCI.
    pub(crate) fn boards(&self) -> Vec<Board> {
        let Ok(devices) = fs::read_dir(self.sys.join("devices")) else { return Vec::new() };
        let says = |path: PathBuf, id: &str| fs::read_to_string(path).is_ok_and(|text| text.trim_end() == id);
        let ours = devices
            .filter_map(Result::ok)
            .map(|device| device.path())
            .filter(|device| says(device.join("vendor"), VENDOR) && says(device.join("device"), DEVICE));
        let mut boards: Vec<Board> = ours
            .filter_map(|device| {
                let address = device.file_name()?.to_string_lossy().into_owned();
                Some(Board { address, driver: name_of(&device.join("driver")) })
            })
            .collect();
        boards.sort_by(|one, other| one.address.cmp(&other.address));
        boards
    }

    /// Gives a device to vfio-pci, and a user the right to open it.
    pub(crate) fn bind(&self, address: &str, owner: Option<Owner>) -> Result<Done, Error> {
        let device = self.device(address)?;
        let group =
            name_of(&device.join("iommu_group")).ok_or(Error::NoGroup { address: address.to_owned() })?;
        if !self.sys.join("drivers").join(VFIO).exists() {
            return Err(Error::NoDriver);
        }
        self.give(address, &device, VFIO)?;
        let found = name_of(&device.join("driver"));
        if found.as_deref() != Some(VFIO) {
            let found = found.unwrap_or_else(|| "no driver".to_owned());
            return Err(Error::Refused { address: address.to_owned(), found });
        }
        check_group(&device, address)?;
        let path = self.dev.join(group);
        if let Some(Owner { user, group }) = owner {
            std::os::unix::fs::chown(&path, Some(user), group)
                .map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(Done { address: address.to_owned(), driver: found, group: Some(path) })
    }

    /// Lets the kernel choose a driver again.
    pub(crate) fn unbind(&self, address: &str) -> Result<Done, Error> {
        let device = self.device(address)?;
        // An empty line takes the choice back.
        self.give(address, &device, "")?;
        Ok(Done { address: address.to_owned(), driver: name_of(&device.join("driver")), group: None })
    }

    /// Chooses the driver, takes the device from the one that it has, and has the kernel look anew.
    fn give(&self, address: &str, device: &Path, driver: &str) -> Result<(), Error> {
        write(&device.join("driver_override"), &format!("{driver}\n"))?;
        let has = name_of(&device.join("driver"));
        if has.as_deref() == Some(driver) {
            return Ok(());
        }
        if has.is_some() {
            write(&device.join("driver/unbind"), address)?;
        }
        write(&self.sys.join("drivers_probe"), address)
    }
}

/// VFIO opens a group only when no other driver has a device of it.
fn check_group(device: &Path, address: &str) -> Result<(), Error> {
    let Ok(members) = fs::read_dir(device.join("iommu_group/devices")) else { return Ok(()) };
    let others = members.filter_map(Result::ok).filter(|member| {
        let driver = name_of(&member.path().join("driver"));
        member.file_name() != *address && driver.is_some_and(|driver| driver != VFIO && driver != "pcieport")
    });
    let others: Vec<String> =
        others.map(|member| member.file_name().to_string_lossy().into_owned()).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(Error::Shared { address: address.to_owned(), others: others.join(", ") })
}

/// The last part of where a link leads.
fn name_of(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|source| Error::Write { path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests;
