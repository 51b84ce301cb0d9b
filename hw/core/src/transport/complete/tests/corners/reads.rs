use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{Read, Write};
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Opcode, Syndrome, opcode};

use super::{ACK, MTU, SUCCESS, after_sending, completions, is_nothing, rewinds, send};
use crate::transport::complete::rig::{Rig, Settings};
use crate::transport::records::{Arrival, List, Occasion, Sent};

/// A packet of an answer, and its length.
type Part = (Opcode, u64);

const FIRST: Opcode = opcode::RC_READ_RESPONSE_FIRST;
const MIDDLE: Opcode = opcode::RC_READ_RESPONSE_MIDDLE;
const LAST: Opcode = opcode::RC_READ_RESPONSE_LAST;
const ONLY: Opcode = opcode::RC_READ_RESPONSE_ONLY;

#[test]
fn each_packet_of_a_read_goes_to_its_place_at_every_path_mtu() {
    for code in 1..=5 {
        let mut rig = Rig::default();
        rig.settings[2] = Settings { path_mtu: code, ..Settings::default() };
        let mtu = 128 << code;
        send(&mut rig, 0xff_fffe, &[(Read, 3 * mtu + 1)]);
        let start = 0xffff_0000_0080_u64 << 16;
        let parts = [(FIRST, mtu), (MIDDLE, mtu), (MIDDLE, mtu), (LAST, 1)];
        for (at, (op, length)) in (0..).zip(parts) {
            let given = rig.outcome(&rig.data(2, 0xff_fffe + at, op, length));
            let errand = given.errands[0].1;
            assert_eq!(given.errands.len(), 1);
            assert!(errand.places && errand.ends);
            assert_eq!(u64::from(errand.va), start + at * mtu);
            assert_eq!((u64::from(errand.span), u64::from(errand.payload_len)), (length, length));
            assert_eq!(
                (u64::from(errand.key), u64::from(errand.need)),
                (0x8000_0080, rights::LOCAL_WRITE.into())
            );
            assert_eq!((u64::from(errand.index), u64::from(errand.length)), (0x5080, 3 * mtu + 1));
            assert_eq!(
                (errand.completes, errand.retires, given.alarms.len()),
                (at == 3, at == 3, usize::from(at < 3))
            );
        }
    }
}

#[test]
fn a_read_of_nothing_places_nothing() {
    let mut rig = after_sending(5, &[(Read, 0)]);
    let given = rig.outcome(&rig.data(2, 5, ONLY, 0));
    assert_eq!(completions(&given), [(0, SUCCESS, 0)]);
    assert!(!given.errands[0].1.places && u64::from(given.errands[0].1.span) == 0);
}

#[test]
fn data_answer_the_writes_before_them() {
    let mut rig = after_sending(5, &[(Write, 1), (Write, 2 * MTU), (Read, 9), (Write, 1)]);
    let given = rig.outcome(&rig.data(2, 8, ONLY, 9));
    assert_eq!(completions(&given), [(0, SUCCESS, 1), (1, SUCCESS, 2 * MTU), (2, SUCCESS, 9)]);
    let payloads: Vec<u64> = given.errands.iter().map(|(_, errand)| errand.payload_len.into()).collect();
    assert_eq!((payloads, given.alarms.len()), (vec![0, 0, 9], 1));
}

#[test]
fn a_read_whose_data_are_missing_is_asked_for_again() {
    let messages = [(Write, 1), (Read, 2 * MTU), (Read, 3), (Write, 1)];
    // By an acknowledgement, a refusal, the next READ's data, and its own second packet.
    for (psn, op) in [(9, None), (9, Some(true)), (8, Some(false)), (7, Some(false))] {
        let mut rig = after_sending(5, &messages);
        let arrival = match op {
            None => rig.acknowledge(2, psn, ACK),
            Some(true) => rig.acknowledge(2, psn, Syndrome::Nak(NakCode::RemoteAccess)),
            Some(false) => rig.data(2, psn, ONLY, 3),
        };
        let payload = u64::from(arrival.payload_len);
        let given = rig.outcome(&arrival);
        assert_eq!((completions(&given), rewinds(&given)), (vec![(0, SUCCESS, 1)], vec![(1, 6, 0)]));
        let last = given.errands.last().expect("an arrival has an errand").1;
        assert_eq!((u64::from(last.payload_len), last.places), (payload, false), "thrown away");
        assert!(is_nothing(&rig.outcome(&arrival)), "once");
        // The first packet of its data is progress; then the second is missed anew.
        rig.outcome(&rig.data(2, 6, FIRST, MTU));
        assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 9, ACK))), [(1, 7, 1)]);
    }
}

#[test]
fn an_acknowledgement_of_a_read_itself_misses_its_data() {
    let mut rig = after_sending(5, &[(Read, 1)]);
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 5, ACK))), [(0, 5, 0)]);
}

#[test]
fn data_that_were_not_asked_for_fail_the_message() {
    let long = [(Read, 2 * MTU + 7)];
    let cases: [(&str, &[_], u64, Opcode, u64); 8] = [
        ("too short", &long, 0, FIRST, MTU - 1),
        ("too long", &long, 0, FIRST, MTU + 1),
        ("ends too early", &long, 0, ONLY, MTU),
        ("ends too early and short", &long, 0, ONLY, 7),
        ("too long for the whole", &[(Read, 7)], 0, ONLY, 8),
        ("never ends", &[(Read, 7)], 0, FIRST, 7),
        ("empty", &[(Read, 7)], 0, ONLY, 0),
        ("of a WRITE", &[(Write, 7)], 0, ONLY, 7),
    ];
    for (name, messages, at, op, length) in cases {
        let mut rig = after_sending(5, messages);
        let given = rig.outcome(&rig.data(2, 5 + at, op, length));
        assert_eq!(completions(&given), [(0, Status::BadResponse as u64, 0)], "{name}");
        let errand = given.errands[0].1;
        assert!(errand.fails && errand.ends && !errand.places);
        assert_eq!(u64::from(errand.payload_len), length, "thrown away");
    }
}

#[test]
fn data_with_another_syndrome_than_a_positive_one_are_thrown_away() {
    let with = |rig: &Rig, psn, op, length, bits: u8| {
        let aeth = rig.acknowledge(2, psn, Syndrome::decode(bits)).aeth;
        Arrival { aeth, ..rig.data(2, psn, op, length) }
    };
    for (op, length, psn) in [(FIRST, 2 * MTU, 5), (ONLY, 7, 5), (LAST, MTU + 7, 6)] {
        let mut rig = after_sending(5, &[(Read, length)]);
        if op == LAST {
            rig.outcome(&rig.data(2, 5, FIRST, MTU));
        }
        let bytes = if op == FIRST { MTU } else { 7 };
        for bits in 0x20..=u8::MAX {
            let arrival = with(&rig, psn, op, bytes, bits);
            let given = rig.outcome(&arrival);
            assert!(is_nothing(&given), "{op:?} {bits:#x}");
            assert_eq!(u64::from(given.errands[0].1.payload_len), bytes, "the payload is thrown away");
        }
        let arrival = with(&rig, psn, op, bytes, 0);
        assert!(rig.outcome(&arrival).errands[0].1.places, "{op:?}");
    }
}

#[test]
fn a_read_behind_data_with_another_syndrome_misses_nothing_yet() {
    // They answer neither what is before them nor say that it is missing.
    let mut rig = after_sending(5, &[(Write, 1), (Read, 7), (Read, 7)]);
    let aeth = rig.acknowledge(2, 7, Syndrome::Nak(NakCode::RemoteAccess)).aeth;
    let arrival = Arrival { aeth, ..rig.data(2, 7, ONLY, 7) };
    assert!(is_nothing(&rig.outcome(&arrival)));
}

#[test]
fn the_middle_of_data_has_no_syndrome() {
    for bits in [0x00, 0x20, 0x60, 0xff] {
        let mut rig = after_sending(5, &[(Read, 3 * MTU)]);
        rig.outcome(&rig.data(2, 5, FIRST, MTU));
        let aeth = rig.acknowledge(2, 6, Syndrome::decode(bits)).aeth;
        let arrival = Arrival { aeth, ..rig.data(2, 6, MIDDLE, MTU) };
        assert!(rig.outcome(&arrival).errands[0].1.places, "{bits:#x}");
    }
}

#[test]
fn the_last_packet_has_to_be_as_long_as_the_rest() {
    for (length, status) in [(7, SUCCESS), (6, Status::BadResponse as u64), (MTU, Status::BadResponse as u64)]
    {
        let mut rig = after_sending(0xff_ffff, &[(Read, 2 * MTU + 7)]);
        rig.outcome(&rig.data(2, 0xff_ffff, FIRST, MTU));
        rig.outcome(&rig.data(2, 0, MIDDLE, MTU));
        let given = rig.outcome(&rig.data(2, 1, LAST, length));
        assert_eq!(completions(&given)[0].1, status);
    }
}

#[test]
fn data_in_the_middle_of_a_write_fail_it() {
    let mut rig = after_sending(5, &[(Write, 3 * MTU)]);
    let given = rig.outcome(&rig.data(2, 7, ONLY, 1));
    assert_eq!(completions(&given), [(0, Status::BadResponse as u64, 0)]);
}

#[test]
fn a_read_is_asked_for_again_from_its_middle() {
    let mut rig = after_sending(0xff_ffff, &[(Read, 3 * MTU)]);
    rig.outcome(&rig.data(2, 0xff_ffff, FIRST, MTU));
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!(rewinds(&given), [(0, 0, 1)]);
    // The rest comes as an answer of its own.
    rig.outcome(&rig.data(2, 0, FIRST, MTU));
    let given = rig.outcome(&rig.data(2, 1, LAST, MTU));
    assert_eq!(completions(&given), [(0, SUCCESS, 3 * MTU)]);
}

#[test]
fn what_is_asked_for_again_may_be_continued_or_begun() {
    for (second, third) in [(MIDDLE, LAST), (FIRST, LAST), (MIDDLE, ONLY), (FIRST, ONLY)] {
        let mut rig = after_sending(0xff_ffff, &[(Read, 3 * MTU)]);
        rig.outcome(&rig.data(2, 0xff_ffff, FIRST, MTU));
        rig.outcome(&rig.nudge(2, Occasion::Timeout));
        assert!(completions(&rig.outcome(&rig.data(2, 0, second, MTU))).is_empty());
        if third == ONLY {
            rig.outcome(&rig.nudge(2, Occasion::Timeout));
        }
        assert_eq!(completions(&rig.outcome(&rig.data(2, 1, third, MTU))), [(0, SUCCESS, 3 * MTU)]);
    }
}

#[test]
fn answers_begin_only_where_one_was_asked_for_and_continue_only_what_has_begun() {
    let cases: [(&str, u64, &[Part]); 5] = [
        ("continues at once", 3 * MTU, &[(MIDDLE, MTU)]),
        ("ends at once", 7, &[(LAST, 7)]),
        ("begins twice", 3 * MTU, &[(FIRST, MTU), (FIRST, MTU)]),
        ("begins at its end", MTU + 7, &[(FIRST, MTU), (ONLY, 7)]),
        ("begins late", 3 * MTU, &[(FIRST, MTU), (MIDDLE, MTU), (ONLY, MTU)]),
    ];
    for (name, length, parts) in cases {
        let mut rig = after_sending(0xff_ffff, &[(Read, length)]);
        for (psn, (op, length)) in (0xff_ffff..).zip(parts) {
            assert!(!rig.rows[2].failed, "{name}");
            rig.outcome(&rig.data(2, psn, *op, *length));
        }
        assert!(rig.rows[2].failed, "{name}");
        assert_eq!(u64::from(rig.sent[2].head), rig.rows[2].tail);
    }
    // Progress ends the permission to begin anew.
    let mut rig = after_sending(5, &[(Read, 3 * MTU)]);
    rig.outcome(&rig.data(2, 5, FIRST, MTU));
    rig.outcome(&rig.nudge(2, Occasion::Timeout));
    rig.outcome(&rig.data(2, 6, FIRST, MTU));
    let given = rig.outcome(&rig.data(2, 7, ONLY, MTU));
    assert_eq!(completions(&given), [(0, Status::BadResponse as u64, 0)]);
}

#[test]
fn a_read_of_more_entries_goes_where_its_wqe_says() {
    for code in 1..=5 {
        let mut rig = Rig::default();
        rig.settings[2] = Settings { path_mtu: code, ..Settings::default() };
        let mtu = 128 << code;
        let message = rig.message(2, Read, 2 * mtu + 3, 0xff_ffff);
        rig.admit(2, Sent { scatters: true, ..message }, 3);
        for (at, (op, length)) in (0..).zip([(FIRST, mtu), (MIDDLE, mtu), (LAST, 3)]) {
            let errand = rig.outcome(&rig.data(2, 0xff_ffff + at, op, length)).errands[0].1;
            assert!(errand.places && errand.ends && errand.completes == (at == 2));
            assert_eq!(u64::from(errand.list), List::Send as u64);
            assert_eq!((u64::from(errand.index), u64::from(errand.offset)), (0x5080, at * mtu));
            assert_eq!((u64::from(errand.span), u64::from(errand.payload_len)), (length, length));
            assert_eq!(u64::from(errand.need), u64::from(rights::LOCAL_WRITE));
        }
    }
}

#[test]
fn a_scattered_read_of_nothing_needs_no_list() {
    let mut rig = Rig::default();
    let message = rig.message(2, Read, 0, 5);
    rig.admit(2, Sent { scatters: true, ..message }, 1);
    let given = rig.outcome(&rig.data(2, 5, ONLY, 0));
    assert_eq!(completions(&given), [(0, SUCCESS, 0)]);
    assert!(!given.errands[0].1.places && u64::from(given.errands[0].1.list) == 0);
}
