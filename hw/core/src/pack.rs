//! Values as bits, in the order the Verilog sees them, so that tests and models can talk to ports.

use rust_hdl::prelude::*;

/// Collects fields, least significant first, into 32-bit words.
#[derive(Default)]
pub struct BitWriter {
    words: Vec<u32>,
    len: usize,
}

impl BitWriter {
    /// Appends one bit above those already there.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(32) {
            self.words.push(0);
        }
        self.words[self.len / 32] |= u32::from(bit) << (self.len % 32);
        self.len += 1;
    }
}

/// Hands out the bits a [`BitWriter`] collected.
pub struct BitReader<'a> {
    words: &'a [u32],
    at: usize,
}

impl BitReader<'_> {
    /// The next bit; bits past the end are zero.
    pub fn pull(&mut self) -> bool {
        let bit = self.words.get(self.at / 32).is_some_and(|word| word >> (self.at % 32) & 1 == 1);
        self.at += 1;
        bit
    }
}

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
        to.words
    }

    /// The value those words hold.
    #[must_use]
    fn from_words(words: &[u32]) -> Self {
        Self::read(&mut BitReader { words, at: 0 })
    }
}

impl Packed for bool {
    fn write(&self, to: &mut BitWriter) {
        to.push(*self);
    }
    fn read(from: &mut BitReader) -> Self {
        from.pull()
    }
}

impl<const N: usize> Packed for Bits<N> {
    fn write(&self, to: &mut BitWriter) {
        for bit in 0..N {
            to.push(self.get_bit(bit));
        }
    }
    fn read(from: &mut BitReader) -> Self {
        let mut words = vec![0_u32; N.div_ceil(32)];
        for bit in 0..N {
            words[bit / 32] |= u32::from(from.pull()) << (bit % 32);
        }
        num_bigint::BigUint::new(words).into()
    }
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
                let value: Bits<2048> = num_bigint::BigUint::new($crate::pack::Packed::to_words(&self)).into();
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
}
