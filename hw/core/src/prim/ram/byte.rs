//! Large memories with byte enables: for words that are filled in pieces.

use rust_hdl::prelude::*;

use super::declare;

/// In block RAM.
pub type ByteRam<const D: usize, const K: usize, const LOG: usize> = ClockedByteRam<D, K, LOG, false>;
/// In ultra RAM.
pub type UltraByteRam<const D: usize, const K: usize, const LOG: usize> = ClockedByteRam<D, K, LOG, true>;

/// A [`ClockedRam`](super::ClockedRam) of `D`-bit words whose `K` bytes are written one by one.
///
/// - **Ports** as [`ClockedRam`](super::ClockedRam), with one bit of `write_enable` per byte, byte 0 lowest.
/// - **Latency**, **Rate**, **Read during write**, **Reset** as [`ClockedRam`](super::ClockedRam).
/// - **Limits** `D = 8 * K`; anything else panics when the block is built.
#[derive(LogicBlock)]
pub struct ClockedByteRam<const D: usize, const K: usize, const LOG: usize, const ULTRA: bool> {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bits<K>>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, Bits<D>>,
    pub read_enable: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, Bits<D>>,
    _memory: Vec<Bits<D>>,
}

impl<const D: usize, const K: usize, const LOG: usize, const ULTRA: bool> Default
    for ClockedByteRam<D, K, LOG, ULTRA>
{
    fn default() -> Self {
        assert_eq!(D, 8 * K, "a ByteRam of {D} bits has {} byte enables, not {K}", D / 8);
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
            read_enable: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _memory: vec![Bits::default(); 1 << LOG],
        }
    }
}

#[expect(
    clippy::used_underscore_binding,
    reason = "RustHDL's derive skips such fields: they are no part of the hardware"
)]
impl<const D: usize, const K: usize, const LOG: usize, const ULTRA: bool> Logic
    for ClockedByteRam<D, K, LOG, ULTRA>
{
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self.read_enable.val() {
                self.read_data.next = self._memory[self.read_address.val().index()];
            }
            let word = &mut self._memory[self.write_address.val().index()];
            for byte in (0..K).filter(|&byte| self.write_enable.val().get_bit(byte)) {
                word.set_bits(8 * byte, self.write_data.val().get_bits::<8>(8 * byte));
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (style, name) = if ULTRA { ("ultra", "ultra_byte") } else { ("block", "byte") };
        Verilog::Custom(format!(
            "// module {name}_ram_{D}x{LOG}\n\
             // moves (|write_enable) | (read_enable & (read_data != words[read_address]))\n{memory}\
             initial read_data = {D}'d0;\n\
             always_ff @(posedge clock) for (int i = 0; i < {K}; i++)\n\
             \x20 if (write_enable[i]) words[write_address][8 * i +: 8] <= write_data[8 * i +: 8];\n\
             always_ff @(posedge clock) if (read_enable) read_data <= words[read_address];\n",
            memory = declare(style, D, LOG),
        ))
    }
}

#[cfg(test)]
mod tests {
    use rust_hdl::prelude::Bits;
    use stroma_verilate::SplitMix64;

    use crate::pack::Packed;
    use crate::testing::{RAM_LOG, noise, zoo_model};

    /// A plain array of bytes, written where enabled.
    fn check<const D: usize>(name: &str) {
        let mut model = zoo_model::<D>(name);
        let port = |name: &str| model.port(name).expect("a port of the RAM");
        let (clock, write_enable, write_address) =
            (port("clock"), port("write_enable"), port("write_address"));
        let (write_data, read_data) = (port("write_data"), port("read_data"));
        let (read_enable, read_address) = (port("read_enable"), port("read_address"));
        let (mut words, mut rng) = (vec![vec![0_u8; D / 8]; 1 << RAM_LOG], SplitMix64::new(3));
        for cycle in 0..500 {
            let (at, from, enable) = (rng.below(1 << RAM_LOG), rng.below(1 << RAM_LOG), rng.next_u64());
            let data: Vec<u32> = noise::<Bits<D>>(&mut rng).to_words();
            let enable = if D == 64 { enable & 0xff } else { enable };
            model.set(write_enable, enable);
            model.set(write_address, at);
            model.set_wide(write_data, &data);
            model.set(read_enable, 1);
            model.set(read_address, from);
            model.tick(clock);
            let index = |address| usize::try_from(address).expect("an address is small");
            let shown: Vec<u8> =
                model.get_wide(read_data).iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(shown, words[index(from)], "cycle {cycle}");
            for (byte, value) in data.iter().flat_map(|word| word.to_le_bytes()).enumerate() {
                if enable >> byte & 1 == 1 {
                    words[index(at)][byte] = value;
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_model() {
        for name in ["byte_ram", "ultra_byte_ram"] {
            check::<64>(name);
            check::<512>(name);
        }
    }
}
