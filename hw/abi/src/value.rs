//! The types that fields hold.

use core::net::{Ipv4Addr, Ipv6Addr};

/// A type that a [`Field`](crate::Field) can hold.
pub trait Value: Copy {
    /// Widest field it fits.
    const BITS: usize;
    /// From right-aligned bits.
    ///
    /// # Panics
    /// When there are more than [`Self::BITS`] of them.
    fn from_bits(bits: u128) -> Self;
    /// To right-aligned bits.
    fn to_bits(self) -> u128;
}

macro_rules! integer_values {
    ($($ty:ty),*) => {$(
        impl Value for $ty {
            const BITS: usize = <$ty>::BITS as usize;
            fn from_bits(bits: u128) -> Self {
                Self::try_from(bits).expect("the field is no wider than its type")
            }
            fn to_bits(self) -> u128 {
                u128::from(self)
            }
        }
    )*};
}
integer_values!(u8, u16, u32, u64, u128);

impl Value for bool {
    const BITS: usize = 1;
    fn from_bits(bits: u128) -> Self {
        assert!(bits <= 1, "a flag is one bit");
        bits != 0
    }
    fn to_bits(self) -> u128 {
        u128::from(self)
    }
}

impl Value for Ipv4Addr {
    const BITS: usize = 32;
    fn from_bits(bits: u128) -> Self {
        Self::from_bits(Value::from_bits(bits))
    }
    fn to_bits(self) -> u128 {
        u128::from(Self::to_bits(self))
    }
}

impl Value for Ipv6Addr {
    const BITS: usize = 128;
    fn from_bits(bits: u128) -> Self {
        Self::from_bits(bits)
    }
    fn to_bits(self) -> u128 {
        Self::to_bits(self)
    }
}
