//! Primitives of the part that a board's top instantiates by name.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ip::Port;

const FILE: &str = include_str!("../ip/primitives.toml");

/// A primitive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Primitive {
    /// Its name.
    pub name: String,
    /// The document that describes it.
    pub document: String,
    /// How it is to be used.
    pub notes: Vec<String>,
    /// Parameters that are set.
    pub parameters: Vec<String>,
    /// Its ports, all of them.
    pub ports: Vec<Port>,
}

/// All of them, and who says so.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Primitives {
    /// The primitives.
    pub primitive: Vec<Primitive>,
    /// Sources by their short names.
    pub sources: BTreeMap<String, String>,
}

impl Primitives {
    /// What is known of primitives.
    ///
    /// # Errors
    /// When their file cannot be read.
    pub fn known() -> Result<Self, toml::de::Error> {
        toml::from_str(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_of_a_primitive_has_its_source() {
        let known = Primitives::known().unwrap();
        assert_eq!(known.primitive.len(), 4);
        for primitive in &known.primitive {
            for port in &primitive.ports {
                let sources = &port.sources;
                assert!(
                    !sources.is_empty() && sources.iter().all(|source| known.sources.contains_key(source)),
                    "{}.{}",
                    primitive.name,
                    port.name
                );
            }
        }
    }
}
