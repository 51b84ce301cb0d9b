//! What the packets of each operation say.

use stroma_abi::desc::WorkOp;
use stroma_verilate::SplitMix64;

use super::gives;
use crate::transport::segment::rig::{ATOMICS, CARRYING, Case, Rig};

/// Op-codes of the first, a middle, the last and the only packet.
const CODES: [(WorkOp, [u64; 4]); 5] = [
    (WorkOp::Send, [0x00, 0x01, 0x02, 0x04]),
    (WorkOp::SendImm, [0x00, 0x01, 0x03, 0x05]),
    (WorkOp::SendInv, [0x00, 0x01, 0x16, 0x17]),
    (WorkOp::Write, [0x06, 0x07, 0x08, 0x0a]),
    (WorkOp::WriteImm, [0x06, 0x07, 0x09, 0x0b]),
];

#[test]
fn op_codes_follow_from_the_operation_and_the_place() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(1);
    for (op, [first, middle, last, only]) in CODES {
        let long = Case::write(&mut rng, 1, &[600]).of(op);
        let expected = [(first, 0, 256, 256, true), (middle, 1, 256, 256, true), (last, 2, 88, 88, true)];
        gives(&mut rig, &long, &expected);
        gives(&mut rig, &long.visit(1, 1), &[(middle, 0, 256, 256, true)]);
        gives(&mut rig, &long.visit(2, 1), &[(last, 0, 88, 88, true)]);
        gives(&mut rig, &Case::write(&mut rng, 1, &[256]).of(op), &[(only, 0, 256, 256, true)]);
        gives(&mut rig, &Case::inline(&mut rng, 1, 256).of(op), &[(only, 0, 256, 0, true)]);
        let inline = [(first, 0, 256, 0, true), (last, 1, 1, 0, true)];
        gives(&mut rig, &Case::inline(&mut rng, 1, 257).of(op), &inline);
    }
}

#[test]
fn a_message_of_nothing_is_one_packet_of_its_operation() {
    let mut rig = Rig::<64>::new();
    let mut rng = SplitMix64::new(2);
    for (op, [_, _, _, only]) in CODES {
        for case in
            [Case::write(&mut rng, 1, &[]), Case::write(&mut rng, 1, &[0; 3]), Case::inline(&mut rng, 1, 0)]
        {
            let steps = gives(&mut rig, &case.of(op), &[(only, 0, 0, 0, true)]);
            assert!(steps[0].ackreq && steps[0].frees && !steps[0].inline);
        }
    }
}

#[test]
fn immediate_data_and_keys_to_invalidate_stand_in_the_last_packet_alone() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(3);
    for op in CARRYING {
        let mut case = Case::write(&mut rng, 1, &[600]).of(op);
        case.message.imm = 0x1234_5678_u64.into();
        let last = if matches!(op, WorkOp::Send | WorkOp::Write) { 0 } else { 0x1234_5678 };
        let imms: Vec<u64> = case.outcome().steps.iter().map(|step| step.imm.into()).collect();
        assert_eq!(imms, [0, 0, last], "{op:?}");
        rig.check(&[case]);
    }
}

#[test]
fn only_what_ends_a_receive_wakes_the_receiver() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(4);
    for op in CARRYING {
        let mut case = Case::write(&mut rng, 1, &[600]).of(op);
        for solicited in [false, true] {
            case.message.solicited = solicited;
            let found: Vec<bool> = case.outcome().steps.iter().map(|step| step.solicited).collect();
            assert_eq!(found, [false, false, solicited && op != WorkOp::Write], "{op:?}");
            rig.check(std::slice::from_ref(&case));
        }
    }
    let mut read = Case::read(&mut rng, 1, 100, 1);
    read.message.solicited = true;
    for case in [read.clone(), read.of(WorkOp::FetchAdd)] {
        assert!(!case.outcome().steps[0].solicited);
        rig.check(&[case]);
    }
}

#[test]
fn a_send_names_no_place_at_the_peer() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(5);
    for op in [WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv] {
        for length in [100, 600] {
            let case = Case::write(&mut rng, 1, &[length]).of(op);
            let steps = case.outcome().steps;
            assert!(steps.iter().all(|step| !step.va.any() && !step.rkey.any() && !step.len.any()));
            rig.check(&[case]);
        }
    }
}

#[test]
fn an_atomic_is_one_packet_with_its_operands() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(6);
    for (op, code) in ATOMICS.into_iter().zip([0x13, 0x14]) {
        for units in [1, 8] {
            let case = Case::atomic(&mut rng, op, units);
            let steps = gives(&mut rig, &case, &[(code, 0, 0, 0, true)]);
            assert!(steps[0].ackreq && steps[0].frees && !steps[0].inline);
            assert_eq!((steps[0].va, steps[0].rkey), (case.message.remote, case.message.key));
            assert_eq!((steps[0].a1, steps[0].a2), (case.message.a1, case.message.a2));
            assert!(!steps[0].len.any() && !steps[0].imm.any() && !steps[0].address.any());
        }
    }
    // Their units are gone: the next message finds its own.
    rig.check(&super::cases(7, 10));
}
