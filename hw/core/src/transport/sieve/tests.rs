mod corners;
mod rig;

use stroma_verilate::{Pause, SplitMix64};

use super::Sieve;
use super::unsent::Unsent;
use crate::testing::stalls;
use crate::verilog::differential::{assert_agree, differential};
use rig::{QPS, Rig};

/// Queue pairs that send, are asked for packets again, and begin anew, for so many cycles.
fn live(rig: &mut Rig, rng: &mut SplitMix64, cycles: usize) {
    for _ in 0..cycles {
        let qpn = rng.below(1 << QPS);
        if rig.waiting() < 24 && rng.below(3) > 0 {
            rig.send(qpn, 1 + rng.below(3), rng.below(9) == 0);
        }
        match rng.below(60) {
            // The peer asks; time runs out.
            0 => rig.rewind(qpn, true),
            1 => rig.rewind(qpn, false),
            2..5 => rig.begin_anew(qpn),
            _ => {}
        }
        rig.leaves = rng.below(4) == 0;
        rig.cycle();
    }
    rig.leaves = false;
    rig.finish();
}

#[test]
fn agrees_with_the_model() {
    let (mut rig, mut rng) = (Rig::new(), SplitMix64::new(1));
    rig.bench[rig.source].pause(Pause::Random { seed: 2, percent: 50 });
    live(&mut rig, &mut rng, 30_000);
    let met = rig.met;
    assert!(met.passed > 5000 && met.dropped > 1000 && met.drops > 200, "{met:?}");
    assert!(met.again > 500 && met.corrected > 300 && met.anew > 5, "{met:?}");
    assert!(rig.model.excepted > 50, "{} stale ones with data of their own", rig.model.excepted);
}

#[test]
fn survives_stalls() {
    let (mut rig, mut rng) = (Rig::new(), SplitMix64::new(3));
    for (idle, pressure) in stalls() {
        rig.bench[rig.step].pause(idle.clone());
        rig.bench[rig.source].pause(pressure.clone());
        let before = rig.met;
        live(&mut rig, &mut rng, 1500);
        assert!(rig.met.passed > before.passed + 20, "{idle:?} {pressure:?}");
    }
    assert!(rig.met.dropped > 500 && rig.met.corrected > 100, "{:?}", rig.met);
}

#[test]
fn rust_and_verilog_agree() {
    let sieve = differential!(
        "sieve",
        Sieve::<2>::default,
        clock,
        [step.payload, step.valid, source.ready, epoch_write, epoch_index, epoch, leaves]
    );
    let unsent = differential!(
        "unsent",
        Unsent::<2>::default,
        clock,
        [index, psn, admitted_again, passes, drops, clears, clear_index]
    );
    assert_agree([sieve, unsent], 300);
}
