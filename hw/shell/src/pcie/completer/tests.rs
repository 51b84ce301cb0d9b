mod world;

use stroma_hw::testing::stalls_of;
use stroma_verilate::{Pause, SplitMix64};

use super::fields::kind::{FIRST_MESSAGE, LOCKED_READ, READ, WRITE};
use super::gate::CqBeat;
use super::model::Request;
use world::{STREAMS, World};

fn pick<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

/// Byte enables that PCIe allows for so many dwords: none alone, no gap in what is longer than two.
fn enables(rng: &mut SplitMix64, count: usize) -> (u8, u8) {
    match count {
        1 => (u8::try_from(rng.below(16)).expect("small"), 0),
        2 => {
            (u8::try_from(1 + rng.below(15)).expect("small"), u8::try_from(1 + rng.below(15)).expect("small"))
        }
        _ => (pick(rng, &[0xf, 0xe, 0xc, 0x8]), pick(rng, &[0xf, 0x7, 0x3, 0x1])),
    }
}

/// A read or a write anywhere, short as a rule, often near a boundary.
fn anything(rng: &mut SplitMix64) -> Request {
    let kind = pick(rng, &[READ, WRITE, WRITE]);
    let bar = pick(rng, &[0, 0, 2, 2, 4]);
    let count = match rng.below(8) {
        0 => 1 + usize::try_from(rng.below(64)).expect("small"),
        1 => 16,
        _ => 1 + usize::try_from(rng.below(4)).expect("small"),
    };
    let page = pick(rng, &[0, 0x40, 0x7c, 0x80, 0x1000, 0x2fc0, 0xefc0, 0xf000, 0xf7f8, 0xff00_u64]);
    let page = if bar == 4 { page & 0xfff } else { page };
    let offset = page + 4 * rng.below(16);
    let enables = enables(rng, count);
    Request::new(rng, kind, bar, offset, count, enables)
}

#[test]
fn a_read_by_its_dwords() {
    // Twelve bytes from offset 0x1018 + 2 of BAR2 on; requester 01:02.3, tag 0x5a, class 5, attributes 2.
    let descriptor = [0x4600_1018, 0x0000_2000, 0x0113_0003, 0x2a02_005a];
    let mut world = World::new();
    let data = descriptor.iter().rev().fold(num_bigint::BigUint::default(), |all, dword: &u32| {
        (all << 32) | num_bigint::BigUint::from(*dword)
    });
    let beat = CqBeat {
        data: data.into(),
        keep: 0xf.into(),
        first_be: 0xc.into(),
        last_be: 0x3.into(),
        discontinue: false,
        last: true,
    };
    for (addr, word) in [(0x100_1018, 0x1111_1111_2222_2222_u64), (0x100_1020, 0x3333_3333_4444_4444)] {
        world.memory.store(super::model::Target::Card, addr, word, 0xff);
    }
    world.send(&[beat]);
    world.settle();
    assert_eq!(
        world.completions(),
        [[0x0008_001a, 0x0113_0003, 0x2a00_005a, 0x2222_2222, 0x1111_1111, 0x4444_4444]]
    );
}

#[test]
fn a_refused_read_by_its_dwords() {
    // One dword of I/O at 0x3f8.
    let descriptor = [0x0000_03f8, 0, 0x0000_1001, 0x0001_0077];
    let mut world = World::new();
    let data = descriptor.iter().rev().fold(num_bigint::BigUint::default(), |all, dword: &u32| {
        (all << 32) | num_bigint::BigUint::from(*dword)
    });
    let beat = CqBeat {
        data: data.into(),
        keep: 0xf.into(),
        first_be: 0x3.into(),
        last_be: 0.into(),
        discontinue: false,
        last: true,
    };
    world.send(&[beat]);
    world.settle();
    assert_eq!(
        world.completions(),
        [[0x0014_0000, 0x0000_0805, 0x0000_0077, 0x3, 0x3f8, 0, 0x1001, 0x0001_0077]]
    );
    assert_eq!((world.count("unsupported"), world.count("errors")), (1, 0));
}

#[test]
fn every_byte_enable_of_one_and_two_dwords() {
    let mut rng = SplitMix64::new(1);
    let mut requests = vec![];
    for kind in [WRITE, READ] {
        for offset in [0x100, 0x104] {
            for first in 0..16 {
                requests.push(Request::new(&mut rng, kind, 0, offset, 1, (first, 0)));
                for last in (1..16).filter(|_| first != 0) {
                    requests.push(Request::new(&mut rng, kind, 2, offset, 2, (first, last)));
                }
            }
        }
    }
    World::new().check(&requests);
}

#[test]
fn every_length_at_every_boundary() {
    let mut rng = SplitMix64::new(2);
    let mut requests = vec![];
    for kind in [WRITE, READ] {
        for count in (1..=64).chain([255, 256, 1021, 1023, 1024]) {
            for from in [0x1000_u64, 0x1004, 0x103c, 0x1044, 0x107c, 0x1ffc, 0x1fb8] {
                if count < 65 || from < 0x1008 || from == 0x107c {
                    let enables = enables(&mut rng, count);
                    requests.push(Request::new(&mut rng, kind, 2, from, count, enables));
                }
            }
        }
    }
    World::new().check(&requests);
}

#[test]
fn survives_stalls_of_every_stream() {
    let mut rng = SplitMix64::new(3);
    let mut world = World::new();
    for pauses in stalls_of::<STREAMS>() {
        world.stall(&pauses);
        let requests: Vec<Request> = (0..40).map(|_| anything(&mut rng)).collect();
        world.check(&requests);
    }
}

#[test]
fn a_burst_that_fills_the_gate_loses_nothing() {
    let mut rng = SplitMix64::new(4);
    let mut world = World::new();
    let mut pauses: [Pause; STREAMS] = std::array::from_fn(|_| Pause::None);
    pauses[1] = Pause::Random { seed: 9, percent: 95 };
    world.stall(&pauses);
    let requests: Vec<Request> =
        (0..6).map(|_| Request::new(&mut rng, WRITE, 2, 0x3000, 1024, (0xf, 0xf))).collect();
    world.check(&requests);
}

#[test]
fn what_is_not_supported_is_refused_or_dropped() {
    let mut rng = SplitMix64::new(5);
    let mut requests = vec![];
    for kind in 0..16 {
        for bar in [0, 1, 2, 3, 4, 5, 6, 7] {
            let mut request = Request::new(&mut rng, kind, bar, 0x48, 1, (0xe, 0));
            request.function = 3;
            if [3, 4, 5, 6, FIRST_MESSAGE].contains(&kind) {
                // Payload of several beats, of which nobody wants to know.
                request.payload = (0..30).map(|_| rng.next_u32()).collect();
                request.count = 30;
            }
            requests.push(request);
            requests.push(anything(&mut rng));
        }
    }
    assert!(requests.iter().any(|request| request.kind == LOCKED_READ));
    World::new().check(&requests);
}

/// Writes that are broken, each in its way.
fn broken(rng: &mut SplitMix64) -> Vec<Vec<CqBeat>> {
    let write = |rng: &mut SplitMix64, count| {
        Request::new(rng, WRITE, 0, 0x2000, count, (0xf, if count == 1 { 0 } else { 0xf }))
    };
    let mut all = vec![];
    for count in [1, 12, 13, 40] {
        let mut beats = write(rng, count).beats();
        beats.last_mut().expect("a beat").discontinue = true;
        all.push(beats);
        let mut short = write(rng, count);
        short.payload.pop();
        all.push(short.beats());
        let mut long = write(rng, count);
        long.payload.push(7);
        all.push(long.beats());
    }
    let mut beats = write(rng, 40).beats();
    beats[0].discontinue = true;
    all.push(beats);
    let mut beats = write(rng, 40).beats();
    beats[1].keep = 0xffef.into();
    all.push(beats);
    let mut beats = write(rng, 40).beats();
    beats[0].keep = 0x7fff.into();
    all.push(beats);
    let mut beats = write(rng, 3).beats();
    beats[0].keep = 0x7.into();
    all.push(beats);
    for (kind, count) in [(READ, 0), (READ, 1025), (READ, 2047), (WRITE, 0)] {
        let mut request = Request::new(rng, kind, 0, 0x2000, 1, (0xf, 0xf));
        request.count = count;
        request.payload.truncate(count);
        all.push(request.beats());
    }
    // Longer than any request, and than the memory at the gate.
    let mut endless = write(rng, 1024);
    endless.payload = (0..5000).map(|_| rng.next_u32()).collect();
    all.push(endless.beats());
    let mut message = Request::new(rng, FIRST_MESSAGE, 0, 0, 1024, (0xf, 0xf));
    message.payload = (0..1025).map(|_| rng.next_u32()).collect();
    all.push(message.beats());
    all
}

#[test]
fn broken_requests_do_nothing_and_are_counted() {
    let mut rng = SplitMix64::new(6);
    let mut world = World::new();
    for (index, beats) in broken(&mut rng).into_iter().enumerate() {
        world.seen.clear();
        world.send(&beats);
        world.settle();
        assert_eq!(world.seen, [], "case {index}");
        assert_eq!(world.completions(), Vec::<Vec<u32>>::new(), "case {index}");
        assert_eq!(
            (world.count("errors"), world.count("unsupported")),
            (index as u64 + 1, 0),
            "case {index}"
        );
        world.check(&[anything(&mut rng), anything(&mut rng)]);
    }
}

#[test]
fn broken_requests_between_good_ones_change_nothing_of_them() {
    let mut rng = SplitMix64::new(7);
    let mut world = World::new();
    for pauses in stalls_of::<STREAMS>().into_iter().take(4) {
        world.stall(&pauses);
        let broken = broken(&mut rng);
        let good: Vec<Request> = (0..broken.len()).map(|_| anything(&mut rng)).collect();
        let errors = world.count("errors");
        let mut twin = super::model::Twin { memory: world.memory.clone(), ..Default::default() };
        for (bad, good) in broken.iter().zip(&good) {
            world.send(bad);
            world.send(&good.beats());
            twin.carry_out(good);
        }
        world.settle();
        assert_eq!(world.completions(), twin.completions);
        assert_eq!(world.count("errors") - errors, broken.len() as u64);
        world.memory = twin.memory;
    }
}

#[test]
fn a_store_of_64_bytes_takes_thirteen_cycles_at_most() {
    let mut rng = SplitMix64::new(8);
    let mut world = World::new();
    let requests: Vec<Request> =
        (0..50).map(|index| Request::new(&mut rng, WRITE, 2, 0x100 + 64 * index, 16, (0xf, 0xf))).collect();
    for request in &requests {
        world.send(&request.beats());
    }
    let start = world.bench.cycle();
    while world.seen.len() < 50 * 8 {
        world.step();
        assert!(world.bench.cycle() - start < 50 * 13 + 30, "{} stores", world.seen.len());
    }
}

/// Cycles from the beat of a request to the first offer on a port.
fn latency(kind: usize, port: &str) -> u64 {
    let mut world = World::new();
    world.send(&Request::new(&mut SplitMix64::new(1), kind, 2, 0x100, 1, (0xf, 0)).beats());
    let start = world.bench.cycle();
    while !world.is(port) {
        world.step();
        assert!(world.bench.cycle() - start < 50, "nothing on {port}");
    }
    world.bench.cycle() - start
}

#[test]
fn latencies_are_as_said() {
    assert_eq!(latency(WRITE, "aw$valid"), 9);
    assert_eq!(latency(READ, "ar$valid"), 11);
}

#[test]
fn nothing_begins_while_it_is_stopped() {
    let mut rng = SplitMix64::new(9);
    let mut world = World::new();
    let requests: Vec<Request> =
        (0..20).map(|_| Request::new(&mut rng, WRITE, 2, 0x100, 16, (0xf, 0xf))).collect();
    for request in &requests {
        world.send(&request.beats());
    }
    while world.seen.len() < 12 {
        world.step();
    }
    world.set("stops", true);
    while !world.is("is_idle") {
        world.step();
    }
    let done = world.seen.len();
    assert_eq!(done % 8, 0, "a request that has begun is finished");
    assert!(done < 80, "and no other");
    for _ in 0..200 {
        world.step();
        assert!(world.is("is_idle"));
    }
    assert_eq!(world.seen.len(), done);
    world.set("stops", false);
    world.settle();
    assert_eq!(world.seen.len(), 160);
}

/// A card that is reset as soon as it may be is reset neither amid a request nor before one that has begun.
#[test]
fn whenever_it_is_stopped_a_request_is_done_or_has_not_begun() {
    let mut rng = SplitMix64::new(12);
    for kind in [READ, WRITE] {
        let mut begun = 0;
        for cycles in 0..60 {
            let mut world = World::new();
            world.send(&Request::new(&mut rng, kind, 2, 0x100, 16, (0xf, 0xf)).beats());
            (0..cycles).for_each(|_| world.step());
            world.set("stops", true);
            world.step();
            while !world.is("is_idle") {
                world.step();
            }
            let seen = world.seen.len();
            assert!(seen == 0 || seen == 8, "{seen} accesses of 8");
            (0..100).for_each(|_| world.step());
            assert_eq!(world.seen.len(), seen, "stopped after {cycles} cycles");
            assert_eq!(world.completions().len(), usize::from(kind == READ && seen > 0));
            begun += seen / 8;
        }
        assert!((30..60).contains(&begun), "{begun} of 60 had begun");
    }
}

#[test]
fn recovers_from_reset_at_any_time() {
    let mut rng = SplitMix64::new(10);
    for cycles in 1..60 {
        let mut world = World::new();
        for request in (0..8).map(|_| anything(&mut rng)).collect::<Vec<_>>() {
            world.send(&request.beats());
        }
        for _ in 0..cycles {
            world.step();
        }
        world.restart();
        assert_eq!((world.count("errors"), world.count("unsupported")), (0, 0));
        world.check(&(0..4).map(|_| anything(&mut rng)).collect::<Vec<_>>());
    }
}
