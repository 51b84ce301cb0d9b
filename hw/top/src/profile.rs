//! One source, two cards: what a profile fixes.

use stroma_hw::verilog::{EmitError, Rtl, emit};

use crate::nic::Nic;

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

    /// The card's Verilog.
    ///
    /// # Errors
    /// When a block cannot be emitted faithfully.
    pub fn emit(self) -> Result<Rtl, EmitError> {
        match self {
            Self::TenGig => emit(self.top(), Nic::<64, 8>::default),
            Self::HundredGig => emit(self.top(), Nic::<512, 64>::default),
        }
    }
}
