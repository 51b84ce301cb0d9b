//! What the host has set up in the function's configuration space.

use super::processor::Bar;

/// Settings of the function. A change is seen at the pins in the next cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of a register")]
pub struct Config {
    /// Bus master enable: may the function make requests?
    pub is_master: bool,
    /// Largest payload, in bytes: 128 to 1024, a power of two.
    pub max_payload: u32,
    /// Largest read, in bytes: 128 to 4096, a power of two.
    pub max_read: u32,
    /// Are tags from 32 on allowed?
    pub extended_tags: bool,
    /// The root's read completion boundary: 64 or 128.
    pub boundary: u32,
    /// MSI-X enable.
    pub msix_enable: bool,
    /// MSI-X function mask.
    pub msix_mask: bool,
}

impl Default for Config {
    /// As many servers set it up.
    fn default() -> Self {
        Self {
            is_master: true,
            max_payload: 256,
            max_read: 512,
            extended_tags: true,
            boundary: 64,
            msix_enable: true,
            msix_mask: false,
        }
    }
}

/// Bytes of the function's three BARs.
pub const BAR_BYTES: [(Bar, u64); 3] = [(Bar::Bar0, 16 << 20), (Bar::Bar2, 16 << 20), (Bar::Bar4, 64 << 10)];

/// The code of a size in registers and at pins: 0 for 128 bytes, 1 for 256.
fn code(bytes: u32) -> u32 {
    assert!(bytes.is_power_of_two() && (128..=4096).contains(&bytes), "{bytes} bytes are no size of PCIe");
    bytes.trailing_zeros() - 7
}

impl Config {
    /// After a function-level reset: nothing is enabled, and sizes are the smallest that may be.
    pub(crate) const RESET: Self = Self {
        is_master: false,
        max_payload: 128,
        max_read: 512,
        extended_tags: false,
        boundary: 64,
        msix_enable: false,
        msix_mask: false,
    };

    /// `cfg_max_payload`.
    pub(crate) fn max_payload_code(&self) -> u8 {
        u8::try_from(code(self.max_payload)).expect("small")
    }

    /// `cfg_max_read_req`.
    pub(crate) fn max_read_code(&self) -> u8 {
        u8::try_from(code(self.max_read)).expect("small")
    }

    /// `cfg_function_status`: memory space enable is bit 1, bus master enable bit 2 of each function's four.
    pub(crate) fn function_status(&self) -> u16 {
        0b0010 | u16::from(self.is_master) << 2
    }

    /// A register of configuration space, by its number. The PCIe capability is at byte 0x70 in this block.
    pub(crate) fn register(&self, number: u16) -> u32 {
        match number {
            0x01 => 0x0010_0002 | u32::from(self.is_master) << 2,
            0x1c => 0x0002_0010,
            0x1e => {
                code(self.max_payload) << 5 | u32::from(self.extended_tags) << 8 | code(self.max_read) << 12
            }
            0x20 => u32::from(self.boundary == 128) << 3,
            _ => 0,
        }
    }
}
