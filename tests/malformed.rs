//! Frames that are not ours or not whole: classified, counted, and never in the way of the next good one.

use stroma_abi::wire::{Class, Frame};
use stroma_sim::Fronts;
use stroma_tests::{LIMIT, class_of, fronts, received, recorded_roce, stutters};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

/// A recorded WRITE with payload, 20-byte IPv4 header, no tag.
fn good() -> Vec<u8> {
    let frames = recorded_roce();
    let of_size =
        frames.into_iter().find(|frame| Frame::parse(&frame.bytes).is_ok_and(|f| f.payload.len() > 200));
    of_size.expect("a recorded frame has a payload of some size").bytes
}

fn changed(bytes: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, value) in changes {
        bytes[*at] = *value;
    }
    bytes
}

/// As [`changed`], with the IPv4 header checksum made right again.
fn changed_ip(bytes: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = changed(bytes, changes);
    bytes[24..26].fill(0);
    let sum: u32 =
        bytes[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let folded = u16::try_from((sum & 0xffff) + (sum >> 16)).expect("folded twice");
    bytes[24..26].copy_from_slice(&(!folded).to_be_bytes());
    bytes
}

/// Frames of every class but the accepted one, each made by hand from a good frame.
fn crafted() -> Vec<(Class, Vec<u8>)> {
    let good = good();
    let length = |bytes: u16| [(16, bytes.to_be_bytes()[0]), (17, bytes.to_be_bytes()[1])];
    let mut endless = changed_ip(&good, &length(9000));
    endless.resize(9014, 0xaa);
    endless[38..40].copy_from_slice(&8980_u16.to_be_bytes());
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let ip_length = u16::from_be_bytes([good[16], good[17]]);
    vec![
        (Class::Runt, Vec::new()),
        (Class::Runt, vec![0x55]),
        (Class::Runt, good[..13].to_vec()),
        (Class::Runt, good[..33].to_vec()),
        (Class::Runt, good[..53].to_vec()),
        (Class::NotIp, arp),
        (Class::NotIp, changed(&good, &[(12, 0x88), (13, 0xcc)])),
        (Class::IpVersion, changed_ip(&good, &[(14, 0x65)])),
        (Class::IpOptions, changed_ip(&good, &[(14, 0x46)])),
        (Class::IpChecksum, changed(&good, &[(22, good[22] ^ 0x01)])),
        (Class::Fragment, changed_ip(&good, &[(20, 0x20)])),
        (Class::Fragment, changed_ip(&good, &[(21, 0x08)])),
        (Class::NotUdp, changed_ip(&good, &[(23, 6)])),
        (Class::WrongPort, changed(&good, &[(36, 0x12), (37, 0xb8)])),
        (Class::Length, changed_ip(&good, &length(ip_length + 1))),
        (Class::Length, changed_ip(&good, &length(40))),
        (Class::Oversize, endless),
        (Class::BthVersion, changed(&good, &[(43, good[43] | 0x01)])),
        (Class::Opcode, changed(&good, &[(42, 0x1f)])),
        (Class::Truncated, good[..good.len() - 1].to_vec()),
        (Class::Truncated, good[..good.len() - 100].to_vec()),
        (Class::Icrc, changed(&good, &[(good.len() - 1, good[good.len() - 1] ^ 0x80)])),
    ]
}

fn settled(mut fronts: Fronts) -> Fronts {
    fronts.run_until_idle(LIMIT).unwrap();
    fronts
}

#[test]
fn each_kind_of_bad_frame_is_counted_as_what_it_is_and_good_ones_pass_between() {
    let good = good();
    for profile in Profile::ALL {
        for streams in stutters() {
            let mut fronts = fronts(profile);
            fronts.pause(&streams);
            let crafted = crafted();
            for (class, bytes) in &crafted {
                assert_eq!(class_of(bytes), *class, "the model agrees with the table");
                fronts.receive(bytes, false);
                fronts.receive(&good, false);
            }
            let mut fronts = settled(fronts);
            assert_eq!(fronts.packets(), vec![received(&good); crafted.len()], "{profile:?} {streams:?}");
            for class in Class::ALL.into_iter().skip(1) {
                let expected = crafted.iter().filter(|(of, _)| *of == class).count() as u64;
                assert_eq!(fronts.count(class), expected, "{} at {profile:?}", class.name());
            }
        }
    }
}

#[test]
fn a_frame_cut_at_any_length_is_counted_and_the_next_one_passes() {
    let good = good();
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        let mut expected = [0_u64; Class::COUNT];
        for length in 0..=good.len() {
            expected[class_of(&good[..length]).index()] += 1;
            fronts.receive(&good[..length], false);
        }
        let mut fronts = settled(fronts);
        assert_eq!(fronts.packets(), [received(&good)], "{profile:?}");
        for class in Class::ALL {
            assert_eq!(fronts.count(class), expected[class.index()], "{} at {profile:?}", class.name());
        }
    }
}

#[test]
fn a_frame_longer_than_any_buffer_is_swallowed() {
    let good = good();
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        let mut long = good.clone();
        long.resize(200_000, 0x5a);
        // Bytes behind the IP packet are padding, however many: the frame itself is good.
        fronts.receive(&long, false);
        fronts.receive(&vec![0x77; 100_000], false);
        fronts.receive(&good, false);
        let mut fronts = settled(fronts);
        assert_eq!(fronts.packets(), [received(&good), received(&good)], "{profile:?}");
        assert_eq!((fronts.count(Class::NotIp), fronts.judged()), (1, 3), "{profile:?}");
    }
}

#[test]
fn a_frame_the_mac_calls_bad_is_dropped_whatever_it_holds() {
    let good = good();
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        fronts.receive(&good, true);
        fronts.receive(&[], true);
        fronts.receive(&good, false);
        let mut fronts = settled(fronts);
        assert_eq!(fronts.packets(), [received(&good)], "{profile:?}");
        assert_eq!(fronts.count(Class::MacError), 2, "{profile:?}");
    }
}

#[test]
fn random_bytes_never_stall_the_front_ends_and_are_judged_as_the_model_does() {
    let good = good();
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        let mut random = SplitMix64::new(0xf00d);
        let mut expected = [0_u64; Class::COUNT];
        for _ in 0..2000 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(4) {
                // Headers are hit more often than payload: that is where decisions are made.
                let span = if random.below(4) == 0 { bytes.len() } else { 60 };
                let at = usize::try_from(random.below(span as u64)).expect("a small number");
                bytes[at] = random.next_u64().to_le_bytes()[0];
            }
            if random.below(5) == 0 {
                bytes.truncate(usize::try_from(random.below(bytes.len() as u64)).expect("a small number"));
            }
            expected[class_of(&bytes).index()] += 1;
            fronts.receive(&bytes, false);
        }
        let fronts = settled(fronts);
        for class in Class::ALL {
            assert_eq!(fronts.count(class), expected[class.index()], "{} at {profile:?}", class.name());
        }
        assert_eq!(fronts.judged(), 2000, "{profile:?}");
    }
}
