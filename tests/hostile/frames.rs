//! Frames with one to three wrong fields and a right ICRC, for queue pairs in every state (20,000 of them with all effort).
//! Each has the fate that the rules give it: counters, completions and every byte of memory agree.

use stroma_abi::regs::map::counters;
use stroma_abi::wire::Frame;
use stroma_tests::effort::{seeds, share};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::account::Account;
use super::fate::{Fate, fate};
use super::forge;
use super::honest;
use super::mutate::{Hints, mutate};
use super::stage::Stage;

/// Frames of each seed.
const FRAMES: usize = 5000;
/// Rounds of one frame for each queue pair before all is compared.
const ROUNDS: usize = 5;

/// What mutations of frames for this card may aim at.
pub(crate) fn hints(stage: &Stage) -> Hints {
    let windows = stage.arena.windows();
    let mut numbers: Vec<u32> = stage.victims.iter().map(|victim| victim.number).collect();
    // None there, none any more, beyond the table, and the last there is.
    numbers.extend([0, 1, 200, 255, 256, 1023, 1024, 0x7f_ffff, 0xff_ffff]);
    let mut keys: Vec<u32> = windows[3..5].iter().map(|window| window.key).collect();
    keys.extend(windows[..2].iter().flat_map(|window| [window.key, window.key ^ 1, window.key + 0x100]));
    // The whole memory, for its owner and for another domain: with a key like these all addresses are right.
    (0..6).for_each(|_| keys.extend(windows.iter().rev().take(2).map(|window| window.key)));
    keys.extend([0, u32::MAX]);
    let around = |at: u64| [at - 4096, at - 8, at - 1, at, at + 1, at + 8];
    let ends = windows
        .iter()
        .take(2)
        .chain(windows.last())
        .flat_map(|window| [around(window.base), around(window.base + window.length)].concat());
    let mut addresses: Vec<u64> = ends.collect();
    addresses.extend([0, 7, u64::MAX, u64::MAX - 7, u64::MAX - 255, 1 << 63]);
    Hints {
        numbers,
        keys,
        addresses,
        lengths: vec![0, 1, 255, 256, 257, 511, 512, 513, 3968, 3969, 1 << 31, (1 << 31) + 1, u32::MAX],
        steps: vec![1, 2, 3, 0xff_ffff, 0xff_fffe, 0x7f_ffff, 0x80_0000, 0x80_0001, 16],
    }
}

/// Frames for a round: at most one for each queue pair, so that nothing depends on how fast the card is.
pub(crate) fn round(stage: &Stage, hints: &Hints, random: &mut SplitMix64) -> Vec<Vec<u8>> {
    let mut struck = Vec::new();
    let mut frames = Vec::new();
    for victim in stage.victims.iter().filter(|victim| !victim.spent) {
        let good = forge::frame(victim, random);
        let bytes = mutate(&good, hints, random);
        let number = Frame::parse(&bytes).ok().map(|frame| frame.bth.destination_qp.value());
        let is_spent = stage.victims.iter().any(|other| Some(other.number) == number && other.spent);
        if number.is_some_and(|number| struck.contains(&number)) || is_spent {
            continue;
        }
        struck.extend(number);
        frames.push(bytes);
    }
    frames
}

fn attack(profile: Profile, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut stage = Stage::new(profile, seed);
    let hints = hints(&stage);
    let mut fates = [0_usize; 11];
    let mut batch = 0;
    while fates.iter().sum::<usize>() < share(FRAMES) {
        let story = format!("{profile:?}, seed {seed:#x}, batch {batch}");
        let (before, guarded) = (Account::of(&stage.end), stage.end.bytes(0, stroma_tests::pair::MEMORY));
        let mut expected = Account::default();
        for _ in 0..ROUNDS {
            let frames = round(&stage, &hints, &mut random);
            for frame in &frames {
                let fate = fate(frame, &mut stage.victims, &mut stage.arena);
                expected.add(fate);
                fates[kind(fate)] += 1;
            }
            stage.send(frames);
            stage.completions();
        }
        let found = Account::of(&stage.end).since(&before);
        found.check(&story);
        assert_eq!(found, expected, "{story}");
        stage.check_memory(&story);
        assert!(stage.end.bytes(0, guarded.len()) == guarded, "{story}: memory of others has changed");
        for counter in [&counters::RX_OVERRUN, &counters::DMA_ERRORS, &counters::CQ_OVERFLOWS] {
            assert_eq!(stage.end.count(counter), 0, "{story}: {}", counter.name);
        }
        stage.check_states(&story);
        honest::works(&stage.shared, &stage.end, seed + batch);
        stage.revive();
        batch += 1;
    }
    assert!(fates.iter().all(|count| *count > 0), "every fate was met: {fates:?}");
}

fn kind(fate: Fate) -> usize {
    match fate {
        Fate::Rejected(_) => 0,
        Fate::Unwanted => 1,
        Fate::Notice => 2,
        Fate::Answer => 3,
        Fate::Repeated { .. } => 4,
        Fate::Gap { told: true } => 5,
        Fate::Gap { told: false } => 6,
        Fate::Refused => 7,
        Fate::NotReady => 8,
        Fate::Done => 9,
        Fate::Stale => 10,
    }
}

#[test]
fn frames_with_wrong_fields_have_the_fate_they_deserve_10g() {
    for seed in seeds(&[0x51, 0x52]) {
        attack(Profile::TenGig, *seed);
    }
}

#[test]
fn frames_with_wrong_fields_have_the_fate_they_deserve_100g() {
    for seed in seeds(&[0x53, 0x54]) {
        attack(Profile::HundredGig, *seed);
    }
}
