//! Ultra memory: for tables of thousands of wide words, where block RAMs would go by the dozen.

use rust_hdl::prelude::*;

use super::declare;

/// One write port, one synchronous read port; becomes ultra RAM, of which one holds 4096 words of 72 bits.
///
/// - **Ports** `write_*`: stores `write_data` at the clock edge; `read_enable`: `read_data` shows the word at
///   `read_address` from the next cycle on and holds it until the next read.
/// - **Latency** 1 cycle. **Rate** one write and one read per cycle.
/// - **Read during write** to the same address gives the *old* word.
/// - **Reset** none.
#[derive(LogicBlock)]
pub struct UltraRam<T: Synth, const LOG: usize> {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, T>,
    pub read_enable: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, T>,
    _memory: Vec<T>,
}

impl<T: Synth, const LOG: usize> Default for UltraRam<T, LOG> {
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
impl<T: Synth, const LOG: usize> Logic for UltraRam<T, LOG> {
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
        Verilog::Custom(format!(
            "// module ultra_ram_{width}x{LOG}\n{memory}\
             initial read_data = {width}'d0;\n\
             always_ff @(posedge clock) if (write_enable) words[write_address] <= write_data;\n\
             always_ff @(posedge clock) if (read_enable) read_data <= words[read_address];\n",
            width = T::BITS,
            memory = declare("ultra", T::BITS, LOG),
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::prim::ram::block::tests::check;

    #[test]
    fn agrees_with_the_model() {
        check::<64>("ultra_ram");
        check::<512>("ultra_ram");
    }
}
