//! Cycles: how fast a payload is taken, and how long it takes until all of it is written.

use stroma_abi::Qpn;
use stroma_kernel_rig::Rig;
use stroma_verilate::Pause;

use super::scene::{Keys, Scene};
use super::{narrow, wide};

/// Tuples of 8 bytes in 1 MiB, and beats of 64 bytes.
const MIB: usize = 1 << 17;
const BEATS: u64 = 1 << 14;

/// What a payload cost.
#[derive(Debug)]
struct Cost {
    /// Beats that were written per 1000 cycles, from a quarter of them to three.
    rate: u64,
    /// The shortest write of that time.
    shortest: usize,
    /// Cycles from the first beat to the last, and from there to the response.
    stream: u64,
    tail: u64,
}

/// 77 cycles of 100 have a beat: what 100 Gb/s bring.
fn wire() -> Pause {
    Pause::Script((0..100).map(|at| at * 77 % 100 >= 77).collect())
}

/// The writes of the card's bridge: 32 open, and 450 ns until one is done.
fn like_the_bridge<const D: usize>(rig: &mut Rig<D>, payload: &Pause) {
    rig.reset(7);
    rig.hurry();
    rig.latency = (112, 113);
    rig.outstanding = 32;
    let mut pauses = std::array::from_fn(|_| Pause::None);
    pauses[1] = payload.clone();
    rig.pause(pauses);
}

fn cost<const D: usize>(rig: &mut Rig<D>, log: u8, keys: Keys, tuples: usize, payload: &Pause) -> Cost {
    like_the_bridge(rig, payload);
    let scene = Scene { keys, ..Scene::even(rig, log, 1 << 22) };
    let call = scene.call(rig, tuples);
    rig.call(call);
    rig.settle();
    assert_eq!(rig.told, [0]);
    let (payload, written) = (&rig.moves.payload, &rig.moves.write_beats);
    let (quarter, three) = (written[written.len() / 4], written[written.len() * 3 / 4]);
    let middle = rig.moves.writes.iter().filter(|(at, _)| (quarter..three).contains(at));
    let last = payload[payload.len() - 1];
    Cost {
        rate: written.len() as u64 / 2 * 1000 / (three - quarter),
        shortest: middle.map(|(_, len)| *len).min().expect("writes"),
        stream: last - payload[0] + 1,
        tail: rig.moves.responses[0] - last,
    }
}

#[test]
fn even_keys_are_taken_at_more_than_nine_tenths_of_a_beat_a_cycle_in_writes_of_256_bytes() {
    let mut rig = wide();
    for log in [3, 4, 8, 10] {
        let cost = cost(&mut rig, log, Keys::Even, MIB, &Pause::None);
        assert!(cost.rate >= 900, "{log}: {cost:?}");
        assert_eq!(cost.shortest, 256, "{log}: {cost:?}");
    }
}

/// Behind the payload each partition is worth a write, of which the bridge ends 32 in some 117 cycles: 3.7 cycles each. In front of and
/// behind them stand the latencies of the last full row and of the table.
#[test]
fn the_end_of_a_mebibyte_takes_four_cycles_a_partition() {
    let mut rig = wide();
    for (log, most) in [(4, 360), (8, 1300), (10, 4300)] {
        let cost = cost(&mut rig, log, Keys::Even, MIB, &wire());
        assert!(cost.stream <= (BEATS * 100).div_ceil(77), "{log}: never stalled: {cost:?}");
        assert!(cost.tail <= most, "{log}: {cost:?}");
    }
}

/// Payloads of 1 MiB one behind the other, of one caller: cycles from the first beat to the last, and to the last response.
fn sustained(rig: &mut Rig<512>, log: u8, messages: u64) -> (u64, u64) {
    like_the_bridge(rig, &wire());
    rig.caller = Some(Qpn::new(5));
    let scene = Scene::even(rig, log, 1 << 22);
    for _ in 0..messages {
        let call = scene.call(rig, MIB);
        rig.call(call);
    }
    rig.settle();
    let (payload, responses) = (&rig.moves.payload, &rig.moves.responses);
    (payload[payload.len() - 1] - payload[0] + 1, responses[responses.len() - 1] - payload[0] + 1)
}

/// All but the last end while the next comes.
#[test]
fn payloads_one_behind_the_other_never_stall_the_wire_and_have_one_tail() {
    let mut rig = wide();
    for (log, messages, tail) in [(4, 2, 350), (8, 2, 1350), (10, 4, 4250)] {
        let arrival = (messages * BEATS * 100).div_ceil(77);
        let (stream, all) = sustained(&mut rig, log, messages);
        assert!(stream <= arrival, "{log}: {messages} never stall: {stream} cycles");
        assert!(
            all <= arrival + tail,
            "{log}: {messages} have one tail: {all} cycles, {arrival} of them payload"
        );
        assert_eq!(rig.moves.reads.len(), (16_usize << log).div_ceil(4096), "{log}: the table is read once");
    }
}

#[test]
fn equal_keys_are_taken_at_a_word_a_cycle() {
    let cost = cost(&mut wide(), 10, Keys::Equal, MIB / 8, &Pause::None);
    assert_eq!((cost.rate, cost.shortest), (125, 256), "{cost:?}");
}

#[test]
fn a_narrow_path_takes_a_beat_a_cycle() {
    for (log, keys) in [(0, Keys::Equal), (4, Keys::Even), (6, Keys::Even)] {
        let cost = cost(&mut narrow(), log, keys, MIB / 4, &Pause::None);
        assert!(cost.rate >= 990, "{log}: {cost:?}");
        assert_eq!(cost.shortest, 256, "{log}: {cost:?}");
    }
}

#[test]
fn latencies_are_those_of_the_contract() {
    let mut rig = wide();
    rig.reset(1);
    let scene = Scene::even(&mut rig, 3, 1 << 20);
    let call = scene.call(&mut rig, 8);
    rig.call(call);
    rig.settle();
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.commands[0], 4, "to the read of the table");
    assert_eq!(
        moves.writes[0].0 - moves.read_ends[0],
        19,
        "from its end to the first write of a short payload"
    );
    let [.., data, table] = moves.writes_done[..] else { panic!("writes of data, and of the table") };
    assert_eq!(moves.writes.last().expect("of the table").0 - data, 3, "from the end of data to the table");
    assert_eq!(moves.responses[0] - table, 2, "from the end of that to the answer");
}
