//! A gated model against an ungated one of the same text, cycle by cycle: each primitive by itself, with its condition
//! and with weaker ones, and two clocks.
//!
//! Inputs are random, in phases of which a third is idle. The comparison proves little when a domain has every edge, so
//! the edges are counted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rust_hdl::prelude::*;
use stroma_verilate::{Model, Options, PortId, SplitMix64, Verilog as Design};

use super::Pair;
use super::alone::{AloneByteRam, AloneLutRam, AloneMul, AloneRam, AloneReg, AloneSync};
use crate::verilog::{Direction, Rtl, emit, emit_gated};

/// Cycles of each run with random inputs.
const CYCLES: u64 = 4000;

fn gated<B: Block>(build: impl FnOnce() -> B + Send) -> Rtl {
    emit_gated("alone", |_| false, build).unwrap_or_else(|error| panic!("{error}"))
}

fn load(rtl: &Rtl) -> Model {
    let design = Design::new(&rtl.text, &rtl.manifest()).unwrap_or_else(|error| panic!("{error}"));
    Model::load(&design).unwrap_or_else(|error| panic!("{error}"))
}

/// The model of a text, compared all the time with another in which every domain has every edge.
fn compared(rtl: &Rtl) -> Model {
    let mut ungated = load(rtl);
    ungated.gate(false);
    load(rtl).with_shadow(ungated)
}

/// Edges that the domain of the counter had.
fn edges(model: &Model) -> u64 {
    let variables = model.variables();
    let mut counts = variables.iter().filter(|(name, _)| name.ends_with("_count_edges"));
    let (Some((_, bytes)), None) = (counts.next(), counts.next()) else {
        panic!("one counter: {variables:?}")
    };
    u32::from_le_bytes(bytes.as_slice().try_into().expect("32 bits")).into()
}

/// Random inputs, in phases: nothing changes, one in six does, half of them do.
struct Stimuli {
    inputs: Vec<(PortId, u32)>,
    rng: SplitMix64,
    rarity: Option<u64>,
    left: u64,
}

impl Stimuli {
    fn new(rtl: &Rtl, model: &Model) -> Self {
        let inputs = rtl.ports.iter().filter(|port| port.direction == Direction::In);
        let inputs = inputs.map(|port| model.port(&port.name).expect("a port of the text"));
        let inputs = inputs.map(|port| (port, model.width(port))).collect();
        Self { inputs, rng: SplitMix64::new(22), rarity: None, left: 0 }
    }

    /// The inputs of the next cycle.
    fn drive(&mut self, model: &mut Model) {
        if self.left == 0 {
            self.rarity = [None, Some(6), Some(2)][usize::try_from(self.rng.below(3)).expect("below 3")];
            self.left = 1 + self.rng.below(12);
        }
        self.left -= 1;
        let Some(rarity) = self.rarity else { return };
        for (port, width) in &self.inputs {
            if self.rng.below(rarity) == 0 {
                model.set_wide(*port, &self.rng.bits(*width));
            }
        }
    }
}

/// Runs both models of a text on one clock; edges of its domain in the gated one.
fn run(rtl: &Rtl) -> u64 {
    let mut model = compared(rtl);
    let clock = model.port("clock").expect("a port of the text");
    let mut stimuli = Stimuli::new(rtl, &model);
    for _ in 0..CYCLES {
        stimuli.drive(&mut model);
        model.tick(clock);
    }
    edges(&model)
}

/// A primitive agrees with itself ungated, although its domain misses edges, at least one in ten.
fn agrees(rtl: &Rtl) {
    let (clocks, inputs): (Vec<&String>, Vec<&String>) =
        rtl.domains.iter().partition(|name| *name == "clock");
    assert!(clocks.len() == 1 && !inputs.is_empty(), "{:?}", rtl.domains);
    let edges = run(rtl);
    assert!((CYCLES / 10..CYCLES - CYCLES / 10).contains(&edges), "{edges} edges in {CYCLES} cycles");
}

/// With part of its condition taken for false, a primitive differs from itself ungated.
fn differs_without(rtl: &Rtl, part: &str, weaker: &str) {
    assert_eq!(rtl.text.matches(part).count(), 1, "`{part}` is in the text:\n{}", rtl.text);
    let weak = Rtl { text: rtl.text.replace(part, weaker), ..rtl.clone() };
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&weak))) else {
        panic!("with `{weaker}` for `{part}` no difference was found");
    };
    let message = panic.downcast_ref::<String>().expect("a panic with a message");
    assert!(message.contains("in the model it is compared with"), "{message}");
}

#[test]
fn a_register_has_an_edge_when_its_value_changes_and_only_then() {
    let rtl = gated(AloneReg::default);
    for (gates, expected) in [(true, 4), (false, 9)] {
        let mut model = load(&rtl);
        model.gate(gates);
        let [clock, d, q] = ["clock", "d", "q"].map(|name| model.port(name).expect("a port of the text"));
        // It starts as zero, and changes at the first 5, 2, 7 and 0.
        for value in [0, 5, 5, 2, 7, 7, 7, 0, 0] {
            model.set(d, value);
            model.tick(clock);
            assert_eq!(model.get(q), value);
        }
        assert_eq!(edges(&model), expected, "gated: {gates}");
    }
}

/// Verilator keeps levels from before the first evaluation: noise there would leave a domain without edges for ever.
#[test]
fn a_domain_has_its_edges_after_noise_at_the_start() {
    let rtl = gated(AloneReg::default);
    let design = Design::new(&rtl.text, &rtl.manifest()).unwrap_or_else(|error| panic!("{error}"));
    for seed in 1..=16 {
        let options = Options { seed, ..Options::default() };
        let mut model = Model::load_with(&design, &options).unwrap_or_else(|error| panic!("{error}"));
        let [clock, d, q] = ["clock", "d", "q"].map(|name| model.port(name).expect("a port of the text"));
        for value in [5, 2, 7, 0] {
            model.set(d, value);
            model.tick(clock);
            assert_eq!(model.get(q), value, "seed {seed}");
        }
    }
}

#[test]
fn a_register_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneReg::default));
}

#[test]
fn a_multiplier_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneMul::default));
}

#[test]
fn a_block_ram_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneRam::<false>::default));
}

#[test]
fn an_ultra_ram_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneRam::<true>::default));
}

#[test]
fn a_ram_with_byte_enables_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneByteRam::default));
}

#[test]
fn a_lut_ram_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneLutRam::default));
}

#[test]
fn a_synchroniser_is_the_same_without_the_edges_it_does_not_ask_for() {
    agrees(&gated(AloneSync::default));
}

#[test]
fn a_condition_that_is_too_weak_is_found_out() {
    let reg = gated(AloneReg::default);
    differs_without(&reg, "d != q", "1'b0");
    differs_without(&reg, "d != q", "d > q");

    let sync = gated(AloneSync::default);
    for part in ["(first != d)", "(second != first)"] {
        differs_without(&sync, part, "1'b0");
    }

    let mul = gated(AloneMul::default);
    let product = "(product != {3'd0, a_held} * {4'd0, b_held})";
    for part in ["(a_held != a)", "(b_held != b)", product, "(p != product)"] {
        differs_without(&mul, part, "1'b0");
    }

    let read = "(read_enable & (read_data != words[read_address]))";
    let block = gated(AloneRam::<false>::default);
    differs_without(&block, &format!("write_enable | {read}"), read);
    differs_without(&block, read, "1'b0");

    let bytes = gated(AloneByteRam::default);
    differs_without(&bytes, "(|write_enable)", "1'b0");
    differs_without(&bytes, "(|write_enable)", "write_enable[0]");
    differs_without(&bytes, read, "1'b0");

    differs_without(&gated(AloneLutRam::default), "_moves_clock = write_enable", "_moves_clock = 1'b0");
}

/// Two clocks that rise alone and together, in random order; the second model gets all that the first does.
fn run_on_two_clocks(rtl: &Rtl, shadow: Model) {
    let mut model = load(rtl).with_shadow(shadow);
    let clocks = ["clock", "other"].map(|name| model.port(name).expect("a port of the text"));
    let mut stimuli = Stimuli::new(rtl, &model);
    let mut rng = SplitMix64::new(23);
    for _ in 0..CYCLES {
        stimuli.drive(&mut model);
        let rises = 1 + rng.below(3);
        for level in [1, 0] {
            for (at, clock) in clocks.into_iter().enumerate() {
                if rises >> at & 1 == 1 {
                    model.set(clock, level);
                }
            }
            model.eval();
            model.advance(1);
        }
    }
}

#[test]
fn domains_of_two_clocks_are_those_of_the_ungated_model_and_of_the_reference_text() {
    let rtl = emit_gated("pair", |_| false, Pair::default).unwrap();
    let mut ungated = load(&rtl);
    ungated.gate(false);
    run_on_two_clocks(&rtl, ungated);
    run_on_two_clocks(&rtl, load(&emit("pair", Pair::default).unwrap()));
}
