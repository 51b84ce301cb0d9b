//! Recorded Soft-RoCE traffic through the card: every frame accepted with the right fields, and rebuilt to the bit.

use stroma_abi::wire::Class;
use stroma_tests::{LIMIT, card, class_of, packet, recorded, recorded_roce, stutters};
use stroma_top::Profile;

#[test]
fn every_recorded_frame_is_received_with_the_fields_the_model_reads() {
    for profile in Profile::ALL {
        for streams in stutters() {
            let mut card = card(profile);
            card.pause(&streams);
            let frames = recorded();
            for frame in &frames {
                card.receive(&frame.bytes, false);
            }
            card.run_until_idle(LIMIT).unwrap();
            let expected: Vec<_> =
                frames.iter().filter(|frame| class_of(&frame.bytes) == Class::Roce).collect();
            let packets = card.packets();
            assert_eq!(packets.len(), expected.len(), "{profile:?} {streams:?}");
            for (frame, found) in expected.iter().zip(&packets) {
                assert_eq!(*found, packet(&frame.bytes), "{} at {profile:?} {streams:?}", frame.place);
            }
            for class in Class::ALL {
                let count = frames.iter().filter(|frame| class_of(&frame.bytes) == class).count() as u64;
                assert_eq!(card.count(class), count, "{} frames at {profile:?}", class.name());
            }
        }
    }
}

#[test]
fn every_recorded_frame_is_rebuilt_to_the_bit_from_its_fields_and_payload() {
    for profile in Profile::ALL {
        for streams in stutters() {
            let mut card = card(profile);
            card.pause(&streams);
            let frames = recorded_roce();
            for frame in &frames {
                card.transmit(&packet(&frame.bytes));
            }
            card.run_until_idle(LIMIT).unwrap();
            let sent = card.frames();
            assert_eq!(sent.len(), frames.len(), "{profile:?} {streams:?}");
            for (frame, (bytes, bad)) in frames.iter().zip(&sent) {
                assert!(!bad, "{} at {profile:?}", frame.place);
                assert_eq!(*bytes, frame.bytes, "{} at {profile:?} {streams:?}", frame.place);
            }
            assert_eq!(card.mismatched(), 0);
        }
    }
}

#[test]
fn a_card_reset_in_mid_frame_starts_afresh() {
    for profile in Profile::ALL {
        let mut card = card(profile);
        let frames = recorded_roce();
        let long = frames.iter().max_by_key(|frame| frame.bytes.len()).expect("there are frames");
        // The frame's last beat never comes: the card waits for it, and reset must make it forget.
        card.receive_beginning(&long.bytes[..long.bytes.len() / 2]);
        card.run_until_idle(LIMIT).unwrap();
        assert_eq!(card.judged(), 0, "{profile:?}: a frame without end is not judged");
        card.reset();
        card.receive(&frames[0].bytes, false);
        card.run_until_idle(LIMIT).unwrap();
        assert_eq!(card.packets(), [packet(&frames[0].bytes)], "{profile:?}");
        assert_eq!(card.judged(), 1, "{profile:?}");
    }
}
