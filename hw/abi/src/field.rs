//! Where a value lives in a header, a descriptor or a register.
//!
//! `Big` fields are the wire's: bit 0 is the most significant bit of its byte, as in the drawings of the
//! IETF and the IBTA. `Little` fields are the host's: bit 0 is the least significant. In both a field's first
//! bit is `byte * 8 + bit` bits from the start, and its other bits follow.

use crate::value::Value;
use crate::wire::icrc;

/// The order in which bytes and bits make up a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Most significant byte and bit first: packets.
    Big,
    /// Least significant byte and bit first: descriptors and registers.
    Little,
}

/// The place of one value, at most 128 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Byte from the start of the structure.
    pub byte: usize,
    /// First bit within that byte, counted as [`Order`] says.
    pub bit: usize,
    /// Width in bits.
    pub width: usize,
    /// Byte and bit order.
    pub order: Order,
}

impl Field {
    /// A place on the wire.
    #[must_use]
    pub const fn big(byte: usize, bit: usize, width: usize) -> Self {
        Self::new(byte, bit, width, Order::Big)
    }

    /// A place in a host structure.
    #[must_use]
    pub const fn little(byte: usize, bit: usize, width: usize) -> Self {
        Self::new(byte, bit, width, Order::Little)
    }

    /// A place in either order.
    ///
    /// # Panics
    /// When `bit` is not inside a byte, or the field is empty or reaches over more than 128 bits. In a `const`
    /// this stops the build.
    #[must_use]
    pub const fn new(byte: usize, bit: usize, width: usize, order: Order) -> Self {
        assert!(bit < 8, "a field's first bit lies inside its first byte");
        assert!(width > 0 && bit + width <= 128, "a field holds 1 to 128 bits");
        Self { byte, bit, width, order }
    }

    /// The same field of a structure that begins `bytes` later.
    #[must_use]
    pub const fn at(self, bytes: usize) -> Self {
        Self { byte: self.byte + bytes, ..self }
    }

    /// First bit, counted from the start of the structure.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.byte * 8 + self.bit
    }

    /// Bytes the field touches.
    #[must_use]
    pub const fn bytes(self) -> usize {
        (self.bit + self.width).div_ceil(8)
    }

    /// First byte behind the field.
    #[must_use]
    pub const fn end(self) -> usize {
        self.byte + self.bytes()
    }

    /// All ones in the field's width.
    #[must_use]
    pub const fn max(self) -> u128 {
        u128::MAX >> (128 - self.width)
    }

    /// Where bit `index` of the value (0 is the least significant) sits in a vector whose byte 0 occupies
    /// bits 7..0: the byte lanes of an AXI stream.
    #[must_use]
    pub const fn lane(self, index: usize) -> usize {
        match self.order {
            Order::Little => self.offset() + index,
            Order::Big => {
                let from_start = self.offset() + self.width - 1 - index;
                from_start / 8 * 8 + 7 - from_start % 8
            }
        }
    }

    /// The field's least significant bit in a vector that holds `bytes` bytes of wire, first byte on top: there
    /// a big-endian field is one plain slice.
    #[must_use]
    pub const fn low_bit(self, bytes: usize) -> usize {
        bytes * 8 - self.offset() - self.width
    }

    const fn shift(self) -> usize {
        match self.order {
            Order::Little => self.bit,
            Order::Big => self.bytes() * 8 - self.bit - self.width,
        }
    }

    /// Position in the accumulated value of the field's byte `index`.
    const fn weight(self, index: usize) -> usize {
        match self.order {
            Order::Little => 8 * index,
            Order::Big => 8 * (self.bytes() - 1 - index),
        }
    }

    const fn gather(self, data: &[u8]) -> u128 {
        let mut all = 0;
        let mut index = 0;
        while index < self.bytes() {
            all |= (data[self.byte + index] as u128) << self.weight(index);
            index += 1;
        }
        all
    }

    /// The value's bits, right-aligned.
    ///
    /// # Panics
    /// When `data` ends before the field does.
    #[must_use]
    pub const fn read(self, data: &[u8]) -> u128 {
        (self.gather(data) >> self.shift()) & self.max()
    }

    /// Stores the value's bits and leaves its neighbours alone.
    ///
    /// # Panics
    /// When `data` ends before the field does, or `bits` is wider than the field.
    pub const fn write(self, data: &mut [u8], bits: u128) {
        assert!(bits <= self.max(), "the value is wider than its field");
        let all = (self.gather(data) & !(self.max() << self.shift())) | (bits << self.shift());
        let mut index = 0;
        while index < self.bytes() {
            data[self.byte + index] = (all >> self.weight(index)).to_le_bytes()[0];
            index += 1;
        }
    }

    /// The value as its type.
    ///
    /// # Panics
    /// When `data` ends before the field does, or the field is wider than the type.
    #[must_use]
    pub fn get<V: Value>(self, data: &[u8]) -> V {
        V::from_bits(self.read(data))
    }

    /// Stores a typed value.
    ///
    /// # Panics
    /// When `data` ends before the field does, or the value is wider than the field.
    pub fn set<V: Value>(self, data: &mut [u8], value: V) {
        self.write(data, value.to_bits());
    }
}

/// One row of a structure's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name, as the Rust field is called.
    pub name: &'static str,
    /// Its place.
    pub field: Field,
    /// What it means.
    pub prose: &'static str,
}

/// Is every row inside `bytes` bytes and apart from all others? For `const` assertions.
#[must_use]
pub const fn disjoint(table: &[Entry], bytes: usize) -> bool {
    let mut row = 0;
    while row < table.len() {
        let (start, end) = (table[row].field.offset(), table[row].field.offset() + table[row].field.width);
        let mut other = row + 1;
        while other < table.len() {
            let field = table[other].field;
            if start < field.offset() + field.width && field.offset() < end {
                return false;
            }
            other += 1;
        }
        if end > bytes * 8 {
            return false;
        }
        row += 1;
    }
    true
}

/// Bits named by a table of disjoint rows. Equal to the structure's size when nothing is left unnamed.
#[must_use]
pub const fn covered(table: &[Entry]) -> usize {
    let mut bits = 0;
    let mut row = 0;
    while row < table.len() {
        bits += table[row].field.width;
        row += 1;
    }
    bits
}

/// Tells a layout from all others: CRC-32, as of Ethernet, over the structure's bytes as 16 bits, then for each row its
/// name, a byte of zero, its first bit from the start of the structure as 16 bits, and its width as 16 bits. Numbers are little-endian. The
/// prose does not count.
///
/// # Panics
/// When a number does not fit 16 bits. In a `const` this stops the build.
#[must_use]
pub const fn fingerprint(table: &[Entry], bytes: usize) -> u32 {
    let mut state = number(icrc::INITIAL, bytes);
    let mut row = 0;
    while row < table.len() {
        let name = table[row].name.as_bytes();
        let mut letter = 0;
        while letter < name.len() {
            state = icrc::step(state, name[letter]);
            letter += 1;
        }
        state = icrc::step(state, 0);
        state = number(state, table[row].field.offset());
        state = number(state, table[row].field.width);
        row += 1;
    }
    state ^ icrc::FINAL
}

/// The remainder after the two bytes of a number.
const fn number(state: u32, number: usize) -> u32 {
    assert!(number <= u16::MAX as usize, "a number of 16 bits");
    let [low, high, ..] = number.to_le_bytes();
    icrc::step(icrc::step(state, low), high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fingerprint_is_the_crc_of_names_places_and_widths() {
        const ROW: Entry = Entry { name: "ab", field: Field::little(1, 2, 3), prose: "what it means" };
        // Twelve bytes long; "ab", 0; bit 10; 3 bits. The CRC is that of zlib.
        let text = [12, 0, b'a', b'b', 0, 10, 0, 3, 0];
        let crc = text.iter().fold(u32::MAX, |state, byte| icrc::step(state, *byte)) ^ u32::MAX;
        assert_eq!((fingerprint(&[ROW], 12), crc), (crc, 0x2c50_bd1d));
        let others = [
            fingerprint(&[ROW], 16),
            fingerprint(&[], 12),
            fingerprint(&[ROW, ROW], 12),
            fingerprint(&[Entry { name: "ba", ..ROW }], 12),
            fingerprint(&[Entry { field: Field::little(1, 3, 3), ..ROW }], 12),
            fingerprint(&[Entry { field: Field::little(1, 2, 4), ..ROW }], 12),
        ];
        assert!(!others.contains(&crc));
        assert_eq!(fingerprint(&[Entry { prose: "told otherwise", ..ROW }], 12), crc);
    }

    #[test]
    fn a_big_endian_field_counts_bits_from_the_left() {
        let bytes = [0b1010_0110, 0x12, 0x34];
        assert_eq!(Field::big(0, 0, 4).read(&bytes), 0b1010);
        assert_eq!(Field::big(0, 5, 3).read(&bytes), 0b110);
        assert_eq!(Field::big(1, 0, 16).read(&bytes), 0x1234);
        assert_eq!(Field::big(0, 4, 8).read(&bytes), 0x61);
    }

    #[test]
    fn a_little_endian_field_counts_bits_from_the_right() {
        let bytes = [0b1010_0110, 0x12, 0x34];
        assert_eq!(Field::little(0, 0, 4).read(&bytes), 0b0110);
        assert_eq!(Field::little(0, 5, 3).read(&bytes), 0b101);
        assert_eq!(Field::little(1, 0, 16).read(&bytes), 0x3412);
        assert_eq!(Field::little(0, 4, 8).read(&bytes), 0x2a);
    }

    #[test]
    fn places_in_vectors_follow_the_drawing() {
        let field = Field::big(2, 4, 12); // bytes 2..4, low 12 bits of the big-endian 16-bit word there
        assert_eq!((field.offset(), field.low_bit(4)), (20, 0));
        assert_eq!((field.lane(0), field.lane(7), field.lane(8), field.lane(11)), (24, 31, 16, 19));
        assert_eq!(Field::little(2, 4, 12).lane(3), 23);
    }

    #[test]
    #[should_panic(expected = "wider than its field")]
    fn a_value_too_wide_is_refused() {
        Field::big(0, 0, 3).write(&mut [0], 8);
    }

    fn any_field() -> impl Strategy<Value = Field> {
        (0..8_usize, 0..8_usize, 1..=121_usize, any::<bool>()).prop_map(|(byte, bit, width, big)| {
            Field::new(byte, bit, width, if big { Order::Big } else { Order::Little })
        })
    }

    proptest! {
        #[test]
        fn a_written_value_reads_back_and_its_neighbours_stay(
            field in any_field(), before in any::<[u8; 24]>(), bits in any::<u128>()
        ) {
            let mut bytes = before;
            let value = bits & field.max();
            field.write(&mut bytes, value);
            prop_assert_eq!(field.read(&bytes), value);
            let mut ones = [0; 24];
            field.write(&mut ones, field.max());
            for index in 0..24 {
                prop_assert_eq!(bytes[index] & !ones[index], before[index] & !ones[index]);
            }
            prop_assert_eq!(ones.iter().map(|b| b.count_ones() as usize).sum::<usize>(), field.width);
        }

        #[test]
        fn lanes_name_the_bits_a_read_sees(field in any_field(), bytes in any::<[u8; 24]>()) {
            let value = field.read(&bytes);
            for index in 0..field.width {
                let lane = field.lane(index);
                prop_assert_eq!(u128::from(bytes[lane / 8] >> (lane % 8) & 1), value >> index & 1);
            }
        }
    }
}
