//! How long the host takes, in the card's cycles.

/// Delays and limits of the way to host memory. Printed beside every figure it shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Name of the set.
    pub name: &'static str,
    /// From a read's address to its first data, in nanoseconds.
    pub read_ns: u32,
    /// From a write's last beat to its being visible and answered, in nanoseconds.
    pub write_ns: u32,
    /// Reads the bridge keeps in flight; one more waits at the address channel.
    pub reads: usize,
    /// Writes the bridge keeps in flight; one more waits at the address channel.
    pub writes: usize,
    /// Payload the link carries each way, in megabits a second.
    pub megabits: u32,
    /// From a store to a BAR to its arrival at the card, in nanoseconds.
    pub store_ns: u32,
    /// What a store of eight bytes to a BAR costs the processor, in nanoseconds: 256 bytes of a push take 32 of them.
    pub store_cost_ns: u32,
    /// From a load of a BAR to its value, in nanoseconds.
    pub load_ns: u32,
}

impl Timing {
    /// PCIe generation 3, sixteen lanes, behind AMD's AXI bridge: 126 Gb/s of symbols, of which packets of 256 bytes with
    /// 24 bytes around each leave 115 for payload.
    pub const ALVEO_GEN3X16: Self = Self {
        name: "alveo-gen3x16",
        read_ns: 900,
        write_ns: 450,
        reads: 32,
        writes: 32,
        megabits: 115_200,
        store_ns: 350,
        store_cost_ns: 8,
        load_ns: 900,
    };

    /// A duration in whole cycles of a clock, rounded up.
    #[must_use]
    pub fn cycles(nanoseconds: u32, clock_khz: u32) -> u64 {
        (u64::from(nanoseconds) * u64::from(clock_khz)).div_ceil(1_000_000)
    }

    /// Bytes the link carries in 2^20 cycles of a clock: fine enough that rounding does not show.
    #[must_use]
    pub fn bytes_per_mebicycle(&self, clock_khz: u32) -> u64 {
        (u64::from(self.megabits) << 20) * 1000 / 8 / u64::from(clock_khz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_cycles_rounded_up() {
        assert_eq!(Timing::cycles(900, 250_000), 225);
        assert_eq!(Timing::cycles(450, 156_250), 71);
        assert_eq!(Timing::cycles(1, 250_000), 1);
    }

    #[test]
    fn the_link_carries_its_megabits() {
        // 115.2 Gb/s is 57.6 bytes in each cycle of 4 ns, 60,397,977.6 in 2^20 of them.
        assert_eq!(Timing::ALVEO_GEN3X16.bytes_per_mebicycle(250_000), 60_397_977);
    }
}
