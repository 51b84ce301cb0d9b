use stroma_verilate::Pause;

use super::super::rig::Rig;

/// Cycles from each of these to the next.
fn steps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_hot_word_takes_an_operation_every_two_cycles() {
    let mut rig = Rig::<64>::new();
    for count in 0..200 {
        rig.add(count % 4, 3, 1);
    }
    rig.settle();
    assert!(steps(&rig.left_cycles).iter().all(|step| *step == 2), "{:?}", rig.left_cycles);
}

#[test]
fn different_words_take_an_operation_every_two_cycles() {
    let mut rig = Rig::<64>::new();
    // No write is on its way before all of them are asked for.
    rig.read_time = (100, 101);
    for count in 0..16 {
        rig.add(count % 4, count, 1);
    }
    rig.settle();
    assert!(steps(&rig.read_cycles).iter().all(|step| *step == 2), "{:?}", rig.read_cycles);
    assert!(steps(&rig.left_cycles).iter().all(|step| *step == 2), "{:?}", rig.left_cycles);
}

/// Cycles until a port is high.
fn until(rig: &mut Rig<64>, port: &str) -> u64 {
    let start = rig.bench.cycle();
    while !rig.port(port) {
        rig.step();
    }
    rig.bench.cycle() - start
}

#[test]
fn latencies_are_those_promised() {
    let mut rig = Rig::<64>::new();
    rig.write_time = (200, 201);
    let psn = rig.add(0, 3, 1).psn;
    assert_eq!(until(&mut rig, "read$valid"), 4);
    until(&mut rig, "read_data$valid");
    // It was offered in the cycle that has just ended.
    let start = rig.bench.cycle() - 1;
    until(&mut rig, "write$valid");
    assert_eq!(rig.bench.cycle() - start, 2);
    rig.step();
    assert!(rig.port("task$valid") && rig.port("leaves") && rig.port("finished_write"));
    assert_eq!(rig.bench.cycle() - start, 3);
    rig.run(10);
    rig.add(0, 3, 1);
    assert_eq!(until(&mut rig, "task$valid"), 6, "on a word that is known");
    rig.settle();
    rig.replay(0, psn.into());
    assert_eq!(until(&mut rig, "task$valid"), 8, "the first of the results");
    rig.settle();
    let last = (0..16).map(|_| rig.add(2, 3, 1).psn).last().expect("sixteen");
    rig.settle();
    rig.replay(2, last.into());
    assert_eq!(until(&mut rig, "task$valid"), 23, "the last of them");
    rig.settle();
}

#[test]
fn a_change_moves_within_three_cycles_whatever_the_outputs_do() {
    for is_blocked in [false, true] {
        let mut rig = Rig::<64>::new();
        if is_blocked {
            for sink in [rig.write, rig.task, rig.read] {
                rig.bench[sink].pause(Pause::Always);
            }
        }
        for count in 0..60 {
            rig.add(count % 3, count % 2, 1);
        }
        rig.run(40);
        let mut waited = 0;
        for count in 0..40 {
            rig.change(3, count % 4 != 0);
            let start = rig.bench.cycle();
            while !rig.bench[rig.change].is_empty() {
                rig.step();
            }
            waited = waited.max(rig.bench.cycle() - start);
        }
        assert!((2..=3).contains(&waited), "{waited} cycles");
        for sink in [rig.write, rig.task, rig.read] {
            rig.bench[sink].pause(Pause::None);
        }
        rig.settle();
    }
}
