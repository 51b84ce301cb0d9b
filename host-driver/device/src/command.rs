//! The command register of a PCI function.

/// Its place in the configuration space.
pub(crate) const COMMAND_AT: u64 = 4;
const COMMAND_MEMORY: u16 = 1 << 1;
const COMMAND_BUS_MASTER: u16 = 1 << 2;

/// The register with BARs that answer and DMA that is allowed; other bits as they were.
pub(crate) const fn enabled(command: u16) -> u16 {
    command | COMMAND_MEMORY | COMMAND_BUS_MASTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabling_sets_memory_and_bus_master_and_keeps_the_rest() {
        assert_eq!(enabled(0x0000), 0x0006);
        assert_eq!(enabled(0x0540), 0x0546);
        assert_eq!(enabled(0x0006), 0x0006);
    }
}
