use stroma_abi::desc::WorkOp::{FetchAdd, Read, Send, Write};
use stroma_abi::wire::{Syndrome, opcode};
use stroma_verilate::Pause;

use crate::testing::{read, stalls_of};
use crate::transport::complete::rig::{PAIRS, Rig};
use crate::transport::complete::{
    Complete, flow, focus, judge, kind, measure, retry, rows, stand, step, tell, weigh,
};
use crate::transport::records::Occasion;
use crate::verilog::differential::{assert_agree, differential};

const ACK: Syndrome = Syndrome::Ack { credits: 31 };

/// Every queue pair sends as many WRITEs of a packet each.
fn writes(rig: &mut Rig, count: u64) {
    for qpn in 0..PAIRS {
        for psn in 0..count {
            let message = rig.message(qpn, Write, 1, psn);
            rig.admit(qpn, message, 1);
        }
    }
    rig.settle();
}

fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn an_acknowledgement_takes_two_cycles_and_its_errand_comes_with_the_sixth() {
    let mut rig = Rig::default();
    writes(&mut rig, 3);
    for psn in 0..3 {
        for qpn in 0..PAIRS {
            rig.arrive(&rig.acknowledge(qpn, psn, ACK));
        }
    }
    rig.settle();
    assert_eq!((rig.taken.len(), gaps(&rig.taken)), (3 * PAIRS, vec![2; 3 * PAIRS - 1]));
    let errands: Vec<u64> = rig.given.errands.iter().map(|(cycle, _)| cycle - 5).collect();
    assert_eq!(errands, rig.taken);
    let alarms: Vec<u64> = rig.given.alarms.iter().map(|(cycle, _)| cycle - 5).collect();
    assert_eq!(alarms, rig.taken[..2 * PAIRS]);
}

#[test]
fn data_of_a_read_take_two_cycles() {
    let mut rig = Rig::default();
    for qpn in 0..PAIRS {
        let message = rig.message(qpn, Read, 512, 7);
        rig.admit(qpn, message, 2);
    }
    rig.settle();
    for (psn, op) in [(7, opcode::RC_READ_RESPONSE_FIRST), (8, opcode::RC_READ_RESPONSE_LAST)] {
        for qpn in 0..PAIRS {
            rig.arrive(&rig.data(qpn, psn, op, 256));
        }
    }
    rig.settle();
    assert_eq!(gaps(&rig.taken), vec![2; 2 * PAIRS - 1]);
    assert!(rig.given.errands.iter().all(|(_, errand)| errand.places));
}

#[test]
fn each_further_message_takes_two_cycles() {
    for count in [2, 3, 16] {
        let mut rig = Rig::default();
        writes(&mut rig, count);
        for qpn in 0..PAIRS {
            rig.arrive(&rig.acknowledge(qpn, count - 1, ACK));
        }
        rig.settle();
        // The second begins beside the first; the third when the first is over.
        let mut wanted = vec![2 * count; PAIRS - 1];
        wanted[0] = 2;
        assert_eq!(gaps(&rig.taken), wanted);
        let first = rig.taken[0] + 5;
        let due: Vec<u64> = (0..count * PAIRS as u64).map(|step| first + 2 * step).collect();
        let given: Vec<u64> = rig.given.errands.iter().map(|(cycle, _)| *cycle).collect();
        assert_eq!(given, due, "{count} messages");
    }
}

#[test]
fn arrivals_of_one_queue_pair_take_two_cycles_each() {
    // Each ends a message, in a row, in turn with another queue pair, and in pairs.
    for order in [[2, 2, 2, 2], [2, 5, 2, 5], [2, 2, 5, 5], [2, 2, 2, 5]] {
        let mut rig = Rig::default();
        writes(&mut rig, 32);
        let mut next = [0; PAIRS];
        for qpn in order.into_iter().cycle().take(32) {
            rig.arrive(&rig.acknowledge(qpn, next[qpn], ACK));
            next[qpn] += 1;
        }
        rig.settle();
        assert_eq!((rig.taken.len(), gaps(&rig.taken)), (32, vec![2; 31]), "{order:?}");
        let errands: Vec<u64> = rig.given.errands.iter().map(|(cycle, _)| cycle - 5).collect();
        assert_eq!(errands, rig.taken);
        assert!(rig.given.errands.iter().all(|(_, errand)| errand.retires && errand.completes));
    }
}

#[test]
fn data_of_one_read_and_what_stands_around_it_take_two_cycles_each() {
    let mut rig = Rig::default();
    let sizes = [(Write, 1), (Read, 1024), (Send, 512), (FetchAdd, 8), (Read, 300)];
    let mut psn = 0xff_fffc;
    for (op, length) in sizes {
        let message = rig.message(2, op, length, psn);
        rig.admit(2, message, message.packets.into());
        psn += u64::from(message.packets);
    }
    rig.settle();
    let (first, middle) = (opcode::RC_READ_RESPONSE_FIRST, opcode::RC_READ_RESPONSE_MIDDLE);
    let last = opcode::RC_READ_RESPONSE_LAST;
    for arrival in [
        rig.acknowledge(2, 0xff_fffc, ACK),
        rig.data(2, 0xff_fffd, first, 256),
        rig.data(2, 0xff_fffe, middle, 256),
        rig.data(2, 0xff_ffff, middle, 256),
        rig.data(2, 0, last, 256),
        rig.acknowledge(2, 1, ACK),
        rig.acknowledge(2, 2, ACK),
        rig.value(2, 3, 77),
        rig.data(2, 4, first, 256),
        rig.data(2, 5, last, 44),
    ] {
        rig.arrive(&arrival);
    }
    rig.settle();
    assert_eq!(gaps(&rig.taken), vec![2; 9]);
    assert_eq!(rig.given.errands.iter().filter(|(_, errand)| errand.completes).count(), 5);
    assert!(rig.given.errands.iter().all(|(_, errand)| errand.is_awaited));
}

#[test]
fn a_message_that_is_sent_while_those_before_it_are_answered_is_known() {
    // The acknowledgement of each message is taken so many cycles after the message was stored.
    for delay in 0..8 {
        for run in 1..6 {
            let mut rig = Rig::default();
            let read = rig.message(2, Read, 256 * 64, 0);
            rig.admit(2, read, 64);
            rig.settle();
            // Data that end nothing, one behind the other, and the end of the READ in the middle of what is sent then.
            for psn in 0..64 {
                let op = match psn {
                    0 => opcode::RC_READ_RESPONSE_FIRST,
                    63 => opcode::RC_READ_RESPONSE_LAST,
                    _ => opcode::RC_READ_RESPONSE_MIDDLE,
                };
                rig.arrive(&rig.data(2, psn, op, 256));
            }
            for psn in 64..64 + run {
                rig.arrive(&rig.acknowledge(2, psn, ACK));
            }
            rig.run(115 + delay);
            for psn in 64..64 + run {
                let write = rig.message(2, Write, 1, psn);
                rig.admit(2, write, 1);
            }
            rig.settle();
            assert_eq!(rig.taken.len() as u64, 64 + run);
        }
    }
}

#[test]
fn rewind_alarm_and_pulse_come_with_the_errand() {
    let mut rig = Rig::default();
    writes(&mut rig, 1);
    rig.arrive(&rig.nudge(4, Occasion::Timeout));
    rig.settle();
    let due = rig.taken[0] + 5;
    assert_eq!((rig.given.errands[0].0, rig.given.rewinds[0].0, rig.given.alarms[0].0), (due, due, due));
    assert_eq!(rig.given.timeouts, [due]);
}

#[test]
fn a_value_and_the_begin_and_end_of_a_rest_take_two_cycles() {
    let mut rig = Rig::default();
    for qpn in 0..PAIRS {
        for (op, length, psn) in [(FetchAdd, 8, 7), (Send, 1, 8)] {
            let message = rig.message(qpn, op, length, psn);
            rig.admit(qpn, message, 1);
        }
    }
    rig.settle();
    for qpn in 0..PAIRS {
        rig.arrive(&rig.value(qpn, 7, 1));
        rig.arrive(&rig.acknowledge(qpn, 8, Syndrome::RnrNak { timer: 1 }));
        rig.arrive(&rig.nudge(qpn, Occasion::Timeout));
    }
    rig.settle();
    assert_eq!(gaps(&rig.taken), vec![2; 3 * PAIRS - 1]);
    let due: Vec<u64> = rig.taken.iter().map(|taken| taken + 5).collect();
    let errands: Vec<u64> = rig.given.errands.iter().map(|(cycle, _)| *cycle).collect();
    let alarms: Vec<u64> = rig.given.alarms.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!((errands, alarms), (due.clone(), due.clone()));
    let rewinds: Vec<u64> = rig.given.rewinds.iter().map(|(cycle, _)| *cycle).collect();
    let awaited: Vec<u64> = due.chunks(3).flat_map(|due| due[1..].to_vec()).collect();
    assert_eq!(rewinds, awaited);
}

#[test]
fn a_step_waits_for_room_for_a_rewind_and_an_alarm_and_one_arrival_behind_it() {
    for blocks_rewind in [false, true] {
        let mut rig = Rig::default();
        writes(&mut rig, 1);
        let sink = if blocks_rewind { rig.rewind } else { rig.alarm };
        rig.bench[sink].pause(Pause::Always);
        for qpn in 0..PAIRS {
            rig.arrive(&rig.nudge(qpn, Occasion::Timeout));
        }
        rig.run(200);
        assert_eq!((rig.taken.len(), rig.given.errands.len()), (6, 4));
        rig.bench[sink].pause(Pause::None);
        rig.settle();
        assert_eq!(rig.given.rewinds.len(), PAIRS);
    }
}

#[test]
fn rows_are_scrubbed_one_a_cycle() {
    let mut rig = Rig::default();
    writes(&mut rig, 1);
    rig.bench.reset(1);
    let mut cycles = 0;
    while !read::<bool>(&rig.bench, "ready") {
        assert!(read::<bool>(&rig.bench, "busy"));
        rig.step();
        cycles += 1;
    }
    assert_eq!(cycles, PAIRS);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    for pause in stalls_of::<5>().into_iter().take(4) {
        rig.pause([const { Pause::None }; 5]);
        writes(&mut rig, 20);
        rig.pause([Pause::None, Pause::None, Pause::Always, Pause::Always, Pause::Always]);
        for qpn in 0..PAIRS {
            rig.arrive(&rig.nudge(qpn, Occasion::Timeout));
            rig.arrive(&rig.acknowledge(qpn, 18, ACK));
        }
        rig.run(100);
        assert!(read::<bool>(&rig.bench, "busy") && !rig.bench.is_sent(), "nothing was under way");
        rig.reset();
        // Nothing of the past is left: neither on the streams nor in the rows.
        rig.pause(pause);
        writes(&mut rig, 2);
        for qpn in 0..PAIRS {
            rig.arrive(&rig.acknowledge(qpn, 1, ACK));
        }
        rig.settle();
        assert_eq!((rig.given.errands.len(), rig.given.rewinds.len()), (2 * PAIRS, 0));
        rig.reset();
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!("sort", kind::Sort::default, [arrival]),
        differential!("stand", stand::Stand::default, [kind, arrival, row, outstanding, entry, measures]),
        differential!(
            "judge",
            judge::Judge::default,
            [standing, kind, arrival, row, is_signaled, unanswered, reach, ahead, follows]
        ),
        differential!("retry", retry::Retry::default, [standing, arrival, row]),
        differential!("tell", tell::Tell::default, [arrival, kind, entry, offset, continues, verdict, after]),
        differential!(
            "measure",
            measure::Measure::default,
            [arrival, reach, row, entry, unanswered, frontier]
        ),
        differential!(
            "weigh",
            weigh::Weigh::default,
            clock,
            [weighs, arrival, kind, reach, sent, row, entry, unanswered]
        ),
        differential!(
            "step",
            step::Step::default,
            [standing, kind, arrival, row, entry, unanswered, reach, ahead, offset, follows]
        ),
        differential!("flow", flow::Flow::default, clock, [arrives, has_room, continues]),
        differential!(
            "focus",
            focus::Focus::default,
            clock,
            [loads, read_row, found, succeeds, walks, after, retires, answered]
        ),
        differential!(
            "rows",
            rows::Rows::<2>::default,
            clock,
            [begins, index, passes, writes, changed, change.payload, change.valid]
        ),
        differential!(
            "complete",
            Complete::<2, 7>::default,
            clock,
            [
                arrival.payload,
                arrival.valid,
                change.payload,
                change.valid,
                errand.ready,
                rewind.ready,
                alarm.ready,
                sent,
                out_entry
            ]
        ),
    ];
    assert_agree(cases, 400);
}
