use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{Read, Send, SendImm, SendInv, Write, WriteImm};
use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::{ACK, FLUSHED, LOST, MTU, SUCCESS, after_sending, completions, is_nothing, rewinds, send};
use crate::transport::complete::rig::{Given, Rig, Settings};
use crate::transport::records::Occasion;

#[test]
fn an_acknowledgement_ends_all_messages_up_to_its_psn_in_order() {
    // Across the end of the PSNs: 0xfffffe, ffffff to 1, 2.
    let mut rig = after_sending(0xff_fffe, &[(Write, 10), (Write, 3 * MTU), (Write, 5)]);
    let given = rig.outcome(&rig.acknowledge(2, 2, ACK));
    assert_eq!(completions(&given), [(0, SUCCESS, 10), (1, SUCCESS, 3 * MTU), (2, SUCCESS, 5)]);
    let tails: Vec<u64> = given.errands.iter().map(|(_, errand)| errand.tail.into()).collect();
    assert_eq!(tails, [1, 2, 3]);
    let ends: Vec<bool> = given.errands.iter().map(|(_, errand)| errand.ends).collect();
    assert_eq!(ends, [false, false, true]);
    assert!(given.alarms.is_empty(), "nothing is left to wait for");
}

#[test]
fn an_acknowledgement_ends_messages_of_every_kind_that_brings_nothing() {
    for op in [Write, WriteImm, Send, SendImm, SendInv] {
        let mut rig = after_sending(9, &[(op, 0), (op, 2 * MTU + 1)]);
        let given = rig.outcome(&rig.acknowledge(2, 12, ACK));
        assert_eq!(completions(&given), [(0, SUCCESS, 0), (1, SUCCESS, 2 * MTU + 1)], "{op:?}");
        assert!(given.errands.iter().all(|(_, errand)| errand.opcode == op as u64 && !errand.places));
        assert!(given.errands.iter().all(|(_, errand)| !errand.reads.any()));
    }
}

#[test]
fn an_acknowledgement_in_the_middle_is_progress_and_sets_the_alarm() {
    let mut rig = after_sending(100, &[(Write, 10), (Write, 5 * MTU)]);
    let given = rig.outcome(&rig.acknowledge(2, 102, ACK));
    assert_eq!(completions(&given), [(0, SUCCESS, 10)]);
    assert_eq!((given.errands.len(), given.alarms.len()), (2, 1));
    assert_eq!(u64::from(given.alarms[0].1.timeout), 14);
    // Progress is remembered: a timeout asks for the rest.
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!(rewinds(&given), [(1, 103, 2)]);
}

#[test]
fn what_was_answered_before_or_never_sent_is_thrown_away() {
    let mut rig = after_sending(100, &[(Write, 10), (Write, 3 * MTU)]);
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 104, ACK))), "never sent");
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 99, ACK))), "before the first");
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 104, LOST))), "the next to be sent is not missed");
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 100 + (1 << 23), ACK))), "the far side");
    rig.outcome(&rig.acknowledge(2, 101, ACK));
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 101, ACK))), "answered before");
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 100, LOST))), "answered before");
    assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, 103, ACK))), [(1, SUCCESS, 3 * MTU)]);
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 103, ACK))), "nothing is outstanding");
}

#[test]
fn an_answer_of_which_nothing_comes_is_counted_by_its_cause() {
    let counts = |given: &Given| {
        (given.stale, given.unwanted, given.errands.iter().all(|(_, errand)| errand.is_awaited))
    };
    let mut rig = after_sending(100, &[(Write, 10), (Read, 10)]);
    assert_eq!(counts(&rig.outcome(&rig.acknowledge(2, 104, ACK))), (1, 0, false), "never sent");
    assert_eq!(counts(&rig.outcome(&rig.acknowledge(2, 100, ACK))), (0, 0, true));
    assert_eq!(counts(&rig.outcome(&rig.acknowledge(2, 101, ACK))), (0, 0, true), "data are missing");
    assert_eq!(counts(&rig.outcome(&rig.acknowledge(2, 101, ACK))), (1, 0, false), "as was known");
    assert_eq!(counts(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), (0, 0, false), "not of the peer");
    let refusal = rig.acknowledge(2, 101, Syndrome::Nak(NakCode::RemoteAccess));
    assert_eq!(counts(&rig.outcome(&refusal)), (0, 0, true));
    assert_eq!(counts(&rig.outcome(&refusal)), (0, 1, false), "it has failed");
}

#[test]
fn packets_that_answer_nothing_are_thrown_away_with_their_payload() {
    let mut rig = after_sending(7, &[(Write, 10)]);
    let answers = |code: u8| (0x0d..=0x12).contains(&code) || (0xdd..=0xdf).contains(&code);
    for op in opcode::TABLE.iter().filter(|op| !answers(op.code)) {
        let given = rig.outcome(&rig.data(2, 7, *op, 33));
        assert!(is_nothing(&given), "{}", op.name);
        assert_eq!((u64::from(given.errands[0].1.payload_len), given.errands[0].1.places), (33, false));
    }
}

#[test]
fn reserved_syndromes_are_thrown_away() {
    let mut rig = after_sending(7, &[(Write, 10)]);
    let is_reserved = |bits: &u8| matches!(Syndrome::decode(*bits), Syndrome::Reserved(_));
    let reserved: Vec<u8> = (0..=u8::MAX).filter(is_reserved).collect();
    assert_eq!(reserved.len(), 256 - 32 - 32 - 5);
    for bits in reserved {
        let arrival = rig.acknowledge(2, 7, Syndrome::Reserved(bits));
        assert!(is_nothing(&rig.outcome(&arrival)), "{bits:#x}");
    }
}

#[test]
fn a_lost_packet_is_sent_again_from_the_psn_that_the_peer_names() {
    let mut rig = after_sending(0xff_ffff, &[(Write, 10), (Write, 4 * MTU), (Write, 1)]);
    let given = rig.outcome(&rig.acknowledge(2, 2, LOST));
    assert_eq!(completions(&given), [(0, SUCCESS, 10)]);
    assert_eq!(rewinds(&given), [(1, 2, 2)]);
    assert_eq!(given.alarms.len(), 1, "one alarm, for progress and rewind");
}

#[test]
fn a_nak_repeats_what_is_missing_as_long_as_there_are_retries_and_never_uses_them_up_after_the_first() {
    let mut rig = Rig::default();
    rig.settings[2] = Settings { retry: 3, ..Settings::default() };
    send(&mut rig, 50, &[(Write, 2 * MTU), (Write, 4 * MTU)]);
    for _ in 0..3 {
        assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 50, LOST))), [(0, 50, 0)]);
    }
    for _ in 0..3 {
        assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 50, LOST))), "the timer decides");
    }
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 51, LOST))), [(0, 51, 1)], "after progress");
}

#[test]
fn answers_from_after_one_loss_repair_it_once_until_there_is_progress() {
    let mut rig = after_sending(50, &[(Read, 10), (Write, 4 * MTU)]);
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 51, ACK))), [(0, 50, 0)]);
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 52, ACK))), "the same loss");
}

#[test]
fn retries_are_counted_from_the_last_progress() {
    for retry in [0, 1, 7] {
        let mut rig = Rig::default();
        rig.settings[2] = Settings { retry, ..Settings::default() };
        send(&mut rig, 50, &[(Write, 4 * MTU), (Write, 1)]);
        for psn in [50, 51] {
            // Progress by one packet each time gives all retries anew.
            for _ in 0..retry {
                let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
                assert_eq!((given.rewinds.len(), given.alarms.len(), given.timeouts.len()), (1, 1, 1));
            }
            rig.outcome(&rig.acknowledge(2, psn, ACK));
        }
        for _ in 0..retry {
            rig.outcome(&rig.nudge(2, Occasion::Timeout));
        }
        let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
        assert_eq!(completions(&given), [(0, Status::RetryExceeded as u64, 0)], "{retry} retries");
        assert!(given.errands[0].1.fails && given.rewinds.is_empty() && given.alarms.is_empty());
        assert!(is_nothing(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), "it has failed");
        assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 54, ACK))), "it has failed");
        assert_eq!(completions(&rig.outcome(&rig.nudge(2, Occasion::Flush))), [(1, FLUSHED, 0)]);
    }
}

#[test]
fn a_refusal_fails_its_message_after_those_before_it() {
    for (code, status) in [
        (NakCode::InvalidRequest, Status::RemoteInvalid),
        (NakCode::RemoteAccess, Status::RemoteAccess),
        (NakCode::RemoteOperational, Status::RemoteOperation),
        (NakCode::InvalidRdRequest, Status::RemoteInvalid),
    ] {
        let mut rig = after_sending(9, &[(Write, 1), (Write, 3 * MTU), (Read, 1)]);
        // The second packet of the second message.
        let given = rig.outcome(&rig.acknowledge(2, 11, Syndrome::Nak(code)));
        assert_eq!(completions(&given), [(0, SUCCESS, 1), (1, status as u64, 0)], "{code:?}");
        let fails: Vec<bool> = given.errands.iter().map(|(_, errand)| errand.fails).collect();
        assert_eq!((fails, given.alarms.len()), (vec![false, true], 0));
        assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 12, ACK))), "it has failed");
    }
}

#[test]
fn a_refused_read_counts_among_the_reads_that_are_over() {
    let mut rig = after_sending(9, &[(Read, 3 * MTU), (Write, 1)]);
    let given = rig.outcome(&rig.acknowledge(2, 9, Syndrome::Nak(NakCode::RemoteAccess)));
    assert_eq!(completions(&given), [(0, Status::RemoteAccess as u64, 0)]);
    assert_eq!((u64::from(given.errands[0].1.tail), u64::from(given.errands[0].1.reads)), (1, 1));
}

#[test]
fn an_unsignaled_success_is_told_by_no_completion_a_failure_is() {
    let mut rig = Rig::default();
    for psn in 0..3 {
        let mut message = rig.message(2, Write, 1, psn);
        message.signaled = psn == 1;
        rig.admit(2, message, 1);
    }
    let given = rig.outcome(&rig.acknowledge(2, 1, ACK));
    assert_eq!(completions(&given), [(1, SUCCESS, 1)]);
    assert!(given.errands.iter().all(|(_, errand)| errand.retires));
    let given = rig.outcome(&rig.acknowledge(2, 2, Syndrome::Nak(NakCode::RemoteAccess)));
    assert_eq!(completions(&given), [(2, Status::RemoteAccess as u64, 0)]);
}

#[test]
fn places_and_counts_go_round() {
    let mut rig = Rig::default();
    for (psn, round) in (0xff_ffc0..).zip(1..=70) {
        send(&mut rig, psn, &[(Read, 1)]);
        let given = rig.outcome(&rig.data(2, psn, opcode::RC_READ_RESPONSE_ONLY, 1));
        let errand = given.errands[0].1;
        assert_eq!((u64::from(errand.tail), u64::from(errand.reads)), (round % 64, round % 32));
    }
}

#[test]
fn a_full_ring_is_ended_by_one_acknowledgement() {
    let messages = [(Write, 2 * MTU); 32];
    let mut rig = after_sending(0, &messages);
    let given = rig.outcome(&rig.acknowledge(2, 63, ACK));
    assert_eq!(completions(&given), (0..32).map(|at| (at, SUCCESS, 2 * MTU)).collect::<Vec<_>>());
}
