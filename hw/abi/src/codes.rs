//! The macro behind every set of named numbers: a table in, an enum with the meaning of each out.

/// Declares named numbers by their table, each with its meaning:
///
/// ```text
/// codes! {
///     /// What they are.
///     Name: u8 {
///         0 First "Its meaning.";
///     }
/// }
/// ```
#[macro_export]
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident: $repr:ty { $($code:literal $variant:ident $prose:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($repr)]
        pub enum $name {
            $(#[doc = $prose] $variant = $code,)*
        }

        impl $name {
            /// All of them, with their meaning.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $prose)),*];

            /// The one with this code.
            #[must_use]
            pub const fn from_code(code: $repr) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use codes;
