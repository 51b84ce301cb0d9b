//! Named parts of registers: what the register map says, by name.

use stroma_abi::{Field, Value, regs::Reg};

fn place(reg: &Reg, name: &str) -> Field {
    let entry = reg.fields.iter().find(|entry| entry.name == name);
    entry.unwrap_or_else(|| panic!("register {} has no part {name}", reg.name)).field
}

/// The part `name` of what register `reg` holds.
///
/// # Panics
/// When the register has no such part, or the part is wider than `V`.
#[must_use]
pub fn part<V: Value>(reg: &Reg, name: &str, value: u64) -> V {
    place(reg, name).get(&value.to_le_bytes())
}

/// What to store to register `reg` so that its parts hold these values, and all others zero.
///
/// # Panics
/// When the register has no such part, or a value is wider than its part.
#[must_use]
pub fn compose<const N: usize>(reg: &Reg, parts: [(&str, u64); N]) -> u64 {
    let mut value = [0; size_of::<u64>()];
    for (name, bits) in parts {
        place(reg, name).set(&mut value, bits);
    }
    u64::from_le_bytes(value)
}

#[cfg(test)]
mod tests {
    use stroma_abi::regs::map::doorbells::{COMPLETION, SEND};

    use super::*;

    #[test]
    fn parts_land_on_the_bits_the_map_says() {
        let value = compose(&SEND, [("queue_pair", 0xab_cdef), ("producer", 0x1234)]);
        assert_eq!(value, 0x12_34ab_cdef);
        let value = compose(&COMPLETION, [("arm", 2), ("queue", 1), ("consumer", 0xff_ffff)]);
        assert_eq!(value, 0x0002_ffff_ff00_0001);
        assert_eq!(part::<u32>(&COMPLETION, "consumer", value), 0xff_ffff);
        assert_eq!(part::<u8>(&COMPLETION, "arm", value), 2);
    }

    #[test]
    #[should_panic(expected = "register send has no part consumer")]
    fn a_part_that_does_not_exist_is_named() {
        let _ = compose(&SEND, [("consumer", 1)]);
    }

    #[test]
    #[should_panic(expected = "wider than its field")]
    fn a_value_too_wide_for_its_part_is_refused() {
        let _ = compose(&SEND, [("producer", 0x1_0000)]);
    }
}
