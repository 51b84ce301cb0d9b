//! Memories. These are hand-written Verilog, because a synthesiser recognises a RAM by its shape; each has its
//! behaviour for RustHDL's simulator beside it, and the differential suite holds the two together.
//!
//! Every memory starts as zeros, as it does on the card after configuration; reset clears none of them.

mod byte;
mod clocked;
mod lut;

pub use byte::{ByteRam, ClockedByteRam, UltraByteRam};
pub use clocked::{BlockRam, ClockedRam, UltraRam};
pub use lut::LutRam;

/// How many words one loop clears: yosys unrolls it, in time that grows with the square of its length.
const WORDS_PER_LOOP: usize = 256;

/// A memory of `2^log` words of `width` bits, zero at the start.
fn declare(style: &str, width: usize, log: usize) -> String {
    let depth: usize = 1 << log;
    let clear = |from: usize| {
        let end = depth.min(from + WORDS_PER_LOOP);
        format!("initial for (int i = {from}; i < {end}; i++) words[i] = {width}'d0;\n")
    };
    format!(
        "(* ram_style = \"{style}\" *) logic [{top}:0] words [0:{last}];\n{loops}",
        top = width - 1,
        last = depth - 1,
        loops = (0..depth).step_by(WORDS_PER_LOOP).map(clear).collect::<String>(),
    )
}
