//! Corners of the keys, each thought out.

use stroma_verilate::Pause;

use crate::state::command::KeyVerb;
use crate::transport::keys::model::{Item, WAYS};
use crate::transport::keys::rig::{NAMES, Rig};

/// Steps until the port is high; how many.
fn steps_until(rig: &mut Rig, port: &str) -> usize {
    let steps = (1..200).find(|_| {
        rig.step();
        rig.get(port)
    });
    steps.unwrap_or_else(|| panic!("{port} stays low"))
}

/// One enters, or leaves, in the next cycle.
fn pass(rig: &mut Rig, what: &str, way: usize) {
    let port = rig.bench.model().port(&format!("{}_{what}", NAMES[way])).expect("the port exists");
    // The rig drives these ports from its own traffic: here there is none, so they are set for a cycle by hand.
    rig.bench.model_mut().set(port, 1);
    rig.bench.step();
    rig.bench.model_mut().set(port, 0);
    if what == "enters" {
        rig.ways.entered[way] += 1;
    } else {
        rig.ways.left[way] += 1;
    }
}

#[test]
fn the_latencies_are_those_promised() {
    for (verb, cycles) in [(KeyVerb::Bind, 1), (KeyVerb::Invalidate, 6)] {
        let mut rig = Rig::new();
        rig.send_job(verb, 1, true);
        assert_eq!(steps_until(&mut rig, "work$valid"), 2);
        // It is taken, and judged in the cycle behind that.
        rig.step();
        assert_eq!(steps_until(&mut rig, "done$valid"), cycles);
        rig.settle();
    }
    let mut rig = Rig::new();
    rig.send_part(1);
    assert_eq!(steps_until(&mut rig, "work$valid"), 7);
    rig.settle();
    // Refused, it waits for nothing.
    rig.refuses = 1;
    rig.send_job(KeyVerb::Invalidate, 1, false);
    steps_until(&mut rig, "work$valid");
    rig.step();
    assert_eq!(steps_until(&mut rig, "error$valid"), 1);
    assert_eq!(steps_until(&mut rig, "done$valid"), 1);
    rig.settle();
}

#[test]
fn jobs_and_parts_take_turns() {
    let mut rig = Rig::new();
    rig.pause([Pause::None, Pause::None, Pause::None, Pause::Always, Pause::None, Pause::None, Pause::None]);
    for qpn in 0..4 {
        rig.send_job(KeyVerb::Bind, qpn, true);
        rig.send_part(qpn);
    }
    (0..20).for_each(|_| rig.step());
    rig.pause(std::array::from_fn(|_| Pause::None));
    rig.settle();
    let kinds: Vec<bool> = rig.ended.iter().map(|(item, _)| matches!(item, Item::Part(_))).collect();
    let first = kinds[0];
    assert_eq!(kinds, std::array::from_fn::<_, 8, _>(|at| first ^ (at % 2 == 1)));
}

#[test]
fn sixteen_of_either_kind_wait() {
    let mut rig = Rig::new();
    rig.pause([Pause::None, Pause::None, Pause::None, Pause::Always, Pause::None, Pause::None, Pause::None]);
    // More than one of a queue pair: here nobody looks at turns.
    (0..20).for_each(|at| {
        rig.send_job(KeyVerb::Bind, at % 4, true);
        rig.send_part(at % 4);
    });
    (0..60).for_each(|_| rig.step());
    let [job, part, ..] = rig.inputs;
    assert_eq!((rig.bench[job].sent(), rig.bench[part].sent()), (16, 16));
    rig.pause(std::array::from_fn(|_| Pause::None));
    rig.settle();
    assert_eq!(rig.ended.len(), 40);
}

#[test]
fn the_end_of_a_key_waits_for_each_way_and_for_no_more_than_was_under_way() {
    for way in 0..WAYS {
        let mut rig = Rig::new();
        pass(&mut rig, "enters", way);
        pass(&mut rig, "enters", way);
        rig.send_job(KeyVerb::Invalidate, 2, true);
        (0..30).for_each(|_| rig.step());
        // The reply has come; who enters now is not waited for.
        pass(&mut rig, "enters", way);
        (0..30).for_each(|_| rig.step());
        assert!(!rig.get("done$valid") && rig.get("busy"), "way {way}");
        pass(&mut rig, "leaves", way);
        (0..30).for_each(|_| rig.step());
        assert!(!rig.get("done$valid") && rig.get("busy"), "way {way}");
        pass(&mut rig, "leaves", way);
        rig.settle();
        assert_eq!(rig.ended.len(), 1);
    }
}

#[test]
fn atomics_that_arrivals_under_way_become_are_waited_for() {
    let mut rig = Rig::new();
    pass(&mut rig, "enters", 0);
    rig.send_job(KeyVerb::Invalidate, 2, true);
    (0..30).for_each(|_| rig.step());
    pass(&mut rig, "enters", 1);
    pass(&mut rig, "leaves", 0);
    (0..30).for_each(|_| rig.step());
    assert!(!rig.get("done$valid") && rig.get("busy"));
    pass(&mut rig, "leaves", 1);
    rig.settle();
}

#[test]
fn what_a_peer_sent_before_it_ends_a_key_goes_first() {
    let mut rig = Rig::new();
    pass(&mut rig, "enters", 0);
    rig.send_part(2);
    (0..30).for_each(|_| rig.step());
    assert!(!rig.get("work$valid") && rig.get("busy"), "the owner is not asked yet");
    pass(&mut rig, "leaves", 0);
    rig.settle();
    // Works of this host, which waited for all before them, are put at once; and a bind is told at once.
    pass(&mut rig, "enters", 0);
    rig.send_job(KeyVerb::Bind, 2, true);
    rig.settle();
}

#[test]
fn a_drain_waits_for_what_had_come_and_for_nothing_else() {
    let mut rig = Rig::new();
    rig.drains = true;
    assert_eq!(steps_until(&mut rig, "drained"), 2);
    let blocked =
        [Pause::None, Pause::None, Pause::None, Pause::Always, Pause::None, Pause::None, Pause::None];
    rig.pause(blocked);
    rig.send_job(KeyVerb::Bind, 0, true);
    rig.send_part(1);
    (0..10).for_each(|_| rig.step());
    rig.drains = true;
    for _ in 0..20 {
        rig.step();
        assert!(!rig.get("drained"));
    }
    let late = rig.send_job(KeyVerb::Bind, 2, true);
    rig.step();
    rig.pause(std::array::from_fn(|_| Pause::None));
    steps_until(&mut rig, "drained");
    assert!(rig.ended.len() >= 2, "both had ended");
    rig.settle();
    assert_eq!(rig.ended.last().map(|(item, _)| *item), Some(Item::Job(late)));
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    for cycles in [1, 2, 3, 4, 5, 8, 20] {
        pass(&mut rig, "enters", 0);
        rig.send_job(KeyVerb::Invalidate, 0, true);
        rig.send_part(1);
        (0..cycles).for_each(|_| rig.step());
        while !rig.bench.is_sent() {
            rig.step();
        }
        rig.bench.reset(1);
        rig.forget();
        for port in ["busy", "work$valid", "done$valid", "error$valid", "nudge$valid", "drained"] {
            assert!(!rig.get(port), "{port} after {cycles} cycles");
        }
        (0..4).for_each(|qpn| rig.begin_anew(qpn));
        rig.settle();
        // What had entered before is forgotten, too.
        let before = rig.ended.len();
        rig.send_job(KeyVerb::Invalidate, 0, true);
        rig.settle();
        assert_eq!(rig.ended.len(), before + 1);
        rig.begin_anew(0);
        rig.settle();
    }
}
