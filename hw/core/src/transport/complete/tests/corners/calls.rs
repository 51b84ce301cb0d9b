//! RPCs, line by line of the requester's table in `docs/wire.md`. Path MTU 256; answers of 600 bytes at most: three PSNs.

use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Cqe, Status, WorkOp};
use stroma_abi::wire::{NakCode, RpcStatus, Syndrome, opcode};

use super::{ACK, FLUSHED, LOST, MTU, SUCCESS, completions, is_nothing, rewinds};
use crate::transport::complete::rig::{Given, Rig, Settings};
use crate::transport::records::{Arrival, Occasion, Sent};

/// The longest answer.
const LONGEST: u64 = 600;
/// The first PSN of the answer.
const BASE: u64 = 7;
const NOT_READY: Syndrome = Syndrome::RnrNak { timer: 9 };
const REFUSED: Syndrome = Syndrome::Nak(NakCode::RemoteOperational);
const BAD: u64 = Status::BadResponse as u64;

/// Makes an answer, given the PSN that is expected.
type Make = fn(&Rig, u64) -> Arrival;

/// Queue pair 2 has sent a WRITE, an RPC of `packets` packets whose last is at [`BASE`], and a WRITE.
fn calling(packets: u64) -> Rig {
    let mut rig = Rig::default();
    let first = BASE - packets;
    let before = rig.message(2, WorkOp::Write, 1, first);
    rig.admit(2, before, 1);
    let call = rig.call(2, packets, LONGEST, first + 1);
    rig.admit(2, call, call.packets.into());
    let behind = rig.message(2, WorkOp::Write, 2, BASE + 3);
    rig.admit(2, behind, 1);
    rig.settle();
    rig
}

/// The same, when everything before the RPC's answer is answered, and so many packets of it.
fn answered(packets: u64, came: u64) -> Rig {
    let mut rig = calling(packets);
    rig.outcome(&rig.acknowledge(2, BASE - 1, ACK));
    for index in 0..came {
        rig.outcome(&rig.result(2, BASE + index, MTU, None));
    }
    rig
}

fn end(rig: &Rig, index: u64, payload: u64, length: u32) -> Arrival {
    rig.result(2, BASE + index, payload, Some((0, length)))
}

/// Virtual addresses of what is placed, from the result's first byte on, and how many bytes.
fn placed(given: &Given) -> Vec<(u64, u64)> {
    let errands = given.errands.iter().filter(|(_, errand)| errand.places);
    let start = 0xffff_0000_0081_u64 << 16;
    errands.map(|(_, errand)| (u64::from(errand.va) - start, errand.span.into())).collect()
}

/// Retries that a queue pair has left, counted by timeouts.
fn retries_left(rig: &mut Rig) -> u64 {
    (0..20).find(|_| rig.outcome(&rig.nudge(2, Occasion::Timeout)).errands[0].1.fails).expect("some time")
}

#[test]
fn data_of_an_answer_go_to_the_result_and_acknowledge_everything_before() {
    for packets in [1, 3] {
        let mut rig = calling(packets);
        for index in 0..2 {
            let given = rig.outcome(&rig.result(2, BASE + index, MTU, None));
            assert_eq!(placed(&given), [(index * MTU, MTU)]);
            let errand = given.errands.last().expect("there is one").1;
            assert_eq!(
                (u64::from(errand.key), u64::from(errand.need)),
                (0x8000_0081, rights::LOCAL_WRITE.into())
            );
            assert!(!errand.completes && !errand.retires && errand.ends && errand.is_awaited);
            let before = if index == 0 { vec![(0, SUCCESS, 1)] } else { vec![] };
            assert_eq!((completions(&given), given.alarms.len(), given.rewinds.len()), (before, 1, 0));
        }
    }
}

#[test]
fn data_start_the_retries_anew() {
    let mut rig = calling(1);
    rig.settings[2] = Settings { retry: 3, ..Settings::default() };
    rig.outcome(&rig.nudge(2, Occasion::Timeout));
    rig.outcome(&rig.nudge(2, Occasion::Timeout));
    rig.outcome(&rig.result(2, BASE, MTU, None));
    assert_eq!(retries_left(&mut rig), 3);
}

#[test]
fn the_end_of_an_answer_completes_with_its_status_and_its_bytes() {
    for (status, packets) in [(0, 1), (RpcStatus::Limit as u32, 3), (0x8000_0100, 1)] {
        for (came, payload, length) in [(0, 0, 0), (0, 5, 5), (0, MTU, 256), (1, 244, 500), (2, 88, 600)] {
            let mut rig = answered(packets, came);
            let given = rig.outcome(&rig.result(2, BASE + came, payload, Some((status, length))));
            assert_eq!(completions(&given), [(1, SUCCESS, length.into())]);
            let errand = given.errands[0].1;
            assert_eq!(
                (u64::from(errand.detail), u64::from(errand.flags)),
                (status.into(), 1 << Cqe::RPC.bit)
            );
            assert_eq!(u64::from(errand.reads), 1);
            let place = if payload > 0 { vec![(came * MTU, payload)] } else { vec![] };
            assert_eq!((placed(&given), given.alarms.len()), (place, 1));
            // It goes on behind the range, wherever the answer has ended.
            assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, BASE + 3, ACK))), [(2, SUCCESS, 2)]);
        }
    }
}

#[test]
fn the_end_of_an_answer_acknowledges_everything_before() {
    for packets in [1, 3] {
        let mut rig = calling(packets);
        let given = rig.outcome(&end(&rig, 0, 5, 5));
        assert_eq!(completions(&given), [(0, SUCCESS, 1), (1, SUCCESS, 5)]);
        let details: Vec<u64> = given.errands.iter().map(|(_, errand)| errand.flags.into()).collect();
        assert_eq!(details, [0, 1 << Cqe::RPC.bit], "the WRITE before it has no such status");
    }
}

#[test]
fn an_rpc_without_a_completion_of_its_own_ends_in_silence() {
    let mut rig = Rig::default();
    let call = Sent { signaled: false, ..rig.call(2, 1, 0, BASE) };
    rig.admit(2, call, 1);
    rig.settle();
    let given = rig.outcome(&end(&rig, 0, 0, 0));
    assert!(completions(&given).is_empty() && given.errands[0].1.retires && given.alarms.is_empty());
}

#[test]
fn an_answer_of_other_lengths_fails_the_rpc() {
    let cases: [(&str, u64, u64, Option<u32>); 12] = [
        ("data that are not full", 0, MTU - 1, None),
        ("data that are too long", 0, MTU + 4, None),
        ("data without bytes", 0, 0, None),
        ("data with the last PSN", 2, MTU, None),
        ("an end that is longer than it says", 0, 6, Some(5)),
        ("an end that is shorter than it says", 0, 4, Some(5)),
        ("an end that leaves out what came", 1, 5, Some(5)),
        ("an end that counts what did not come", 0, 5, Some(261)),
        ("an end longer than a packet", 0, MTU + 4, Some(260)),
        ("an end beyond the longest answer", 2, 89, Some(601)),
        ("an end that says more than there can be", 0, 5, Some(0x2_0005)),
        ("an end that says less than it has", 1, 5, Some(0)),
    ];
    for (name, came, payload, length) in cases {
        for packets in [1, 3] {
            let mut rig = answered(packets, came);
            let arrival = rig.result(2, BASE + came, payload, length.map(|length| (0, length)));
            let given = rig.outcome(&arrival);
            assert_eq!(completions(&given), [(1, BAD, 0)], "{name}");
            let errand = given.errands[0].1;
            assert!(errand.fails && !errand.places && !errand.flags.any() && !errand.detail.any());
            assert_eq!(u64::from(errand.payload_len), payload, "thrown away");
        }
    }
    // `response_max` 0: one PSN, and an end without bytes.
    for (payload, length) in [(1, Some(1)), (MTU, None)] {
        let mut rig = Rig::default();
        let call = rig.call(2, 1, 0, BASE);
        rig.admit(2, call, 1);
        let arrival = rig.result(2, BASE, payload, length.map(|length| (0, length)));
        assert_eq!(rig.outcome(&arrival).errands[0].1.status, BAD);
    }
}

#[test]
fn what_is_no_answer_of_an_rpc_fails_it_there_and_so_do_such_answers_others() {
    let mut rig = answered(1, 0);
    let given = rig.outcome(&rig.data(2, BASE, opcode::RC_READ_RESPONSE_FIRST, MTU));
    assert_eq!(completions(&given), [(1, BAD, 0)]);
    let mut rig = answered(1, 0);
    assert_eq!(completions(&rig.outcome(&rig.value(2, BASE, 5))), [(1, BAD, 0)]);
    for op in [WorkOp::Write, WorkOp::Read, WorkOp::FetchAdd] {
        let arrivals: [fn(&Rig) -> Arrival; 3] =
            [|rig| end(rig, 0, 8, 8), |rig| rig.result(2, BASE, MTU, None), |rig| rig.busy(2, BASE)];
        for arrival in arrivals {
            let mut rig = Rig::default();
            let message = rig.message(2, op, 8, BASE);
            rig.admit(2, message, 1);
            let given = rig.outcome(&arrival(&rig));
            assert_eq!(given.errands[0].1.status, BAD, "{op:?}");
        }
    }
    // Nor is anything answered before the last packet of the request.
    for arrival in [rig.result(2, BASE - 1, MTU, None), rig.busy(2, BASE - 1)] {
        let mut rig = calling(3);
        assert_eq!(completions(&rig.outcome(&arrival)), [(0, SUCCESS, 1), (1, BAD, 0)]);
    }
}

#[test]
fn an_answer_before_what_is_expected_is_thrown_away() {
    for packets in [1, 3] {
        let mut rig = answered(packets, 2);
        let answers = [
            rig.result(2, BASE, MTU, None),
            end(&rig, 1, 5, 261),
            rig.busy(2, BASE + 1),
            rig.acknowledge(2, BASE + 1, ACK),
            rig.acknowledge(2, BASE, REFUSED),
            rig.result(2, BASE - 1, MTU, None),
        ];
        for arrival in answers {
            let given = rig.outcome(&arrival);
            assert!(is_nothing(&given) && given.stale == 1);
        }
        assert_eq!(completions(&rig.outcome(&end(&rig, 2, 88, 600))), [(1, SUCCESS, 600)]);
        let given = rig.outcome(&end(&rig, 2, 88, 600));
        assert!(is_nothing(&given), "it came twice");
    }
}

#[test]
fn what_comes_from_behind_what_is_expected_asks_for_it_again() {
    let arrivals: [(&str, Make); 10] = [
        ("data", |rig, at| rig.result(2, at + 1, MTU, None)),
        ("the end", |rig, at| rig.result(2, at + 1, 5, Some((0, 261)))),
        ("an acknowledgement in the range", |rig, at| rig.acknowledge(2, at, ACK)),
        ("an acknowledgement at its end", |rig, _| rig.acknowledge(2, BASE + 2, ACK)),
        ("an acknowledgement behind it", |rig, _| rig.acknowledge(2, BASE + 3, ACK)),
        ("a gap behind it", |rig, _| rig.acknowledge(2, BASE + 3, LOST)),
        ("a refusal behind it", |rig, _| rig.acknowledge(2, BASE + 3, REFUSED)),
        ("a peer that is not ready behind it", |rig, _| rig.acknowledge(2, BASE + 3, NOT_READY)),
        ("data of a READ behind it", |rig, _| rig.data(2, BASE + 3, opcode::RC_READ_RESPONSE_ONLY, 1)),
        ("a peer that is busy behind it", |rig, _| rig.busy(2, BASE + 3)),
    ];
    for (name, arrival) in arrivals {
        for packets in [1, 3] {
            for came in 0..2 {
                let mut rig = answered(packets, came);
                let arrival = arrival(&rig, BASE + came);
                let given = rig.outcome(&arrival);
                let expected = (1, BASE + came, packets - 1 + came);
                assert_eq!((rewinds(&given), given.alarms.len()), (vec![expected], 1), "{name}");
                let errand = given.errands[0].1;
                assert!(given.errands.len() == 1 && !errand.places && !errand.retires && errand.is_awaited);
                assert!(given.rewinds[0].1.discards && !given.rewinds[0].1.holds);
            }
            // The WRITE and the packets before the answer are acknowledged by it, whatever it is.
            let mut rig = calling(packets);
            let given = rig.outcome(&arrival(&rig, BASE));
            assert_eq!(completions(&given), [(0, SUCCESS, 1)], "{name}");
            assert_eq!(rewinds(&given), [(1, BASE, packets - 1)], "{name}");
        }
    }
}

#[test]
fn a_refusal_within_the_answer_is_of_something_behind() {
    for syndrome in [LOST, REFUSED, NOT_READY] {
        for psn in [BASE + 1, BASE + 2] {
            let mut rig = answered(3, 1);
            assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, psn, syndrome))), [(1, BASE + 1, 3)]);
        }
    }
}

#[test]
fn what_is_missing_is_asked_for_once_until_something_expected_comes() {
    let mut rig = answered(1, 0);
    let behind = rig.result(2, BASE + 1, MTU, None);
    assert_eq!(rewinds(&rig.outcome(&behind)).len(), 1);
    assert!(is_nothing(&rig.outcome(&behind)));
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, BASE + 3, ACK))));
    rig.outcome(&rig.result(2, BASE, MTU, None));
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, BASE + 3, ACK))), [(1, BASE + 1, 1)]);
}

#[test]
fn an_end_behind_what_is_expected_always_asks_again_but_never_gives_up() {
    let mut rig = answered(1, 0);
    rig.settings[2] = Settings { retry: 2, ..Settings::default() };
    assert_eq!(rewinds(&rig.outcome(&rig.result(2, BASE + 1, MTU, None))), [(1, BASE, 0)]);
    let late = end(&rig, 2, 88, 600);
    assert_eq!(rewinds(&rig.outcome(&late)), [(1, BASE, 0)]);
    // There are no retries left, but an answer may be on its way.
    assert!(is_nothing(&rig.outcome(&late)));
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!(completions(&given), [(1, Status::RetryExceeded as u64, 0)]);
    // One of another RPC's answer is only an answer from behind.
    let mut rig = answered(1, 0);
    let behind = rig.call(2, 1, 5, BASE + 4);
    rig.admit(2, behind, 1);
    let end_behind = rig.result(2, BASE + 4, 5, Some((0, 5)));
    assert_eq!(rewinds(&rig.outcome(&end_behind)).len(), 1);
    assert!(is_nothing(&rig.outcome(&end_behind)));
}

#[test]
fn a_busy_peer_acknowledges_what_is_before_and_starts_retries_and_timer_anew() {
    for packets in [1, 3] {
        for psn in BASE..BASE + 3 {
            let mut rig = calling(packets);
            rig.settings[2] = Settings { retry: 3, ..Settings::default() };
            rig.outcome(&rig.nudge(2, Occasion::Timeout));
            let given = rig.outcome(&rig.busy(2, psn));
            assert_eq!(completions(&given), [(0, SUCCESS, 1)]);
            assert!(given.rewinds.is_empty() && given.stale == 0, "nothing is sent again");
            assert_eq!((given.alarms.len(), given.alarms[0].1.rests), (1, false));
            // Once more: nothing is news but that it still runs.
            let given = rig.outcome(&rig.busy(2, psn));
            assert_eq!((given.alarms.len(), given.stale, given.rewinds.len()), (1, 0, 0));
            assert!(given.errands[0].1.is_awaited && !given.errands[0].1.retires);
            assert_eq!(rewinds(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), [(1, BASE, packets - 1)]);
            rig.outcome(&rig.busy(2, psn));
            assert_eq!(retries_left(&mut rig), 3);
        }
    }
}

#[test]
fn behind_a_busy_peer_what_is_missing_is_asked_for_anew() {
    let mut rig = answered(1, 0);
    let behind = rig.result(2, BASE + 1, MTU, None);
    assert_eq!(rewinds(&rig.outcome(&behind)).len(), 1);
    rig.outcome(&rig.busy(2, BASE));
    assert_eq!(rewinds(&rig.outcome(&behind)), [(1, BASE, 0)]);
}

#[test]
fn packets_before_the_answer_are_acknowledged_like_a_writes() {
    let mut rig = calling(3);
    for psn in [BASE - 2, BASE - 1] {
        let given = rig.outcome(&rig.acknowledge(2, psn, ACK));
        assert_eq!((given.alarms.len(), given.rewinds.len()), (1, 0));
        assert!(!given.errands.last().expect("there is one").1.retires);
    }
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, BASE - 1, ACK))));
    assert_eq!(rewinds(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), [(1, BASE, 2)]);
}

#[test]
fn a_gap_up_to_the_last_packet_is_sent_again_from_there() {
    for packets in [1, 3] {
        for at in 0..packets {
            let mut rig = calling(packets);
            let psn = BASE + 1 - packets + at;
            let given = rig.outcome(&rig.acknowledge(2, psn, LOST));
            assert_eq!((completions(&given), rewinds(&given)), (vec![(0, SUCCESS, 1)], vec![(1, psn, at)]));
        }
    }
}

#[test]
fn a_peer_that_is_not_ready_up_to_the_last_packet_gets_it_later() {
    for packets in [1, 3] {
        for at in 0..packets {
            let mut rig = calling(packets);
            rig.settings[2] = Settings { rnr_retry: 1, ..Settings::default() };
            let psn = BASE + 1 - packets + at;
            let given = rig.outcome(&rig.acknowledge(2, psn, NOT_READY));
            assert_eq!((completions(&given), rewinds(&given)), (vec![(0, SUCCESS, 1)], vec![(1, psn, at)]));
            assert!(given.rewinds[0].1.holds && given.alarms[0].1.rests);
            assert_eq!(rewinds(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), [(1, psn, at)]);
            let given = rig.outcome(&rig.acknowledge(2, psn, NOT_READY));
            assert_eq!(completions(&given), [(1, Status::RnrRetryExceeded as u64, 0)]);
        }
    }
}

#[test]
fn a_refusal_up_to_the_last_packet_fails_the_rpc() {
    let codes = [
        (NakCode::InvalidRequest, Status::RemoteInvalid),
        (NakCode::RemoteAccess, Status::RemoteAccess),
        (NakCode::RemoteOperational, Status::RemoteOperation),
    ];
    for (code, status) in codes {
        for packets in [1, 3] {
            for at in 0..packets {
                let mut rig = calling(packets);
                let psn = BASE + 1 - packets + at;
                let given = rig.outcome(&rig.acknowledge(2, psn, Syndrome::Nak(code)));
                assert_eq!(completions(&given), [(0, SUCCESS, 1), (1, status as u64, 0)]);
                let errand = given.errands.last().expect("there is one").1;
                assert!(errand.fails && !errand.flags.any() && !errand.detail.any());
            }
        }
    }
}

#[test]
fn without_an_answer_it_is_sent_again_from_the_first_packet_that_is_not_acknowledged() {
    let mut rig = calling(3);
    rig.outcome(&rig.acknowledge(2, BASE - 2, ACK));
    assert_eq!(rewinds(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), [(1, BASE - 1, 1)]);
    rig.outcome(&rig.result(2, BASE, MTU, None));
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!((rewinds(&given), given.timeouts.len()), (vec![(1, BASE + 1, 3)], 1));
    assert_eq!(retries_left(&mut rig), 6);
    let mut rig = answered(1, 1);
    rig.settings[2] = Settings { retry: 0, ..Settings::default() };
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!(completions(&given), [(1, Status::RetryExceeded as u64, 0)]);
}

#[test]
fn the_psns_of_an_answer_go_round() {
    let mut rig = Rig::default();
    let call = rig.call(2, 2, LONGEST, 0xff_fffd);
    rig.admit(2, call, 4);
    let behind = rig.message(2, WorkOp::Write, 1, 1);
    rig.admit(2, behind, 1);
    rig.settle();
    rig.outcome(&rig.result(2, 0xff_fffe, MTU, None));
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 1, ACK))), [(0, 0xff_ffff, 2)]);
    rig.outcome(&rig.result(2, 0xff_ffff, MTU, None));
    let given = rig.outcome(&rig.result(2, 0, 88, Some((0, 600))));
    assert_eq!(completions(&given), [(0, SUCCESS, 600)]);
    assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, 1, ACK))), [(1, SUCCESS, 1)]);
}

#[test]
fn every_path_mtu_has_its_own_places() {
    for code in 1..=5 {
        let mut rig = Rig::default();
        rig.settings[2] = Settings { path_mtu: code, ..Settings::default() };
        let mtu = 128 << code;
        let call = rig.call(2, 1, 65_536, BASE);
        let packets = u64::from(call.packets);
        assert_eq!(packets, 65_536 / mtu);
        rig.admit(2, call, packets);
        rig.settle();
        for at in 0..packets - 1 {
            let given = rig.outcome(&rig.result(2, BASE + at, mtu, None));
            let start = 0xffff_0000_0080_u64 << 16;
            assert_eq!(u64::from(given.errands[0].1.va), start + at * mtu);
        }
        let given = rig.outcome(&rig.result(2, BASE + packets - 1, mtu, Some((7, 65_536))));
        assert_eq!(completions(&given), [(0, SUCCESS, 65_536)]);
    }
}

#[test]
fn an_rpc_that_is_given_up_says_nothing_of_its_answer() {
    let mut rig = answered(3, 1);
    let given = rig.outcome(&rig.nudge(2, Occasion::Flush));
    assert_eq!(completions(&given), [(1, FLUSHED, 0), (2, FLUSHED, 0)]);
    assert!(given.errands.iter().all(|(_, errand)| !errand.flags.any() && !errand.detail.any()));
    assert_eq!(u64::from(given.errands[0].1.reads), 1, "it makes room for another");
    let unwanted = rig.outcome(&end(&rig, 1, 5, 261));
    assert!(is_nothing(&unwanted) && unwanted.unwanted == 1);
}

#[test]
fn an_answer_with_another_syndrome_than_a_positive_one_is_thrown_away() {
    for syndrome in [LOST, REFUSED, NOT_READY, Syndrome::Reserved(0x40)] {
        let mut rig = answered(1, 0);
        let aeth = rig.acknowledge(2, BASE, syndrome).aeth;
        for arrival in [end(&rig, 0, 5, 5), rig.busy(2, BASE)] {
            let given = rig.outcome(&Arrival { aeth, ..arrival });
            assert!(is_nothing(&given) && given.stale == 1);
        }
        // Data before the end have no such header.
        let given = rig.outcome(&Arrival { aeth, ..rig.result(2, BASE, MTU, None) });
        assert_eq!(placed(&given), [(0, MTU)]);
    }
}

#[test]
fn an_end_within_a_rest_counts_and_what_is_missing_waits_for_its_end() {
    let mut rig = answered(1, 0);
    rig.outcome(&rig.acknowledge(2, BASE, NOT_READY));
    let given = rig.outcome(&end(&rig, 2, 88, 600));
    assert!(is_nothing(&given), "the rest sends it again anyway");
    let given = rig.outcome(&rig.busy(2, BASE));
    assert!(given.alarms.is_empty() && given.rewinds.is_empty());
    let given = rig.outcome(&end(&rig, 0, 5, 5));
    assert_eq!((completions(&given), given.alarms.len()), (vec![(1, SUCCESS, 5)], 0));
}
