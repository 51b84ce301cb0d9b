//! The read engine against its plain-Rust twin, at both widths, on a memory that answers in any order.

use std::array;

use stroma_verilate::{Pause, SplitMix64};

use super::ids::Ids;
use super::model::bursts;
use super::reorder::Reorder;
use super::rig::{CLIENTS, Rig, alone, answers, command, for_all, random};
use super::{OUTSTANDING, SLOTS};
use crate::host::read_memory::{Pick, broken};
use crate::testing::{push, read, stalls};

fn agrees_with_the_model<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new(OUTSTANDING);
    let beat = D as u64 / 8;
    let mut edges = Vec::new();
    for offset in [0, 1, beat - 1, beat, 2047, 2048, 4095, 4096 - beat] {
        for len in [1, 2, beat - 1, beat, beat + 1, 2 * beat, 2048, 2049, 4095, 4096, 8191] {
            edges.push(command(0x1234_5000 + offset, len, len % 64));
        }
    }
    let asked: Vec<(u64, u64)> = edges.iter().flat_map(|command| bursts(command, D)).collect();
    rig.check(&alone(1, edges));
    let found: Vec<(u64, u64)> =
        rig.memory.asked.iter().map(|burst| (burst.addr.into(), u64::from(burst.len) + 1)).collect();
    assert_eq!(found, asked, "bursts asked for");

    let mut rng = SplitMix64::new(1);
    for (pick, latency) in [(Pick::Oldest, (10, 11)), (Pick::Youngest, (200, 201)), (Pick::Any, (0, 400))] {
        (rig.memory.pick, rig.memory.latency) = (pick, latency);
        rig.check(&for_all(|| random(&mut rng, 60)));
    }
}

#[test]
fn agrees_with_the_model_at_64_bits() {
    agrees_with_the_model::<64, 9>();
}

#[test]
fn agrees_with_the_model_at_512_bits() {
    agrees_with_the_model::<512, 7>();
}

fn survives_stalls<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(OUTSTANDING), SplitMix64::new(2));
    (rig.memory.pick, rig.memory.latency) = (Pick::Any, (0, 100));
    for (turn, (idle, pressure)) in stalls().into_iter().enumerate() {
        // Each stream meets each pattern; those of the clients differ.
        for client in 0..CLIENTS {
            let is_odd = (turn + client) % 2 == 1;
            rig.bench[rig.commands[client]].pause(if is_odd { idle.clone() } else { Pause::None });
            rig.bench[rig.data[client]].pause(if is_odd { Pause::None } else { pressure.clone() });
        }
        let ar = rig.memory.ar();
        rig.bench[ar].pause(pressure);
        rig.memory.idle = [0, 30, 80][turn % 3];
        rig.check(&for_all(|| random(&mut rng, 12)));
    }
}

#[test]
fn survives_stalls_at_64_bits() {
    survives_stalls::<64, 9>();
}

#[test]
fn survives_stalls_at_512_bits() {
    survives_stalls::<512, 7>();
}

fn a_stalled_client_stops_nobody_else<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(OUTSTANDING), SplitMix64::new(3));
    rig.memory.latency = (50, 90);
    for stalled in 0..CLIENTS {
        // Short commands use up its slots, long ones its places; the sink of neither moves.
        let commands = for_all(|| random(&mut rng, 2 * SLOTS));
        rig.bench[rig.data[stalled]].pause(Pause::Script(vec![true]));
        rig.send(&commands);
        let expected = commands.each_ref().map(|commands| answers::<D>(commands));
        let mut wanted = expected.each_ref().map(Vec::len);
        wanted[stalled] = 0;
        rig.wait(wanted);
        assert!(rig.bench[rig.data[stalled]].received().is_empty());
        rig.bench[rig.data[stalled]].pause(Pause::None);
        rig.wait(expected.each_ref().map(Vec::len));
        assert_eq!(rig.collect(), expected);
    }
}

#[test]
fn a_client_stalled_for_ever_stops_nobody_else() {
    a_stalled_client_stops_nobody_else::<64, 9>();
    a_stalled_client_stops_nobody_else::<512, 7>();
}

#[test]
fn a_client_that_takes_nothing_keeps_its_share_and_no_id() {
    let mut rig = Rig::<512, 7>::new(OUTSTANDING);
    rig.bench[rig.data[2]].pause(Pause::Script(vec![true]));
    // 4 KiB are 64 beats: two fill the buffer, and what moved on towards the client makes no room for a third.
    rig.send(&alone(2, vec![command(0, 4096, 0); 4]));
    for _ in 0..500 {
        rig.memory.step(&mut rig.bench);
    }
    assert_eq!(rig.memory.asked.len(), 2);
    // The others have all the IDs there are.
    rig.memory.latency = (1000, 1001);
    let others = array::from_fn(|client| if client == 2 { Vec::new() } else { vec![command(64, 64, 1); 20] });
    rig.send(&others);
    rig.wait(others.each_ref().map(Vec::len));
    assert_eq!(rig.memory.most, OUTSTANDING);
}

#[test]
fn a_client_out_of_slots_waits() {
    let mut rig = Rig::<512, 7>::new(OUTSTANDING);
    rig.bench[rig.data[1]].pause(Pause::Script(vec![true]));
    // Two bursts a command, and far more places than bursts.
    let commands = alone(1, vec![command(4095, 2, 7); 40]);
    rig.send(&commands);
    for _ in 0..500 {
        rig.memory.step(&mut rig.bench);
    }
    // The first commands have moved on: up to eight wait for the client, one in the strip, one before it.
    let asked = rig.memory.asked.len();
    assert!((SLOTS..=SLOTS + 2 * (8 + 1 + 1)).contains(&asked), "{asked} bursts");
    rig.bench[rig.data[1]].pause(Pause::None);
    rig.check_sent(&commands);
}

#[test]
fn no_more_bursts_are_in_flight_than_allowed_and_that_many_are() {
    for outstanding in [1, 3, OUTSTANDING, 64] {
        let mut rig = Rig::<64, 9>::new(outstanding);
        rig.memory.latency = (300, 301);
        rig.check(&for_all(|| vec![command(40, 8, 3); 40]));
        assert_eq!(rig.memory.most, outstanding);
    }
}

fn errors_stay_with_their_command<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new(OUTSTANDING);
    let is_island = |block: &u64| {
        [-1, 0, 1].map(|step| broken(block.wrapping_add_signed(step) * 512)) == [false, true, false]
    };
    let block = (8..).step_by(8).find(is_island).unwrap();
    let at = block * 512;
    assert_eq!(at % 4096, 0, "the command across it has two bursts");
    let commands = [
        command(at - 100, 100, 1),
        command(at - 100, 101, 2),
        command(at - 1, 1, 3),
        command(at, 1, 4),
        command(at + 511, 2, 5),
        command(at - 100, 50, 6),
    ];
    let failed: Vec<bool> =
        commands.iter().map(|command| answers::<D>(&[*command]).pop().unwrap().err).collect();
    assert_eq!(failed, [false, true, false, true, true, false]);
    rig.check(&for_all(|| commands.to_vec()));
}

#[test]
fn errors_are_reported_at_the_end_of_their_command_and_nowhere_else() {
    errors_stay_with_their_command::<64, 9>();
    errors_stay_with_their_command::<512, 7>();
}

fn runs_at_full_rate<const D: usize, const LOG: usize>() {
    for offset in [0, 5] {
        let mut rig = Rig::<D, LOG>::new(OUTSTANDING);
        rig.memory.latency = (20, 21);
        let commands = alone(3, vec![command(0x10_0000 + offset, 2048, 0); 32]);
        let beats = 32 * answers::<D>(&commands[3][..1]).len() as u64 + 32 * u64::from(offset > 0);
        // 10 cycles in the engine, 22 in the memory and for the command to move; then beat after beat.
        let cycles = rig.check(&commands);
        assert!(cycles <= beats + 33, "{cycles} cycles for {beats} beats");
    }
}

#[test]
fn one_beat_leaves_per_cycle() {
    runs_at_full_rate::<64, 9>();
    runs_at_full_rate::<512, 7>();
}

#[test]
fn latency_is_what_the_header_says() {
    let mut rig = Rig::<512, 7>::new(OUTSTANDING);
    // The command moves in the first cycle, and the memory answers in the one after the address moved.
    let cycles = rig.check(&alone(0, vec![command(0, 64, 0)]));
    assert_eq!(cycles, 1 + 3 + 1 + 7);
}

#[test]
fn clients_take_turns_at_the_address_channel() {
    let mut rig = Rig::<64, 9>::new(OUTSTANDING);
    let commands = array::from_fn(|client| vec![command(8 * client as u64, 8, 0); 30]);
    rig.check(&commands);
    let mut turns: Vec<u64> = rig.memory.asked.iter().map(|burst| u64::from(burst.addr) / 8).collect();
    let rest = turns.split_off(100);
    assert!(turns.windows(4).all(|four| (0..4).all(|client| four.contains(&client))), "{turns:?}");
    assert_eq!(rest.len(), 20);
}

#[test]
fn a_command_for_nothing_is_swallowed() {
    let mut rig = Rig::<512, 7>::new(OUTSTANDING);
    for iova in [0, 3] {
        push(&mut rig.bench, rig.commands[0], &[command(iova, 0, 9)]);
        rig.check(&alone(0, vec![command(iova, 1, 10)]));
    }
}

fn recovers_from_reset<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(OUTSTANDING), SplitMix64::new(5));
    (rig.memory.pick, rig.memory.latency) = (Pick::Any, (0, 50));
    for cycles in [2, 10, 50, 200] {
        let before = rig.commands.map(|source| rig.bench[source].sent());
        let commands = for_all(|| random(&mut rng, 40));
        rig.send(&commands);
        for _ in 0..cycles {
            rig.memory.step(&mut rig.bench);
        }
        assert!(read::<bool>(&rig.bench, "busy"), "nothing was inside when reset came");
        rig.bench.reset(1);
        rig.memory.reset();
        rig.collect();
        assert!(!read::<bool>(&rig.bench, "busy"));
        // What the engine had taken is gone, the rest is answered.
        let left = array::from_fn(|client| {
            let lost = rig.bench[rig.commands[client]].sent() - before[client];
            assert!(lost > 0, "client {client} lost nothing");
            commands[client][usize::try_from(lost).unwrap()..].to_vec()
        });
        rig.check_sent(&left);
    }
}

#[test]
fn recovers_from_reset_at_both_widths() {
    recovers_from_reset::<64, 9>();
    recovers_from_reset::<512, 7>();
}

#[test]
#[should_panic(expected = "holds 128 beats or more, not 2^6")]
fn a_buffer_for_less_than_two_bursts_is_refused() {
    let _ = Reorder::<512, 6>::new(0);
}

#[test]
#[should_panic(expected = "1 to 64 reads can be in flight, not 65")]
fn more_reads_in_flight_than_ids_are_refused() {
    let _ = Ids::<64>::new(65);
}
