//! Blocks with constants, without a `Default` written by hand: a field may say what it starts as.

/// Declares a block. A field with `= value` starts as that value, every other as its type's default, and the whole is
/// the block's `Default`.
#[macro_export]
macro_rules! block {
    ($(#[$meta:meta])* $block_vis:vis struct $name:ident $(<const $width:ident: usize $(, const $more:ident: usize)*>)? {
        $($(#[$field_meta:meta])* $vis:vis $field:ident: $ty:ty $(= $start:expr)?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(LogicBlock)]
        $block_vis struct $name $(<const $width: usize $(, const $more: usize)*>)? {
            $($(#[$field_meta])* $vis $field: $ty),+
        }

        impl $(<const $width: usize $(, const $more: usize)*>)? Default for $name $(<$width $(, $more)*>)? {
            fn default() -> Self {
                Self { $($field: $crate::block!(@start $($start)?)),+ }
            }
        }
    };
    (@start) => { Default::default() };
    (@start $start:expr) => { $start };
}
