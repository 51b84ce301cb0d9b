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
fn a_send_names_no_place_at_the_peer_unless_it_could_be_a_datagram() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(5);
    for op in [WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv] {
        for length in [100, 600] {
            let case = Case::write(&mut rng, 1, &[length]).of(op);
            let steps = case.outcome().steps;
            let place = if length == 100 && op != WorkOp::SendInv {
                (case.message.remote, case.message.key)
            } else {
                Default::default()
            };
            assert!(
                steps.iter().all(|step| (step.va, step.rkey) == place && !step.len.any()),
                "{op:?} {length}"
            );
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

#[test]
fn the_parameters_of_an_rpc_stand_behind_the_entry_of_its_result() {
    fn of_width<const D: usize>() {
        let mut rig = Rig::<D>::new();
        let mut rng = SplitMix64::new(8);
        for path_mtu in [1, 5] {
            for words in 0..=16 {
                let case = Case::rpc(&mut rng, path_mtu, 4 * words);
                let length = 4 * words as u64;
                let steps = gives(&mut rig, &case, &[(0xd8, 0, length, 0, true)]);
                assert!(steps[0].ackreq && steps[0].frees && steps[0].inline == (words > 0));
                assert_eq!((steps[0].va, steps[0].rkey), (case.message.remote, case.message.key));
                assert_eq!((u64::from(steps[0].len), steps[0].solicited), (length, false));
                let sent = case.outcome().inline;
                assert_eq!(sent.concat(), case.wqe[48..][..4 * words]);
                // As many units as there may be change nothing, nor does what comes before and behind.
                let padded = case.clone().padded(&mut rng, 8);
                let inline = Case::inline(&mut rng, 1, 33 * words % 481);
                rig.check(&[inline.clone(), case, padded, inline]);
            }
        }
    }
    of_width::<64>();
    of_width::<512>();
}

#[test]
fn the_stream_of_an_rpc_is_cut_like_a_write() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(9);
    let long = Case::stream(&mut rng, 1, &[600]);
    let expected = [(0xd9, 0, 256, 256, true), (0xda, 1, 256, 256, true), (0xdb, 2, 88, 88, true)];
    let steps = gives(&mut rig, &long, &expected);
    let said = |step: &crate::transport::records::TxStep| (step.va, step.rkey, u64::from(step.len));
    assert_eq!(said(&steps[0]), (long.message.remote, long.message.key, 600), "target, key and bytes of all");
    assert!(steps[1..].iter().all(|step| !step.va.any() && !step.rkey.any() && !step.len.any()));
    let asks: Vec<bool> = steps.iter().map(|step| step.ackreq).collect();
    assert_eq!(asks, [false, false, true]);
    gives(&mut rig, &long.visit(1, 1), &[(0xda, 0, 256, 256, true)]);
    gives(&mut rig, &long.visit(2, 1), &[(0xdb, 0, 88, 88, true)]);
    gives(&mut rig, &Case::stream(&mut rng, 1, &[256]), &[(0xdc, 0, 256, 256, true)]);
    gives(&mut rig, &Case::stream(&mut rng, 1, &[]), &[(0xdc, 0, 0, 0, true)]);
    gives(&mut rig, &Case::stream(&mut rng, 1, &[0; 3]), &[(0xdc, 0, 0, 0, true)]);
    // Entries in the first unit and behind.
    for count in 1..=15 {
        let case = Case::stream(&mut rng, 3, &vec![100; count]);
        rig.check(&[case.clone(), Case::write(&mut rng, 1, &[10]), case]);
    }
}

#[test]
fn the_answer_of_an_rpc_is_asked_for_again_without_payload() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(10);
    for units in [1, 2, 8] {
        let case = Case::rpc(&mut rng, 1, 0).padded(&mut rng, units);
        let steps = gives(&mut rig, &case, &[(0xd8, 0, 0, 0, true)]);
        assert!(!steps[0].inline && !steps[0].len.any() && steps[0].ackreq);
        // Whatever the entries of its WQE are.
        let mut stream = Case::stream(&mut rng, 1, &[600, 100]).of(WorkOp::Rpc);
        (stream.message.length, stream.message.packets) = (0_u64.into(), 1_u64.into());
        gives(&mut rig, &stream, &[(0xd8, 0, 0, 0, true)]);
        rig.check(&[stream, case, Case::write(&mut rng, 1, &[600])]);
    }
}
