//! Any single bit of a frame flipped: nothing of it reaches the RoCE side, and exactly one counter tells why.
//!
//! The invariant CRC leaves out what changes on the way, and Ethernet's addresses; there the MAC's FCS stands guard, so
//! such a flip arrives marked bad. Without that mark it must change nothing but the field it hit.

use stroma_abi::wire::{Bth, Class, Frame, Ip, Opcode, opcode};
use stroma_hw::head::Head;
use stroma_tests::{LIMIT, Recorded, class_of, fronts, received, recorded_roce, widths};
use stroma_top::Profile;

/// Ten frames, one for each of these op-codes, the shortest of its kind.
const CHOSEN: [Opcode; 10] = [
    opcode::RC_SEND_ONLY,
    opcode::RC_SEND_ONLY_IMM,
    opcode::RC_WRITE_FIRST,
    opcode::RC_WRITE_ONLY,
    opcode::RC_READ_REQUEST,
    opcode::RC_READ_RESPONSE_LAST,
    opcode::RC_ACKNOWLEDGE,
    opcode::RC_ATOMIC_ACKNOWLEDGE,
    opcode::RC_FETCH_ADD,
    opcode::UD_SEND_ONLY,
];

fn chosen() -> Vec<Recorded> {
    let mut frames = recorded_roce();
    frames.sort_by_key(|frame| frame.bytes.len());
    let code = |bytes: &[u8]| Frame::parse(bytes).expect("filtered to RoCE").bth.opcode;
    let shortest = |op: Opcode| {
        let at = frames.iter().position(|frame| code(&frame.bytes) == op.code);
        frames.remove(at.unwrap_or_else(|| panic!("no recorded frame is {}", op.name)))
    };
    CHOSEN.into_iter().map(shortest).collect()
}

/// Who notices a flip of a byte of an untagged IPv4 frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    /// Only the FCS: addresses of the link, UDP checksum, congestion byte.
    Fcs,
    /// The invariant CRC and nothing before it.
    Icrc,
    /// A field that decides what the frame is, before any CRC.
    Class,
}

/// The table the story is about, for an untagged IPv4 RoCE frame: who guards the bytes up to the given one.
const GUARDS: [(usize, Guard, &str); 8] = [
    (12, Guard::Fcs, "MAC addresses"),
    (34, Guard::Class, "Ethernet type; IPv4 header, all of it under its own checksum"),
    (36, Guard::Icrc, "UDP source port"),
    (40, Guard::Class, "UDP destination port and length"),
    (42, Guard::Fcs, "UDP checksum"),
    (44, Guard::Class, "op-code, pad count, version: some values are still legal"),
    (46, Guard::Icrc, "partition key"),
    (47, Guard::Fcs, "FECN and BECN"),
];

fn guard(byte: usize) -> Guard {
    GUARDS.iter().find(|(end, _, _)| byte < *end).map_or(Guard::Icrc, |(_, guard, _)| *guard)
}

#[test]
fn a_flipped_bit_lets_nothing_through_and_is_counted_once() {
    for profile in widths!() {
        for frame in chosen() {
            let parsed = Frame::parse(&frame.bytes).expect("filtered to RoCE");
            assert!(
                matches!(parsed.ip, Ip::V4(_)) && parsed.tag.is_none(),
                "the guard table is for such frames"
            );
            let mut fronts = fronts(profile);
            let mut expected = [0_u64; Class::COUNT];
            for bit in 0..frame.bytes.len() * 8 {
                let mut flipped = frame.bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let guard = guard(bit / 8);
                let class = if guard == Guard::Fcs { Class::MacError } else { class_of(&flipped) };
                assert_ne!(class, Class::Roce, "{}: the model accepts flipped bit {bit}", frame.place);
                assert!(
                    guard != Guard::Icrc || class == Class::Icrc,
                    "bit {bit} is covered by the ICRC alone: {class:?}"
                );
                expected[class.index()] += 1;
                fronts.receive(&flipped, guard == Guard::Fcs);
            }
            // And the pipe still runs: the untouched frame passes.
            fronts.receive(&frame.bytes, false);
            expected[Class::Roce.index()] += 1;
            fronts.run_until_idle(LIMIT).unwrap();
            let packets = fronts.packets();
            assert_eq!(
                packets.len(),
                1,
                "{} at {profile:?}: something of a flipped frame came through",
                frame.place
            );
            assert_eq!(packets[0], received(&frame.bytes), "{} at {profile:?}", frame.place);
            for class in Class::ALL {
                let (found, expected) = (fronts.count(class), expected[class.index()]);
                assert_eq!(
                    found,
                    expected,
                    "{} at {profile:?}: frames counted as {}",
                    frame.place,
                    class.name()
                );
            }
        }
    }
}

#[test]
fn what_no_crc_of_ours_covers_changes_its_own_field_alone() {
    for profile in Profile::ALL {
        let frame = chosen().remove(3);
        let parsed = Frame::parse(&frame.bytes).expect("filtered to RoCE");
        let mut fronts = fronts(profile);
        let bits: Vec<usize> =
            (0..frame.bytes.len() * 8).filter(|bit| guard(bit / 8) == Guard::Fcs).collect();
        for bit in &bits {
            let mut flipped = frame.bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fronts.receive(&flipped, false);
        }
        fronts.run_until_idle(LIMIT).unwrap();
        let packets = fronts.packets();
        assert_eq!(packets.len(), bits.len(), "{profile:?}");
        let original = Head::of(&parsed);
        for (bit, packet) in bits.iter().zip(packets) {
            let mut head = packet.head;
            assert_ne!(head, original, "bit {bit} is visible in the head");
            (head.dmac, head.smac) = (original.dmac, original.smac);
            (head.udp_sum, head.congestion) = (original.udp_sum, original.congestion);
            assert_eq!(head, original, "bit {bit} touched another field");
            assert_eq!(packet.payload, parsed.payload);
        }
    }
    assert_eq!(Bth::FECN.byte, 4, "the congestion byte is where the guard table has it");
}
