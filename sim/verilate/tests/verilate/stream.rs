//! The stream law, kept by a correct skid buffer and broken by three seeded bugs.

use crate::designs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stroma_verilate::{Bench, Error, Model, Pause, SinkId, SourceId, SplitMix64, StreamPorts, Verilog};

fn bench(design: &Verilog) -> (Bench, SourceId, SinkId) {
    let mut bench = Bench::new(Model::load(design).unwrap()).unwrap();
    let (input, output) = (bench.source("sink").unwrap(), bench.sink("source").unwrap());
    bench.reset(2);
    (bench, input, output)
}

/// Sends twenty numbered bytes under back-pressure; what arrived, or why it stuck.
fn twenty_bytes(design: &Verilog) -> Result<Vec<Vec<u32>>, Error> {
    let (mut bench, input, output) = bench(design);
    bench[output].pause(Pause::Burst { go: 1, pause: 3 });
    (0..20).for_each(|value| bench[input].send([value]));
    bench.run_until(|bench| bench[output].received().len() == 20, 200)?;
    Ok(bench[output].take())
}

fn violation(design: &Verilog) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| twenty_bytes(design))).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn a_correct_skid_buffer_passes_under_every_pause() {
    let patterns = [
        Pause::None,
        Pause::Every(2),
        Pause::Every(5),
        Pause::Burst { go: 3, pause: 4 },
        Pause::Random { seed: 9, percent: 50 },
        Pause::Script(vec![true, true, false, true]),
    ];
    let mut rng = SplitMix64::new(11);
    for width in [8, 512] {
        for idle in &patterns {
            for back_pressure in &patterns {
                let (mut bench, input, output) = bench(&designs::skid(width));
                bench[input].pause(idle.clone());
                bench[output].pause(back_pressure.clone());
                let beats: Vec<Vec<u32>> = (0..40).map(|_| rng.bits(width)).collect();
                for beat in &beats {
                    bench[input].send(beat.clone());
                }
                bench.run_until(|bench| bench[output].received().len() == 40, 1000).unwrap();
                bench.run(10);
                assert_eq!(bench[output].received(), beats, "{width} bits, {idle:?}, {back_pressure:?}");
                assert_eq!(bench[input].sent(), 40);
            }
        }
    }
}

#[test]
fn without_pauses_a_beat_moves_every_cycle() {
    let (mut bench, input, output) = bench(&designs::skid(8));
    (0..100).for_each(|value| bench[input].send([value]));
    let cycles = bench.run_until(|bench| bench[output].received().len() == 100, 1000).unwrap();
    assert_eq!(cycles, 101, "one cycle of latency, then one beat a cycle");
}

#[test]
fn a_changed_offer_is_caught_with_both_payloads() {
    let message = violation(&designs::skid_that_changes_its_offer());
    assert!(message.contains("stream `source`, cycle "), "{message}");
    assert!(message.contains("offered beat [0] changed to [1]"), "{message}");
}

#[test]
fn a_valid_that_waits_for_ready_is_caught() {
    let message = violation(&designs::skid_whose_valid_waits_for_ready());
    assert!(message.contains("stream `source`, cycle "), "{message}");
    assert!(message.contains("valid waits for ready"), "{message}");
}

#[test]
fn without_the_probe_a_waiting_valid_goes_unnoticed() {
    // Why the probe exists: watched from outside, this bug never withdraws an offer.
    let (mut bench, input, output) = bench(&designs::skid_whose_valid_waits_for_ready());
    bench[output].check_independence(false);
    bench[output].pause(Pause::Burst { go: 1, pause: 3 });
    (0..20).for_each(|value| bench[input].send([value]));
    bench.run_until(|bench| bench[output].received().len() == 20, 200).unwrap();
}

#[test]
fn a_lost_beat_leaves_the_bench_stuck_with_its_state() {
    match twenty_bytes(&designs::skid_that_loses_a_beat()) {
        Err(Error::Stuck { limit: 200, cycle: 202, streams }) => {
            assert!(
                streams[0].contains("into `sink`") && streams[0].contains("20 taken, 0 waiting"),
                "{streams:?}"
            );
            assert!(streams[1].contains("from `source`: valid=0"), "{streams:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(twenty_bytes(&designs::skid(8)).unwrap().len(), 20, "the same run without the bug");
}

#[test]
fn a_reset_in_mid_flight_starts_the_law_afresh() {
    let (mut bench, input, output) = bench(&designs::skid(8));
    bench[output].pause(Pause::Script(vec![true]));
    (0..5).for_each(|value| bench[input].send([value]));
    bench.run(6);
    assert_eq!(bench[input].sent(), 2, "main and spare are full");
    bench.reset(1);
    bench[output].pause(Pause::None);
    bench.run(10);
    assert_eq!(bench[output].take(), [[2], [3], [4]], "what was inside is gone, what was queued is not");
}

#[test]
fn a_stream_may_have_ports_of_its_own_names() {
    let text =
        "module pair (input wire clock, input wire [3:0] data, input wire last, input wire v, output wire r,
    output wire [3:0] source$payload, output wire source$valid, input wire source$ready, output reg lasts);
    assign r = source$ready; assign source$valid = v; assign source$payload = data;
    always @(posedge clock) if (v & r) lasts <= last;
    endmodule";
    let ports = "top pair\nclock clock 1\nin data 4\nin last 1\nin v 1\nout r 1
out source$payload 4\nout source$valid 1\nin source$ready 1\nout lasts 1";
    let mut bench = Bench::new(Model::load(&designs::design(text, ports)).unwrap()).unwrap();
    let port = |name| bench.model().port(name).unwrap();
    let (valid, ready, payload, lasts) =
        (port("v"), port("r"), vec![port("data"), port("last")], port("lasts"));
    let input = bench.source_on(StreamPorts { name: "pair".into(), valid, ready, payload });
    let output = bench.sink("source").unwrap();
    bench[input].send([9, 1]);
    bench.run(2);
    assert_eq!(bench[output].received(), [[9]]);
    assert_eq!(bench.model().get(lasts), 1);
}

#[test]
fn noise_between_beats_changes_every_cycle_or_once_a_pause() {
    let (mut bench, input, _) = bench(&designs::skid(512));
    let payload = bench.model().port("sink$payload").unwrap();
    let mut noises = |is_steady: bool| {
        bench[input].steady(is_steady);
        bench[input].send(vec![7; 16]);
        bench.step();
        let mut seen: Vec<Vec<u32>> = (0..8)
            .map(|_| {
                bench.step();
                bench.model().get_wide(payload)
            })
            .collect();
        seen.dedup();
        assert!(!seen.contains(&vec![7; 16]), "the beat does not stay");
        seen.len()
    };
    assert_eq!((noises(false), noises(true)), (8, 1));
}

#[test]
fn a_second_clock_is_held_while_it_rests() {
    let mut bench = Bench::new(Model::load(&designs::resting()).unwrap()).unwrap();
    let port = |name| bench.model().port(name).unwrap();
    let (enable, count, others) = (port("enable"), port("count"), port("others"));
    let mut counts = |enabled, gates| {
        bench.model_mut().set(enable, enabled);
        bench.gates(gates);
        bench.run(5);
        (bench.model().get(count), bench.model().get(others), bench.held())
    };
    assert_eq!(counts(1, true), (5, 5, 0), "it rises with the first");
    assert_eq!(counts(0, true), (10, 5, 5), "it rests");
    assert_eq!(counts(0, false), (15, 10, 5), "it may, and is not let");
    assert_eq!(counts(1, false), (20, 15, 5));
}
