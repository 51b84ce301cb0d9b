//! Where cards are, and who they are to their peers: a program that knows libibverbs alone says neither.

use std::{
    env, fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use stroma_device::{Backend, Vfio, VfioUser, local_mac};

use crate::failure::{Failure, Outcome};

/// Folder of a fabric, with a socket for each card. `stroma exec` sets it.
const FABRIC: &str = "STROMA_FABRIC";
/// Number of the one card that the program is to see.
const CARD: &str = "STROMA_CARD";
/// Addresses of the card's port, with commas between them, instead of the one that follows from its number.
const ADDRESSES: &str = "STROMA_ADDRESS";

/// Devices of the system's PCI buses.
const PCI: &str = "/sys/bus/pci/devices";
/// How cards are known there.
const VENDOR: &str = "0x10ee";
const DEVICE: &str = "0x5354";

/// Where a card is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Served at a socket by another process.
    Socket(PathBuf),
    /// At a PCI address, behind vfio-pci.
    Pci(String),
}

/// A card that a program could open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// It is called `stroma` and this.
    pub(crate) number: u8,
    pub(crate) place: Place,
}

/// All cards within reach, by their numbers: those of the fabric, then those of the machine.
///
/// # Errors
/// When another user decides which cards are in the folder of the fabric.
pub(crate) fn cards() -> Outcome<Vec<Found>> {
    let mut found = env::var_os(FABRIC).map_or(Ok(Vec::new()), |folder| fabric(Path::new(&folder)))?;
    let next = found.last().map_or(0, |last| last.number.saturating_add(1));
    found.extend((next..u8::MAX).zip(boards()).map(|(number, place)| Found { number, place }));
    let wanted = env::var(CARD).ok().and_then(|number| number.parse::<u8>().ok());
    found.retain(|card| wanted.is_none_or(|wanted| card.number == wanted));
    Ok(found)
}

/// The cards of a fabric, to which the program will lend its memory.
fn fabric(folder: &Path) -> Outcome<Vec<Found>> {
    stroma_local::trust_folder(folder).map_err(Failure::Untrusted)?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let card = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("card")?.parse().ok()?;
        Some(Found { number, place: Place::Socket(entry.path()) })
    };
    let mut found: Vec<Found> = entries.filter_map(card).collect();
    found.sort();
    Ok(found)
}

fn boards() -> Vec<Place> {
    let entries = fs::read_dir(PCI).into_iter().flatten().flatten();
    let board = |entry: fs::DirEntry| {
        let says = |file: &str, what: &str| {
            fs::read_to_string(entry.path().join(file)).is_ok_and(|text| text.trim() == what)
        };
        let driver = fs::read_link(entry.path().join("driver")).ok()?;
        let is_ours = says("vendor", VENDOR) && says("device", DEVICE) && driver.ends_with("vfio-pci");
        is_ours.then(|| entry.file_name().to_str().map(|name| Place::Pci(name.to_owned()))).flatten()
    };
    let mut found: Vec<Place> = entries.filter_map(board).collect();
    found.sort();
    found
}

impl Found {
    /// Its name.
    pub(crate) fn name(&self) -> String {
        format!("stroma{}", self.number)
    }

    /// Opens it.
    pub(crate) fn open(&self) -> Outcome<Arc<dyn Backend>> {
        Ok(match &self.place {
            Place::Socket(path) => Arc::new(VfioUser::open(path)?),
            Place::Pci(address) => Arc::new(Vfio::open(address)?),
        })
    }

    /// Its MAC address, of those that everybody may give: a fabric's by its number, for a fabric has its wire to itself; a board's by the machine and the slot, for
    /// its network has other machines.
    pub(crate) fn mac(&self) -> [u8; 6] {
        match &self.place {
            Place::Socket(_) => [0x02, b'S', b'T', b'R', 0, self.number.wrapping_add(1)],
            Place::Pci(address) => local_mac(address),
        }
    }

    /// Its interface identifier (RFC 4291, appendix A), which is its GUID, too.
    pub(crate) fn guid(&self) -> [u8; 8] {
        let [first, vendor @ .., _, _, _] = self.mac();
        let [.., third, second, last] = self.mac();
        [first ^ 2, vendor[0], vendor[1], 0xff, 0xfe, third, second, last]
    }

    /// Its addresses: the link-local one, then those that the environment gives it, or 10.83.0.1 and so on by its number.
    pub(crate) fn addresses(&self) -> Outcome<Vec<IpAddr>> {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&[0xfe, 0x80]);
        bytes[8..].copy_from_slice(&self.guid());
        let mut addresses = vec![IpAddr::V6(Ipv6Addr::from(bytes))];
        match env::var(ADDRESSES) {
            Ok(list) => {
                for text in list.split(',') {
                    addresses.push(text.trim().parse().map_err(|_| NO_ADDRESS)?);
                }
            }
            Err(_) => addresses.push(Ipv4Addr::new(10, 83, 0, self.number.wrapping_add(1)).into()),
        }
        Ok(addresses)
    }
}

const NO_ADDRESS: Failure = Failure::Call {
    errno: libc::EINVAL,
    why: "STROMA_ADDRESS: IP addresses are wanted, with commas between them",
};

#[cfg(test)]
mod tests {
    use std::{
        fs::{Permissions, set_permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    #[test]
    fn a_folder_that_others_may_write_to_has_no_cards() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("card1"), "").unwrap();
        let found = fabric(folder.path()).unwrap();
        assert_eq!(found.iter().map(|card| card.number).collect::<Vec<_>>(), [1]);
        set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = fabric(folder.path()).unwrap_err();
        assert_eq!(refused.errno(), libc::EACCES);
        let (says, path) = (refused.to_string(), folder.path().display().to_string());
        assert!(says.starts_with("STROMA_FABRIC: others may write to") && says.contains(&path), "{says}");
    }

    #[test]
    fn a_card_has_the_interface_identifier_of_its_mac_address() {
        let card = Found { number: 1, place: Place::Socket("/run/stroma/card1".into()) };
        assert_eq!(card.mac(), [0x02, 0x53, 0x54, 0x52, 0, 2]);
        assert_eq!(card.guid(), [0, 0x53, 0x54, 0xff, 0xfe, 0x52, 0, 2]);
        assert_eq!(card.name(), "stroma1");
        let expected: [IpAddr; 2] = ["fe80::53:54ff:fe52:2".parse().unwrap(), "10.83.0.2".parse().unwrap()];
        assert_eq!(card.addresses().unwrap(), expected);
    }

    #[test]
    fn a_board_has_the_address_of_its_machine_and_slot_whatever_its_number() {
        let board = |number, slot: &str| Found { number, place: Place::Pci(slot.to_owned()) }.mac();
        assert_eq!(board(0, "0000:41:00.0"), board(7, "0000:41:00.0"));
        assert_ne!(board(0, "0000:41:00.0"), board(0, "0000:42:00.0"));
    }
}
