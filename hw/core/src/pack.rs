//! Values as bits, in the order the Verilog sees them, so that tests and models can talk to ports.

use rust_hdl::prelude::*;
pub use stroma_words::{BitReader, BitWriter};

/// A payload whose bits can be written to a port and read back from one.
pub trait Packed: Synth {
    /// Appends this value, field by field, least significant bit first.
    fn write(&self, to: &mut BitWriter);
    /// Takes one value off the reader.
    fn read(from: &mut BitReader) -> Self;

    /// This value as 32-bit words, least significant first.
    #[must_use]
    fn to_words(&self) -> Vec<u32> {
        let mut to = BitWriter::default();
        self.write(&mut to);
        to.into_words()
    }

    /// The value those words hold.
    #[must_use]
    fn from_words(words: &[u32]) -> Self {
        Self::read(&mut BitReader::new(words))
    }
}

impl Packed for bool {
    fn write(&self, to: &mut BitWriter) {
        to.push(u32::from(*self), 1);
    }
    fn read(from: &mut BitReader) -> Self {
        from.pull(1) == 1
    }
}

impl<const N: usize> Packed for Bits<N> {
    fn write(&self, to: &mut BitWriter) {
        match self {
            Self::Short(short) => to.push(short.short(), N),
            Self::Long(long) => to.push_each(N, &|bit| long.get_bit(bit)),
        }
    }
    fn read(from: &mut BitReader) -> Self {
        if N <= 32 {
            return u64::from(from.pull(N)).into();
        }
        let mut bits = [false; N];
        from.pull_each(&mut bits);
        Self::Long(bits.into())
    }
}

/// The value of these words.
///
/// # Panics
/// When it has more than `N` bits.
#[must_use]
pub fn from_words<const N: usize>(words: &[u32]) -> Bits<N> {
    let bits = stroma_words::significant(words);
    assert!(bits <= N, "a value of {bits} bits does not fit into {N}");
    Bits::from_words(words)
}

/// The value whose bytes these are, the first lowest.
///
/// # Panics
/// When it has more than `N` bits.
#[must_use]
pub fn from_bytes<const N: usize>(bytes: &[u8]) -> Bits<N> {
    from_words(&stroma_words::from_bytes(bytes))
}

/// All bytes of a value, the first lowest.
#[must_use]
pub fn to_bytes<const N: usize>(bits: Bits<N>) -> Vec<u8> {
    stroma_words::to_bytes(&bits.to_words(), N.div_ceil(8))
}

/// A number as bits.
///
/// # Panics
/// When it has more than `N`.
#[must_use]
pub fn from_number<const N: usize>(number: u128) -> Bits<N> {
    from_bytes(&number.to_le_bytes())
}

/// Bits as a number.
///
/// # Panics
/// When there are more than 128.
#[must_use]
pub fn to_number<const N: usize>(bits: Bits<N>) -> u128 {
    let mut bytes = to_bytes(bits);
    bytes.resize(16, 0);
    u128::from_le_bytes(bytes.try_into().expect("no more than 128 bits"))
}

/// Declares a flat struct that travels between stages: a `LogicStruct` that is also [`Packed`].
///
/// RustHDL's derive takes no const generics; for a struct that has some, this macro writes what the derive would.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $kind:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(LogicStruct, Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind),+ }

        impl $crate::pack::Packed for $name {
            $crate::pack_fields!($($field),+);
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident<$(const $size:ident: usize),+> {
        $($(#[$field_meta:meta])* pub $field:ident: $kind:ty),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<$(const $size: usize),+> { $($(#[$field_meta])* pub $field: $kind),+ }

        impl<$(const $size: usize),+> $crate::pack::Packed for $name<$($size),+> {
            $crate::pack_fields!($($field),+);
        }

        // The place of each field, which the kernel macro asks for by these names.
        pastey::paste! {
            impl<$(const $size: usize),+> $name<$($size),+> {
                fn widths() -> impl Iterator<Item = (&'static str, usize)> {
                    [$((stringify!($field), <$kind as Synth>::BITS)),+].into_iter()
                }

                $(pub fn [<get_my_width_ $field>](&self) -> usize {
                    <$kind as Synth>::BITS
                }
                pub fn [<get_my_offset_ $field>](&self) -> usize {
                    Self::widths().take_while(|(name, _)| *name != stringify!($field)).map(|(_, width)| width).sum()
                })+
            }
        }

        impl<$(const $size: usize),+> Synth for $name<$($size),+> {
            const BITS: usize = 0 $(+ <$kind as Synth>::BITS)+;

            fn descriptor() -> TypeDescriptor {
                let fields = vec![$(Box::new(rust_hdl::core::type_descriptor::TypeField {
                    fieldname: stringify!($field).to_string(),
                    kind: <$kind as Synth>::descriptor(),
                })),+];
                TypeDescriptor { name: stringify!($name).to_string(), kind: TypeKind::Composite(fields) }
            }

            fn vcd(self) -> rust_hdl::core::synth::VCDValue {
                rust_hdl::core::synth::VCDValue::Composite(vec![$(Box::new(self.$field.vcd())),+])
            }

            // The value alone is meant: the sum of widths cannot be named as a const generic, so the literal is wider.
            fn verilog(self) -> VerilogLiteral {
                let value: Bits<2048> = $crate::pack::Packed::from_words(&$crate::pack::Packed::to_words(&self));
                value.into()
            }
        }
    };
}

/// The two halves of [`pack::Packed`](crate::pack::Packed) for a struct, field by field.
#[macro_export]
macro_rules! pack_fields {
    ($($field:ident),+) => {
        fn write(&self, to: &mut $crate::pack::BitWriter) {
            $($crate::pack::Packed::write(&self.$field, to);)+
        }
        fn read(from: &mut $crate::pack::BitReader) -> Self {
            Self { $($field: $crate::pack::Packed::read(from)),+ }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    record! {
        pub struct Sample { pub low: Bits<5>, pub flag: Bit, pub wide: Bits<70> }
    }

    #[test]
    fn a_record_reads_back_what_it_wrote_and_fields_start_at_the_least_bit() {
        let sample = Sample {
            low: 0x15.into(),
            flag: true,
            wide: bit_cast::<70, 64>(0x0123_4567_89ab_cdef_u64.into()),
        };
        let words = sample.to_words();
        assert_eq!(words[0], 0x15 | 1 << 5 | 0x89ab_cdef << 6);
        assert_eq!(Sample::from_words(&words), sample);
        assert_eq!(format!("{:x}", sample.verilog()), "76'h48d159e26af37bf5");
    }

    #[test]
    fn bytes_and_numbers_come_back() {
        let bytes: Vec<u8> = (1..=9).collect();
        let bits: Bits<70> = from_bytes(&bytes);
        assert_eq!(bits.get_bits::<32>(32), 0x0807_0605);
        assert_eq!(to_bytes(bits), bytes);
        assert_eq!(to_number(bits), 0x09_0807_0605_0403_0201);
        assert_eq!(from_number::<70>(to_number(bits)), bits);
        assert_eq!(to_number(from_number::<7>(0x55)), 0x55);
    }

    #[test]
    #[should_panic(expected = "a value of 71 bits does not fit into 70")]
    fn a_number_that_is_too_large_is_refused() {
        let _ = from_number::<70>(1 << 70);
    }
}
