//! Who a card is, how large, and what it can do.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value};
use stroma_abi::regs::map::{PORT_ADDRESSES, capabilities, identity};
use stroma_device::Version;
use stroma_verbs::Port;

use crate::kernels::Catalogue;
use crate::look::Look;
use crate::registers;

/// What there is to say of a card.
#[derive(Debug, Serialize)]
pub(crate) struct Info {
    name: String,
    /// Who has it; `None` where nobody knows.
    used_by: Option<String>,
    profile: Option<String>,
    version: String,
    driver: String,
    rtl_hash: String,
    /// Registers of the block `capabilities`, and their parts, by name.
    capabilities: Map<String, Value>,
    features: Vec<&'static str>,
    port: PortInfo,
    kernels: Catalogue,
}

/// Who the port is.
#[derive(Debug, Serialize)]
struct PortInfo {
    link: &'static str,
    mac: String,
    /// Those that were set, by their places.
    addresses: Vec<(usize, IpAddr)>,
}

impl Info {
    /// Of a card that is looked at.
    pub(crate) fn of(look: &Look) -> anyhow::Result<Self> {
        let card = &look.card;
        let features = registers::parts(
            &capabilities::FEATURES,
            card.read(&capabilities::BLOCK, &capabilities::FEATURES)?,
        );
        Ok(Self {
            name: look.name(),
            used_by: look.user(),
            profile: look.fabric.as_ref().map(|(status, _)| status.profile.clone()),
            version: card.version().to_string(),
            driver: Version::DRIVER.to_string(),
            rtl_hash: format!("{:#018x}", card.read(&identity::BLOCK, &identity::RTL_HASH)?),
            capabilities: limits(look)?,
            features: features.into_iter().filter(|(_, has)| *has != 0).map(|(name, _)| name).collect(),
            port: PortInfo::of(look)?,
            kernels: Catalogue::of(card)?,
        })
    }
}

/// The numbers of the block `capabilities`, by the names that the map has for them.
fn limits(look: &Look) -> anyhow::Result<Map<String, Value>> {
    let mut limits = Map::new();
    let regs = capabilities::BLOCK.regs[3..].iter().filter(|reg| reg.name != capabilities::FEATURES.name);
    for reg in regs {
        let value = look.card.read(&capabilities::BLOCK, reg)?;
        if reg.fields.is_empty() {
            limits.insert(reg.name.to_owned(), value.into());
        }
        for (name, part) in registers::parts(reg, value) {
            limits.insert(name.to_owned(), part.into());
        }
    }
    Ok(limits)
}

impl PortInfo {
    fn of(look: &Look) -> anyhow::Result<Self> {
        let port = Port::new(&look.card);
        let addresses = (0..PORT_ADDRESSES).map(|place| Ok((place, port.address(place)?)));
        let addresses = addresses.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self {
            link: if port.is_up()? { "up" } else { "down" },
            mac: port.mac()?.map(|byte| format!("{byte:02x}")).join(":"),
            addresses: addresses.into_iter().filter(|(_, address)| !address.is_unspecified()).collect(),
        })
    }
}

impl fmt::Display for Info {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(out, "  {name:<22} {value}");
        line("card", &self.name)?;
        if let Some(profile) = &self.profile {
            line("profile", profile)?;
        }
        if let Some(user) = &self.used_by {
            line("used by", user)?;
        }
        line("version", &format_args!("{} (driver {})", self.version, self.driver))?;
        line("rtl_hash", &self.rtl_hash)?;
        line("features", &self.features.join(" "))?;
        for (name, value) in &self.capabilities {
            line(name, value)?;
        }
        line("port", &format_args!("link {}, MAC {}", self.port.link, self.port.mac))?;
        for (place, address) in &self.port.addresses {
            line(&format!("address[{place}]"), address)?;
        }
        write!(out, "\n{}", self.kernels)
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use super::*;
    use crate::card::{Place, Target};

    #[test]
    fn a_card_of_this_process_tells_who_it_is() {
        let target = Target { name: "sim".parse().unwrap(), place: Place::default() };
        let info = Info::of(&Look::at(&target).unwrap()).unwrap();
        let text = info.to_string();
        for line in ["features               rc uc ud srq rpc push", "data_bits              64", "link up"] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
        assert!(text.contains("traversal    1        1"), "{text}");
        assert_eq!(info.capabilities["clock_khz"], 156_250);
        assert_eq!((info.used_by, info.profile), (None, None), "no fabric knows of it");
    }
}
