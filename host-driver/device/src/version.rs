//! Versions as registers hold them.

use std::fmt;

use stroma_abi::regs::map::ABI_VERSION;

/// A version: the major number grows when a meaning changes, the minor one when something is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Grows when a meaning changes.
    pub major: u16,
    /// Grows when something is added.
    pub minor: u16,
}

impl Version {
    /// What this driver speaks.
    pub const DRIVER: Self = Self::from_register(ABI_VERSION);

    /// The version in a register: major in the high half, minor in the low half.
    #[must_use]
    pub const fn from_register(value: u32) -> Self {
        let [minor_low, minor_high, major_low, major_high] = value.to_le_bytes();
        Self {
            major: u16::from_le_bytes([major_low, major_high]),
            minor: u16::from_le_bytes([minor_low, minor_high]),
        }
    }

    /// Does something of this version hold all that `wanted` knows, with the same meaning?
    #[must_use]
    pub const fn serves(self, wanted: Self) -> bool {
        self.major == wanted.major && self.minor >= wanted.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_serves_older_minors_of_its_own_major() {
        let version = |major, minor| Version { major, minor };
        assert!(version(1, 3).serves(version(1, 3)) && version(1, 4).serves(version(1, 3)));
        assert!(!version(1, 2).serves(version(1, 3)), "something is missing");
        assert!(
            !version(2, 3).serves(version(1, 3)) && !version(0, 3).serves(version(1, 3)),
            "meanings differ"
        );
    }

    #[test]
    fn the_major_number_is_in_the_high_half() {
        assert_eq!(Version::from_register(0x0102_0304).to_string(), "258.772");
    }
}
