//! The macro behind every header and descriptor: a table in, typed fields out.

/// Declares a structure by its table. Rows read `CONST name: type = byte, bit, width, "meaning";`.
///
/// The result has one [`Field`](crate::Field) constant a row, `LEN`, `TABLE`, `LAYOUT`, and `parse`/`emit`. The build
/// stops when rows overlap, leave the structure, or are wider than their type; `Big` structures must name
/// every bit, so that what was parsed is emitted byte by byte. `Little` structures write unnamed bits as zero and
/// ignore them when read: room for later.
///
/// Kernels outside this crate declare their parameters with it, too.
#[macro_export]
macro_rules! layout {
    ($(#[$meta:meta])* $name:ident: $order:ident, $len:literal bytes;
     $($konst:ident $field:ident: $ty:ty = $byte:literal, $bit:literal, $width:literal, $prose:literal;)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = $prose] pub $field: $ty,)*
        }

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;
            $(#[doc = concat!("Place of `", stringify!($field), "`: ", $prose)]
            pub const $konst: $crate::Field =
                $crate::Field::new($byte, $bit, $width, $crate::Order::$order);)*
            /// Every field, in order.
            pub const TABLE: &'static [$crate::Entry] = &[
                $($crate::Entry { name: stringify!($field), field: Self::$konst, prose: $prose },)*
            ];

            /// Tells this layout from all others, see [`fingerprint`]($crate::field::fingerprint).
            pub const LAYOUT: u32 = $crate::field::fingerprint(Self::TABLE, Self::LEN);

            /// Reads the structure from the front of `bytes`; `None` when they end too early.
            #[must_use]
            pub fn parse(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.get(..Self::LEN)?;
                Some(Self { $($field: Self::$konst.get(bytes),)* })
            }

            /// Writes the structure over the first [`Self::LEN`] bytes.
            ///
            /// # Panics
            /// When `bytes` is shorter, or a value is wider than its field.
            pub fn emit(&self, bytes: &mut [u8]) {
                bytes[..Self::LEN].fill(0);
                $(Self::$konst.set(bytes, self.$field);)*
            }

            /// The structure as bytes.
            ///
            /// # Panics
            /// When a value is wider than its field.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; $len] {
                let mut bytes = [0; $len];
                self.emit(&mut bytes);
                bytes
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: <$ty as $crate::Value>::from_bits(0),)* }
            }
        }

        const _: () = {
            assert!($crate::field::disjoint($name::TABLE, $len), concat!(stringify!($name), ": rows collide"));
            $(assert!($width <= <$ty as $crate::Value>::BITS, concat!(stringify!($field), ": type too narrow"));)*
            assert!(
                matches!($crate::Order::$order, $crate::Order::Little)
                    || $crate::field::covered($name::TABLE) == $len * 8,
                concat!(stringify!($name), ": a wire header names every bit")
            );
        };
    };
}
pub(crate) use layout;
