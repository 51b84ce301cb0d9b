//! Numbers that enter kernels: there a Rust `const` would be printed as an unknown name, so each is a field.

use rust_hdl::prelude::*;

/// A constant of `N` bits.
///
/// # Panics
/// When the number does not fit.
pub fn number<const N: usize>(value: impl TryInto<u64>) -> Constant<Bits<N>> {
    let value = value.try_into().ok().filter(|value| N >= 64 || value >> N == 0);
    Constant::new(value.unwrap_or_else(|| panic!("the constant does not fit {N} bits")).into())
}

/// `N` constants, by index.
pub fn constants<T: Synth, const N: usize>(value: impl Fn(usize) -> T) -> [Constant<T>; N] {
    std::array::from_fn(|index| Constant::new(value(index)))
}
