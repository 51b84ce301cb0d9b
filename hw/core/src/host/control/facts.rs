//! What is decided when the card is built.

use std::collections::BTreeMap;

use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::UNITS_MAX;
use stroma_abi::regs::map::{BAR0, CATALOGUE_MAX, capabilities, catalogue, identity};
use stroma_abi::regs::{Access, Block, Reg};
use stroma_abi::wire::classify::PAYLOAD_MAX;

/// A kernel of the card, as the catalogue shows it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// RPC op-code that chooses it.
    pub operation: u16,
    /// Version of the kernel.
    pub version: u16,
    /// Fingerprint of its parameters' layout.
    pub parameter_layout: u32,
}

impl Kernel {
    /// What `catalogue::KERNEL` reads.
    pub(super) fn word(self) -> u64 {
        compose(
            &catalogue::KERNEL,
            [self.operation.into(), self.version.into(), self.parameter_layout.into()],
        )
    }
}

/// What the capabilities of a build say; the registers of the same names hold them.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Width of the datapath.
    pub data_bits: u32,
    /// Core clock.
    pub clock_khz: u32,
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Completion queues.
    pub completion_queues: u32,
    /// Shared receive queues.
    pub shared_receive_queues: u32,
    /// Memory regions and windows together.
    pub memory_regions: u32,
    /// READs, atomics and RPCs in flight on one queue pair.
    pub outstanding: u32,
    /// Pages of BAR2.
    pub doorbell_pages: u32,
    /// Address handles.
    pub address_handles: u32,
    /// What the build can do, bit by bit as in `capabilities::FEATURES`.
    pub features: u32,
    /// First 64 bits of the hash of the RTL text.
    pub rtl_hash: u64,
    /// The kernels, by slot; an empty one reads zero.
    pub kernels: Vec<Option<Kernel>>,
}

impl Facts {
    /// Registers that the build decides, and what they read; the entries of the catalogue apart.
    #[must_use]
    pub fn registers(&self) -> [(Block, Reg, u64); 13] {
        use capabilities as c;
        let of = |reg: Reg, value: u32| (c::BLOCK, reg, u64::from(value));
        [
            (identity::BLOCK, identity::RTL_HASH, self.rtl_hash),
            of(c::DATA_BITS, self.data_bits),
            of(c::CLOCK_KHZ, self.clock_khz),
            of(c::QUEUE_PAIRS, self.queue_pairs),
            of(c::COMPLETION_QUEUES, self.completion_queues),
            of(c::SHARED_RECEIVE_QUEUES, self.shared_receive_queues),
            of(c::MEMORY_REGIONS, self.memory_regions),
            of(c::OUTSTANDING, self.outstanding),
            of(c::DOORBELL_PAGES, self.doorbell_pages),
            (c::BLOCK, c::LIMITS, limits()),
            of(c::FEATURES, self.features),
            of(c::ADDRESS_HANDLES, self.address_handles),
            (catalogue::BLOCK, catalogue::SLOTS, self.kernels.len() as u64),
        ]
    }

    /// Everything in BAR0 that never changes, by number of eight aligned bytes: what the build decides, and the
    /// read-only registers that do not begin at zero.
    pub(super) fn words(&self) -> BTreeMap<usize, u64> {
        let mut words = BTreeMap::new();
        let mut put = |address: usize, value: u64| {
            *words.entry(address / 8).or_insert(0) |= value << (address % 8 * 8);
        };
        for block in BAR0.blocks {
            for reg in block.regs.iter().filter(|reg| reg.access == Access::ReadOnly) {
                if let Some(value) = reg.reset.filter(|value| *value != 0) {
                    put(block.address(reg), value);
                }
            }
        }
        for (block, reg, value) in self.registers() {
            put(block.address(&reg), value);
        }
        assert!(
            self.kernels.len() <= CATALOGUE_MAX,
            "the catalogue has no room for {} kernels",
            self.kernels.len()
        );
        // All entries have their row, so that the number of rows does not depend on the build.
        for slot in 0..CATALOGUE_MAX {
            let entry = self.kernels.get(slot).copied().flatten().map_or(0, Kernel::word);
            put(catalogue::BLOCK.offset + catalogue::KERNEL.element(slot), entry);
        }
        words
    }
}

/// What `capabilities::LIMITS` reads.
fn limits() -> u64 {
    let values = [UNITS_MAX, SGE_MAX, PAYLOAD_MAX.ilog2() as usize, PARAMETERS_MAX / 4];
    compose(&capabilities::LIMITS, values.map(|value| value as u64))
}

/// What a register reads whose parts have these values.
fn compose<const N: usize>(reg: &Reg, values: [u64; N]) -> u64 {
    let mut bytes = [0; 8];
    for (entry, value) in reg.fields.iter().zip(values) {
        entry.field.write(&mut bytes, value.into());
    }
    u64::from_le_bytes(bytes)
}
