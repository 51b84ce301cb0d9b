//! Corners of the lookup, its times, and its reset.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::{QueuePairKind, QueuePairState};
use stroma_abi::wire::{Mac, opcode};
use stroma_verilate::{Pause, SplitMix64};

use super::{flip, good, heads, nudges, rig};
use crate::head::Head;
use crate::testing::read;
use crate::transport::lookup::model::Outcome;
use crate::transport::lookup::rig::{NOTICES, Rig};
use crate::transport::records::{Nudge, Occasion};

const NEVER: Pause = Pause::None;

/// A request for queue pair 0, which is ready to send: a WRITE of 9 bytes.
fn request(rig: &Rig) -> Head {
    Head {
        op: u64::from(opcode::RC_WRITE_ONLY.code).into(),
        payload_len: 9_u64.into(),
        tclass: 0_u64.into(),
        ..good(rig, &mut SplitMix64::new(1), 0)
    }
}

/// What becomes of one packet, as the card says and as the model does.
fn outcome(rig: &mut Rig, head: &Head) -> Outcome {
    rig.send_heads(&[*head]);
    rig.settle();
    let (_, outcome) = rig.outcomes.last().cloned().expect("it was acted on");
    rig.compare();
    outcome
}

#[test]
fn every_bit_of_addresses_and_partition_counts() {
    let mut rig = rig(3);
    let head = request(&rig);
    assert!(outcome(&mut rig, &head).request.is_some());
    for at in 0..128 {
        assert!(
            outcome(&mut rig, &Head { src_ip: flip(head.src_ip, at), ..head }).dropped,
            "source bit {at}"
        );
        assert!(outcome(&mut rig, &Head { dst_ip: flip(head.dst_ip, at), ..head }).dropped, "own bit {at}");
    }
    for at in 0..15 {
        assert!(outcome(&mut rig, &Head { pkey: flip(head.pkey, at), ..head }).dropped, "partition bit {at}");
    }
    for at in 4..24 {
        assert!(outcome(&mut rig, &Head { dqpn: flip(head.dqpn, at), ..head }).dropped, "QPN bit {at}");
    }
}

#[test]
fn a_frame_for_another_station_is_dropped_and_one_for_a_group_is_not() {
    let mut rig = rig(3);
    let head = request(&rig);
    for at in 0..48 {
        let other = Head { dmac: flip(head.dmac, at), ..head };
        let is_group = at == u64::from(Mac::GROUP_BIT);
        let found = outcome(&mut rig, &other);
        assert_eq!((found.dropped, found.request.is_some()), (!is_group, is_group), "bit {at}");
        assert!(found.order.is_some_and(|order| order.drops != is_group), "the payload goes the same way");
    }
    let everybody = Head { dmac: 0xffff_ffff_ffff_u64.into(), ..head };
    assert!(outcome(&mut rig, &everybody).request.is_some());
    let answer = Head { op: u64::from(opcode::RC_ACKNOWLEDGE.code).into(), ..head };
    assert!(outcome(&mut rig, &Head { dmac: flip(head.dmac, 0), ..answer }).dropped, "an answer");
    let notification = Head { op: u64::from(opcode::CNP.code).into(), ..head };
    assert!(outcome(&mut rig, &Head { dmac: flip(head.dmac, 0), ..notification }).dropped, "a notification");
}

#[test]
fn two_limited_members_do_not_talk() {
    let mut rig = rig(3);
    for (ours, theirs, talk) in
        [(0x8123, 0x8123, true), (0x0123, 0x8123, true), (0x8123, 0x0123, true), (0x0123, 0x0123, false)]
    {
        rig.rows[0].p_key = Bits::from(ours);
        rig.store();
        let head = Head { pkey: Bits::from(theirs), ..request(&rig) };
        assert_eq!(outcome(&mut rig, &head).request.is_some(), talk, "{ours:#x} {theirs:#x}");
    }
}

#[test]
fn the_states_that_take_requests_answers_and_nudges_are_those_of_the_contract() {
    let mut rig = rig(3);
    for (code, takes) in [
        (QueuePairState::Reset, [false, false, false, false, false]),
        (QueuePairState::Init, [false, false, false, false, false]),
        (QueuePairState::ReadyToReceive, [true, false, false, false, true]),
        (QueuePairState::ReadyToSend, [true, true, true, false, true]),
        (QueuePairState::Drained, [true, true, true, false, true]),
        (QueuePairState::SendError, [false, false, true, false, false]),
        (QueuePairState::Error, [false, false, true, true, true]),
    ] {
        rig.rows[0].state = (code as u64).into();
        rig.store();
        let asks = request(&rig);
        let answers = Head { op: u64::from(opcode::RC_ACKNOWLEDGE.code).into(), ..asks };
        assert_eq!(outcome(&mut rig, &asks).request.is_some(), takes[0], "{code:?}");
        assert_eq!(outcome(&mut rig, &answers).response.is_some(), takes[1], "{code:?}");
        for (occasion, passes) in [
            (Occasion::Timeout, takes[2]),
            (Occasion::Flush, takes[2]),
            (Occasion::Failure, takes[2]),
            (Occasion::Recall, takes[3]),
            (Occasion::Parted, takes[4]),
        ] {
            let is_request = matches!(occasion, Occasion::Recall | Occasion::Parted);
            let Outcome { request, response, order, .. } = nudged(&mut rig, occasion);
            assert_eq!(response.is_some(), passes && !is_request, "{code:?} {occasion:?}");
            assert_eq!(request.is_some(), passes && is_request, "{code:?} {occasion:?}");
            assert_eq!(order.map(|order| order.is_request), passes.then_some(is_request));
        }
    }
}

/// What becomes of one nudge for queue pair 0, as the card says and as the model does.
fn nudged(rig: &mut Rig, occasion: Occasion) -> Outcome {
    rig.send_nudges(&[Nudge { occasion: (occasion as u64).into(), ..Nudge::default() }]);
    rig.settle();
    let (_, outcome) = rig.outcomes.last().cloned().expect("it was acted on");
    rig.compare();
    outcome
}

#[test]
fn receives_are_recalled_of_connections_and_raw_queue_pairs_and_keys_end_of_reliable_ones_only() {
    let mut rig = rig(3);
    rig.rows[0].state = (QueuePairState::Error as u64).into();
    for (kind, passes) in [
        (QueuePairKind::Reliable, true),
        (QueuePairKind::Unreliable, true),
        (QueuePairKind::Local, false),
        (QueuePairKind::Raw, true),
    ] {
        rig.rows[0].kind = (kind as u64).into();
        rig.store();
        assert_eq!(nudged(&mut rig, Occasion::Recall).request.is_some(), passes, "{kind:?}");
        let is_reliable = kind == QueuePairKind::Reliable;
        assert_eq!(nudged(&mut rig, Occasion::Parted).request.is_some(), is_reliable, "{kind:?}");
    }
    rig.rows[0].kind = (QueuePairKind::Reliable as u64).into();
    rig.rows[0].exists = false;
    rig.store();
    assert_eq!(nudged(&mut rig, Occasion::Recall), Outcome::default());
}

#[test]
fn a_raw_frame_goes_to_the_raw_queue_pair_and_to_no_other_kind_nor_state() {
    let mut rig = rig(3);
    let head = Head { raw: true, payload_len: 60_u64.into(), ..Head::default() };
    rig.raw = 4;
    for (kind, _) in QueuePairKind::ALL {
        for (state, _) in QueuePairState::ALL {
            (rig.rows[4].kind, rig.rows[4].state) = ((*kind as u64).into(), (*state as u64).into());
            rig.store();
            let takes =
                [QueuePairState::ReadyToReceive, QueuePairState::ReadyToSend, QueuePairState::Drained]
                    .contains(state);
            let found = outcome(&mut rig, &head);
            let passes = *kind == QueuePairKind::Raw && takes;
            let qpn = found.request.map(|arrival| (arrival.raw, arrival.qpn.index()));
            assert_eq!(
                (qpn, found.raw_dropped),
                (passes.then_some((true, 4)), !passes),
                "{kind:?} {state:?}"
            );
            assert!(!found.dropped && found.order.is_some_and(|order| order.drops != passes));
        }
    }
    rig.raw = 1 << 20;
    assert!(outcome(&mut rig, &head).raw_dropped, "there is no such queue pair");
}

#[test]
fn a_raw_queue_pair_takes_no_roce() {
    let mut rig = rig(3);
    rig.rows[0].kind = (QueuePairKind::Raw as u64).into();
    rig.store();
    let head = request(&rig);
    assert!(outcome(&mut rig, &head).dropped);
}

#[test]
fn what_has_departed_is_acknowledged_where_nobody_answers() {
    let mut rig = rig(3);
    let occasion = (Occasion::Departed as u64).into();
    let nudge = Nudge { occasion, psn: 0x12_3456_u64.into(), ..Nudge::default() };
    for (kind, _) in QueuePairKind::ALL {
        rig.rows[0].kind = (*kind as u64).into();
        rig.store();
        rig.send_nudges(&[nudge]);
        rig.settle();
        let (_, found) = rig.outcomes.last().cloned().expect("it was acted on");
        rig.compare();
        let arrival = found.response.map(|arrival| {
            let is_packet = arrival.occasion.index() == Occasion::Packet as usize;
            (is_packet, arrival.op.index(), arrival.psn.index(), arrival.aeth.index() >> 24)
        });
        let acknowledged = (true, usize::from(opcode::RC_ACKNOWLEDGE.code), 0x12_3456, 0x1f);
        let is_unanswered =
            matches!(kind, QueuePairKind::Raw | QueuePairKind::Unreliable | QueuePairKind::Datagram);
        assert_eq!(arrival, is_unanswered.then_some(acknowledged), "{kind:?}");
    }
}

#[test]
fn every_op_code_goes_where_the_table_says() {
    let mut rig = rig(3);
    let head = request(&rig);
    for code in 0..=u8::MAX {
        let outcome = outcome(&mut rig, &Head { op: u64::from(code).into(), ..head });
        let is_request = matches!(code, 0x00..=0x0c | 0x13 | 0x14 | 0x16 | 0x17 | 0xd8..=0xdc);
        assert_eq!(outcome.request.is_some(), is_request, "{code:#x}");
        assert_eq!(outcome.response.is_some(), matches!(code, 0x0d..=0x12 | 0xdd..=0xdf), "{code:#x}");
        assert_eq!(outcome.notified, code == 0x81, "{code:#x}");
    }
    rig.rows[0].kind = (QueuePairKind::Unreliable as u64).into();
    rig.store();
    for code in 0..=u8::MAX {
        let outcome = outcome(&mut rig, &Head { op: u64::from(code).into(), ..head });
        // Its judges know it under the op-code of a reliable connection.
        let known = outcome.request.map(|arrival| (arrival.unreliable, arrival.op.index()));
        let is_request = matches!(code, 0x20..=0x2b);
        assert_eq!(known, is_request.then(|| (true, usize::from(code) - 0x20)), "{code:#x}");
        assert_eq!((outcome.response, outcome.notified), (None, code == 0x81), "{code:#x}");
    }
    rig.rows[0].kind = (QueuePairKind::Datagram as u64).into();
    rig.store();
    let head = Head { qkey: rig.rows[0].q_key, sqpn: 0x12_3456_u64.into(), ..head };
    for code in 0..=u8::MAX {
        let outcome = outcome(&mut rig, &Head { op: u64::from(code).into(), ..head });
        let known = outcome.request.map(|arrival| {
            (
                arrival.unreliable,
                arrival.datagram,
                arrival.op.index(),
                u64::from(arrival.a1),
                arrival.path_mtu.index(),
            )
        });
        let is_request = matches!(code, 0x64 | 0x65);
        let expected = is_request.then(|| (true, true, usize::from(code) - 0x60, 0x12_3456, 6));
        assert_eq!(known, expected, "{code:#x}");
        assert_eq!((outcome.response, outcome.notified), (None, false), "{code:#x}");
    }
}

/// A datagram for queue pair 0, which is ready to send.
fn datagram(rig: &mut Rig) -> Head {
    rig.rows[0].kind = (QueuePairKind::Datagram as u64).into();
    rig.store();
    Head { op: u64::from(opcode::UD_SEND_ONLY.code).into(), qkey: rig.rows[0].q_key, ..request(rig) }
}

#[test]
fn a_datagram_comes_from_anywhere_and_knows_the_key() {
    let mut rig = rig(3);
    let head = datagram(&mut rig);
    for at in 0..128 {
        let from = Head { src_ip: flip(head.src_ip, at), ..head };
        assert!(outcome(&mut rig, &from).request.is_some(), "source bit {at}");
        assert!(outcome(&mut rig, &Head { dst_ip: flip(head.dst_ip, at), ..head }).dropped, "own bit {at}");
    }
    for at in 0..32 {
        assert!(outcome(&mut rig, &Head { qkey: flip(head.qkey, at), ..head }).dropped, "key bit {at}");
    }
    for at in 0..15 {
        assert!(outcome(&mut rig, &Head { pkey: flip(head.pkey, at), ..head }).dropped, "partition bit {at}");
    }
    for address in rig.addresses.clone() {
        assert!(
            outcome(&mut rig, &Head { dst_ip: address, ..head }).request.is_some(),
            "each address is one"
        );
    }
    let marked = outcome(&mut rig, &Head { tclass: 3_u64.into(), ..head });
    assert!(marked.request.is_some() && marked.notice.is_none(), "nobody is told of congestion");
}

#[test]
fn a_datagram_for_a_group_is_for_its_member() {
    let mut rig = rig(3);
    let head = datagram(&mut rig);
    rig.groups = vec![(rig.groups[0].0, 0), (rig.groups[1].0, 9), (rig.groups[2].0, 2), (rig.groups[0].0, 1)];
    rig.store();
    let [mine, nobody, another, _] = [0, 1, 2, 3].map(|group| rig.groups[group].0);
    let to = |group, dqpn: u64| Head { dst_ip: group, dqpn: dqpn.into(), ..head };
    let found = outcome(&mut rig, &to(mine, 0xff_ffff)).request.expect("the first entry counts");
    assert_eq!((found.qpn.index(), found.datagram), (0, true));
    assert!(outcome(&mut rig, &to(nobody, 0xff_ffff)).dropped, "a queue pair that does not exist");
    assert!(outcome(&mut rig, &to(another, 0xff_ffff)).dropped, "one of another kind");
    assert!(outcome(&mut rig, &to(mine, 0)).dropped, "a group, but one queue pair");
    assert!(outcome(&mut rig, &to(head.dst_ip, 0xff_ffff)).dropped, "no group");
    let key = Head { qkey: flip(head.qkey, 0), ..to(mine, 0xff_ffff) };
    assert!(outcome(&mut rig, &key).dropped, "another key");
    rig.groups.clear();
    rig.store();
    assert!(outcome(&mut rig, &to(mine, 0xff_ffff)).dropped, "the port belongs to it no more");
}

#[test]
fn a_datagram_astray_has_failed() {
    let mut rig = rig(3);
    datagram(&mut rig);
    let nudge = Nudge {
        occasion: (Occasion::Astray as u64).into(),
        slot: 9_u64.into(),
        status: 2_u64.into(),
        ..Nudge::default()
    };
    rig.send_nudges(&[nudge]);
    rig.settle();
    let (_, found) = rig.outcomes.last().cloned().expect("it was acted on");
    rig.compare();
    let arrival = found.response.expect("it passes");
    assert_eq!(arrival.occasion.index(), Occasion::Failure as usize);
    assert_eq!((arrival.slot.index(), arrival.status.index(), arrival.datagram), (9, 2, false));
}

#[test]
fn a_notification_for_another_kind_of_queue_pair_is_dropped() {
    let mut rig = rig(3);
    let head = Head { op: u64::from(opcode::CNP.code).into(), payload_len: 0_u64.into(), ..request(&rig) };
    // Its partition is of no account, and no state is asked for.
    rig.rows[0].state = (QueuePairState::Init as u64).into();
    rig.store();
    assert!(outcome(&mut rig, &Head { pkey: flip(head.pkey, 3), ..head }).notified);
    rig.rows[0].kind = (QueuePairKind::Local as u64).into();
    rig.store();
    assert_eq!(outcome(&mut rig, &head), Outcome { dropped: true, ..Outcome::default() });
}

#[test]
fn a_ninth_notice_is_forgotten_and_nothing_else_waits_for_it() {
    let mut rig = rig(3);
    rig.bench[rig.sinks[3]].pause(Pause::Always);
    let head = Head { tclass: 0x07_u64.into(), ..request(&rig) };
    rig.send_heads(&[head; NOTICES + 3]);
    for _ in 0..60 {
        rig.step();
    }
    assert!(rig.bench.is_sent());
    rig.bench[rig.sinks[3]].pause(NEVER);
    rig.settle();
    let (found, due) = rig.compare();
    assert_eq!((found.len(), due.len()), (NOTICES, NOTICES + 3));
}

#[test]
fn only_both_ecn_bits_mean_congestion() {
    let mut rig = rig(3);
    for (tclass, marked) in [(0xfc_u64, false), (0xfd, false), (0xfe, false), (0xff, true), (0x03, true)] {
        let head = Head { tclass: tclass.into(), ..request(&rig) };
        assert_eq!(outcome(&mut rig, &head).notice.is_some(), marked, "{tclass:#x}");
    }
}

#[test]
fn an_answer_that_met_congestion_gives_a_notice_and_a_notification_or_what_is_for_nobody_gives_none() {
    let mut rig = rig(3);
    let marked = Head { tclass: 0x03_u64.into(), ..request(&rig) };
    for (row, is_told) in [
        (opcode::RC_READ_RESPONSE_MIDDLE, true),
        (opcode::RC_ATOMIC_ACKNOWLEDGE, true),
        (opcode::RC_ACKNOWLEDGE, true),
        (opcode::RPC_RESPONSE_END, true),
        (opcode::CNP, false),
        (opcode::UC_WRITE_ONLY, false),
    ] {
        let head = Head { op: u64::from(row.code).into(), ..marked };
        assert_eq!(outcome(&mut rig, &head).notice.is_some(), is_told, "{}", row.name);
        let stranger = Head { src_ip: flip(head.src_ip, 0), ..head };
        assert_eq!(outcome(&mut rig, &stranger).notice, None, "{} of a stranger", row.name);
    }
}

#[test]
fn a_request_is_a_first_one_on_connections_that_only_receive() {
    let mut rig = rig(3);
    let head = request(&rig);
    for (kind, op) in [
        (QueuePairKind::Reliable, opcode::RC_WRITE_ONLY),
        (QueuePairKind::Unreliable, opcode::UC_WRITE_ONLY),
        (QueuePairKind::Datagram, opcode::UD_SEND_ONLY),
    ] {
        for (state, _) in QueuePairState::ALL {
            (rig.rows[0].kind, rig.rows[0].state) = ((kind as u64).into(), (*state as u64).into());
            rig.store();
            let head = Head { op: u64::from(op.code).into(), qkey: rig.rows[0].q_key, ..head };
            let found = outcome(&mut rig, &head).first;
            let is_first = *state == QueuePairState::ReadyToReceive && kind != QueuePairKind::Datagram;
            assert_eq!(found.map(|qpn| qpn.index()), is_first.then_some(0), "{kind:?} {state:?}");
        }
    }
}

#[test]
fn a_pause_drops_every_packet_and_swallows_every_nudge() {
    let mut rig = rig(3);
    rig.pause = true;
    let head = request(&rig);
    rig.send_heads(&[head; 5]);
    rig.send_nudges(&nudges(1, 5));
    rig.settle();
    assert!(rig.outcomes.iter().all(|(is_packet, outcome)| outcome.dropped == *is_packet));
    assert!(rig.outcomes.iter().all(|(_, outcome)| outcome.request.is_none() && outcome.response.is_none()));
    rig.compare();
}

#[test]
fn packets_and_nudges_take_turns() {
    let mut rig = rig(3);
    let sent = heads(&rig, 1, 20);
    rig.send_heads(&sent);
    rig.send_nudges(&nudges(1, 20));
    rig.settle();
    let turns: Vec<bool> = rig.outcomes.iter().map(|(is_packet, _)| *is_packet).collect();
    assert!(turns.chunks(2).all(|pair| pair == [true, false]), "{turns:?}");
    rig.compare();
}

#[test]
fn a_full_fifo_holds_up_everything_until_it_has_room() {
    let mut rig = rig(3);
    rig.bench[rig.sinks[0]].pause(Pause::Always);
    let head = request(&rig);
    rig.send_heads(&[head; 8]);
    rig.send_nudges(&nudges(1, 8));
    for _ in 0..200 {
        rig.step();
    }
    assert_eq!(rig.bench[rig.head].sent(), 4);
    rig.bench[rig.sinks[0]].pause(NEVER);
    rig.settle();
    rig.compare();
}

#[test]
fn the_latency_and_the_rate_are_those_promised() {
    for port in ["request", "order"] {
        let mut rig = rig(3);
        let start = rig.bench.cycle();
        let head = request(&rig);
        rig.send_heads(&[head]);
        while !read::<bool>(&rig.bench, &format!("{port}$valid")) {
            assert!(rig.bench.cycle() < start + 100, "nothing comes");
            rig.step();
        }
        assert_eq!(rig.bench.cycle() - start, 3, "{port}");
    }
    // Of one queue pair, of two in turn, and mixed with nudges: the same rate.
    let cycles = |count: usize, pairs: u64, nudged: usize| {
        let mut rig = rig(3);
        rig.rows[1] = rig.rows[0];
        rig.store();
        let (start, head) = (rig.bench.cycle(), request(&rig));
        let sent: Vec<Head> =
            (0..).map(|at: u64| Head { dqpn: (at % pairs).into(), ..head }).take(count).collect();
        rig.send_heads(&sent);
        rig.send_nudges(&vec![
            Nudge { occasion: (Occasion::Timeout as u64).into(), ..Nudge::default() };
            nudged
        ]);
        rig.settle();
        assert!(rig.outcomes.iter().all(|(_, outcome)| !outcome.dropped), "all are for somebody");
        rig.bench.cycle() - start
    };
    assert_eq!(cycles(30, 1, 0) - cycles(20, 1, 0), 10 * 2);
    assert_eq!(cycles(30, 2, 0) - cycles(20, 2, 0), 10 * 2);
    assert_eq!(cycles(30, 1, 30) - cycles(20, 1, 20), 20 * 2);
}

#[test]
fn each_of_the_fifos_holds_what_it_promises_and_loses_nothing_when_full() {
    // Requests, answers, and orders of packets for nobody.
    let base = rig(3);
    let asks = request(&base);
    let answers = Head { op: u64::from(opcode::RC_ACKNOWLEDGE.code).into(), ..asks };
    let lost = Head { pkey: flip(asks.pkey, 0), ..asks };
    drop(base);
    for (sink, head, room) in [(0, asks, 4), (1, answers, 4), (2, lost, 16)] {
        for opens in 0..3 {
            let mut rig = rig(3);
            rig.bench[rig.sinks[sink]].pause(Pause::Always);
            rig.send_heads(&vec![head; 24]);
            (0..100).for_each(|_| rig.step());
            assert_eq!(rig.bench[rig.head].sent(), room, "sink {sink}");
            // It drains a little now and then, and is full again.
            for _ in 0..40 {
                rig.bench[rig.sinks[sink]].pause(NEVER);
                (0..=opens).for_each(|_| rig.step());
                rig.bench[rig.sinks[sink]].pause(Pause::Always);
                (0..7).for_each(|_| rig.step());
            }
            rig.bench[rig.sinks[sink]].pause(NEVER);
            rig.settle();
            rig.compare();
        }
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = rig(3);
    // At each step of an operation, and with full FIFOs.
    for cycles in [1, 2, 3, 4, 60] {
        for sink in rig.sinks {
            rig.bench[sink].pause(Pause::Always);
        }
        let sent = heads(&rig, 1, 40);
        rig.send_heads(&sent);
        rig.send_nudges(&nudges(1, 40));
        for _ in 0..cycles {
            rig.step();
        }
        for sink in rig.sinks {
            rig.bench[sink].pause(NEVER);
        }
        rig.bench.reset(1);
        rig.forget();
        for port in
            ["busy", "enters", "pending", "dropped", "cnp_received", "request$valid", "response$valid"]
        {
            assert!(!read::<bool>(&rig.bench, port), "{port} after {cycles} cycles");
        }
        rig.settle();
        let (found, due) = rig.compare();
        assert_eq!(found, due, "notices");
    }
}
