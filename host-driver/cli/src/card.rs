//! Cards by name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use stroma_device::{Backend, Vfio, VfioUser, local_mac};
use stroma_verbs::Device;

/// How long anything may take: simulated cards are slow on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Where a card is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CardName {
    /// Of the fabric, with this number.
    Fabric(usize),
    /// At this PCI address.
    Pci(String),
    /// Served at this socket.
    Socket(PathBuf),
    /// In this process.
    #[cfg(feature = "sim")]
    Simulated(stroma_top::Profile),
}

impl CardName {
    /// A MAC address for it: a board's is its own on any network, others know each other by numbers.
    pub(crate) fn mac(&self, number: u8) -> [u8; 6] {
        match self {
            Self::Pci(address) => local_mac(address),
            _ => [2, 0, 0x53, 0x54, 0, number],
        }
    }
}

/// A card, and the fabric that is meant if it is one of a fabric.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Target {
    /// `stroma0` or a number for a card of the fabric, a PCI address such as 0000:01:00.0, the path of a socket, or `sim`, `sim:100g` for a card of its own.
    #[arg(value_name = "CARD")]
    pub(crate) name: CardName,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Which fabric is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// Folder of the fabric; `$STROMA_FABRIC` if nobody says, else `$XDG_RUNTIME_DIR/stroma`, else `/tmp/stroma-UID`.
    #[arg(long = "fabric", value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Place {
    /// Its folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(stroma_control::folder)
    }
}

impl FromStr for CardName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            #[cfg(feature = "sim")]
            "sim" | "sim:10g" => Ok(Self::Simulated(stroma_top::Profile::TenGig)),
            #[cfg(feature = "sim")]
            "sim:100g" => Ok(Self::Simulated(stroma_top::Profile::HundredGig)),
            socket if socket.contains('/') => Ok(Self::Socket(socket.into())),
            address if is_address(address) => Ok(Self::Pci(address.to_owned())),
            name => number(name).map(Self::Fabric).map_err(|_| {
                "stroma0 for a card of the fabric (`stroma devices` lists them), a PCI address such as 0000:01:00.0 (`lspci -D` lists them), the path of a socket, sim, sim:10g or sim:100g".to_owned()
            }),
        }
    }
}

impl fmt::Display for CardName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fabric(number) => write!(out, "stroma{number}"),
            Self::Pci(address) => out.write_str(address),
            Self::Socket(path) => write!(out, "{}", path.display()),
            #[cfg(feature = "sim")]
            Self::Simulated(profile) => write!(out, "sim:{}", profile.name()),
        }
    }
}

/// The number of a card of a fabric: 1, or stroma1.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    let digits = text.strip_prefix("stroma").unwrap_or(text);
    digits.parse().map_err(|_| "a card's number, or its name such as stroma0".to_owned())
}

/// Domain, bus, device, function: 0000:01:00.0.
fn is_address(text: &str) -> bool {
    let hex = |part: Option<&str>, digits: usize| {
        part.is_some_and(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let mut parts = text.split([':', '.']);
    let [domain, bus, device, function] = [4, 2, 2, 1].map(|digits| hex(parts.next(), digits));
    domain && bus && device && function && parts.next().is_none()
}

impl Target {
    /// Opens the card: from now on nobody else has it.
    pub(crate) fn open(&self) -> anyhow::Result<Arc<dyn Backend>> {
        open(&self.name, &self.place.folder())
    }

    /// A card of a fabric, whether it is named by its number or by its socket: the fabric's folder, and the number.
    pub(crate) fn of_fabric(&self) -> anyhow::Result<Option<(PathBuf, usize)>> {
        match &self.name {
            CardName::Fabric(number) => Ok(Some((self.place.folder(), *number))),
            CardName::Socket(path) => {
                let path = std::path::absolute(path)
                    .with_context(|| format!("finding the socket {}", path.display()))?;
                let Some(folder) = path.parent() else { return Ok(None) };
                let Some(status) = stroma_control::find(folder)? else { return Ok(None) };
                let number = status.cards.iter().find(|card| card.socket == path).map(|card| card.number);
                Ok(number.map(|number| (folder.to_path_buf(), number)))
            }
            CardName::Pci(_) => Ok(None),
            #[cfg(feature = "sim")]
            CardName::Simulated(_) => Ok(None),
        }
    }
}

/// Opens a card; one of a fabric if that is what the name says.
pub(crate) fn open(name: &CardName, folder: &Path) -> anyhow::Result<Arc<dyn Backend>> {
    Ok(match name {
        CardName::Fabric(number) => {
            // Where no fabric is, or no such card, this says so better than a socket that is not there.
            find(folder, *number)?;
            Arc::new(VfioUser::open(&stroma_control::card(folder, *number))?)
        }
        CardName::Pci(address) => Arc::new(Vfio::open(address)?),
        CardName::Socket(path) => Arc::new(VfioUser::open(path)?),
        #[cfg(feature = "sim")]
        CardName::Simulated(profile) => {
            let world = stroma_sim::World::new(*profile, 1, &stroma_verilate::Options::default())?;
            Arc::new(stroma_sim::SimBackend::new(&stroma_sim::Shared::new(world), 0))
        }
    })
}

/// The driver of a card that can talk to others.
pub(crate) fn on_a_wire(name: &CardName, folder: &Path) -> anyhow::Result<Arc<Device>> {
    #[cfg(feature = "sim")]
    anyhow::ensure!(!matches!(name, CardName::Simulated(_)), "a card of this process alone is on no wire");
    Ok(Device::builder().timeout(PATIENCE).open(open(name, folder)?)?)
}

/// What a fabric is, which has to have this card.
pub(crate) fn find(folder: &Path, number: usize) -> anyhow::Result<stroma_control::Status> {
    let status: stroma_control::Status = stroma_control::ask(folder, &stroma_control::Request::Status {})?;
    let count = status.cards.len();
    anyhow::ensure!(number < count, "card {number}: the fabric has {count}, and they are counted from 0");
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_their_names() {
        let pci = |address: &str| Ok(CardName::Pci(address.to_owned()));
        assert_eq!("0000:41:00.0".parse(), pci("0000:41:00.0"));
        assert_eq!("/tmp/card0".parse(), Ok(CardName::Socket("/tmp/card0".into())));
        assert_eq!("./card0".parse(), Ok(CardName::Socket("./card0".into())));
        assert_eq!("stroma1".parse(), Ok(CardName::Fabric(1)));
        assert_eq!("12".parse(), Ok(CardName::Fabric(12)));
        let wrong = ["", "card0", "stroma", "stroma-1", "41:00.0", "0000:41:00", "0000:41:00.0.0", "sim:40g"];
        for wrong in wrong.into_iter().chain(["0000:4g:00.0"]) {
            assert!(wrong.parse::<CardName>().is_err_and(|says| says.contains("lspci -D")), "{wrong}");
        }
    }
}
