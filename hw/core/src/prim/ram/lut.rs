//! Distributed memory: small, and read in the same cycle.

use rust_hdl::prelude::*;

use super::declare;

/// One write port, one asynchronous read port; becomes LUT RAM.
///
/// - **Ports** `write_*`: stores `write_data` at the clock edge; `read_data` follows `read_address`.
/// - **Latency** 0 cycles to read; a write shows after its clock edge. **Rate** one write and one read per cycle.
/// - **Reset** none.
#[derive(LogicBlock)]
pub struct LutRam<T: Synth, const LOG: usize> {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, T>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, T>,
    _memory: Vec<T>,
}

impl<T: Synth, const LOG: usize> Default for LutRam<T, LOG> {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
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
impl<T: Synth, const LOG: usize> Logic for LutRam<T, LOG> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.write_enable.val() {
            self._memory[self.write_address.val().index()] = self.write_data.val();
        }
        self.read_data.next = self._memory[self.read_address.val().index()];
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// module lut_ram_{width}x{LOG}\n// moves write_enable\n{memory}\
             always_ff @(posedge clock) if (write_enable) words[write_address] <= write_data;\n\
             assign read_data = words[read_address];\n",
            width = T::BITS,
            memory = declare("distributed", T::BITS, LOG),
        ))
    }
}

#[cfg(test)]
mod tests {
    use rust_hdl::prelude::Bits;
    use stroma_verilate::SplitMix64;

    use crate::pack::Packed;
    use crate::testing::{RAM_LOG, noise, zoo_model};

    /// A plain array, read in the same cycle.
    fn check<const D: usize>() {
        let mut model = zoo_model::<D>("lut_ram");
        let port = |name: &str| model.port(name).expect("a port of the RAM");
        let (clock, write_enable, write_address) =
            (port("clock"), port("write_enable"), port("write_address"));
        let (write_data, read_address, read_data) =
            (port("write_data"), port("read_address"), port("read_data"));
        let (mut words, mut rng) = (vec![Bits::<D>::default(); 1 << RAM_LOG], SplitMix64::new(1));
        for cycle in 0..500 {
            let (write, at, data) = (rng.below(2), rng.below(1 << RAM_LOG), noise::<Bits<D>>(&mut rng));
            let from = rng.below(1 << RAM_LOG);
            model.set(write_enable, write);
            model.set(write_address, at);
            model.set_wide(write_data, &data.to_words());
            model.set(read_address, from);
            model.eval();
            let index = |address| usize::try_from(address).expect("an address is small");
            assert_eq!(model.get_wide(read_data), words[index(from)].to_words(), "before edge {cycle}");
            model.tick(clock);
            if write == 1 {
                words[index(at)] = data;
            }
            assert_eq!(model.get_wide(read_data), words[index(from)].to_words(), "after edge {cycle}");
        }
    }

    #[test]
    fn agrees_with_the_model() {
        check::<64>();
        check::<512>();
    }
}
