//! Large memories, read a cycle later.

use rust_hdl::prelude::*;

use super::declare;

/// In block RAM.
pub type BlockRam<T, const LOG: usize> = ClockedRam<T, LOG, false>;
/// In ultra RAM, of which one holds 4096 words of 72 bits: for tables of thousands of wide words, where block RAMs would go by
/// the dozen.
pub type UltraRam<T, const LOG: usize> = ClockedRam<T, LOG, true>;

/// One write port, one synchronous read port; becomes block RAM, or with `ULTRA` ultra RAM.
///
/// - **Ports** `write_*`: stores `write_data` at the clock edge; `read_enable`: `read_data` shows the word at
///   `read_address` from the next cycle on and holds it until the next read.
/// - **Latency** 1 cycle. **Rate** one write and one read per cycle.
/// - **Read during write** to the same address gives the *old* word.
/// - **Reset** none.
#[derive(LogicBlock)]
pub struct ClockedRam<T: Synth, const LOG: usize, const ULTRA: bool> {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, T>,
    pub read_enable: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, T>,
    _memory: Vec<T>,
}

impl<T: Synth, const LOG: usize, const ULTRA: bool> Default for ClockedRam<T, LOG, ULTRA> {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
            read_enable: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _memory: vec![T::default(); 1 << LOG],
        }
    }
}

#[expect(
    clippy::used_underscore_binding,
    reason = "RustHDL's derive skips such fields: they are no part of the hardware"
)]
impl<T: Synth, const LOG: usize, const ULTRA: bool> Logic for ClockedRam<T, LOG, ULTRA> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self.read_enable.val() {
                self.read_data.next = self._memory[self.read_address.val().index()];
            }
            if self.write_enable.val() {
                self._memory[self.write_address.val().index()] = self.write_data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let style = if ULTRA { "ultra" } else { "block" };
        Verilog::Custom(format!(
            "// module {style}_ram_{width}x{LOG}\n\
             // moves write_enable | (read_enable & (read_data != words[read_address]))\n{memory}\
             initial read_data = {width}'d0;\n\
             always_ff @(posedge clock) if (write_enable) words[write_address] <= write_data;\n\
             always_ff @(posedge clock) if (read_enable) read_data <= words[read_address];\n",
            width = T::BITS,
            memory = declare(style, T::BITS, LOG),
        ))
    }
}

#[cfg(test)]
mod tests {
    use rust_hdl::prelude::Bits;
    use stroma_verilate::SplitMix64;

    use crate::pack::Packed;
    use crate::testing::{RAM_LOG, noise, zoo_model};

    /// A plain array, read before it is written: a read of the word being written gives the old one.
    fn check<const D: usize>(name: &str) {
        let mut model = zoo_model::<D>(name);
        let port = |name: &str| model.port(name).expect("a port of the RAM");
        let (clock, write_enable, write_address) =
            (port("clock"), port("write_enable"), port("write_address"));
        let (write_data, read_data) = (port("write_data"), port("read_data"));
        let (read_enable, read_address) = (port("read_enable"), port("read_address"));
        let (mut words, mut rng) = (vec![Bits::<D>::default(); 1 << RAM_LOG], SplitMix64::new(2));
        let (mut shown, mut collisions) = (Bits::<D>::default(), 0);
        for cycle in 0..1000 {
            let (write, at, data) = (rng.below(2), rng.below(1 << RAM_LOG), noise::<Bits<D>>(&mut rng));
            let (read, from) = (rng.below(2), rng.below(1 << RAM_LOG));
            model.set(write_enable, write);
            model.set(write_address, at);
            model.set_wide(write_data, &data.to_words());
            model.set(read_enable, read);
            model.set(read_address, from);
            model.tick(clock);
            let index = |address| usize::try_from(address).expect("an address is small");
            if read == 1 {
                shown = words[index(from)];
            }
            if write == 1 {
                words[index(at)] = data;
            }
            collisions += u32::from(read & write == 1 && at == from);
            assert_eq!(model.get_wide(read_data), shown.to_words(), "cycle {cycle}");
        }
        assert!(collisions > 5, "read and write met {collisions} times, too few to say who wins");
    }

    #[test]
    fn agrees_with_the_model() {
        for name in ["block_ram", "ultra_ram"] {
            check::<64>(name);
            check::<512>(name);
        }
    }
}
