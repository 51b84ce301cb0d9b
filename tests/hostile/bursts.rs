//! The same frames as fast as the wire carries them: what becomes of each depends on how far the card is with those before, so
//! less is known; but what nobody granted stays as it is, every frame is in one counter, and the card goes on.

use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::account::Account;
use super::fate::fate;
use super::frames::{hints, round};
use super::honest;
use super::stage::Stage;

/// Bursts of a test, and frames for each queue pair in one.
const BURSTS: u64 = 6;
const FRAMES: usize = 8;

fn attack(profile: Profile, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut stage = Stage::new(profile, seed);
    let hints = hints(&stage);
    for burst in 0..BURSTS {
        let story = format!("{profile:?}, seed {seed:#x}, burst {burst}");
        let before = Account::of(&stage.end);
        let mut expected = Account::default();
        let mut frames = Vec::new();
        for _ in 0..FRAMES {
            for frame in round(&stage, &hints, &mut random) {
                expected.add(fate(&frame, &mut stage.victims, &mut stage.arena));
                frames.push(frame);
            }
        }
        stage.send(frames);
        stage.completions();
        let found = Account::of(&stage.end).since(&before);
        assert_eq!(found.classes, expected.classes, "{story}");
        found.check(&story);
        stage.check_guards(&story);
        honest::works(&stage.shared, &stage.end, seed + burst);
        stage.restart();
    }
}

#[test]
fn bursts_of_wrong_frames_change_nothing_that_was_not_granted_10g() {
    attack(Profile::TenGig, 0x91);
}

#[test]
fn bursts_of_wrong_frames_change_nothing_that_was_not_granted_100g() {
    attack(Profile::HundredGig, 0x92);
}
