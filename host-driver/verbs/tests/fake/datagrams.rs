//! Datagrams: address handles, requests as the card reads them, receives, the queue pair for management.

use std::{net::IpAddr, sync::Arc, time::Duration};

use stroma_abi::{
    Psn, Qpn, desc,
    desc::CommandStatus,
    regs::map::capabilities as caps,
    wire::{Ip, Ipv4, Ipv6, grh},
};
use stroma_device::{BarId, Iova};
use stroma_verbs::{
    Access, Address, AddressHandle, Attributes, CompletionQueue, Datagrams, Device, Error, GROUP_QP, Grh,
    Neighbours, OWN_KEY, ProtectionDomain, QueuePair, QueuePairKind, QueuePairState, Status, WorkCompletion,
    WorkOp,
};

use crate::Fake;

pub(super) fn open(fake: &Arc<Fake>) -> Arc<Device> {
    Device::builder().timeout(Duration::from_millis(20)).open(fake.clone()).unwrap()
}

/// A queue pair for datagrams, ready to send.
pub(super) fn ready(domain: &Arc<ProtectionDomain>) -> (Arc<CompletionQueue>, QueuePair) {
    let completions = domain.device().completion_queue(16).unwrap();
    let builder = domain.queue_pair(&completions).kind(QueuePairKind::Datagram);
    let queue_pair = builder.receive_entries(16).receive_pieces(2).build().unwrap();
    queue_pair.activate_datagrams(&Datagrams::new(0x1234)).unwrap();
    (completions, queue_pair)
}

fn way() -> Address {
    Address {
        mac: [1, 2, 3, 4, 5, 6],
        ip: [10, 0, 0, 9].into(),
        source_port: 0xc123,
        hop_limit: 7,
        traffic_class: 0x88,
        vlan: Some(0x3064),
        flow_label: 0xf_1234,
        source_address: 3,
    }
}

fn complete(completions: &CompletionQueue) -> WorkCompletion {
    let mut room = [WorkCompletion::default(); 2];
    assert_eq!(completions.poll(&mut room).unwrap(), 1);
    room[0]
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn an_address_handle_is_made_of_its_address_and_ends_when_dropped() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<AddressHandle>();
    let fake = Fake::eager();
    let device = open(&fake);
    let (_first, domain) = (device.protection_domain().unwrap(), device.protection_domain().unwrap());
    let handle = domain.address_handle(&way()).unwrap();
    let expected = desc::AddressHandle {
        pd: 1,
        source_port: 0xc123,
        hop_limit: 7,
        traffic_class: 0x88,
        vlan: 0x3064,
        peer_mac: 0x0605_0403_0201,
        source_address: 3,
        has_vlan: true,
        peer_ip: u128::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 9]),
        flow_label: 0xf_1234,
    };
    assert_eq!(fake.engine().address_handles[&0], expected);
    assert_eq!((handle.number(), *handle.address()), (0, way()));
    assert!(Arc::ptr_eq(handle.domain(), &domain));
    let untagged = domain.address_handle(&Address { vlan: None, ..way() }).unwrap();
    let expected = desc::AddressHandle { vlan: 0, has_vlan: false, ..expected };
    assert_eq!((untagged.number(), fake.engine().address_handles[&1]), (1, expected));
    drop(handle);
    assert_eq!(fake.engine().address_handles.keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(domain.address_handle(&way()).unwrap().number(), 0, "the number is free again");
    untagged.destroy().unwrap();
    assert!(fake.engine().address_handles.is_empty());
}

#[test]
fn the_mac_address_of_a_group_is_not_asked_for() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let port = device.port();
    port.set_address(0, ip("10.0.0.1")).unwrap();
    port.set_address(1, ip("fe80::1")).unwrap();
    let neighbours = Neighbours::open(&device).unwrap();
    for (group, mac, source_address) in [
        ("239.129.2.3", [0x01, 0x00, 0x5e, 0x01, 2, 3], 0),
        ("ff02::1:ff28:9c5a", [0x33, 0x33, 0xff, 0x28, 0x9c, 0x5a], 1),
    ] {
        let group = ip(group);
        let handle = domain.address_handle(&Address { ip: group, ..way() }).unwrap();
        assert_eq!(*handle.address(), Address { ip: group, mac, ..way() });
        assert_eq!(fake.engine().address_handles[&0].peer_mac.to_le_bytes()[..6], mac);
        assert_eq!(neighbours.resolve(group, Duration::ZERO).unwrap(), mac);
        let way = neighbours.way(group, Duration::ZERO).unwrap();
        assert_eq!((way.mac, way.ip, way.source_address, way.hop_limit), (mac, group, source_address, 1));
    }
    let refused = port.group_way(ip("10.0.0.9")).unwrap_err();
    assert_eq!(refused.to_string(), "10.0.0.9 is not the address of a group");
    let way = port.way(ip("fe80::9"), [9; 6]).unwrap();
    assert_eq!((way.mac, way.ip, way.source_address, way.hop_limit), ([9; 6], ip("fe80::9"), 1, 64));
    port.set_address(0, ip("::")).unwrap();
    let refused = port.way(ip("10.0.0.9"), [9; 6]).unwrap_err();
    assert_eq!(refused.to_string(), "speaking to 10.0.0.9: the port has no address of IPv4");
}

#[test]
fn address_handles_that_cannot_be_are_refused_and_cost_nothing() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    fake.refuse(CommandStatus::BadField, desc::AddressHandle::PEER_MAC.byte);
    let told = domain.address_handle(&way()).unwrap_err().to_string();
    assert_eq!(told, "Create of AddressHandle 0: the card says BadField in field `peer_mac`");
    let told = |address: &Address| domain.address_handle(address).unwrap_err().to_string();
    let wide = Address { flow_label: 1 << 20, ..way() };
    assert_eq!(told(&wide), "`flow_label` of 0x100000: the field has 20 bits");
    let wide = Address { source_address: 16, ..way() };
    assert_eq!(told(&wide), "`source_address` of 0x10: the field has 4 bits");
    let handles: Vec<_> = (0..8).map(|_| domain.address_handle(&way()).unwrap()).collect();
    assert_eq!(handles.iter().map(AddressHandle::number).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(told(&way()), "all 8 address handles are in use");
}

#[test]
fn a_card_without_datagrams_says_so() {
    let fake = Fake::eager();
    fake.mock().poke32(BarId::Bar0, caps::BLOCK.address(&caps::FEATURES), 0);
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let completions = device.completion_queue(16).unwrap();
    let local = domain.queue_pair(&completions).build().unwrap();
    let builder = || domain.queue_pair(&completions);
    let refusals = [
        (domain.address_handle(&way()).map(drop), "address handle"),
        (builder().kind(QueuePairKind::Datagram).build().map(drop), "queue pair for datagrams"),
        (device.port().management_queue_pair(builder()).map(drop), "queue pair for datagrams"),
        (device.port().join(&local, ip("224.0.0.251")).map(drop), "join of a group"),
    ];
    for (refused, operation) in refusals {
        let told = refused.unwrap_err().to_string();
        assert_eq!(told, format!("{operation}: this card lacks the feature `ud`"));
    }
}

#[test]
fn a_queue_pair_for_datagrams_is_told_key_partition_and_psn() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let (_completions, queue_pair) = ready(&domain);
    let found = |number| fake.engine().queue_pairs[&number].body;
    let body = found(queue_pair.number());
    assert_eq!((body.kind, body.state), (3, QueuePairState::ReadyToSend as u8));
    assert_eq!((body.q_key, body.p_key, body.send_psn), (0x1234, 0xffff, Psn::new(0)));
    queue_pair.modify(&Attributes::default().q_key(0x55)).unwrap();
    assert_eq!(found(queue_pair.number()).q_key, 0x55);
    queue_pair.reset().unwrap();
    let how = Datagrams { q_key: 7, p_key: 0x8001, send_psn: Psn::new(0xab_cdef) };
    queue_pair.activate_datagrams(&how).unwrap();
    let body = found(queue_pair.number());
    assert_eq!((body.q_key, body.p_key, body.send_psn), (7, 0x8001, Psn::new(0xab_cdef)));
}

#[test]
fn datagrams_are_these_bytes() {
    let fake = Fake::lazy();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let memory = domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    memory.write(0, b"twelve bytes").unwrap();
    let (completions, queue_pair) = ready(&domain);
    let _first = domain.address_handle(&way()).unwrap();
    let handle = domain.address_handle(&way()).unwrap();
    let piece = memory.piece(0, 12).unwrap();
    let batch = queue_pair.start().wr_id(5).signaled().to(&handle, Qpn::new(0x12_3456), 0x0b0a_0908);
    let batch = batch.send(&[piece]).solicited().to(&handle, GROUP_QP, OWN_KEY);
    batch.inline_send_imm(b"xyz", 0x4433_2211).post().unwrap();
    let base = fake.engine().queue_pairs[&queue_pair.number()].body.send_base;
    let mut found = [0; 128];
    fake.mock().dma_read(Iova(base), &mut found).unwrap();

    let mut expected = [0; 128];
    // SEND, signaled, one unit with one piece, of 12 bytes, at index 0; handle 1, queue pair, key; the piece.
    expected[..12].copy_from_slice(&[0x02, 0x01, 0x11, 0, 0, 0, 0, 0, 12, 0, 0, 0]);
    expected[16..28].copy_from_slice(&[1, 0, 0, 0, 0x56, 0x34, 0x12, 0, 8, 9, 10, 11]);
    expected[32..40].copy_from_slice(&memory.address(0).unwrap().to_le_bytes());
    expected[40..44].copy_from_slice(&memory.lkey().to_le_bytes());
    expected[44] = 12;
    // SEND_IMM, solicited and inline, one unit, immediate, of 3 bytes, at index 1; to a group with the queue pair's own key.
    expected[64..78].copy_from_slice(&[0x03, 0x0a, 0x01, 0, 0x11, 0x22, 0x33, 0x44, 3, 0, 0, 0, 1, 0]);
    expected[80..92].copy_from_slice(&[1, 0, 0, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x80]);
    expected[96..99].copy_from_slice(b"xyz");
    assert_eq!(found, expected);

    while completions.query().unwrap().producer == 0 {}
    let done = complete(&completions);
    assert_eq!((done.wr_id, done.status, done.op), (5, Status::Success, WorkOp::Send));
    assert_eq!((done.source_qp, done.has_grh), (None, false));
    let engine = fake.engine();
    let [one, other] = &engine.sent[..] else { panic!("{} have left", engine.sent.len()) };
    assert_eq!((one.peer, one.q_key, one.immediate), (Qpn::new(0x12_3456), 0x0b0a_0908, None));
    assert_eq!((one.payload.as_slice(), one.handle), (&b"twelve bytes"[..], engine.address_handles[&1]));
    assert_eq!((other.peer, other.immediate), (Qpn::new(0xff_ffff), Some(0x4433_2211)));
    assert_eq!((other.payload.as_slice(), other.q_key), (&b"xyz"[..], 0x8000_0000));
}

#[test]
fn a_datagram_says_where_it_goes() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let (_completions, queue_pair) = ready(&domain);
    let handle = domain.address_handle(&way()).unwrap();
    let peer = Qpn::new(9);
    let to = || queue_pair.start().to(&handle, peer, 1);
    let told = |batch: stroma_verbs::Batch<'_>| batch.post().unwrap_err().to_string();
    let nowhere =
        |position| format!("request {position} of the batch: a datagram that does not say where it goes");
    assert_eq!(told(queue_pair.start().inline_send(b"a")), nowhere(0));
    // What describes a request is for that one alone.
    assert_eq!(told(to().inline_send(b"a").inline_send_imm(b"b", 1)), nowhere(1));
    to().inline_send(b"a").nop().post().unwrap();

    let completions = device.completion_queue(16).unwrap();
    let local = domain.queue_pair(&completions).build().unwrap();
    local.activate().unwrap();
    let refused = local.start().to(&handle, peer, 1).inline_send(b"a");
    assert_eq!(told(refused), format!("datagram: queue pair {} is Local", local.number()));
    let elsewhere = open(&Fake::eager()).protection_domain().unwrap().address_handle(&way()).unwrap();
    let refused = queue_pair.start().to(&elsewhere, peer, 1).inline_send(b"a");
    assert_eq!(told(refused), "address handle belongs to another device");
    assert_eq!(fake.engine().sent.len(), 1);
}

#[test]
fn handles_that_ended_or_are_of_another_domain_are_for_the_card_to_refuse() {
    let fake = Fake::eager();
    let device = open(&fake);
    let [domain, other] = [(); 2].map(|()| device.protection_domain().unwrap());
    for is_foreign in [false, true] {
        let (completions, queue_pair) = ready(&domain);
        let handle = if is_foreign { &other } else { &domain }.address_handle(&way()).unwrap();
        let batch = queue_pair.start().wr_id(3).to(&handle, Qpn::new(9), 1).inline_send(b"a");
        let kept = is_foreign.then_some(handle);
        batch.post().unwrap();
        let found = complete(&completions);
        assert_eq!((found.wr_id, found.status), (3, Status::LocalQueuePair), "{kept:?}");
    }
    assert!(fake.engine().sent.is_empty());
}

#[test]
fn what_arrives_tells_who_sent_it_and_is_answered() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let memory = domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let (completions, queue_pair) = ready(&domain);
    for (place, own) in [(0, "10.0.0.1"), (2, "fe80::1"), (5, "10.0.0.5")] {
        device.port().set_address(place, ip(own)).unwrap();
    }
    let four = |destination: [u8; 4]| {
        Ip::V4(Ipv4 {
            version: 4,
            ihl: 5,
            dscp: 0x22,
            ecn: 3,
            ttl: 9,
            source: [10, 0, 0, 2].into(),
            destination: destination.into(),
            ..Ipv4::default()
        })
    };
    let six = Ip::V6(Ipv6 {
        version: 6,
        traffic_class: 0xb9,
        flow_label: 0x5_4321,
        hop_limit: 9,
        source: "fe80::2".parse().unwrap(),
        destination: "fe80::1".parse().unwrap(),
        ..Ipv6::default()
    });
    let stories = [
        (four([10, 0, 0, 5]), "10.0.0.2", 5, 0x88, 0),
        (four([239, 1, 1, 1]), "10.0.0.2", 0, 0x88, 0),
        (six, "fe80::2", 2, 0xb8, 0x5_4321),
    ];
    for (round, (header, sender, source_address, traffic_class, flow_label)) in (0..).zip(stories) {
        // The cut is inside the header.
        let pieces = [memory.piece(0, 30).unwrap(), memory.piece(30, 100).unwrap()];
        queue_pair.receives().unwrap().receive(round, &pieces).post().unwrap();
        let bytes = [&grh::emit(&header)[..], b"payload"].concat();
        let imm = (round == 1).then_some(77);
        let source = Qpn::new(0x00_0321);
        fake.engine().arrive(fake.mock(), queue_pair.number(), &bytes, source, imm);
        let found = complete(&completions);
        assert_eq!((found.wr_id, found.status, found.is_receive), (round, Status::Success, true));
        assert_eq!((found.source_qp, found.has_grh, found.immediate), (Some(source), true, imm));
        assert_eq!(found.length as usize, Grh::LEN + 7);
        let mut payload = [0; 7];
        memory.read(Grh::LEN, &mut payload).unwrap();
        assert_eq!(&payload, b"payload");

        let read = Grh::read(&memory, 0).unwrap();
        assert_eq!((read.source, read.hop_limit), (ip(sender), 9));
        let handle = domain.answer_handle(&read, [7; 6]).unwrap();
        let back = *handle.address();
        assert_eq!((back.ip, back.mac, back.source_address), (ip(sender), [7; 6], source_address));
        assert_eq!((back.traffic_class, back.flow_label, back.hop_limit), (traffic_class, flow_label, 64));
        assert_eq!(back.vlan, None);
    }
    let read = |header: &Ip| Grh::parse(&grh::emit(header)).unwrap();
    let refused = read(&four([10, 0, 0, 77])).answer(device.port(), [7; 6]).unwrap_err();
    assert_eq!(refused.to_string(), "a datagram for 10.0.0.77, which is not an address of the port");
    for place in [0, 5] {
        device.port().set_address(place, ip("::")).unwrap();
    }
    let refused = domain.answer_handle(&read(&four([239, 1, 1, 1])), [7; 6]).unwrap_err();
    assert!(matches!(refused, Error::NoSource { address } if address == ip("10.0.0.2")), "{refused}");
}

#[test]
fn there_is_one_queue_pair_for_management_and_it_has_number_1() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let completions = device.completion_queue(16).unwrap();
    let builder = || domain.queue_pair(&completions).receive_entries(16);
    let open_one = || device.port().management_queue_pair(builder());
    let management = open_one().unwrap();
    assert_eq!((management.number(), management.kind()), (1, QueuePairKind::Datagram));
    let body = fake.engine().queue_pairs[&1].body;
    assert_eq!(
        (body.q_key, body.p_key, body.state),
        (0x8001_0000, 0xffff, QueuePairState::ReadyToSend as u8)
    );
    assert_eq!(open_one().unwrap_err().to_string(), "all 1 management queue pairs are in use");
    // Numbers of others begin behind it, and are the same without it.
    let others: Vec<_> = (0..6).map(|_| builder().build().unwrap()).collect();
    assert_eq!(others.iter().map(QueuePair::number).collect::<Vec<_>>(), (2..8).collect::<Vec<_>>());
    assert_eq!(builder().build().unwrap_err().to_string(), "all 6 queue pairs are in use");
    let shown: Vec<u32> = device.dump().unwrap().queue_pairs.iter().map(|shown| shown.number).collect();
    assert_eq!(shown, (1..8).collect::<Vec<_>>());
    drop(management);
    assert!(!fake.engine().queue_pairs.contains_key(&1));
    assert_eq!(open_one().unwrap().number(), 1);
    let elsewhere = open(&Fake::eager());
    let refused = elsewhere.port().management_queue_pair(builder()).unwrap_err();
    assert_eq!(refused.to_string(), "queue pair belongs to another device");
}
