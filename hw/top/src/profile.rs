//! One source, two cards: what a profile fixes.

use rust_hdl::prelude::Block as HdlBlock;
use stroma_abi::regs::map::{capabilities, identity};
use stroma_abi::regs::{Block, Reg};
use stroma_hw::host::control::facts::Facts;
use stroma_hw::verilog::{EmitError, Rtl, emit, emit_gated, emit_without};

use crate::fronts::Fronts;
use crate::kernels::Chosen;
use crate::nic::Nic;

/// READs and atomics of one queue pair that may be in flight, each way.
const OUTSTANDING_READS: u32 = 16;

/// How large a card is, in powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// log2 of the queue pairs.
    pub queue_pairs_log: usize,
    /// log2 of the completion queues.
    pub completion_queues_log: usize,
    /// log2 of the memory regions.
    pub memory_regions_log: usize,
    /// log2 of the shared receive queues.
    pub shared_queues_log: usize,
    /// log2 of the doorbell pages.
    pub doorbell_pages_log: usize,
}

impl Capacity {
    /// Queue pairs.
    #[must_use]
    pub const fn queue_pairs(&self) -> usize {
        1 << self.queue_pairs_log
    }

    /// Pages of BAR2.
    #[must_use]
    pub const fn doorbell_pages(&self) -> usize {
        1 << self.doorbell_pages_log
    }
}

/// A build of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// 64-bit datapath at 156.25 MHz for 10 GbE.
    #[value(name = "10g")]
    TenGig,
    /// 512-bit datapath at 250 MHz for 100 GbE.
    #[value(name = "100g")]
    HundredGig,
}

impl Profile {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::TenGig, Self::HundredGig];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TenGig => "10g",
            Self::HundredGig => "100g",
        }
    }

    /// Name of the card's top module.
    #[must_use]
    pub const fn top(self) -> &'static str {
        match self {
            Self::TenGig => "stroma_10g",
            Self::HundredGig => "stroma_100g",
        }
    }

    /// Name of the top module of its front ends alone.
    #[must_use]
    pub const fn fronts_top(self) -> &'static str {
        match self {
            Self::TenGig => "stroma_fronts_10g",
            Self::HundredGig => "stroma_fronts_100g",
        }
    }

    /// Width of the datapath in bits.
    #[must_use]
    pub const fn data_bits(self) -> usize {
        match self {
            Self::TenGig => 64,
            Self::HundredGig => 512,
        }
    }

    /// The core clock's frequency in kHz.
    #[must_use]
    pub const fn clock_khz(self) -> u32 {
        match self {
            Self::TenGig => 156_250,
            Self::HundredGig => 250_000,
        }
    }

    /// How large the card is.
    #[must_use]
    pub const fn capacity(self) -> Capacity {
        match self {
            Self::TenGig => Capacity {
                queue_pairs_log: 8,
                completion_queues_log: 8,
                memory_regions_log: 10,
                shared_queues_log: 6,
                doorbell_pages_log: 4,
            },
            Self::HundredGig => Capacity {
                queue_pairs_log: 10,
                completion_queues_log: 10,
                memory_regions_log: 12,
                shared_queues_log: 8,
                doorbell_pages_log: 6,
            },
        }
    }

    /// The card's Verilog, with all kernels. Its register `rtl_hash` holds a hash of the text with that register zero.
    ///
    /// # Errors
    /// When a block cannot be emitted faithfully.
    pub fn emit(self) -> Result<Rtl, EmitError> {
        self.emit_with(&Chosen::all())
    }

    /// The same with these kernels.
    ///
    /// # Errors
    /// When a block cannot be emitted faithfully.
    pub fn emit_with(self, chosen: &Chosen) -> Result<Rtl, EmitError> {
        let unnamed = self.emit_as(chosen, 0, Text::Reference)?;
        self.emit_as(chosen, fnv_1a(unnamed.text.as_bytes()), Text::Reference)
    }

    /// The text that is simulated: the same card, with clock domains that have an edge only when a register in them would change. Its
    /// register `rtl_hash` is that of [`emit_with`](Self::emit_with).
    ///
    /// # Errors
    /// When a block cannot be emitted faithfully.
    pub fn emit_simulated(self, chosen: &Chosen) -> Result<Rtl, EmitError> {
        let unnamed = self.emit_as(chosen, 0, Text::Reference)?;
        self.emit_as(chosen, fnv_1a(unnamed.text.as_bytes()), Text::Simulated)
    }

    fn emit_as(self, chosen: &Chosen, rtl_hash: u64, text: Text) -> Result<Rtl, EmitError> {
        let (facts, operations) = (self.facts(chosen, rtl_hash), chosen.operations());
        let is_absent = |place: &str| chosen.leaves_out(place);
        // Datapath; logs of queue pairs, CQs, regions, SRQs, doorbell pages, units of push windows; log of the beats of buffers, and of those on their way back in;
        // logs of messages on their way and of READs to be answered, of all queue pairs; logs of beats for a kernel's requests, of what it
        // reads and writes, and of the staging; those who write for kernels; then what the kernels themselves are built with.
        match self {
            Self::TenGig => text.emit(self.top(), is_absent, || {
                Nic::<
                        64,
                        8,
                        8,
                        8,
                        10,
                        6,
                        4,
                        8,
                        11,
                        13,
                        12,
                        14,
                        13,
                        12,
                        14,
                        8,
                        11,
                        128,
                        1,
                        12,
                        1,
                        10,
                        16,
                        11,
                        7,
                    >::new(&facts, &operations)
            }),
            Self::HundredGig => text.emit(self.top(), is_absent, || {
                Nic::<
                        512,
                        64,
                        10,
                        10,
                        12,
                        8,
                        6,
                        10,
                        8,
                        15,
                        14,
                        12,
                        10,
                        9,
                        11,
                        8,
                        8,
                        512,
                        4,
                        9,
                        8,
                        7,
                        13,
                        8,
                        5,
                    >::new(&facts, &operations)
            }),
        }
    }

    /// The Verilog of its front ends alone.
    ///
    /// # Errors
    /// When a block cannot be emitted faithfully.
    pub fn emit_fronts(self) -> Result<Rtl, EmitError> {
        match self {
            Self::TenGig => emit(self.fronts_top(), Fronts::<64, 8, 11>::default),
            Self::HundredGig => emit(self.fronts_top(), Fronts::<512, 64, 8>::default),
        }
    }

    /// The registers that the build decides, and what they read; without the hash, which only an emitted text has.
    #[must_use]
    pub fn decided(self) -> Vec<(Block, Reg, u64)> {
        let is_known = |reg: &Reg| reg.name != identity::RTL_HASH.name;
        self.facts(&Chosen::all(), 0).registers().into_iter().filter(|(_, reg, _)| is_known(reg)).collect()
    }

    fn facts(self, chosen: &Chosen, rtl_hash: u64) -> Facts {
        let capacity = self.capacity();
        let flags =
            ["rc", "uc", "ud", "srq", "rpc", "push"].map(|flag| compose(&capabilities::FEATURES, flag));
        Facts {
            data_bits: u32::try_from(self.data_bits()).expect("a few hundred"),
            clock_khz: self.clock_khz(),
            queue_pairs: 1 << capacity.queue_pairs_log,
            completion_queues: 1 << capacity.completion_queues_log,
            memory_regions: 1 << capacity.memory_regions_log,
            shared_receive_queues: 1 << capacity.shared_queues_log,
            address_handles: 1 << capacity.queue_pairs_log,
            doorbell_pages: 1 << capacity.doorbell_pages_log,
            features: flags.into_iter().sum(),
            outstanding: OUTSTANDING_READS,
            rtl_hash,
            kernels: chosen.catalogue(),
        }
    }
}

/// Which text of a card.
#[derive(Clone, Copy)]
enum Text {
    /// What synthesis, proofs and waves read.
    Reference,
    /// What is Verilated for speed.
    Simulated,
}

impl Text {
    fn emit<B: HdlBlock>(
        self,
        name: &str,
        is_absent: impl Fn(&str) -> bool + Sync,
        build: impl FnOnce() -> B + Send,
    ) -> Result<Rtl, EmitError> {
        match self {
            Self::Reference => emit_without(name, is_absent, build),
            Self::Simulated => emit_gated(name, is_absent, build),
        }
    }
}

/// The register's value with one of its flags set.
fn compose(reg: &Reg, flag: &str) -> u32 {
    let entry = reg.fields.iter().find(|entry| entry.name == flag);
    1 << entry.unwrap_or_else(|| panic!("register {} has no part {flag}", reg.name)).field.offset()
}

/// A hash that anybody can compute with a few lines: Fowler, Noll and Vo, 64 bits.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!((fnv_1a(b""), fnv_1a(b"foobar")), (0xcbf2_9ce4_8422_2325, 0x8594_4171_f739_67e8));
    }

    /// The small card with all kernels: without a hash, the reference text and the simulated one.
    fn texts() -> &'static [Rtl; 3] {
        static TEXTS: LazyLock<[Rtl; 3]> = LazyLock::new(|| {
            let all = Chosen::all();
            [
                Profile::TenGig.emit_as(&all, 0, Text::Reference),
                Profile::TenGig.emit(),
                Profile::TenGig.emit_simulated(&all),
            ]
            .map(|emitted| emitted.expect("the card can be emitted"))
        });
        &TEXTS
    }

    #[test]
    fn the_text_names_itself() {
        let [unnamed, rtl, _] = texts();
        let hash = format!("{:x}", fnv_1a(unnamed.text.as_bytes()));
        assert!(rtl.text.contains(&hash) && !unnamed.text.contains(&hash));
    }

    #[test]
    fn the_reference_text_has_no_clock_domains() {
        let [_, rtl, simulated] = texts();
        assert!(rtl.domains.is_empty());
        // All that gating adds has such a name, and nothing else does.
        let added = |rtl: &'static Rtl| {
            let words = rtl.text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            words.filter(|word| word.starts_with('_')).collect::<BTreeSet<&str>>()
        };
        assert_eq!(added(rtl), BTreeSet::new());
        for word in ["_moves", "_edge"] {
            assert!(added(simulated).iter().any(|name| name.starts_with(word)), "{word}");
        }
    }

    #[test]
    fn the_simulated_text_has_the_hash_of_the_reference_text() {
        let [unnamed, rtl, simulated] = texts();
        let hash = format!("{:x}", fnv_1a(unnamed.text.as_bytes()));
        let count = |rtl: &Rtl| rtl.text.matches(&hash).count();
        assert_eq!(count(simulated), count(rtl));
        assert!(count(rtl) > 0 && rtl.text != simulated.text);
        assert_eq!((&rtl.top, &rtl.ports), (&simulated.top, &simulated.ports));
    }
}
