//! The differential suite: RustHDL's own simulator against the Verilated text, over random vectors.
//!
//! A block joins with one line of [`differential!`]: its constructor and the inputs to drive. Every output of the block
//! is a shape; a run that compared nothing fails as surely as one that found a difference.

#[cfg(test)]
mod arithmetic;
#[cfg(test)]
mod control;
mod harness;
#[cfg(test)]
mod one_bit;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sequential;
#[cfg(test)]
mod suite;

pub use harness::{Case, Draw, Report, assert_agree};

/// A block for the suite: `differential!(name, constructor, [inputs])`, with `clock` first if the block has one.
#[macro_export]
macro_rules! differential {
    ($name:expr, $build:expr, clock, [$($($input:ident).+),+ $(,)?]) => {
        $crate::verilog::differential::Case::clocked(
            $name,
            $build,
            |block, draw| { $(block.$($input).+.next = draw.value(concat!($("$", stringify!($input)),+));)+ },
            |block, level| block.clock.next = level.into(),
        )
    };
    ($name:expr, $build:expr, [$($($input:ident).+),+ $(,)?]) => {
        $crate::verilog::differential::Case::combinational(
            $name,
            $build,
            |block, draw| { $(block.$($input).+.next = draw.value(concat!($("$", stringify!($input)),+));)+ },
        )
    };
}
pub use differential;
