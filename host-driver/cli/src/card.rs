//! Cards by name.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use stroma_device::{Backend, Vfio, VfioUser};

/// Where a card is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CardName {
    /// At this PCI address.
    Pci(String),
    /// Served at this socket.
    Socket(PathBuf),
    /// In this process.
    #[cfg(feature = "sim")]
    Simulated(stroma_top::Profile),
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
            _ => Err("a PCI address such as 0000:01:00.0 (`lspci -D` lists them), the path of a socket, sim, sim:10g or sim:100g".to_owned()),
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

impl CardName {
    /// Opens the card.
    pub(crate) fn open(&self) -> Result<Arc<dyn Backend>, Box<dyn std::error::Error>> {
        Ok(match self {
            Self::Pci(address) => Arc::new(Vfio::open(address)?),
            Self::Socket(path) => Arc::new(VfioUser::open(path)?),
            #[cfg(feature = "sim")]
            Self::Simulated(profile) => {
                let world = stroma_sim::World::new(*profile, 1, &stroma_verilate::Options::default())?;
                Arc::new(stroma_sim::SimBackend::new(&stroma_sim::Shared::new(world), 0))
            }
        })
    }
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
        for wrong in ["", "card0", "41:00.0", "0000:41:00", "0000:41:00.0.0", "0000:4g:00.0", "sim:40g"] {
            assert!(wrong.parse::<CardName>().is_err_and(|says| says.contains("lspci -D")), "{wrong}");
        }
    }
}
