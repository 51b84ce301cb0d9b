//! 24-bit numbers of the transport: packet sequence numbers, which wrap, and queue pair numbers.

use core::fmt;

use crate::value::Value;

const MASK: u32 = 0xff_ffff;

/// A packet sequence number: a place on a circle of 2^24.
///
/// There is no `Ord`: on a circle "before" has a meaning only for two numbers less than half a turn apart,
/// which the transport guarantees by never having more than 2^23 packets outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// Half of the circle: distances from here on lie in the past.
    pub const HALF: u32 = 1 << 23;

    /// The low 24 bits of `value`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number itself, below 2^24.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// The number `count` packets later.
    #[must_use]
    pub const fn add(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Steps forward from `origin` to this number, 0 to 2^24 - 1.
    #[must_use]
    pub const fn distance(self, origin: Self) -> u32 {
        self.0.wrapping_sub(origin.0) & MASK
    }

    /// Does this number lie in the half circle before `other`?
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        self.distance(other) >= Self::HALF
    }

    /// Is this one of the `count` numbers that begin with `first`?
    #[must_use]
    pub const fn in_window(self, first: Self, count: u32) -> bool {
        self.distance(first) < count
    }
}

/// A queue pair number, 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Qpn(u32);

impl Qpn {
    /// The low 24 bits of `value`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number itself, below 2^24.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }
}

macro_rules! twenty_four_bits {
    ($($ty:ident),*) => {$(
        impl Value for $ty {
            const BITS: usize = 24;
            fn from_bits(bits: u128) -> Self {
                Self::new(Value::from_bits(bits))
            }
            fn to_bits(self) -> u128 {
                u128::from(self.0)
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#08x}", self.0)
            }
        }
    )*};
}
twenty_four_bits!(Psn, Qpn);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_after_the_last_is_zero() {
        assert_eq!(Psn::new(0xff_ffff).next(), Psn::new(0));
        assert_eq!(Psn::new(0xff_fff8).add(0x10), Psn::new(8));
    }

    #[test]
    fn distance_and_order_hold_across_the_wrap() {
        let (old, new) = (Psn::new(0xff_fffe), Psn::new(3));
        assert_eq!((new.distance(old), old.distance(new)), (5, 0xff_fffb));
        assert!(old.is_before(new) && !new.is_before(old) && !old.is_before(old));
    }

    #[test]
    fn the_opposite_point_of_the_circle_lies_in_the_past() {
        // What the hardware does: bit 23 of the difference is the verdict.
        let here = Psn::new(5);
        assert!(here.add(Psn::HALF).is_before(here) && !here.add(Psn::HALF - 1).is_before(here));
    }

    #[test]
    fn a_window_contains_its_first_number_and_not_its_end() {
        let first = Psn::new(0xff_ffff);
        assert!(first.in_window(first, 1) && !first.next().in_window(first, 1));
        assert!(Psn::new(1).in_window(first, 3) && !Psn::new(2).in_window(first, 3));
        assert!(!first.in_window(first, 0));
    }

    proptest! {
        #[test]
        fn adding_a_distance_arrives(from in any::<u32>(), to in any::<u32>()) {
            let (from, to) = (Psn::new(from), Psn::new(to));
            prop_assert_eq!(from.add(to.distance(from)), to);
        }

        #[test]
        fn of_two_numbers_less_than_half_a_turn_apart_one_is_before(at in any::<u32>(), step in 1..Psn::HALF) {
            let at = Psn::new(at);
            prop_assert!(at.is_before(at.add(step)) && !at.add(step).is_before(at));
        }
    }
}
