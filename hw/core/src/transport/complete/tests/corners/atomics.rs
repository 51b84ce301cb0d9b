use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{CmpSwap, FetchAdd, Read, Send, SendImm, SendInv, Write, WriteImm};
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Syndrome, opcode};

use super::{ACK, LOST, MTU, SUCCESS, after_sending, completions, is_nothing, rewinds, send};
use crate::transport::complete::rig::Rig;
use crate::transport::records::{Arrival, Occasion};

const FOUND: u64 = 0xfedc_ba98_7654_3210;

type Answer = Box<dyn Fn(&Rig) -> Arrival>;

#[test]
fn what_an_atomic_found_goes_to_its_place() {
    for op in [CmpSwap, FetchAdd] {
        let mut rig = after_sending(0xff_ffff, &[(op, 8), (Write, 1)]);
        let given = rig.outcome(&rig.value(2, 0xff_ffff, FOUND));
        assert_eq!((completions(&given), given.alarms.len()), (vec![(0, SUCCESS, 8)], 1));
        let errand = given.errands[0].1;
        assert!(errand.places && errand.has_value && errand.ends && errand.retires);
        assert_eq!((u64::from(errand.value), u64::from(errand.payload_len)), (FOUND, 0));
        assert_eq!((u64::from(errand.span), u64::from(errand.need)), (8, rights::LOCAL_WRITE.into()));
        assert_eq!((u64::from(errand.va), u64::from(errand.key)), (0xffff_0000_0080 << 16, 0x8000_0080));
        assert_eq!((u64::from(errand.list), u64::from(errand.atomic)), (0, 0));
        assert_eq!((u64::from(errand.tail), u64::from(errand.reads)), (1, 1));
    }
}

#[test]
fn an_unsignaled_atomic_has_its_value_without_a_completion() {
    let mut rig = Rig::default();
    let mut message = rig.message(2, FetchAdd, 8, 5);
    message.signaled = false;
    rig.admit(2, message, 1);
    let errand = rig.outcome(&rig.value(2, 5, FOUND)).errands[0].1;
    assert!(errand.has_value && errand.retires && !errand.completes);
}

#[test]
fn a_value_answers_all_before_it_that_brings_nothing() {
    let before = [(Write, 1), (WriteImm, 2 * MTU), (Send, 3), (SendImm, 0), (SendInv, MTU)];
    let mut rig = after_sending(5, &before);
    send(&mut rig, 11, &[(CmpSwap, 8)]);
    let given = rig.outcome(&rig.value(2, 11, FOUND));
    let mut expected: Vec<_> = (0..).zip(before).map(|(at, (_, length))| (at, SUCCESS, length)).collect();
    expected.push((5, SUCCESS, 8));
    assert_eq!(completions(&given), expected);
    let values: Vec<bool> = given.errands.iter().map(|(_, errand)| errand.has_value).collect();
    assert_eq!(values, [false, false, false, false, false, true]);
}

#[test]
fn an_atomic_whose_value_is_missing_is_asked_for_again() {
    let answers: [fn(&Rig) -> Arrival; 5] = [
        |rig| rig.acknowledge(2, 5, ACK),
        |rig| rig.acknowledge(2, 7, ACK),
        |rig| rig.acknowledge(2, 6, LOST),
        |rig| rig.value(2, 6, FOUND),
        |rig| rig.nudge(2, Occasion::Timeout),
    ];
    for answer in answers {
        let mut rig = after_sending(5, &[(FetchAdd, 8), (CmpSwap, 8), (Send, 1)]);
        let given = rig.outcome(&answer(&rig));
        assert_eq!((completions(&given), rewinds(&given)), (vec![], vec![(0, 5, 0)]));
        assert!(!given.errands[0].1.places);
        for (at, psn) in [(0, 5), (1, 6)] {
            assert_eq!(completions(&rig.outcome(&rig.value(2, psn, FOUND))), [(at, SUCCESS, 8)]);
        }
    }
}

#[test]
fn answers_of_another_kind_fail_the_message() {
    let data = |op, length| move |rig: &Rig| rig.data(2, 5, op, length);
    let cases: [(&str, _, Answer); 7] = [
        ("a value for a READ", (Read, 8), Box::new(|rig| rig.value(2, 5, FOUND))),
        ("a value for an empty READ", (Read, 0), Box::new(|rig| rig.value(2, 5, FOUND))),
        ("a value for a SEND", (Send, 8), Box::new(|rig| rig.value(2, 5, FOUND))),
        ("data for an atomic", (FetchAdd, 8), Box::new(data(opcode::RC_READ_RESPONSE_ONLY, 8))),
        ("no data for an atomic", (CmpSwap, 8), Box::new(data(opcode::RC_READ_RESPONSE_ONLY, 0))),
        ("the end of data for an atomic", (CmpSwap, 8), Box::new(data(opcode::RC_READ_RESPONSE_LAST, 8))),
        (
            "a value with payload",
            (FetchAdd, 8),
            Box::new(|rig| Arrival { payload_len: 8_u64.into(), ..rig.value(2, 5, FOUND) }),
        ),
    ];
    for (name, message, answer) in cases {
        let mut rig = after_sending(5, &[message]);
        let given = rig.outcome(&answer(&rig));
        assert_eq!(completions(&given), [(0, Status::BadResponse as u64, 0)], "{name}");
        let errand = given.errands[0].1;
        assert!(errand.fails && !errand.places && !errand.has_value, "{name}");
    }
}

#[test]
fn a_value_with_another_syndrome_is_thrown_away() {
    let mut rig = after_sending(5, &[(FetchAdd, 8)]);
    for bits in 0x20..=u8::MAX {
        let syndrome = rig.acknowledge(2, 5, Syndrome::decode(bits));
        let op = u64::from(opcode::RC_ATOMIC_ACKNOWLEDGE.code).into();
        assert!(is_nothing(&rig.outcome(&Arrival { op, ..syndrome })), "{bits:#x}");
    }
    assert_eq!(completions(&rig.outcome(&rig.value(2, 5, FOUND))), [(0, SUCCESS, 8)]);
}
