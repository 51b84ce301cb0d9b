//! Recorded Soft-RoCE traffic through the front ends: every frame accepted with the right fields, and rebuilt to the bit.

use stroma_abi::wire::Class;
use stroma_tests::{LIMIT, class_of, fronts, packet, received, recorded, recorded_roce, stutters};
use stroma_top::Profile;

#[test]
fn every_recorded_frame_is_received_with_the_fields_the_model_reads() {
    for profile in Profile::ALL {
        for streams in stutters() {
            let mut fronts = fronts(profile);
            fronts.pause(&streams);
            let frames = recorded();
            for frame in &frames {
                fronts.receive(&frame.bytes, false);
            }
            fronts.run_until_idle(LIMIT).unwrap();
            let expected: Vec<_> =
                frames.iter().filter(|frame| class_of(&frame.bytes) == Class::Roce).collect();
            let packets = fronts.packets();
            assert_eq!(packets.len(), expected.len(), "{profile:?} {streams:?}");
            for (frame, found) in expected.iter().zip(&packets) {
                assert_eq!(*found, received(&frame.bytes), "{} at {profile:?} {streams:?}", frame.place);
            }
            for class in Class::ALL {
                let count = frames.iter().filter(|frame| class_of(&frame.bytes) == class).count() as u64;
                assert_eq!(fronts.count(class), count, "{} frames at {profile:?}", class.name());
            }
        }
    }
}

#[test]
fn every_recorded_frame_is_rebuilt_to_the_bit_from_its_fields_and_payload() {
    for profile in Profile::ALL {
        for streams in stutters() {
            let mut fronts = fronts(profile);
            fronts.pause(&streams);
            let frames = recorded_roce();
            for frame in &frames {
                fronts.transmit(&packet(&frame.bytes));
            }
            fronts.run_until_idle(LIMIT).unwrap();
            let sent = fronts.frames();
            assert_eq!(sent.len(), frames.len(), "{profile:?} {streams:?}");
            for (frame, (bytes, bad)) in frames.iter().zip(&sent) {
                assert!(!bad, "{} at {profile:?}", frame.place);
                assert_eq!(*bytes, frame.bytes, "{} at {profile:?} {streams:?}", frame.place);
            }
            assert_eq!(fronts.mismatched(), 0);
        }
    }
}

#[test]
fn front_ends_reset_in_mid_frame_start_afresh() {
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        let frames = recorded_roce();
        let long = frames.iter().max_by_key(|frame| frame.bytes.len()).expect("there are frames");
        // The frame's last beat never comes: they wait for it, and reset must make them forget.
        fronts.receive_beginning(&long.bytes[..long.bytes.len() / 2]);
        fronts.run_until_idle(LIMIT).unwrap();
        assert_eq!(fronts.judged(), 0, "{profile:?}: a frame without end is not judged");
        fronts.reset();
        fronts.receive(&frames[0].bytes, false);
        fronts.run_until_idle(LIMIT).unwrap();
        assert_eq!(fronts.packets(), [received(&frames[0].bytes)], "{profile:?}");
        assert_eq!(fronts.judged(), 1, "{profile:?}");
    }
}
