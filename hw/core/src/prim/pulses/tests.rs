use stroma_verilate::SplitMix64;

use super::Pulses;
use crate::testing::verilated;
use crate::verilog::differential::{assert_agree, differential};

#[test]
fn every_pulse_is_given_once_as_soon_as_it_can_be() {
    let mut bench = verilated("pulses", Pulses::<3>::default);
    bench.reset(1);
    let model = bench.model_mut();
    let [clock, happens, pulse, busy] =
        ["clock", "happens", "pulse", "busy"].map(|port| model.port(port).expect("a port of the block"));
    let (mut rng, mut waiting, mut most) = (SplitMix64::new(1), 0_u64, 0);
    for cycle in 0..5000_u64 {
        let now = if cycle / 40 % 3 == 0 { rng.below(8) } else { u64::from(rng.below(4) == 0) };
        model.set(happens, now);
        model.eval();
        assert_eq!(
            (model.get(pulse) == 1, model.get(busy) == 1),
            (waiting > 0, waiting > 0),
            "cycle {cycle}"
        );
        model.tick(clock);
        waiting = waiting.saturating_sub(1) + u64::from(now.count_ones());
        most = most.max(waiting);
    }
    assert!(most > 10, "{most} waited at most");
}

#[test]
fn recovers_from_reset() {
    let mut bench = verilated("pulses", Pulses::<3>::default);
    bench.reset(1);
    let port = |name: &str| bench.model().port(name).expect("a port of the block");
    let (happens, pulse) = (port("happens"), port("pulse"));
    bench.model_mut().set(happens, 7);
    bench.run(5);
    assert_eq!(bench.model().get(pulse), 1);
    bench.model_mut().set(happens, 0);
    bench.reset(1);
    for _ in 0..5 {
        bench.step();
        assert_eq!(bench.model().get(pulse), 0);
    }
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!("pulses", Pulses::<3>::default, clock, [reset, happens]);
    assert_agree([case], 500);
}
