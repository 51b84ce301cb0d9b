//! Answers of every length that matters, with each of their frames lost once.

use stroma_abi::kernel::traversal::Traversal;
use stroma_sim::link::{Faults, Verdict};
use stroma_tests::calls::Calls;
use stroma_tests::pair::pattern;
use stroma_top::Profile;

use crate::tasks::MEMORY;

const PATH_MTU: u32 = 4096;
const VALUE: usize = 4096;

/// Frames that the far end has sent.
fn sent(calls: &Calls) -> u64 {
    calls.pair.shared.world().line(1).counters().pushed
}

/// Loses the frame of this number from now on, counted from 0.
fn lose(calls: &Calls, number: u64) {
    let mut left = number;
    let script = move |_: &[u8]| {
        let is_it = left == 0;
        left = left.wrapping_sub(1);
        if is_it { Verdict::Drop } else { Verdict::Pass }
    };
    let faults = Faults { script: Some(Box::new(script)), ..Faults::default() };
    calls.pair.shared.world().line(1).set_faults(faults);
}

fn every_length(profile: Profile) {
    let calls = Calls::new(profile, MEMORY, |connection| {
        connection.path_mtu = 5;
        connection.timeout = 6;
    });
    let values = pattern(4, 65_536);
    calls.put(1, 0, &[7, 0, calls.at(VALUE)].map(u64::to_le_bytes).concat());
    calls.put(1, VALUE, &values);
    for length in [0, 1, PATH_MTU - 1, PATH_MTU, PATH_MTU + 1, 65_536] {
        let walk = Traversal {
            root: calls.at(0),
            sought: 7,
            mask: u64::MAX,
            value_length: length,
            hop_limit: 1,
            key_words: 1,
            element_words: 3,
            value_at: 2,
            ..Traversal::default()
        };
        let expected = &values[..length as usize];
        let check = |what: &str| {
            calls.put(0, 0, &vec![0xee; 65_600]);
            let found = calls.call(&walk).expect("the key is there");
            assert!(found == expected, "{profile:?}, {length} bytes, {what}");
            let behind = calls.bytes(0, length as usize, 64);
            assert!(behind == [0xee; 64], "{profile:?}, {length} bytes, {what}: nothing behind the answer");
        };
        let before = sent(&calls);
        check("nothing lost");
        let frames = sent(&calls) - before;
        assert_eq!(frames, u64::from(length.div_ceil(PATH_MTU).max(1)), "frames of {length} bytes");
        for number in 0..frames {
            lose(&calls, number);
            check(&format!("frame {number} lost"));
            calls.pair.shared.world().line(1).set_faults(Faults::default());
            calls.pair.run(2000);
            assert_eq!(calls.pair.ends[0].poll(), None, "a completion too many");
        }
    }
}

#[test]
fn answers_of_every_length_survive_the_loss_of_any_frame_10g() {
    every_length(Profile::TenGig);
}

#[test]
fn answers_of_every_length_survive_the_loss_of_any_frame_100g() {
    every_length(Profile::HundredGig);
}
