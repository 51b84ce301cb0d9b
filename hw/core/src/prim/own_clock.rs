//! A mark for blocks that move in nearly every cycle.

use rust_hdl::core::probe::Probe;
use rust_hdl::prelude::*;

/// Gives the block that holds it a clock domain of its own in the simulated text, however small it is: in a larger domain
/// it would keep everything around it awake. No hardware.
///
/// Written by hand, because RustHDL's derive wants signals.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnClock;

impl OwnClock {
    /// By this text the emitter knows it.
    pub(crate) const TEXT: &str = "// own clock";
}

impl Logic for OwnClock {
    fn update(&mut self) {}

    fn hdl(&self) -> Verilog {
        Verilog::Custom(Self::TEXT.into())
    }
}

impl Block for OwnClock {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        probe.visit_end_scope(name, self);
    }
}
