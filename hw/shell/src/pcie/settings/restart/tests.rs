use stroma_hw::testing::{read, verilated};
use stroma_verilate::{Bench, SplitMix64};

use super::Restart;

/// What the block promises.
const CALM_CYCLES: usize = 8;
const HOLD_CYCLES: usize = 16;

/// What the block shows: stops, holds the card, functions that are done.
type Shown = (bool, bool, u64);

fn set(bench: &mut Bench, name: &str, value: u64) {
    let port = bench.model().port(name).expect("a port");
    bench.model_mut().set(port, value);
}

fn step(bench: &mut Bench, in_process: u64, is_drained: bool) -> Shown {
    set(bench, "cfg_flr_in_process", in_process);
    set(bench, "is_drained", is_drained.into());
    bench.step();
    let done = bench.model().get(bench.model().port("cfg_flr_done").expect("a port"));
    (read(bench, "stops"), read(bench, "card_reset"), done)
}

/// Long enough for all that ends by itself here.
const PATIENCE_CYCLES: u32 = 1000;

const RUN: Shown = (false, false, 0);
const DRAIN: Shown = (true, false, 0);
const HOLD: Shown = (true, true, 0);

fn fresh() -> Bench {
    let mut bench = verilated("restart", || Restart::new(PATIENCE_CYCLES));
    set(&mut bench, "may_cut", 0);
    bench.reset(2);
    for _ in 0..HOLD_CYCLES - 1 {
        assert_eq!(step(&mut bench, 0, false), HOLD, "the link was reset");
    }
    for _ in 0..20 {
        assert_eq!(step(&mut bench, 0, false), RUN, "and nobody is told");
    }
    bench
}

#[test]
fn the_card_is_reset_when_nothing_is_under_way_and_the_block_is_told() {
    let mut bench = fresh();
    for busy in [0, 1, 700] {
        assert_eq!(step(&mut bench, 1, true), DRAIN);
        for _ in 0..busy {
            assert_eq!(step(&mut bench, 1, false), DRAIN);
        }
        for _ in 0..CALM_CYCLES - 1 {
            assert_eq!(step(&mut bench, 1, true), DRAIN);
        }
        for _ in 0..HOLD_CYCLES {
            assert_eq!(step(&mut bench, 1, true), HOLD);
        }
        assert_eq!(step(&mut bench, 1, true), RUN);
        assert_eq!(step(&mut bench, 1, true), (false, false, 1));
        for _ in 0..30 {
            assert_eq!(step(&mut bench, 1, true), RUN, "once");
        }
        assert_eq!(step(&mut bench, 0, true), RUN);
    }
}

#[test]
fn work_that_comes_late_begins_the_wait_anew() {
    let mut bench = fresh();
    step(&mut bench, 1, true);
    for _ in 0..CALM_CYCLES - 1 {
        assert_eq!(step(&mut bench, 1, true), DRAIN);
    }
    assert_eq!(step(&mut bench, 1, false), DRAIN);
    for _ in 0..CALM_CYCLES - 1 {
        assert_eq!(step(&mut bench, 1, true), DRAIN);
    }
    assert_eq!(step(&mut bench, 1, true), HOLD);
}

#[test]
fn functions_that_there_are_not_are_done_at_once() {
    let mut bench = fresh();
    let mut rng = SplitMix64::new(1);
    let mut before = 0;
    for _ in 0..200 {
        let now = rng.below(16) & 0b1110;
        assert_eq!(step(&mut bench, now, false), (false, false, now & !before));
        before = now;
    }
    step(&mut bench, 0, false);
    assert_eq!(step(&mut bench, 0b0101, false), (true, false, 0b100), "while function 0 waits");
}

#[test]
fn a_reset_of_the_link_ends_it() {
    for cycles in [1, 5, 12, 20, 27, 28] {
        let mut bench = fresh();
        for _ in 0..cycles {
            step(&mut bench, 1, true);
        }
        bench.reset(1);
        for _ in 0..HOLD_CYCLES - 1 {
            assert_eq!(step(&mut bench, 0, true), HOLD);
        }
        assert_eq!(step(&mut bench, 0, true), RUN);
        assert_eq!(step(&mut bench, 0, true), RUN);
    }
}

#[test]
fn what_never_ends_is_forgotten_when_it_may_be() {
    let mut bench = fresh();
    set(&mut bench, "may_cut", 1);
    for _ in 0..=PATIENCE_CYCLES + 1 {
        assert!(!read::<bool>(&bench, "halts"));
        assert_eq!(step(&mut bench, 1, false), DRAIN, "it may still end by itself");
    }
    assert!(read::<bool>(&bench, "halts"));
    for _ in 0..CALM_CYCLES - 1 {
        assert_eq!(step(&mut bench, 1, false), DRAIN, "what had begun goes on");
    }
    set(&mut bench, "may_cut", 0);
    for _ in 0..50 {
        assert_eq!(step(&mut bench, 1, false), DRAIN, "a transaction is half sent");
    }
    set(&mut bench, "may_cut", 1);
    for _ in 0..CALM_CYCLES - 1 {
        assert_eq!(step(&mut bench, 1, false), DRAIN);
    }
    for _ in 0..HOLD_CYCLES {
        assert_eq!(step(&mut bench, 1, false), HOLD);
        assert!(read::<bool>(&bench, "halts"));
    }
    assert_eq!(step(&mut bench, 1, false), RUN);
    assert!(!read::<bool>(&bench, "halts"));
    assert_eq!(step(&mut bench, 1, false), (false, false, 1));
}

#[test]
fn on_a_board_it_waits_for_four_milliseconds() {
    let mut bench = verilated("restart", Restart::default);
    set(&mut bench, "may_cut", 1);
    bench.reset(2);
    for _ in 0..HOLD_CYCLES {
        step(&mut bench, 0, false);
    }
    assert_eq!(step(&mut bench, 1, false), DRAIN);
    // At 250 MHz.
    bench.run(1_048_576);
    assert!(!read::<bool>(&bench, "halts"));
    bench.run(1);
    assert!(read::<bool>(&bench, "halts"));
}

#[test]
fn a_reset_of_the_link_ends_a_halt() {
    let mut bench = fresh();
    for _ in 0..PATIENCE_CYCLES + 10 {
        step(&mut bench, 1, false);
    }
    assert!(read::<bool>(&bench, "halts"));
    bench.reset(1);
    assert!(!read::<bool>(&bench, "halts"));
}

#[test]
fn a_function_that_waits_across_a_reset_of_the_link_is_done_behind_it() {
    let mut bench = fresh();
    assert_eq!(step(&mut bench, 0b100, false), (false, false, 0b100));
    bench.reset(2);
    assert_eq!(step(&mut bench, 0b100, false), (true, true, 0b100));
    assert_eq!(step(&mut bench, 0b100, false), HOLD, "once");
}
