//! The mailbox: every command, and every field a command can get wrong. What is refused has changed nothing.

use stroma_abi::desc::{
    CommandStatus::{
        self, BadAttribute, BadField, BadState, Done, Exists, NoObject, OutOfRange, UnknownKind, UnknownVerb,
    },
    CompletionQueue, Cqe, ObjectKind, QueuePair, QueuePairKind, QueuePairState, Region, SharedQueue, Verb,
    completion_queue::MODERATION_ATTRIBUTE,
    mailbox::BODY_LEN,
    queue_pair::{TRANSITIONS, attribute, transition},
    region::rights,
    shared_queue::LIMIT_ATTRIBUTE,
};
use stroma_abi::{Field, Psn, Qpn};
use stroma_tests::rig::{RING_LOG, Rig};
use stroma_tests::widths;
use stroma_top::Profile;

/// A command, and what the card says to it: the status, and the field it names.
fn says(
    rig: &Rig,
    verb: Verb,
    kind: ObjectKind,
    object: u32,
    attributes: u64,
    body: &[u8],
) -> (CommandStatus, usize) {
    let (reply, _) = rig.command(verb as u8, kind as u8, object, attributes, body);
    (CommandStatus::from_code(reply.status).expect("a status"), usize::from(reply.field))
}

fn bad(field: Field) -> (CommandStatus, usize) {
    (BadField, field.byte)
}

fn unknown_kinds_and_verbs(profile: Profile) {
    let rig = Rig::new(profile);
    for kind in [0, 7, 0xff] {
        let (reply, _) = rig.command(Verb::Create as u8, kind, 0, 0, &[]);
        assert_eq!(reply.status, UnknownKind as u16, "kind {kind}");
    }
    for (kind, _) in ObjectKind::ALL {
        for verb in [0, 5, 0xff] {
            let (reply, _) = rig.command(verb, *kind as u8, 0, 0, &[]);
            assert_eq!(reply.status, UnknownVerb as u16, "{kind:?} verb {verb}");
        }
    }
    // One rule for all that can be made: beyond the table there is nothing to be found, and the mask is looked at before the
    // body.
    for (kind, _) in ObjectKind::ALL.iter().filter(|(kind, _)| *kind != ObjectKind::Statistics) {
        for number in [3, 1 << 20] {
            assert_eq!(says(&rig, Verb::Destroy, *kind, number, 0, &[]), (NoObject, 0), "{kind:?}");
            let query = if *kind == ObjectKind::AddressHandle { UnknownVerb } else { NoObject };
            assert_eq!(says(&rig, Verb::Query, *kind, number, 0, &[]), (query, 0), "{kind:?}");
        }
        assert_eq!(says(&rig, Verb::Create, *kind, 3, 1, &[0xff; BODY_LEN]), (BadAttribute, 0), "{kind:?}");
    }
    for verb in [Verb::Create, Verb::Modify, Verb::Destroy] {
        for number in [3, 1 << 20] {
            assert_eq!(
                says(&rig, verb, ObjectKind::Statistics, number, 0, &[]),
                (UnknownVerb, 0),
                "{verb:?}"
            );
        }
    }
    assert_eq!(says(&rig, Verb::Query, ObjectKind::Statistics, 3, 0, &[]), (NoObject, 0));
    let beyond = 1 << profile.capacity().queue_pairs_log;
    for number in [beyond, 1 << 20, 1 << 31] {
        assert_eq!(says(&rig, Verb::Query, ObjectKind::Statistics, number, 0, &[]), (OutOfRange, 0));
    }
    assert_eq!(says(&rig, Verb::Modify, ObjectKind::QueuePair, 3, attribute::STATE, &[]), (NoObject, 0));
    assert_eq!(says(&rig, Verb::Modify, ObjectKind::CompletionQueue, 3, 0, &[]), (NoObject, 0));
    assert_eq!(says(&rig, Verb::Modify, ObjectKind::Region, 3, 0, &[]), (UnknownVerb, 0));
}

#[test]
fn a_command_for_nothing_known_is_refused() {
    widths!().into_iter().for_each(unknown_kinds_and_verbs);
}

fn address_handles(profile: Profile) {
    let rig = Rig::new(profile);
    let kind = ObjectKind::AddressHandle;
    let create = |number| says(&rig, Verb::Create, kind, number, 0, &[0xff; BODY_LEN]);
    let beyond = 1 << profile.capacity().queue_pairs_log;
    assert_eq!([beyond, 1 << 20, 1 << 31].map(create), [(OutOfRange, 0); 3]);
    for number in [0, 5, beyond - 1] {
        assert_eq!(create(number), (Done, 0), "no body is wrong");
        assert_eq!(create(number), (Exists, 0));
        assert_eq!(says(&rig, Verb::Modify, kind, number, 0, &[]), (UnknownVerb, 0));
        assert_eq!(says(&rig, Verb::Destroy, kind, number, 0, &[]), (Done, 0));
        assert_eq!(says(&rig, Verb::Destroy, kind, number, 0, &[]), (NoObject, 0));
    }
}

#[test]
fn an_address_handle_is_made_and_ended() {
    widths!().into_iter().for_each(address_handles);
}

fn shared_queues(profile: Profile) {
    let rig = Rig::new(profile);
    let kind = ObjectKind::SharedQueue;
    let good = SharedQueue { base: 0x7000, log: 5, stride: 2, page: 1, pd: 9, limit: 0 };
    let create = |number, body: &SharedQueue| says(&rig, Verb::Create, kind, number, 0, &body.to_bytes());
    let limit = |mask: u64, limit: u16| {
        says(&rig, Verb::Modify, kind, 2, mask, &SharedQueue { limit, ..SharedQueue::default() }.to_bytes())
    };
    let shown = || SharedQueue::parse(&rig.command(Verb::Query as u8, kind as u8, 2, 0, &[]).1);

    assert_eq!(create(1 << profile.capacity().shared_queues_log, &good), (OutOfRange, 0));
    assert_eq!(create(2, &SharedQueue { base: 0x7040, ..good }), bad(SharedQueue::BASE));
    for log in [0, 3, 16, 0xff] {
        assert_eq!(create(2, &SharedQueue { log, ..good }), bad(SharedQueue::LOG), "log {log}");
    }
    assert_eq!(create(2, &SharedQueue { page: 0x100, ..good }), bad(SharedQueue::PAGE));
    assert_eq!(limit(LIMIT_ATTRIBUTE, 3), (NoObject, 0));

    assert_eq!(create(2, &SharedQueue { limit: 7, ..good }), (Done, 0));
    assert_eq!(shown(), Some(good), "a queue begins without a limit");
    assert_eq!(create(2, &good), (Exists, 0));
    assert_eq!(limit(LIMIT_ATTRIBUTE << 1, 3), (BadAttribute, 0));
    assert_eq!(limit(LIMIT_ATTRIBUTE, 3), (Done, 0));
    assert_eq!(shown(), Some(SharedQueue { limit: 3, ..good }));
    assert_eq!(says(&rig, Verb::Destroy, kind, 2, 0, &[]), (Done, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 2, 0, &[]), (NoObject, 0));
}

#[test]
fn a_shared_receive_queue_is_made_limited_shown_and_ended() {
    widths!().into_iter().for_each(shared_queues);
}

fn completion_queues(profile: Profile) {
    let rig = Rig::new(profile);
    let kind = ObjectKind::CompletionQueue;
    let good = CompletionQueue { base: 0x7000, log: 5, page: 1, ..CompletionQueue::default() };
    let create = |number, body: &CompletionQueue| says(&rig, Verb::Create, kind, number, 0, &body.to_bytes());
    let capacity = profile.capacity();

    assert_eq!(create(1 << capacity.completion_queues_log, &good), (OutOfRange, 0));
    assert_eq!(create(u32::MAX, &good), (OutOfRange, 0));
    assert_eq!(create(2, &CompletionQueue { base: 0x7020, ..good }), bad(CompletionQueue::BASE));
    let top = 0_u64.wrapping_sub(4096);
    assert_eq!(create(2, &CompletionQueue { base: top, log: 8, ..good }), bad(CompletionQueue::BASE));
    for log in [0, 3, 21, 0xff] {
        assert_eq!(create(2, &CompletionQueue { log, ..good }), bad(CompletionQueue::LOG), "log {log}");
    }
    let page = u16::try_from(capacity.doorbell_pages()).expect("few pages");
    assert_eq!(create(2, &CompletionQueue { page, ..good }), bad(CompletionQueue::PAGE));
    assert_eq!(says(&rig, Verb::Create, kind, 2, 1, &good.to_bytes()), (BadAttribute, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 2, 0, &[]), (NoObject, 0), "nothing of this made one");

    // The last place of all is one; so is the smallest and the largest ring.
    assert_eq!(create(2, &CompletionQueue { base: top, log: 7, ..good }), (Done, 0));
    assert_eq!(create(2, &good), (Exists, 0));
    let found = rig.done(Verb::Query, kind, 2, 0, &[]);
    assert_eq!(CompletionQueue::parse(&found), Some(CompletionQueue { base: top, log: 7, ..good }));
    // Moderation is what can be changed, and nothing else.
    let rule = CompletionQueue { base: 1, log: 1, page, count: 0x1234, period: u16::MAX, ..good };
    let modify = |number, attributes| says(&rig, Verb::Modify, kind, number, attributes, &rule.to_bytes());
    assert_eq!(modify(3, MODERATION_ATTRIBUTE), (NoObject, 0));
    assert_eq!(modify(2, 0), (BadAttribute, 0));
    assert_eq!(modify(2, MODERATION_ATTRIBUTE << 1), (BadAttribute, 0));
    assert_eq!(modify(2, MODERATION_ATTRIBUTE | 1 << 63), (BadAttribute, 0));
    assert_eq!(rig.done(Verb::Query, kind, 2, 0, &[]), found, "nothing has changed");
    assert_eq!(modify(2, MODERATION_ATTRIBUTE), (Done, 0));
    let moderated = CompletionQueue { base: top, log: 7, count: 0x1234, period: u16::MAX, ..good };
    assert_eq!(CompletionQueue::parse(&rig.done(Verb::Query, kind, 2, 0, &[])), Some(moderated));
    let last = (1 << capacity.completion_queues_log) - 1;
    assert_eq!(create(last, &CompletionQueue { log: 20, ..good }), (Done, 0));
    assert_eq!(create(0, &CompletionQueue { log: 4, ..good }), (Done, 0));
    assert_eq!(says(&rig, Verb::Destroy, kind, 2, 0, &[]), (Done, 0));
    assert_eq!(says(&rig, Verb::Destroy, kind, 2, 0, &[]), (NoObject, 0));
    assert_eq!(create(2, &good), (Done, 0), "a number is free again");
}

#[test]
fn a_completion_queue_is_made_as_told_or_not_at_all() {
    widths!().into_iter().for_each(completion_queues);
}

fn regions(profile: Profile) {
    let rig = Rig::new(profile);
    let kind = ObjectKind::Region;
    let good = Region {
        base: 0x1234_5678,
        length: 0x1_2345,
        key: 9,
        list: 0x9_0040,
        pd: 7,
        rights: 0x1f,
        ..Region::default()
    };
    let create = |number, body: &Region| says(&rig, Verb::Create, kind, number, 0, &body.to_bytes());

    assert_eq!(create(1 << profile.capacity().memory_regions_log, &good), (OutOfRange, 0));
    assert_eq!(create(1, &Region { page: 3, ..good }), bad(Region::PAGE));
    assert_eq!(create(1, &Region { list: 0x9_0020, ..good }), bad(Region::LIST));
    let written = create(1, &Region { rights: rights::REMOTE_WRITE, ..good });
    assert_eq!(written, bad(Region::RIGHTS), "by peers, and not by its owner");
    assert_eq!(create(1, &Region { base: u64::MAX - 9, length: 11, ..good }).0, BadField);
    assert_eq!(says(&rig, Verb::Create, kind, 1, 1, &good.to_bytes()), (BadAttribute, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 1, 0, &[]), (NoObject, 0), "nothing of this made one");

    assert_eq!(create(1, &good), (Done, 0));
    assert_eq!(create(1, &good), (Exists, 0));
    assert_eq!(Region::parse(&rig.done(Verb::Query, kind, 1, 0, &[])), Some(good));
    assert_eq!(
        create(2, &Region { base: u64::MAX - 9, length: 10, page: 2, ..good }),
        (Done, 0),
        "up to the last byte"
    );
    assert_eq!(create(3, &Region { length: 0, ..good }), (Done, 0), "no bytes are a region, too");
    assert_eq!(says(&rig, Verb::Destroy, kind, 1, 0, &[]), (Done, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 1, 0, &[]), (NoObject, 0));
}

#[test]
fn a_region_is_made_as_told_or_not_at_all() {
    widths!().into_iter().for_each(regions);
}

fn queue_pairs(profile: Profile) {
    let mut rig = Rig::new(profile);
    let kind = ObjectKind::QueuePair;
    rig.completions(4, 4, 0);
    let capacity = profile.capacity();
    let good = Rig::local(4, RING_LOG, 1, 7, 0x1000);
    let create = |number, body: &QueuePair| says(&rig, Verb::Create, kind, number, 0, &body.to_bytes());

    assert_eq!(create(1 << capacity.queue_pairs_log, &good), (OutOfRange, 0));
    for code in [0, 6, 0xff] {
        assert_eq!(create(1, &QueuePair { kind: code, ..good }), bad(QueuePair::KIND), "kind {code}");
    }
    assert_eq!(create(1, &QueuePair { send_cq: 5, ..good }), bad(QueuePair::SEND_CQ));
    assert_eq!(create(1, &QueuePair { send_cq: 0xff_ffff, ..good }), bad(QueuePair::SEND_CQ));
    assert_eq!(create(1, &QueuePair { receive_cq: 5, ..good }), bad(QueuePair::RECEIVE_CQ));
    for log in [0, 3, 16, 0xff] {
        assert_eq!(create(1, &QueuePair { send_log: log, ..good }), bad(QueuePair::SEND_LOG), "log {log}");
    }
    for log in [1, 3, 16, 0xff] {
        assert_eq!(
            create(1, &QueuePair { receive_log: log, ..good }),
            bad(QueuePair::RECEIVE_LOG),
            "log {log}"
        );
    }
    let page = u16::try_from(capacity.doorbell_pages()).expect("few pages");
    assert_eq!(create(1, &QueuePair { page, ..good }), bad(QueuePair::PAGE));
    assert_eq!(create(1, &QueuePair { has_srq: true, ..good }).0, BadField);
    assert_eq!(create(1, &QueuePair { send_base: 0x1040, ..good }), bad(QueuePair::SEND_BASE));
    let beyond = QueuePair { receive_base: 0x1040, receive_log: 4, ..good };
    assert_eq!(create(1, &beyond), bad(QueuePair::RECEIVE_BASE));
    assert_eq!(says(&rig, Verb::Create, kind, 1, attribute::STATE, &good.to_bytes()), (BadAttribute, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 1, 0, &[]), (NoObject, 0), "nothing of this made one");

    assert_eq!(create(1, &good), (Done, 0));
    assert_eq!(create(1, &good), (Exists, 0));
    assert_eq!(QueuePair::parse(&rig.done(Verb::Query, kind, 1, 0, &[])), Some(good));
    assert_eq!(says(&rig, Verb::Destroy, kind, 1, 0, &[]), (Done, 0));
    assert_eq!(says(&rig, Verb::Query, kind, 1, 0, &[]), (NoObject, 0));
}

#[test]
fn a_queue_pair_is_made_as_told_or_not_at_all() {
    widths!().into_iter().for_each(queue_pairs);
}

/// A body with a value for every attribute.
fn attributes() -> QueuePair {
    QueuePair {
        rights: 0x0e,
        path_mtu: 5,
        q_key: 0x1122_3344,
        peer: Qpn::new(0x12_3456),
        min_rnr: 12,
        send_psn: Psn::new(0xab_cdef),
        timeout: 14,
        receive_psn: Psn::new(0x01_0203),
        retry: 6,
        rnr_retry: 7,
        reads_out: 16,
        reads_in: 4,
        p_key: 0xffff,
        peer_mac: 0x0605_0403_0201,
        source_port: 0xc123,
        peer_ip: 0x0102_0304_ffff_0000_0000_0000_0000_0000,
        hop_limit: 64,
        traffic_class: 0x68,
        vlan: 0x0123,
        flow_label: 0xf_00f5,
        source_address: 3,
        has_vlan: true,
        pace: 0x1234,
        result_base: 0x55_0000,
        result_log: 12,
        result_key: 0x9a_0b,
        ..QueuePair::default()
    }
}

/// Walks every kind through the table, trying from every state every other with too little, enough and too much.
fn transitions(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.completions(0, 4, 0);
    let object = ObjectKind::QueuePair;
    for (kind, _) in QueuePairKind::ALL {
        let body = QueuePair { kind: *kind as u8, ..Rig::local(0, RING_LOG, 0, 7, 0x1000) };
        rig.done(Verb::Create, object, 9, 0, &body.to_bytes());
        for from in [
            QueuePairState::Reset,
            QueuePairState::Init,
            QueuePairState::ReadyToReceive,
            QueuePairState::ReadyToSend,
            QueuePairState::Drained,
        ] {
            for (to, _) in QueuePairState::ALL
                .iter()
                .filter(|(to, _)| *to != QueuePairState::Reset && *to != QueuePairState::Error)
            {
                let wanted = QueuePair { state: *to as u8, ..attributes() };
                let row = TRANSITIONS
                    .iter()
                    .find(|row| row.from == from && row.to == *to && row.kinds >> *kind as u8 & 1 == 1);
                let Some(row) = row else {
                    assert_eq!(
                        says(&rig, Verb::Modify, object, 9, attribute::STATE, &wanted.to_bytes()),
                        (BadState, 0),
                        "{kind:?} {from:?} {to:?}"
                    );
                    continue;
                };
                let forbidden = attribute::ALL
                    .iter()
                    .map(|(bit, ..)| 1_u64 << bit)
                    .find(|bit| bit & (row.required | row.optional | attribute::STATE) == 0);
                for mask in [
                    forbidden.map(|bit| row.required | bit),
                    (row.required != 0).then_some(0),
                    Some(row.required | 1 << 40),
                ]
                .into_iter()
                .flatten()
                {
                    assert_eq!(transition(*kind, from, *to, mask | attribute::STATE), Err(BadAttribute));
                    assert_eq!(
                        says(&rig, Verb::Modify, object, 9, mask | attribute::STATE, &wanted.to_bytes()),
                        (BadAttribute, 0),
                        "{kind:?} {from:?} {to:?} {mask:#x}"
                    );
                }
                assert_eq!(rig.state_of(9), from, "what was refused has changed nothing");
            }
            let forward = TRANSITIONS.iter().find(|row| {
                row.from == from && row.to as u8 == from as u8 + 1 && row.kinds >> *kind as u8 & 1 == 1
            });
            if let Some(row) = forward {
                let wanted = QueuePair { state: row.to as u8, ..attributes() };
                rig.done(
                    Verb::Modify,
                    object,
                    9,
                    row.required | row.optional | attribute::STATE,
                    &wanted.to_bytes(),
                );
                assert_eq!(rig.state_of(9), row.to);
            }
        }
        let bad_state = QueuePair { state: 7, ..QueuePair::default() };
        assert_eq!(
            says(&rig, Verb::Modify, object, 9, attribute::STATE, &bad_state.to_bytes()),
            bad(QueuePair::STATE)
        );
        rig.state(9, QueuePairState::Error);
        assert_eq!(rig.state_of(9), QueuePairState::Error);
        rig.state(9, QueuePairState::Reset);
        assert_eq!(
            QueuePair::parse(&rig.done(Verb::Query, object, 9, 0, &[])),
            Some(body),
            "reset forgets every attribute"
        );
        rig.done(Verb::Destroy, object, 9, 0, &[]);
    }
}

#[test]
fn a_queue_pair_changes_by_the_table_of_states_alone() {
    widths!().into_iter().for_each(transitions);
}

fn attribute_values(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.completions(0, 4, 0);
    let object = ObjectKind::QueuePair;
    let body = QueuePair { kind: QueuePairKind::Reliable as u8, ..Rig::local(0, RING_LOG, 0, 7, 0x1000) };
    rig.done(Verb::Create, object, 9, 0, &body.to_bytes());
    let to_init = QueuePair { state: QueuePairState::Init as u8, ..attributes() };
    let init = attribute::STATE | attribute::RIGHTS | attribute::P_KEY;
    rig.done(Verb::Modify, object, 9, init, &to_init.to_bytes());
    let shown = QueuePair::parse(&rig.done(Verb::Query, object, 9, 0, &[])).expect("a body");
    let expected =
        QueuePair { state: QueuePairState::Init as u8, rights: to_init.rights, p_key: to_init.p_key, ..body };
    assert_eq!(shown, expected, "only what the mask names has changed");

    let row = TRANSITIONS
        .iter()
        .find(|row| row.from == QueuePairState::Init && row.to == QueuePairState::ReadyToReceive)
        .expect("RC comes first");
    let to_rtr = QueuePair { state: QueuePairState::ReadyToReceive as u8, ..attributes() };
    let mask = row.required | attribute::STATE;
    for path_mtu in [0, 6, 7] {
        let wrong = QueuePair { path_mtu, ..to_rtr };
        assert_eq!(
            says(&rig, Verb::Modify, object, 9, mask, &wrong.to_bytes()),
            bad(QueuePair::PATH_MTU),
            "{path_mtu}"
        );
    }
    let wrong = QueuePair { reads_in: 17, ..to_rtr };
    assert_eq!(says(&rig, Verb::Modify, object, 9, mask, &wrong.to_bytes()), bad(QueuePair::READS_IN));
    assert_eq!(
        QueuePair::parse(&rig.done(Verb::Query, object, 9, 0, &[])),
        Some(expected),
        "nothing has changed"
    );
    rig.done(Verb::Modify, object, 9, mask, &to_rtr.to_bytes());
    let shown = QueuePair::parse(&rig.done(Verb::Query, object, 9, 0, &[])).expect("a body");
    let untouched =
        |shown: QueuePair| (shown.q_key, shown.send_psn, shown.timeout, shown.reads_out, shown.pace);
    assert_eq!(untouched(shown), untouched(body));
    assert_eq!(
        (shown.peer, shown.peer_ip, shown.peer_mac, shown.vlan),
        (to_rtr.peer, to_rtr.peer_ip, to_rtr.peer_mac, to_rtr.vlan)
    );
    assert_eq!((shown.receive_psn, shown.reads_in, shown.min_rnr), (to_rtr.receive_psn, 4, 12));
}

#[test]
fn attributes_are_kept_and_illegal_ones_refused() {
    widths!().into_iter().for_each(attribute_values);
}

fn a_busy_mailbox(profile: Profile) {
    let rig = Rig::new(profile);
    assert_eq!(
        rig.done(
            Verb::Create,
            ObjectKind::CompletionQueue,
            1,
            0,
            &CompletionQueue { base: 0x1000, log: 4, ..CompletionQueue::default() }.to_bytes()
        ),
        [0; 0]
    );
    let body = rig.done(Verb::Query, ObjectKind::CompletionQueue, 1, 0, &[0xee; BODY_LEN]);
    assert!(body[Cqe::LEN..].iter().all(|byte| *byte == 0), "the reply has nothing of the command's body");
}

#[test]
fn a_reply_holds_the_object_and_nothing_else() {
    widths!().into_iter().for_each(a_busy_mailbox);
}
