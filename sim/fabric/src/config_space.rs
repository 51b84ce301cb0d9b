//! The configuration space of a card: who it is, how large its BARs are, that it has MSI-X, and that it is a PCIe endpoint.
//!
//! ```text
//!   0x00  header        vendor, device, command, status, class, BARs
//!   0x40  MSI-X         table and pending bits in BAR4
//!   0x50  PCI Express   endpoint, generation 3, sixteen lanes
//! ```

/// Bytes of the space of a PCIe function. Behind the first 256 there is nothing.
pub(crate) const LEN: usize = 4096;

/// AMD's number, whose boards the card is made for, and one for the card that AMD's own designs do not use.
const VENDOR: u16 = 0x10ee;
const DEVICE: u16 = 0x5354;
/// Ethernet controller, revision 1.
const CLASS_REVISION: u32 = 0x0200_0001;

const COMMAND_AT: usize = 0x04;
/// The function answers to accesses to its BARs.
const COMMAND_MEMORY: u16 = 1 << 1;
/// It may do DMA, and tell of interrupts.
const COMMAND_MASTER: u16 = 1 << 2;
/// Memory, bus master, no `INTx`.
const COMMAND_BITS: u16 = 0x0406;
const STATUS_AT: usize = 0x06;
const STATUS_CAPABILITIES: u16 = 0x0010;
const BARS_AT: usize = 0x10;
const SUBSYSTEM_AT: usize = 0x2c;
const CAPABILITIES_AT: usize = 0x34;

const MSIX_AT: usize = 0x40;
const MSIX: u16 = 0x11;
/// Enabled, and all vectors masked.
const MSIX_CONTROL_BITS: u16 = 0xc000;
/// The BAR that holds the vectors.
const MSIX_BAR: u32 = 4;

const EXPRESS_AT: usize = 0x50;
const EXPRESS: u16 = 0x10;
/// Version 2 of the capability, of an endpoint.
const EXPRESS_ENDPOINT: u16 = 0x0002;
/// Payloads of 256 bytes, errors reported by role, and the function can be reset alone.
const EXPRESS_DEVICE: u32 = 0x1000_8001;
/// Payload and read request sizes, relaxed order and the like: without effect here.
const EXPRESS_CONTROL_BITS: u16 = 0x7fff;
const EXPRESS_CONTROL_AT: usize = EXPRESS_AT + 0x08;
/// Resets the function; always reads 0.
const EXPRESS_RESET: u16 = 1 << 15;
/// Generation 3, sixteen lanes.
const EXPRESS_LINK: u16 = 0x0103;

/// Where the pending bits begin in the BAR that holds the vectors.
pub(crate) const PENDING_AT: u32 = 0x800;

/// The space: its bytes, and which bits of them can be stored to.
#[derive(Clone, Debug)]
pub(crate) struct ConfigSpace {
    bytes: Vec<u8>,
    writable: Vec<u8>,
}

impl ConfigSpace {
    /// Of a function with so many vectors and BARs of so many bytes, 0 for none.
    ///
    /// # Panics
    /// When a BAR is no power of two, or larger than 2 GiB.
    pub(crate) fn new(bars: [usize; 6], vectors: u16) -> Self {
        let mut space = Self { bytes: vec![0; LEN], writable: vec![0; LEN] };
        space.put16(0, VENDOR, 0);
        space.put16(2, DEVICE, 0);
        space.put16(COMMAND_AT, 0, COMMAND_BITS);
        space.put16(STATUS_AT, STATUS_CAPABILITIES, 0);
        space.put32(0x08, CLASS_REVISION, 0);
        for (index, len) in bars.into_iter().enumerate().filter(|(_, len)| *len > 0) {
            assert!(len.is_power_of_two(), "BAR{index} of {len:#x} bytes: it is no power of two");
            let len = u32::try_from(len).expect("a BAR is small");
            // The bits of an address; those below them read 0, and tell how large the BAR is.
            space.put32(BARS_AT + 4 * index, 0, !(len - 1));
        }
        space.put16(SUBSYSTEM_AT, VENDOR, 0);
        space.put16(SUBSYSTEM_AT + 2, DEVICE, 0);
        space.put16(CAPABILITIES_AT, u16::try_from(MSIX_AT).expect("a byte"), 0);
        space.capability(MSIX_AT, MSIX, EXPRESS_AT);
        space.put16(MSIX_AT + 2, vectors - 1, MSIX_CONTROL_BITS);
        space.put32(MSIX_AT + 4, MSIX_BAR, 0);
        space.put32(MSIX_AT + 8, PENDING_AT | MSIX_BAR, 0);
        space.capability(EXPRESS_AT, EXPRESS, 0);
        space.put16(EXPRESS_AT + 0x02, EXPRESS_ENDPOINT, 0);
        space.put32(EXPRESS_AT + 0x04, EXPRESS_DEVICE, 0);
        space.put16(EXPRESS_CONTROL_AT, 0, EXPRESS_CONTROL_BITS);
        space.put32(EXPRESS_AT + 0x0c, EXPRESS_LINK.into(), 0);
        space.put16(EXPRESS_AT + 0x12, EXPRESS_LINK, 0);
        space
    }

    fn capability(&mut self, at: usize, kind: u16, next: usize) {
        self.put16(at, kind | u16::try_from(next << 8).expect("a byte"), 0);
    }

    fn put16(&mut self, at: usize, value: u16, writable: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 2].copy_from_slice(&writable.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32, writable: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 4].copy_from_slice(&writable.to_le_bytes());
    }

    /// Reads from byte `at` on.
    ///
    /// # Panics
    /// When it ends before.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.bytes[at..at + bytes.len()]);
    }

    /// Stores to the bits that can be stored to; `true` when this asks for a reset of the function.
    ///
    /// # Panics
    /// When it ends before.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        let [_, asks] = EXPRESS_RESET.to_le_bytes();
        let stored = (EXPRESS_CONTROL_AT + 1).checked_sub(at).and_then(|place| bytes.get(place));
        let asks_for_reset = stored.is_some_and(|byte| byte & asks != 0);
        for ((place, writable), byte) in self.bytes[at..].iter_mut().zip(&self.writable[at..]).zip(bytes) {
            *place = *place & !writable | byte & writable;
        }
        asks_for_reset
    }

    fn command(&self) -> u16 {
        u16::from_le_bytes([self.bytes[COMMAND_AT], self.bytes[COMMAND_AT + 1]])
    }

    /// Does the function answer to accesses to its BARs?
    pub(crate) fn answers(&self) -> bool {
        self.command() & COMMAND_MEMORY != 0
    }

    /// May it do DMA?
    pub(crate) fn is_master(&self) -> bool {
        self.command() & COMMAND_MASTER != 0
    }

    /// Everything that was stored is forgotten.
    pub(crate) fn reset(&mut self) {
        for (place, writable) in self.bytes.iter_mut().zip(&self.writable) {
            *place &= !writable;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        ConfigSpace::new([0x1_0000, 0, 0x4_0000, 0, 0x1000, 0], 32)
    }

    fn word(space: &ConfigSpace, at: usize) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_system_that_looks_finds_the_card_and_how_large_it_is() {
        let mut space = space();
        assert_eq!(word(&space, 0), 0x5354_10ee);
        assert_eq!(word(&space, 8) >> 8, 0x02_0000, "an Ethernet controller");
        let sizes = [0x10, 0x14, 0x18, 0x1c, 0x20, 0x24].map(|at| {
            space.write(at, &[0xff; 4]);
            !(word(&space, at) & !0xf)
        });
        assert_eq!(sizes, [0xffff, u32::MAX, 0x3_ffff, u32::MAX, 0xfff, u32::MAX]);
        space.write(0x18, &0xfe84_0000_u32.to_le_bytes());
        assert_eq!(word(&space, 0x18), 0xfe84_0000);
    }

    #[test]
    fn the_chain_of_capabilities_has_msix_then_pcie_and_an_end() {
        let space = space();
        assert_ne!(word(&space, 4) >> 16 & 0x10, 0, "there is a chain");
        let mut found = Vec::new();
        let mut at = word(&space, 0x34) & 0xff;
        while at != 0 {
            let head = word(&space, at as usize);
            found.push(head & 0xff);
            at = head >> 8 & 0xff;
        }
        assert_eq!(found, [0x11, 0x10]);
        assert_eq!(word(&space, 0x40) >> 16, 31, "32 vectors");
        assert_eq!((word(&space, 0x44), word(&space, 0x48)), (4, 0x804), "both in BAR4");
        assert_eq!(word(&space, 0x100), 0, "no extended capability");
    }

    #[test]
    fn stores_change_what_they_may_until_a_reset() {
        let mut space = space();
        let fresh = space.clone();
        for at in (0..LEN).step_by(4) {
            space.write(at, &[0xff; 4]);
        }
        assert_eq!(word(&space, 0), word(&fresh, 0));
        assert_eq!(word(&space, 4), 0x0010_0406);
        assert_eq!(word(&space, 0x40) >> 16, 0xc01f);
        space.write(4, &[2]);
        assert_eq!(word(&space, 4), 0x0010_0402, "a byte alone");
        space.reset();
        assert_eq!(space.bytes, fresh.bytes);
    }

    #[test]
    fn the_bits_of_the_command_say_what_the_function_may_do() {
        let mut space = space();
        for command in 0..8_u8 {
            space.write(4, &[command]);
            assert_eq!((space.answers(), space.is_master()), (command & 2 != 0, command & 4 != 0));
        }
    }

    #[test]
    fn the_function_is_reset_by_one_bit_however_it_is_stored_and_the_bit_reads_zero() {
        let mut space = space();
        assert_ne!(word(&space, 0x54) & 1 << 28, 0, "it can be reset alone");
        assert!(space.write(0x58, &0x8000_u16.to_le_bytes()));
        assert!(space.write(0x58, &0x8000_u32.to_le_bytes()));
        assert!(space.write(0x59, &[0x80]));
        assert!(!space.write(0x58, &0x7fff_u16.to_le_bytes()));
        assert!(!space.write(0x58, &[0x80]) && !space.write(0x5a, &[0x80, 0x80]));
        assert_eq!(word(&space, 0x58) & 0x8000, 0);
    }
}
