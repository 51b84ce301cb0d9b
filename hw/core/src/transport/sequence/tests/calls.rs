//! RPCs: every line of the protocol's tables that is decided here.

use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Opcode, RpcStatus, RpcTarget, Syndrome, opcode};

use super::corners::{
    ACK, DATA, FIRST_PSN, NONE, answer, is_refused, read, request as plain, reset, write as plain_write,
};
use crate::fabric::records::{Calling, NO_KERNEL};
use crate::testing::settle;
use crate::transport::records::{Answer, Arrival};
use crate::transport::sequence::callee::{Callees, target_at};
use crate::transport::sequence::model::{Outcome, Reservation};
use crate::transport::sequence::rig::{OPERATIONS, Rig, Slot};

const RESULT: u64 = Answer::Result as u64;
/// The kernel that is asked for unless another is named.
const KERNEL: u8 = 3;
/// PSN behind the first, as the card writes it.
fn psn(behind: u64) -> u64 {
    (FIRST_PSN + behind) % (1 << 24)
}

fn target(words: u8, response_max: u32) -> RpcTarget {
    RpcTarget {
        response_max,
        flags: 0x5a,
        parameter_words: words,
        operation: OPERATIONS[usize::from(KERNEL)],
    }
}

/// A packet of an RPC of queue pair 1, whose path MTU is 256, and whose result area has places of 4 KiB.
fn packet(op: Opcode, behind: u64, target: RpcTarget, length: u64, payload: u64) -> Arrival {
    let all = rights::REMOTE_WRITE | rights::REMOTE_READ | rights::REMOTE_ATOMIC | rights::RPC;
    Arrival {
        va: target.to_address().into(),
        rights: u64::from(all).into(),
        result_log: 12_u64.into(),
        ..plain(op, FIRST_PSN + behind, length, payload)
    }
}

/// An RPC of two words of parameters.
fn params(behind: u64, response_max: u32) -> Arrival {
    packet(opcode::RPC_PARAMS, behind, target(2, response_max), 8, 8)
}

/// The packets of an RPC with 600 bytes; what only the first carries is noise in the others.
fn stream(behind: u64, response_max: u32) -> [Arrival; 3] {
    let first = packet(opcode::RPC_WRITE_FIRST, behind, target(2, response_max), 600, 256);
    let noise = RpcTarget { response_max: 0xffff_ffff, flags: 0, parameter_words: 0xff, operation: 0xbad };
    let rest = |op, at, payload| Arrival {
        rkey: 0x99_u64.into(),
        ..packet(op, behind + at, noise, 0xffff_ffff, payload)
    };
    [first, rest(opcode::RPC_WRITE_MIDDLE, 1, 256), rest(opcode::RPC_WRITE_LAST, 2, 88)]
}

/// So many READs, atomics and RPCs of queue pair 1 are answered.
fn answered(rig: &mut Rig, count: u8) {
    rig.world.answered.insert(1, count);
}

/// A packet is taken for the kernel.
fn reserved(begins: bool, ends: bool) -> Reservation {
    Reservation { kernel: KERNEL, begins, ends }
}

fn is_lost(outcome: &Outcome) -> bool {
    let missing = u64::from(Syndrome::Nak(NakCode::PsnSequence).encode());
    outcome.early && outcome.nak && !outcome.errand.fails && u64::from(outcome.errand.syndrome) == missing
}

/// Is it what the kernel gets, all of it: no range, no payload placed?
fn is_taken(outcome: &Outcome) -> bool {
    let errand = outcome.errand;
    let is_call = [Calling::Begins, Calling::GoesOn].iter().any(|one| errand.call.index() == *one as usize);
    is_call && !errand.places && errand.span.index() == 0 && errand.is_awaited && !errand.fails
}

#[test]
fn an_rpc_of_one_packet_goes_to_its_kernel_with_all_it_needs() {
    let mut rig = Rig::new();
    let only = packet(opcode::RPC_WRITE_ONLY, 3, target(2, 600), 100, 100);
    for (at, arrival) in (0_u64..).zip([params(0, 600), only]) {
        let outcome = rig.judge(&arrival);
        let errand = outcome.errand;
        assert!(is_taken(&outcome));
        assert_eq!((errand.call.index(), errand.call_ends), (Calling::Begins as usize, true));
        assert_eq!((u64::from(errand.kernel), errand.refusal.index()), (u64::from(KERNEL), 0));
        assert_eq!((errand.va, errand.key, errand.length), (arrival.va, arrival.rkey, arrival.len));
        assert_eq!(errand.need, arrival.rights, "what the kernel may do for its caller");
        assert_eq!((errand.reserved.index(), u64::from(errand.place)), (3, at));
        assert_eq!(answer(&outcome), (RESULT, psn(3 * at), at + 1, true));
        assert_eq!((errand.fresh, outcome.reserves), (true, Some(reserved(true, true))));
        assert_eq!(outcome.counted, None, "the abi has no counter for it");
    }
}

#[test]
fn packets_of_a_stream_have_one_kernel_and_one_place_and_its_last_takes_the_answers_numbers() {
    let mut rig = Rig::new();
    rig.judge(&params(0, 0));
    let outcomes = stream(1, 600).map(|packet| rig.judge(&packet));
    assert!(outcomes.iter().all(is_taken));
    let calls = outcomes.map(|outcome| {
        let errand = outcome.errand;
        (errand.call.index(), errand.call_ends, u64::from(errand.kernel), u64::from(errand.place))
    });
    let (begins, goes_on) = (Calling::Begins as usize, Calling::GoesOn as usize);
    assert_eq!(calls, [(begins, false, 3, 1), (goes_on, false, 3, 1), (goes_on, true, 3, 1)]);
    let answers = outcomes.map(|outcome| answer(&outcome));
    assert_eq!(answers, [(NONE, psn(1), 1, false), (NONE, psn(2), 1, false), (RESULT, psn(3), 2, true)]);
    assert_eq!(
        outcomes.map(|outcome| outcome.reserves),
        [(true, false), (false, false), (false, true)].map(|(begins, ends)| Some(reserved(begins, ends)))
    );
    assert_eq!(outcomes[2].errand.reserved.index(), 3);
    assert_eq!(u64::from(outcomes[0].errand.length), 600);
    assert_eq!(outcomes.map(|outcome| outcome.errand.fresh), [false, false, true]);
    rig.world.slots = <[Slot; 15]>::default();
    let next = rig.judge(&params(6, 0));
    assert!(is_taken(&next) && u64::from(next.errand.place) == 2);
}

#[test]
fn packets_before_the_last_are_acknowledged_when_that_is_asked_for() {
    let mut rig = Rig::new();
    let outcomes = stream(0, 600).map(|packet| rig.judge(&Arrival { ackreq: true, ..packet }));
    let answers = outcomes.map(|outcome| answer(&outcome));
    assert_eq!(answers, [(ACK, psn(0), 0, false), (ACK, psn(1), 0, false), (RESULT, psn(2), 1, true)]);
}

#[test]
fn an_rpc_takes_as_many_numbers_as_its_longest_answer_has_packets() {
    for code in 1..=5_u64 {
        let mtu = 128_u32 << code;
        for (response_max, packets) in [
            (0, 1),
            (1, 1),
            (mtu - 1, 1),
            (mtu, 1),
            (mtu + 1, 2),
            (10 * mtu, 10),
            (10 * mtu + 1, 11),
            (1 << 16, (1 << 16) / mtu),
            ((1 << 16) - 1, (1 << 16) / mtu),
        ] {
            let mut rig = Rig::new();
            let asks =
                Arrival { path_mtu: code.into(), result_log: 16_u64.into(), ..params(0, response_max) };
            let outcome = rig.judge(&asks);
            assert_eq!(u64::from(outcome.errand.reserved), u64::from(packets), "{response_max} {mtu}");
            // The next request is behind all of them, and one before asks for more of the answer.
            let last = u64::from(packets) - 1;
            assert_eq!(rig.judge(&params(last, 0)).errand.call.index(), Calling::Again as usize);
            assert!(is_taken(&rig.judge(&params(last + 1, 0))));
        }
    }
}

#[test]
fn places_go_round() {
    let mut rig = Rig::new();
    for at in 0..40_u64 {
        assert_eq!(u64::from(rig.judge(&params(at, 0)).errand.place), at % 16);
        rig.world.slots = <[Slot; 15]>::default();
        answered(&mut rig, u8::try_from((at + 1) % 32).expect("small"));
    }
}

#[test]
fn every_kernel_has_its_number() {
    let mut rig = Rig::new();
    for (number, operation) in (0_u64..).zip(OPERATIONS) {
        let outcome =
            rig.judge(&packet(opcode::RPC_PARAMS, number, RpcTarget { operation, ..target(2, 0) }, 8, 8));
        assert_eq!(u64::from(outcome.errand.kernel), number);
        assert_eq!(outcome.reserves.map(|reservation| u64::from(reservation.kernel)), Some(number));
    }
}

#[test]
fn an_rpc_that_breaks_a_rule_is_refused() {
    let mut rig = Rig::new();
    let first = |length, payload| packet(opcode::RPC_WRITE_FIRST, 0, target(2, 0), length, payload);
    let only = |words, length, payload| packet(opcode::RPC_WRITE_ONLY, 0, target(words, 0), length, payload);
    let of_words = |words, length| packet(opcode::RPC_PARAMS, 0, target(words, 0), length, length);
    let no_rpc = 0x0f_u64;
    for (what, wrong) in [
        ("a middle without a first", packet(opcode::RPC_WRITE_MIDDLE, 0, target(0, 0), 0, 256)),
        ("a last without a first", packet(opcode::RPC_WRITE_LAST, 0, target(0, 0), 0, 1)),
        ("a first that is not full", first(600, 255)),
        ("a first that is too full", first(600, 257)),
        ("a first that leaves nothing", first(256, 256)),
        ("an only beyond the MTU", only(2, 257, 257)),
        ("an only that is too short", only(2, 10, 9)),
        ("an only that is too long", only(2, 10, 11)),
        ("more than 2 GiB", first((1 << 31) + 1, 256)),
        ("parameters and more", of_words(2, 12)),
        ("parameters that are missing", of_words(2, 4)),
        ("parameters whose payload is missing", packet(opcode::RPC_PARAMS, 0, target(2, 0), 8, 4)),
        ("more parameters than payload", only(3, 11, 11)),
        ("17 words of parameters", of_words(17, 68)),
        ("17 words of parameters and more", only(17, 100, 100)),
        (
            "255 words of parameters in a stream",
            packet(opcode::RPC_WRITE_FIRST, 0, target(255, 0), 2000, 256),
        ),
        ("an answer of 65,537 bytes", params(0, (1 << 16) + 1)),
        ("an answer of all ones", params(0, u32::MAX)),
        ("no right", Arrival { rights: no_rpc.into(), ..params(0, 0) }),
        ("no right for a stream", Arrival { rights: no_rpc.into(), ..first(600, 256) }),
    ] {
        assert!(is_refused(&mut rig, &wrong), "{what}");
        reset(&mut rig);
    }
}

#[test]
fn the_longest_that_the_rules_allow_is_taken() {
    let mut rig = Rig::new();
    for right in [
        packet(opcode::RPC_PARAMS, 0, target(16, 0), 64, 64),
        packet(opcode::RPC_PARAMS, 0, target(0, 0), 0, 0),
        packet(opcode::RPC_WRITE_ONLY, 0, target(0, 0), 0, 0),
        packet(opcode::RPC_WRITE_ONLY, 0, target(16, 0), 64, 64),
        packet(opcode::RPC_WRITE_ONLY, 0, target(3, 0), 256, 256),
        packet(opcode::RPC_WRITE_FIRST, 0, target(16, 0), 1 << 31, 256),
        Arrival { result_log: 16_u64.into(), ..params(0, 1 << 16) },
    ] {
        let outcome = rig.judge(&right);
        assert!(is_taken(&outcome) && outcome.errand.refusal.index() == 0, "{right:?}");
        rig.world.slots = <[Slot; 15]>::default();
        reset(&mut rig);
    }
}

#[test]
fn within_an_rpc_nothing_else_begins_and_within_others_no_rpc_does() {
    let mut rig = Rig::new();
    let [first, middle, last] = stream(0, 0);
    for wrong in [
        params(1, 0),
        packet(opcode::RPC_WRITE_ONLY, 1, target(0, 0), 8, 8),
        Arrival { psn: psn(1).into(), ..first },
        read(FIRST_PSN + 1, 8),
        plain_write(FIRST_PSN + 1, 8),
        plain(opcode::RC_WRITE_LAST, FIRST_PSN + 1, 0, 88),
        plain(opcode::RC_SEND_ONLY, FIRST_PSN + 1, 0, 8),
        plain(opcode::RC_SEND_LAST, FIRST_PSN + 1, 0, 88),
        plain(opcode::RC_FETCH_ADD, FIRST_PSN + 1, 0, 0),
        // It comes too early, and what is left is too much for it; it is not full, or empty.
        Arrival { psn: psn(1).into(), ..last },
        Arrival { payload_len: 255_u64.into(), ..middle },
        packet(opcode::RPC_WRITE_LAST, 1, target(0, 0), 0, 0),
    ] {
        rig.world.post(false, 1, 1);
        rig.world.slots = <[Slot; 15]>::default();
        rig.judge(&first);
        assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
        reset(&mut rig);
    }
    // A middle that leaves nothing: the message ends with a last.
    rig.world.slots = <[Slot; 15]>::default();
    rig.judge(&packet(opcode::RPC_WRITE_FIRST, 0, target(0, 0), 512, 256));
    assert!(is_refused(&mut rig, &middle));
    reset(&mut rig);
    for begun in
        [plain(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 256), plain(opcode::RC_SEND_FIRST, FIRST_PSN, 0, 256)]
    {
        for wrong in [params(1, 0), Arrival { psn: psn(1).into(), ..first }, middle] {
            rig.world.post(false, 1, 1);
            rig.judge(&begun);
            assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
            reset(&mut rig);
        }
    }
}

#[test]
fn a_stream_that_is_under_way_needs_no_right_again_and_counts_once() {
    let mut rig = Rig::new();
    let [first, middle, last] = stream(0, 0);
    let of_one = |packet| Arrival { reads_in: 1_u64.into(), ..packet };
    for packet in
        [first, Arrival { rights: 0_u64.into(), ..middle }, Arrival { rights: 0_u64.into(), ..last }]
    {
        assert!(is_taken(&rig.judge(&of_one(packet))));
    }
}

#[test]
fn no_more_rpcs_reads_and_atomics_are_open_than_agreed() {
    let of_three = |arrival: Arrival| Arrival { reads_in: 3_u64.into(), ..arrival };
    let open = [params(0, 0), read(FIRST_PSN + 1, 8), plain(opcode::RC_FETCH_ADD, FIRST_PSN + 2, 0, 0)];
    let begins = |rig: &mut Rig| {
        for arrival in open {
            assert!(!rig.judge(&of_three(arrival)).nak);
        }
        rig.world.finished.insert(1, 1);
    };
    for last in [params(3, 0), read(FIRST_PSN + 3, 8), stream(3, 0)[0]] {
        let mut rig = Rig::new();
        rig.world.is_full = true;
        begins(&mut rig);
        // Not while the RPC is unanswered: then it counts as lost.
        assert!(is_lost(&rig.judge(&of_three(last))));
        answered(&mut rig, 1);
        assert!(!rig.judge(&of_three(last)).nak, "one is answered");
        reset(&mut rig);
        let mut rig = Rig::new();
        // The RPC that is too much is one of all three kinds behind READs.
        for at in 0..3 {
            rig.judge(&of_three(read(FIRST_PSN + at, 8)));
        }
        assert!(is_refused(&mut rig, &of_three(last)));
    }
}

#[test]
fn an_rpc_without_room_is_told_to_come_later_and_leaves_everything_as_it_was() {
    let mut rig = Rig::new();
    let full = Slot { waiting: 4, streams: false };
    let taken = Slot { waiting: 0, streams: true };
    for slot in [full, taken] {
        for begin in [params(0, 600), stream(0, 600)[0]] {
            rig.world.slots[usize::from(KERNEL)] = slot;
            let refused = rig.judge(&Arrival { min_rnr: 9_u64.into(), ..begin });
            let syndrome = u64::from(Syndrome::RnrNak { timer: 9 }.encode());
            assert_eq!((refused.rnr, u64::from(refused.errand.syndrome)), (true, syndrome));
            assert_eq!(answer(&refused), (ACK, psn(0), 0, false));
            assert_eq!((refused.reserves, refused.errand.call.index(), refused.nak), (None, 0, false));
            // What follows is thrown away, and nothing is said of it.
            let behind = rig.judge(&params(3, 0));
            assert_eq!((behind.early, behind.nak, u64::from(behind.errand.answer)), (true, false, NONE));
            // Again as full as before: told again.
            assert!(rig.judge(&begin).rnr);
            rig.world.slots[usize::from(KERNEL)] = Slot::default();
            let outcome = rig.judge(&begin);
            assert!(is_taken(&outcome));
            assert_eq!(u64::from(outcome.errand.place), 0);
            rig.world.slots[usize::from(KERNEL)] = Slot::default();
            reset(&mut rig);
        }
    }
}

#[test]
fn a_packet_without_room_in_the_middle_of_a_stream_is_told_to_come_later() {
    let mut rig = Rig::new();
    let [first, middle, last] = stream(0, 600);
    rig.judge(&first);
    for (at, packet) in (1_u64..).zip([middle, last]) {
        rig.world.slots[usize::from(KERNEL)].waiting = 4;
        let refused = rig.judge(&packet);
        assert_eq!((refused.rnr, refused.reserves), (true, None));
        assert_eq!(answer(&refused), (ACK, psn(at), 0, false));
        rig.world.slots[usize::from(KERNEL)].waiting = 0;
        assert!(is_taken(&rig.judge(&packet)));
    }
    // It was its own stream that the kernel had.
    assert!(!rig.world.slots[usize::from(KERNEL)].streams);
}

#[test]
fn room_that_a_packet_takes_is_gone_for_the_next() {
    let mut rig = Rig::new();
    let other = Arrival { qpn: 2_u64.into(), ..params(0, 0) };
    rig.send(&[params(0, 0), params(1, 0), params(2, 0), params(3, 0), params(4, 0), other]);
    rig.settle();
    let outcomes = rig.compare();
    assert_eq!(
        outcomes.iter().map(|outcome| outcome.rnr).collect::<Vec<_>>(),
        [false, false, false, false, true, true]
    );
    // Another stream in the slot.
    let mut rig = Rig::new();
    rig.send(&[stream(0, 0)[0], other]);
    rig.settle();
    assert!(rig.compare()[1].rnr);
}

#[test]
fn a_longer_answer_than_the_area_holds_is_told_and_nothing_runs() {
    let mut rig = Rig::new();
    let too_long = RpcStatus::TooLong as usize;
    for (log, response_max, refusal) in [
        (12, 4096, 0),
        (12, 4097, too_long),
        (16, 1 << 16, 0),
        (15, 1 << 16, too_long),
        (0, 1, too_long),
        (0, 2, too_long),
        (0, 0, 0),
    ] {
        let log: u64 = log;
        for begin in [params(0, response_max), stream(0, response_max)[0]] {
            let outcome = rig.judge(&Arrival { result_log: log.into(), ..begin });
            let errand = outcome.errand;
            assert!(is_taken(&outcome), "{log} {response_max}");
            assert_eq!(errand.refusal.index(), refusal, "{log} {response_max}");
            assert_eq!(u64::from(errand.kernel) == u64::from(NO_KERNEL), refusal != 0);
            assert_eq!(outcome.reserves.is_some(), refusal == 0);
            rig.world.slots = <[Slot; 15]>::default();
            reset(&mut rig);
        }
    }
}

#[test]
fn an_op_code_that_no_kernel_has_is_told_and_the_area_is_looked_at_first() {
    let mut rig = Rig::new();
    let nobody = |response_max| RpcTarget { operation: 0x1234, ..target(2, response_max) };
    for (response_max, status) in [(4096, RpcStatus::UnknownOperation), (4097, RpcStatus::TooLong)] {
        let outcome = rig.judge(&packet(opcode::RPC_PARAMS, 0, nobody(response_max), 8, 8));
        assert!(is_taken(&outcome));
        assert_eq!(outcome.errand.refusal.index(), status as usize);
        assert_eq!((u64::from(outcome.errand.kernel), outcome.reserves), (u64::from(NO_KERNEL), None));
        // All the numbers are taken all the same, and it is one of those that are open.
        let packets = u64::from(response_max.div_ceil(256));
        assert_eq!(answer(&outcome), (RESULT, psn(0), 1, true));
        assert!(is_taken(&rig.judge(&params(packets, 0))));
        reset(&mut rig);
    }
}

#[test]
fn a_stream_without_a_kernel_is_taken_and_told_at_its_last_whatever_room_there_is() {
    let mut rig = Rig::new();
    rig.world.slots = [Slot { waiting: 4, streams: true }; 15];
    let outcomes = stream(0, 5000).map(|packet| rig.judge(&packet));
    assert!(outcomes.iter().all(|outcome| is_taken(outcome) && outcome.reserves.is_none()));
    assert!(outcomes.iter().all(|outcome| outcome.errand.refusal.index() == RpcStatus::TooLong as usize));
    let answers = outcomes.map(|outcome| u64::from(outcome.errand.answer));
    assert_eq!(answers, [NONE, NONE, RESULT]);
    assert_eq!(outcomes[2].errand.reserved.index(), 20);
}

#[test]
fn without_room_what_is_to_be_refused_after_an_rpc_that_is_not_answered_counts_as_lost() {
    let wrongs = [
        plain_write(FIRST_PSN + 3, 257),
        Arrival { rights: 0_u64.into(), ..read(FIRST_PSN + 3, 8) },
        plain(opcode::RC_SEND_ONLY, FIRST_PSN + 3, 0, 257),
        params(3, u32::MAX),
        packet(opcode::RPC_WRITE_MIDDLE, 3, target(0, 0), 0, 256),
    ];
    for wrong in wrongs {
        let mut rig = Rig::new();
        rig.world.is_full = true;
        rig.judge(&params(0, 600));
        for _ in 0..2 {
            let lost = rig.judge(&wrong);
            assert!(is_lost(&lost), "{wrong:?}");
            assert_eq!(answer(&lost), (ACK, psn(3), 1, false));
        }
        answered(&mut rig, 1);
        assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
    }
}

#[test]
fn what_is_no_refusal_passes_an_rpc_that_is_not_answered() {
    let mut rig = Rig::new();
    rig.judge(&params(0, 0));
    assert!(rig.judge(&plain_write(FIRST_PSN + 1, 8)).errand.places);
    assert!(rig.judge(&read(FIRST_PSN + 2, 8)).errand.fresh);
    assert!(rig.judge(&plain(opcode::RC_SEND_ONLY, FIRST_PSN + 3, 0, 8)).rnr);
    assert!(rig.judge(&plain(opcode::RC_FETCH_ADD, FIRST_PSN + 3, 0, 0)).errand.atomic.any());
}

#[test]
fn a_stream_refuses_its_own_packets_at_once_but_not_before_an_older_rpc_is_answered() {
    let mut rig = Rig::new();
    let [first, middle, _] = stream(0, 0);
    let wrong = Arrival { payload_len: 255_u64.into(), ..middle };
    rig.judge(&first);
    assert!(is_refused(&mut rig, &wrong), "its own answer is not owed before its last");
    reset(&mut rig);
    rig.world.slots = <[Slot; 15]>::default();
    rig.world.is_full = true;
    rig.judge(&params(0, 0));
    rig.judge(&stream(1, 0)[0]);
    let wrong = Arrival { psn: psn(2).into(), ..wrong };
    assert!(is_lost(&rig.judge(&wrong)));
    answered(&mut rig, 1);
    assert!(is_refused(&mut rig, &wrong));
}

#[test]
fn an_rpc_that_was_answered_is_not_remembered_when_the_counts_have_gone_round() {
    for count in 29..=35_u64 {
        let mut rig = Rig::new();
        rig.judge(&params(0, 0));
        for at in 1..=count {
            rig.judge(&read(FIRST_PSN + at, 8));
            // All but the last.
            answered(&mut rig, u8::try_from(at % 32).expect("small"));
        }
        assert!(is_refused(&mut rig, &plain_write(FIRST_PSN + count + 1, 257)), "{count} READs");
    }
}

#[test]
fn after_atomics_an_rpc_is_deferred_and_what_came_again_is_thrown_away() {
    let mut rig = Rig::new();
    rig.judge(&params(0, 0));
    rig.judge(&plain(opcode::RC_FETCH_ADD, FIRST_PSN + 1, 0, 0));
    let deferred = rig.judge(&params(2, 0));
    assert!(deferred.errand.stores && deferred.reserves.is_none() && !deferred.nak);
    assert_eq!(rig.judge(&params(0, 0)).errand.call.index(), Calling::None as usize);
    rig.world.finished.insert(1, 1);
    assert_eq!(rig.judge(&params(0, 0)).errand.call.index(), Calling::Again as usize);
    let [taken] = rig.look_again()[..] else { panic!("one is deferred") };
    assert!(is_taken(&taken));
}

#[test]
fn a_key_does_not_end_while_an_rpc_is_not_answered() {
    let mut rig = Rig::new();
    rig.world.post(false, 1, 1);
    rig.world.is_full = true;
    rig.judge(&params(0, 0));
    let ends = plain(opcode::RC_SEND_ONLY_INV, FIRST_PSN + 1, 0, 8);
    assert!(is_lost(&rig.judge(&ends)));
    answered(&mut rig, 1);
    assert!(rig.judge(&ends).part.is_some());
    // And while it does, an RPC is thrown away.
    let deferred = rig.judge(&params(2, 0));
    assert_eq!((deferred.early, deferred.reserves, deferred.nak), (true, None, false));
}

#[test]
fn what_comes_again_of_a_stream_before_its_last_is_acknowledged_up_to_the_newest() {
    let mut rig = Rig::new();
    let [first, middle, last] = stream(0, 600);
    rig.judge(&first);
    rig.judge(&middle);
    for again in [first, middle] {
        let outcome = rig.judge(&again);
        assert_eq!(answer(&outcome), (ACK, psn(1), 0, false));
        assert_eq!((outcome.duplicate, outcome.reserves, outcome.errand.call.index()), (true, None, 0));
    }
    rig.judge(&last);
    for again in [first, middle] {
        assert_eq!(answer(&rig.judge(&again)), (ACK, psn(4), 1, false));
    }
}

#[test]
fn the_last_packet_that_comes_again_goes_to_who_knows_its_answer_and_to_no_kernel() {
    let mut rig = Rig::new();
    let [first, middle, last] = stream(3, 600);
    let only = packet(opcode::RPC_WRITE_ONLY, 8, target(0, 0), 9, 9);
    for packet in [params(0, 600), first, middle, last, only] {
        assert!(is_taken(&rig.judge(&packet)));
        rig.world.slots = <[Slot; 15]>::default();
    }
    // With a later number, without payload, and with a RETH that no request may have.
    let asks = |behind| packet(opcode::RPC_PARAMS, behind, target(0, 600), 0, 0);
    let wrong =
        Arrival { rights: 0_u64.into(), ..packet(opcode::RPC_PARAMS, 1, target(99, u32::MAX), 7, 200) };
    let later = Arrival { psn: psn(7).into(), ..last };
    for again in [params(0, 600), asks(0), asks(2), wrong, last, later, only, asks(8)] {
        let outcome = rig.judge(&again);
        let errand = outcome.errand;
        assert_eq!((errand.call.index(), errand.call_ends), (Calling::Again as usize, false));
        assert_eq!((errand.psn, errand.payload_len), (again.psn, again.payload_len));
        assert_eq!((u64::from(errand.place), u64::from(errand.msn)), (3, 3));
        assert_eq!(answer(&outcome), (NONE, again.psn.into(), 3, false));
        assert_eq!((outcome.duplicate, outcome.reserves, errand.places), (true, None, false));
        assert!(!errand.fresh && !errand.is_awaited && errand.span.index() == 0);
    }
    // Within the next stream the place is that of the one behind it.
    rig.judge(&stream(9, 0)[0]);
    assert_eq!(u64::from(rig.judge(&asks(0)).errand.place), 4);
}

#[test]
fn a_read_behind_an_rpc_is_answered_as_ever() {
    let mut rig = Rig::new();
    rig.judge(&params(0, 600));
    rig.judge(&plain_write(FIRST_PSN + 3, 8));
    assert_eq!(answer(&rig.judge(&read(FIRST_PSN + 4, 8))), (DATA, psn(4), 3, true));
    assert_eq!(answer(&rig.judge(&read(FIRST_PSN + 4, 8))), (DATA, psn(4), 3, false));
}

#[test]
fn the_fields_of_a_target_lie_where_the_address_has_them() {
    let places =
        [RpcTarget::RESPONSE_MAX, RpcTarget::FLAGS, RpcTarget::PARAMETER_WORDS, RpcTarget::OPERATION];
    assert_eq!(places.map(target_at), [32, 24, 16, 0]);
}

#[test]
fn places_without_a_kernel_have_no_op_code() {
    let mut callees = Callees::new(&[Some(7), None, Some(9)]);
    callees.kind.next.begins = true;
    callees.room.next = 0xffff.into();
    for (operation, kernel) in [(7, 0), (9, 2), (0, NO_KERNEL), (1, NO_KERNEL)] {
        let target = RpcTarget { operation, ..RpcTarget::default() };
        callees.arrival.next = Arrival { va: target.to_address().into(), ..Arrival::default() };
        settle(&mut callees);
        assert_eq!(u64::from(callees.callee.val().kernel), u64::from(kernel), "{operation:#x}");
    }
}

#[test]
#[should_panic(expected = "16 kernels are too many")]
fn a_sixteenth_kernel_has_no_number() {
    let many: [Option<u16>; 16] = std::array::from_fn(|at| u16::try_from(at).ok());
    let _ = Callees::new(&many);
}

#[test]
fn kernels_with_one_op_code_take_turns_and_one_without_room_is_passed_over() {
    let full = Slot { waiting: 4, streams: false };
    let operation = OPERATIONS[6];
    let to_three = |op, behind, length, payload| {
        packet(op, behind, RpcTarget { operation, ..target(2, 0) }, length, payload)
    };
    let call = |behind| to_three(opcode::RPC_PARAMS, behind, 8, 8);
    let kernel = |outcome: &Outcome| outcome.reserves.map(|reservation| reservation.kernel);
    let mut rig = Rig::new();
    for (behind, expected) in (0..).zip([6, 9, 13, 6]) {
        assert_eq!(kernel(&rig.judge(&call(behind))), Some(expected));
    }
    // A call of another op-code in between: they go on behind it.
    assert_eq!(kernel(&rig.judge(&params(4, 0))), Some(KERNEL));
    assert_eq!(kernel(&rig.judge(&call(5))), Some(6));
    rig.world.slots[9] = full;
    assert_eq!(kernel(&rig.judge(&call(6))), Some(13));
    assert_eq!(kernel(&rig.judge(&call(7))), Some(6));
    assert_eq!(kernel(&rig.judge(&call(8))), Some(13));
    // A stream stays where it began; others find its kernel taken.
    (rig.world.slots[6], rig.world.slots[13]) = Default::default();
    assert_eq!(kernel(&rig.judge(&to_three(opcode::RPC_WRITE_FIRST, 9, 600, 256))), Some(6));
    let other = Arrival { qpn: 2_u64.into(), ..call(0) };
    assert_eq!(kernel(&rig.judge(&other)), Some(13));
    let again = Arrival { qpn: 3_u64.into(), ..call(0) };
    rig.world.slots[13] = full;
    let refused = rig.judge(&again);
    assert_eq!((refused.rnr, refused.reserves), (true, None));
    rig.world.slots[9] = Slot::default();
    assert_eq!(kernel(&rig.judge(&again)), Some(9));
    assert_eq!(kernel(&rig.judge(&to_three(opcode::RPC_WRITE_MIDDLE, 10, 0, 256))), Some(6));
    assert_eq!(kernel(&rig.judge(&to_three(opcode::RPC_WRITE_LAST, 11, 0, 88))), Some(6));
}
