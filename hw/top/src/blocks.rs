//! The blocks that `cargo xtask rtl --block` can emit alone: to read, to lint, to synthesise.

use stroma_hw::head::Head;
use stroma_hw::host::dma_read::DmaRead;
use stroma_hw::host::dma_write::DmaWrite;
use stroma_hw::prim;
use stroma_hw::rx::RxFront;
use stroma_hw::state::mmu::Mmu;
use stroma_hw::stream::Beat;
use stroma_hw::tx::TxFront;
use stroma_hw::verilog::{EmitError, Rtl, emit};

use crate::Profile;

type Emit = fn(&str) -> Result<Rtl, EmitError>;

/// A block with a name of its own.
pub struct NamedBlock {
    /// What to call it.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    narrow: Emit,
    wide: Emit,
}

impl NamedBlock {
    /// Its Verilog at a profile's width.
    ///
    /// # Errors
    /// When it cannot be emitted faithfully.
    pub fn emit(&self, profile: Profile) -> Result<Rtl, EmitError> {
        match profile {
            Profile::TenGig => (self.narrow)(self.name),
            Profile::HundredGig => (self.wide)(self.name),
        }
    }
}

macro_rules! blocks {
    ($($name:ident: $narrow:ty, $wide:ty, $purpose:literal;)*) => {
        /// All of them.
        pub const BLOCKS: &[NamedBlock] = &[$(NamedBlock {
            name: stringify!($name),
            purpose: $purpose,
            narrow: |name| emit(name, <$narrow>::default),
            wide: |name| emit(name, <$wide>::default),
        }),*];
    };
}

blocks! {
    skid:        prim::skid::Skid<Beat<64>>,             prim::skid::Skid<Beat<512>>,             "cuts a stream both ways";
    head_skid:   prim::skid::Skid<Head>,                 prim::skid::Skid<Head>,                  "cuts a stream of heads";
    fifo:        prim::fifo::Fifo<Beat<64>, 5>,          prim::fifo::Fifo<Beat<512>, 5>,          "buffers 32 beats in LUT RAM";
    block_fifo:  prim::block_fifo::BlockFifo<Beat<64>, 9>, prim::block_fifo::BlockFifo<Beat<512>, 9>, "buffers 512 beats in block RAM";
    rx_front:    RxFront<64>,                            RxFront<512>,                            "receive front end";
    tx_front:    TxFront<64>,                            TxFront<512>,                            "transmit front end";
    dma_write:   DmaWrite<64, 8>,                        DmaWrite<512, 64>,                       "writes to host memory, with tickets";
    dma_read:    DmaRead<64, 4, 9>,                      DmaRead<512, 4, 9>,                      "reads from host memory for four clients";
    mmu:         Mmu<12, 9>,                             Mmu<12, 9>,                              "memory regions, TLB and page walks";
}
