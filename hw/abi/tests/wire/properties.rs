//! Parsers and printers on any bytes, sound, nearly sound and random.

use crate::common::{Recipe, any_recipe};
use proptest::prelude::*;
use stroma_abi::wire::{Class, EmitError, Extended, Frame, classify, print};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_sound_frame_parses_prints_and_is_emitted_unchanged(recipe in any_recipe()) {
        let bytes = recipe.bytes();
        let frame = Frame::parse(&bytes).unwrap();
        prop_assert_eq!(frame.opcode(), Some(recipe.opcode));
        prop_assert_eq!(frame.payload, if recipe.opcode.payload { &recipe.payload[..] } else { &[] });
        prop_assert_eq!(frame.padding.len(), recipe.padding);
        prop_assert_eq!(frame.to_vec().unwrap(), &bytes[..]);
        prop_assert!(print::line(&bytes).to_string().contains(recipe.opcode.name));
    }

    #[test]
    fn random_bytes_are_sorted_and_printed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let line = print::line(&bytes).to_string();
        prop_assert!(!line.is_empty() && line.is_ascii() && !line.contains('\n'));
        if let Err(reject) = classify(&bytes) {
            prop_assert!(reject.class != Class::Roce && reject.class != Class::MacError);
            prop_assert!(line.contains(reject.class.name()));
        }
    }

    #[test]
    fn a_damaged_frame_is_sorted_printed_and_if_accepted_emitted_unchanged(
        recipe in any_recipe(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = recipe.bytes();
        for (place, value) in damage {
            let len = bytes.len().min(110); // headers are where damage is interesting
            bytes[place.index(len)] = value;
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        prop_assert!(!print::line(&bytes).to_string().is_empty());
        if let Ok(frame) = Frame::parse(&bytes) {
            prop_assert_eq!(frame.to_vec().unwrap(), bytes);
        }
    }
}

#[test]
fn a_buffer_too_short_is_refused_and_left_alone() {
    let bytes = Recipe::write(5).bytes();
    let frame = Frame::parse(&bytes).unwrap();
    let mut buffer = vec![0xa5; bytes.len() - 1];
    let error = EmitError::Buffer { need: bytes.len(), have: bytes.len() - 1 };
    assert_eq!(frame.emit(&mut buffer), Err(error));
    assert!(buffer.iter().all(|byte| *byte == 0xa5));
}

#[test]
fn headers_that_are_not_the_op_codes_are_refused() {
    let bytes = Recipe::write(5).bytes();
    let frame = Frame { extended: Extended::default(), ..Frame::parse(&bytes).unwrap() };
    assert!(matches!(frame.to_vec(), Err(EmitError::Headers { opcode: "RC_WRITE_ONLY", .. })));
    let mut unknown = frame;
    unknown.bth.opcode = 0x15;
    assert_eq!(unknown.to_vec(), Err(EmitError::UnknownOpcode { code: 0x15 }));
}

#[test]
fn a_payload_beyond_ip_cannot_be_sealed() {
    let bytes = Recipe::write(5).bytes();
    let payload = vec![0; 70_000];
    let frame = Frame { payload: &payload, ..Frame::parse(&bytes).unwrap() };
    assert_eq!(frame.seal().unwrap_err(), EmitError::TooLong { payload: 70_000 });
}

#[test]
fn frames_of_other_protocols_print_as_what_they_are() {
    let line = |hex: &str| {
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        print::line(&bytes).to_string()
    };
    let ethernet = "020000000002020000000001";
    let arp = line(&format!("{ethernet}080600010800060400010200000000010a0000010000000000000a000002"));
    assert!(arp.starts_with("[not-ip") && arp.ends_with("ARP who-has 10.0.0.2 tell 10.0.0.1"), "{arp}");
    let lldp = line(&format!("{ethernet}88cc0207"));
    assert!(lldp.ends_with("02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88cc 16 bytes"), "{lldp}");
    // The published checksum example carries UDP; its ports are made up here.
    let udp = line(
        &format!("{ethernet}0800450000730000400040 11b861c0a80001c0a800c7003500350010ffff").replace(' ', ""),
    );
    assert!(
        udp.starts_with("[wrong-port") && udp.contains("192.168.0.1 > 192.168.0.199 UDP 53 > 53 length 16"),
        "{udp}"
    );
    assert_eq!(line(""), "[runt: found 0x0, wanted 0xe] 0 bytes");
}
