//! What is known of Vivado's own commands and properties.

use serde::Deserialize;

const FILE: &str = include_str!("../vivado.toml");

/// A command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// Its page was read; otherwise it was seen used.
    pub read: bool,
    /// Options without a value.
    pub flags: Vec<String>,
    /// Options with one.
    pub values: Vec<String>,
    /// Who says so.
    pub source: String,
}

/// A property of something that is no IP.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectProperty {
    /// Its name.
    pub name: String,
    /// What it is set on.
    pub of: String,
    /// Values that it takes, as those of an IP's properties.
    pub values: Vec<String>,
    /// Who says so.
    pub source: String,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vivado {
    /// Commands.
    pub command: Vec<Command>,
    /// Properties.
    pub property: Vec<ObjectProperty>,
}

impl Vivado {
    /// What is known.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn known() -> Result<Self, toml::de::Error> {
        toml::from_str(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_property_has_its_source() {
        let Vivado { command, property } = Vivado::known().unwrap();
        assert!(command.iter().all(|command| !command.source.is_empty()));
        assert!(property.iter().all(|property| !property.source.is_empty()));
        assert!(command.iter().any(|command| command.name == "synth_design" && command.read));
    }
}
