//! IP of Vivado, as far as a shell meets it: properties and ports, each with who says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// Files, by the names of what they describe.
const FILES: [(&str, &str); 2] = [
    ("cmac_usplus", include_str!("../ip/cmac_usplus.toml")),
    ("pcie4_uscale_plus", include_str!("../ip/pcie4_uscale_plus.toml")),
];

/// An IP.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ip {
    /// As `create_ip` names it.
    pub name: String,
    /// Version of its document.
    pub version: String,
    /// The document that describes it.
    pub document: String,
    /// How it is to be used.
    pub notes: Vec<String>,
    /// Where sources disagree, and what was not found.
    pub doubtful: Vec<String>,
    /// What it can be set to.
    pub properties: Vec<Property>,
    /// What it is connected by, when it is set as wanted.
    pub ports: Vec<Port>,
    /// Who says so, by the short names that are used above.
    pub sources: BTreeMap<String, String>,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Property {
    /// Its name, without the `CONFIG.` before it.
    pub name: String,
    /// Values that it takes, as far as they are known: words, patterns of Tcl's `string match`, or a range `LOW..HIGH`.
    pub values: Vec<String>,
    /// The one that a card wants, if all boards want the same.
    pub want: Option<String>,
    /// What there is to know of it.
    pub note: Option<String>,
    /// Who says so.
    pub sources: Vec<String>,
}

/// Which way a port goes, from the IP's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Into it.
    In,
    /// Out of it.
    Out,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Which way.
    pub direction: Direction,
    /// Bits.
    pub width: u16,
    /// The clock it belongs to, `clock in` and `clock out` if it is one itself, `async` and `pad` if it belongs to none.
    pub clock: String,
    /// What it is connected to if nobody needs it.
    pub tie: Option<String>,
    /// What it is for.
    pub meaning: String,
    /// Who says so.
    pub sources: Vec<String>,
}

impl Ip {
    /// What is known of an IP; nothing, if there is no file of that name.
    ///
    /// # Errors
    /// When its file is none of an IP.
    pub fn named(name: &str) -> Result<Option<Self>, toml::de::Error> {
        let file = FILES.iter().find(|(known, _)| *known == name);
        file.map(|(_, text)| toml::from_str(text)).transpose()
    }

    /// The same of an IP that has to be there. `pcie4c_uscale_plus` is `pcie4_uscale_plus` by another name.
    ///
    /// # Errors
    /// When its file is none of an IP.
    ///
    /// # Panics
    /// When there is no file of that name.
    pub fn known(name: &str) -> Result<Self, toml::de::Error> {
        let file = if name == "pcie4c_uscale_plus" { "pcie4_uscale_plus" } else { name };
        let ip = Self::named(file)?.unwrap_or_else(|| panic!("hw/boards/ip has no {file}.toml"));
        Ok(Self { name: name.to_owned(), ..ip })
    }

    /// What of it is founded on nothing: properties and ports whose sources are missing or not explained.
    #[must_use]
    pub fn unfounded(&self) -> Vec<&str> {
        let is_founded = |sources: &[String]| {
            !sources.is_empty() && sources.iter().all(|name| self.sources.contains_key(name))
        };
        let properties = self.properties.iter().map(|property| (&property.name, &property.sources));
        let ports = self.ports.iter().map(|port| (&port.name, &port.sources));
        properties
            .chain(ports)
            .filter(|(_, sources)| !is_founded(sources))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Ports and properties that are there twice.
    #[must_use]
    pub fn doubles(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let properties = self.properties.iter().map(|property| ("property", property.name.as_str()));
        let ports = self.ports.iter().map(|port| ("port", port.name.as_str()));
        properties.chain(ports).filter(|entry| !seen.insert(*entry)).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_and_property_is_there_once_and_has_sources() {
        for (name, _) in FILES {
            let ip = Ip::named(name).unwrap_or_else(|error| panic!("{name}: {error}")).unwrap();
            assert_eq!(ip.name, name);
            assert_eq!((ip.unfounded(), ip.doubles()), (vec![], vec![]), "{name}");
            assert!(ip.ports.iter().all(|port| port.width > 0), "{name}");
        }
        assert_eq!(Ip::named("fifo_generator").unwrap(), None);
    }

    #[test]
    fn what_is_founded_on_nothing_or_there_twice_is_found() {
        let mut ip = Ip::named("cmac_usplus").unwrap().unwrap();
        "hearsay".clone_into(&mut ip.ports[3].sources[0]);
        ip.properties[1].sources.clear();
        assert_eq!(ip.unfounded(), [ip.properties[1].name.as_str(), ip.ports[3].name.as_str()]);
        let again = ip.ports[0].clone();
        ip.ports.push(again);
        assert_eq!(ip.doubles(), [ip.ports[0].name.as_str()]);
    }

    /// The widths that a shell is written against, from the documents of the interfaces and not from the files.
    #[test]
    fn streams_are_as_wide_as_their_documents_say() {
        let expected = [
            ("cmac_usplus", "rx_axis_tdata", Direction::Out, 512),
            ("cmac_usplus", "rx_axis_tkeep", Direction::Out, 64),
            ("cmac_usplus", "tx_axis_tdata", Direction::In, 512),
            ("cmac_usplus", "tx_axis_tready", Direction::Out, 1),
            ("cmac_usplus", "stat_rx_aligned", Direction::Out, 1),
            ("pcie4_uscale_plus", "m_axis_rc_tdata", Direction::Out, 512),
            ("pcie4_uscale_plus", "m_axis_rc_tuser", Direction::Out, 161),
            ("pcie4_uscale_plus", "m_axis_cq_tuser", Direction::Out, 183),
            ("pcie4_uscale_plus", "s_axis_rq_tuser", Direction::In, 137),
            ("pcie4_uscale_plus", "s_axis_cc_tuser", Direction::In, 81),
            ("pcie4_uscale_plus", "s_axis_rq_tkeep", Direction::In, 16),
        ];
        for (name, port, direction, width) in expected {
            let ip = Ip::named(name).unwrap().unwrap();
            let found = ip.ports.iter().find(|candidate| candidate.name == port);
            let found = found.unwrap_or_else(|| panic!("{name} has no port {port}"));
            assert_eq!((found.direction, found.width), (direction, width), "{name}.{port}");
        }
        let cmac = Ip::named("cmac_usplus").unwrap().unwrap();
        assert!(cmac.ports.iter().all(|port| port.name != "rx_axis_tready"), "a MAC does not wait");
    }
}
