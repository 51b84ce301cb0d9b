use rust_hdl::prelude::Bits;
use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{Read, Write};
use stroma_verilate::Pause;

use super::{ACK, FLUSHED, LOST, MTU, SUCCESS, after_sending, completions, is_nothing, rewinds, send};
use crate::transport::complete::model::Row;
use crate::transport::complete::rig::{Rig, Settings};
use crate::transport::records::{Arrival, Occasion, SentRow};

fn failure(rig: &Rig, slot: u64) -> Arrival {
    Arrival {
        slot: slot.into(),
        status: (Status::LocalProtection as u64).into(),
        vendor: 0x5a_u64.into(),
        ..rig.nudge(2, Occasion::Failure)
    }
}

#[test]
fn a_timeout_sends_again_even_what_is_being_sent_again() {
    let mut rig = after_sending(5, &[(Write, 3 * MTU)]);
    rig.outcome(&rig.acknowledge(2, 6, LOST));
    for _ in 0..2 {
        let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
        assert_eq!((rewinds(&given), given.timeouts.len()), (vec![(0, 6, 1)], 1));
    }
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 6, LOST))), [(0, 6, 1)], "and lost again");
}

#[test]
fn a_timeout_of_nothing_is_nothing() {
    let mut rig = after_sending(5, &[(Write, 1)]);
    rig.outcome(&rig.acknowledge(2, 5, ACK));
    assert!(is_nothing(&rig.outcome(&rig.nudge(2, Occasion::Timeout))));
    send(&mut rig, 6, &[(Write, 1)]);
    rig.outcome(&failure(&rig, 1));
    send(&mut rig, 7, &[(Write, 1)]);
    assert!(is_nothing(&rig.outcome(&rig.nudge(2, Occasion::Timeout))), "it has failed");
}

#[test]
fn a_message_that_waits_for_its_turn_is_not_late() {
    let mut rig = Rig::default();
    rig.settings[2] = Settings { timeout: 9, retry: 0, ..Settings::default() };
    let message = rig.message(2, Write, 5 * MTU, 70);
    rig.admit(2, message, 2);
    rig.outcome(&rig.acknowledge(2, 71, ACK));
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!((given.alarms.len(), given.timeouts.len(), given.rewinds.len()), (1, 0, 0));
    assert!(completions(&given).is_empty(), "without retries, too");
    rig.write_row(2, SentRow { head: 1.into(), frontier: 73_u64.into() });
    let given = rig.outcome(&rig.nudge(2, Occasion::Timeout));
    assert_eq!(completions(&given), [(0, Status::RetryExceeded as u64, 0)], "now it is");
}

#[test]
fn a_flush_gives_up_everything_in_order() {
    let mut rig = after_sending(5, &[(Write, 3 * MTU), (Read, 1), (Write, 1)]);
    rig.outcome(&rig.acknowledge(2, 6, ACK));
    let given = rig.outcome(&rig.nudge(2, Occasion::Flush));
    assert_eq!(completions(&given), [(0, FLUSHED, 0), (1, FLUSHED, 0), (2, FLUSHED, 0)]);
    assert!(given.errands.iter().all(|(_, errand)| errand.retires && !errand.fails));
    assert_eq!(u64::from(given.errands[2].1.reads), 1);
    assert!(given.alarms.is_empty());
    assert!(is_nothing(&rig.outcome(&rig.nudge(2, Occasion::Flush))), "one empty errand");
    send(&mut rig, 10, &[(Write, 1)]);
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 10, ACK))), "no answer counts after a flush");
}

#[test]
fn after_a_flush_of_nothing_no_answer_counts() {
    let mut rig = Rig::default();
    assert!(is_nothing(&rig.outcome(&rig.nudge(2, Occasion::Flush))));
    send(&mut rig, 10, &[(Write, 1)]);
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 10, ACK))));
}

#[test]
fn a_message_that_cannot_be_sent_fails_and_those_before_it_are_flushed() {
    let mut rig = after_sending(5, &[(Write, 1), (Read, 1), (Write, 1), (Write, 1)]);
    let given = rig.outcome(&failure(&rig, 2));
    let status = Status::LocalProtection as u64;
    assert_eq!(completions(&given), [(0, FLUSHED, 0), (1, FLUSHED, 0), (2, status, 0)]);
    let told: Vec<_> =
        given.errands.iter().map(|(_, errand)| (errand.fails, u64::from(errand.vendor))).collect();
    assert_eq!(told, [(false, 0), (false, 0), (true, 0x5a)]);
    assert!(is_nothing(&rig.outcome(&failure(&rig, 3))), "it has failed");
}

#[test]
fn a_failure_of_what_is_over_or_was_never_sent_is_nothing() {
    let mut rig = after_sending(5, &[(Write, 1), (Write, 1), (Write, 1)]);
    rig.outcome(&rig.acknowledge(2, 5, ACK));
    for slot in [0, 3, 33, 63] {
        assert!(is_nothing(&rig.outcome(&failure(&rig, slot))), "{slot}");
    }
    assert_eq!(completions(&rig.outcome(&failure(&rig, 1))).len(), 1);
}

#[test]
fn a_queue_pair_that_resets_begins_anew_and_others_go_on() {
    let mut rig = after_sending(5, &[(Write, 3 * MTU), (Read, 1)]);
    rig.outcome(&rig.acknowledge(2, 6, ACK));
    rig.outcome(&failure(&rig, 0));
    rig.tell(2, false);
    rig.settle();
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 7, ACK))), "a change that resets nothing");
    rig.tell(3, true);
    rig.settle();
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 7, ACK))), "another queue pair");
    rig.tell(2, true);
    rig.begin(2, 0);
    rig.settle();
    send(&mut rig, 0x80_0000, &[(Write, 2)]);
    assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, 0x80_0000, ACK))), [(0, SUCCESS, 2)]);
}

#[test]
fn a_change_waits_for_nobody_and_outlives_an_arrival_under_way() {
    let mut rig = after_sending(5, &[(Write, 1); 32]);
    let errand = rig.errand;
    rig.bench[errand].pause(Pause::Always);
    // The flush stops in the middle, for sixteen errands have room.
    rig.arrive(&rig.nudge(2, Occasion::Flush));
    rig.run(100);
    rig.tell(5, true);
    rig.tell(2, false);
    rig.tell(2, true);
    rig.run(8);
    assert!(rig.bench.is_sent(), "a change waits");
    assert_eq!(rig.rows[2], Row::default());
    rig.bench[errand].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.given.errands.len(), 32);
    rig.begin(2, 0);
    send(&mut rig, 9, &[(Write, 2)]);
    assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, 9, ACK))), [(0, SUCCESS, 2)]);
}

#[test]
fn a_change_in_any_cycle_of_an_arrival_forgets_its_row() {
    for delay in 0..12 {
        let mut rig = after_sending(5, &[(Write, 1), (Write, 1)]);
        rig.arrive(&rig.acknowledge(2, 5, ACK));
        rig.run(delay);
        rig.tell(2, true);
        rig.settle();
        assert_eq!(rig.given.errands.len(), 1);
        // Both messages count again from the first.
        let given = rig.outcome(&rig.nudge(2, Occasion::Flush));
        assert_eq!(completions(&given), [(0, FLUSHED, 0), (1, FLUSHED, 0)], "{delay} cycles later");
    }
}

#[test]
fn a_change_in_any_cycle_of_several_arrivals_forgets_what_those_before_it_did_and_not_what_comes_after() {
    for delay in 0..24 {
        for (slow, order) in
            [(false, [2, 2, 2, 2, 2, 2]), (false, [2, 3, 2, 2, 3, 2]), (true, [2, 2, 2, 2, 2, 2])]
        {
            let mut rig = Rig::default();
            for qpn in [2, 3] {
                for psn in 5..12 {
                    let message = rig.message(qpn, Write, 1, psn);
                    rig.admit(qpn, message, 1);
                }
            }
            rig.settle();
            let alarm = rig.alarm;
            rig.bench[alarm].pause(if slow {
                Pause::Random { percent: 90, seed: delay }
            } else {
                Pause::None
            });
            let mut next = [5; 4];
            for qpn in order {
                rig.arrive(&rig.acknowledge(qpn, next[qpn], ACK));
                next[qpn] += 1;
            }
            rig.run(delay);
            rig.tell(2, true);
            rig.settle();
            // The model has taken all in the order in which they were taken: now both agree what is left.
            for qpn in [2, 3] {
                rig.outcome(&rig.nudge(qpn, Occasion::Flush));
            }
        }
    }
}

#[test]
fn what_belongs_to_the_queue_pair_goes_with_every_errand() {
    let mut rig = after_sending(5, &[(Write, 1), (Write, 1)]);
    let arrival = rig.acknowledge(2, 6, ACK);
    for colour in [false, true] {
        let given = rig.outcome(&Arrival { colour, ..arrival });
        for (_, errand) in given.errands {
            assert_eq!((errand.colour, errand.qpn, errand.pd), (colour, Bits::from(2), arrival.pd));
            assert_eq!((errand.path_mtu, errand.cq), (arrival.path_mtu, arrival.cq));
        }
    }
}
