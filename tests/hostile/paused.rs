//! Frames that come while the card begins anew: whatever it has forgotten by then, each is in a counter.

use std::time::Duration;

use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::account::Account;
use super::fate::fate;
use super::frames::{hints, round};
use super::stage::Stage;

/// Frames for each queue pair, on the wire all the while.
const FRAMES: usize = 8;
/// No restart takes as long.
const PATIENCE: Duration = Duration::from_mins(1);

fn attack(profile: Profile, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut stage = Stage::new(profile, seed);
    let hints = hints(&stage);
    let before = Account::of(&stage.end);
    let mut expected = Account::default();
    let mut frames = Vec::new();
    for _ in 0..FRAMES {
        for frame in round(&stage, &hints, &mut random) {
            expected.add(fate(&frame, &mut stage.victims, &mut stage.arena));
            frames.push(frame);
        }
    }
    stage.begin(frames);
    stage.end.device.card().reset(PATIENCE).expect("a restart");
    stage.send([]);
    let found = Account::of(&stage.end).since(&before);
    let story = format!("{profile:?}, seed {seed:#x}");
    assert_eq!(found.classes, expected.classes, "{story}");
    found.check(&story);
    assert!(found.unwanted > expected.unwanted, "{story}: nothing was forgotten, {found:?}");
}

#[test]
fn frames_for_a_card_that_begins_anew_are_counted() {
    attack(Profile::TenGig, 0xa1);
    attack(Profile::HundredGig, 0xa2);
}
