//! A register: the one place where state lives outside a RAM.

use rust_hdl::prelude::*;

/// Takes `d` at each rising edge of `clock` and shows it on `q`.
///
/// RustHDL's own `DFF` prints a start value that is 64 bits wide for enumerations; ours prints none. State that
/// matters is cleared by `reset` in the kernel that owns it (`if reset` last), payload behind `valid = 0` is not.
///
/// - **Latency** 1 cycle. **Reset** none.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct Reg<T: Synth> {
    pub d: Signal<In, T>,
    pub q: Signal<Out, T>,
    pub clock: Signal<In, Clock>,
}

impl<T: Synth> Logic for Reg<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// module reg_{}\n// moves d != q\nalways_ff @(posedge clock) q <= d;",
            T::BITS
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        vec![TimingInfo {
            name: "reg".into(),
            clock: "clock".into(),
            inputs: vec!["d".into()],
            outputs: vec!["q".into()],
        }]
    }
}
