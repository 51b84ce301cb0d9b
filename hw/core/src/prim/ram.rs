//! Memories. These are hand-written Verilog, because a synthesiser recognises a RAM by its shape; each has its
//! behaviour for RustHDL's simulator beside it, and the differential suite holds the two together.
//!
//! Every memory starts as zeros, as it does on the card after configuration; reset clears none of them.

mod block;
mod byte;
mod lut;

pub use block::BlockRam;
pub use byte::ByteRam;
pub use lut::LutRam;

/// A memory of `2^log` words of `width` bits, zero at the start.
fn declare(style: &str, width: usize, log: usize) -> String {
    let depth = 1 << log;
    format!(
        "(* ram_style = \"{style}\" *) logic [{top}:0] words [0:{last}];\n\
         initial for (int i = 0; i < {depth}; i++) words[i] = {width}'d0;\n",
        top = width - 1,
        last = depth - 1,
    )
}
