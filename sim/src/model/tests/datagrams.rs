//! Datagrams: each goes where it says and is over when it has left; what arrives fills a receive, or changes nothing.

use std::net::{IpAddr, Ipv4Addr};

use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::deth::GROUP_QP;
use stroma_abi::wire::{Frame, Ip, Mac, grh, opcode};
use stroma_abi::{Psn, Qpn};

use super::rig::{list, path, region, sge};
use crate::model::{
    Addresses, Datagram, DatagramSettings, Dropped, Endpoint, Path, Receive, ReceiveQueue, Received,
};

const KEYS: [u32; 2] = [0x1111, 0x2222];
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

fn number(end: u8) -> Qpn {
    Qpn::new(0x40 + u32::from(end))
}

fn settings(end: u8) -> DatagramSettings {
    let addresses: [IpAddr; 2] = [false, true].map(|is_ipv6| match path(end, is_ipv6).addresses {
        Addresses::V4 { local, .. } => local.into(),
        Addresses::V6 { local, .. } => local.into(),
    });
    DatagramSettings::new(number(end), path(end, false).local, &addresses, KEYS[usize::from(end)])
}

/// An end with a queue pair, and 64 KiB from 0x1000 on under key 1.
fn end(settings: DatagramSettings) -> Endpoint {
    let salt = settings.local.value().to_le_bytes()[0];
    let mut endpoint = Endpoint::default();
    endpoint.open(settings);
    endpoint.memory.register(1, region(0x1000, 0x1_0000, salt));
    endpoint
}

/// A datagram from end 0 to end 1.
fn datagram(id: u64, length: u32) -> Datagram {
    Datagram::new(id, &[sge(1, 0x1000, length)], path(0, false), number(1), KEYS[1])
}

fn post_receive(endpoint: &mut Endpoint, id: u64, length: u32) {
    let pieces = list(&[sge(1, 0x4000 + 0x2000 * id, length)]);
    endpoint.post_receive(number(1), Receive { id, pieces });
}

fn bytes(endpoint: &Endpoint, address: u64, length: usize) -> Vec<u8> {
    let at = usize::try_from(address - 0x1000).unwrap();
    endpoint.memory.region(1).unwrap().bytes[at..at + length].to_vec()
}

/// The frame of a datagram that end 0 sends.
fn frame_of(datagram: &Datagram) -> Vec<u8> {
    let mut endpoint = end(settings(0));
    endpoint.post_datagram(number(0), *datagram);
    endpoint.transmit(0).unwrap()
}

/// A frame, after a change, with a right ICRC.
fn changed(bytes: &[u8], change: impl Fn(&mut Frame)) -> Vec<u8> {
    let mut frame = Frame::parse(bytes).unwrap();
    change(&mut frame);
    frame.seal().unwrap().to_vec().unwrap()
}

#[test]
fn datagrams_of_every_length_arrive_behind_their_header() {
    for is_ipv6 in [false, true] {
        for (id, length) in (0..).zip([0, 1, 3, 40, 1024, 4096]) {
            let [mut near, mut far] = [0, 1].map(|which| end(settings(which)));
            let immediate = (id % 2 == 1).then_some(0xabcd + length);
            let sent = Datagram { immediate, path: path(0, is_ipv6), ..datagram(id, length) };
            near.post_datagram(number(0), Datagram { solicited: is_ipv6, ..sent });
            post_receive(&mut far, 0, 40 + length);
            assert!(!near.is_idle());
            let frame = near.transmit(0).unwrap();
            assert!(near.is_idle() && near.transmit(0).is_none());
            let done = near.poll(number(0)).unwrap();
            assert_eq!((done.id, done.status, done.bytes), (id, Status::Success, length));

            let parsed = Frame::parse(&frame).unwrap();
            let row = if immediate.is_some() { opcode::UD_SEND_ONLY_IMM } else { opcode::UD_SEND_ONLY };
            assert_eq!((parsed.bth.opcode, parsed.bth.ack_request), (row.code, false));
            let deth = parsed.extended.deth.unwrap();
            assert_eq!((deth.queue_key, deth.source_qp), (KEYS[1], number(0)));

            assert_eq!(far.receive(0, &frame), Ok(()));
            let expected = Received {
                id: 0,
                status: Status::Success,
                operation: if immediate.is_some() { WorkOp::SendImm } else { WorkOp::Send },
                bytes: 40 + length,
                immediate,
                invalidated: None,
                solicited: is_ipv6,
                source: Some(number(0)),
            };
            assert_eq!(far.poll_receive(number(1)), Some(expected));
            let place = bytes(&far, 0x4000, 40 + length as usize);
            // The header as it was on the wire: behind Ethernet's 14 bytes, and a tag of 4 with IPv6.
            if is_ipv6 {
                assert_eq!(place[..40], frame[18..58]);
            } else {
                assert_eq!((&place[..20], &place[20..40]), (&[0; 20][..], &frame[14..34]));
            }
            assert_eq!(place[40..], bytes(&near, 0x1000, length as usize));
        }
    }
}

#[test]
fn one_queue_pair_sends_to_many_and_its_numbers_go_on() {
    let mut near = end(DatagramSettings { send_psn: Psn::new(0xff_ffff), ..settings(0) });
    let other = Path { remote: Mac([2, 0, 0, 0, 0, 9]), ..path(0, true) };
    near.post_datagram(number(0), datagram(0, 8));
    near.post_datagram(number(0), Datagram { path: other, remote: Qpn::new(77), ..datagram(1, 8) });
    near.post_datagram(number(0), Datagram { key: 1 << 31, ..datagram(2, 8) });
    let frames: Vec<_> = std::iter::from_fn(|| near.transmit(0)).collect();
    let told = frames.iter().map(|frame| {
        let frame = Frame::parse(frame).unwrap();
        let key = frame.extended.deth.unwrap().queue_key;
        (frame.ethernet.destination.0[5], frame.bth.destination_qp.value(), frame.bth.psn.value(), key)
    });
    let expected = [(1, 0x41, 0xff_ffff, KEYS[1]), (9, 77, 0, KEYS[1]), (1, 0x41, 1, KEYS[0])];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_not_for_the_queue_pair_is_dropped_for_its_reason() {
    let frame = frame_of(&datagram(0, 8));
    let mut far = end(settings(1));
    post_receive(&mut far, 0, 100);
    let before = bytes(&far, 0x4000, 100);
    let mut give = |change: &dyn Fn(&mut Frame)| far.receive(0, &changed(&frame, change));
    let elsewhere = |destination: Ipv4Addr| {
        move |frame: &mut Frame| match &mut frame.ip {
            Ip::V4(ip) => ip.destination = destination,
            Ip::V6(_) => unreachable!("it was sent over IPv4"),
        }
    };
    let stranger = Qpn::new(0x999);
    assert_eq!(
        give(&|frame| frame.bth.destination_qp = stranger),
        Err(Dropped::QueuePair { number: stranger })
    );
    assert_eq!(give(&|frame| frame.ethernet.destination = Mac([2, 0, 0, 0, 0, 7])), Err(Dropped::Elsewhere));
    assert_eq!(give(&elsewhere(Ipv4Addr::new(10, 0, 0, 77))), Err(Dropped::Elsewhere));
    assert_eq!(give(&|frame| frame.bth.destination_qp = GROUP_QP), Err(Dropped::Elsewhere), "no group");
    let partition = Dropped::Partition { found: 0x8001, wanted: 0xffff };
    assert_eq!(give(&|frame| frame.bth.partition = 0x8001), Err(partition));
    let key = Dropped::Key { found: 0x2223, wanted: 0x2222 };
    let other_key = |frame: &mut Frame| frame.extended.deth.as_mut().unwrap().queue_key = 0x2223;
    assert_eq!(give(&other_key), Err(key));
    let service = |frame: &mut Frame| {
        (frame.bth.opcode, frame.extended.deth) = (opcode::UC_SEND_ONLY.code, None);
    };
    assert_eq!(give(&service), Err(Dropped::Service { opcode: "UC_SEND_ONLY" }));
    assert_eq!(far.poll_receive(number(1)), None);
    assert_eq!(bytes(&far, 0x4000, 100), before, "nothing was written");
    // A limited member hears a full one.
    assert_eq!(far.receive(0, &changed(&frame, |frame| frame.bth.partition = 0x7fff)), Ok(()));
    assert_eq!(far.poll_receive(number(1)).unwrap().bytes, 48);
}

#[test]
fn two_limited_members_do_not_talk() {
    let frame = changed(&frame_of(&datagram(0, 8)), |frame| frame.bth.partition = 0x7fff);
    let mut far = end(DatagramSettings { partition: 0x7fff, ..settings(1) });
    post_receive(&mut far, 0, 100);
    assert_eq!(far.receive(0, &frame), Err(Dropped::Partition { found: 0x7fff, wanted: 0x7fff }));
    let full = changed(&frame, |frame| frame.bth.partition = 0xffff);
    assert_eq!(far.receive(0, &full), Ok(()));
}

#[test]
fn without_a_receive_a_datagram_is_lost_and_one_that_is_too_short_fails_with_it() {
    let frame = frame_of(&datagram(0, 8));
    let mut far = end(settings(1));
    let lost = Err(Dropped::NoReceive { bytes: 48 });
    assert_eq!(far.receive(0, &frame), lost);
    post_receive(&mut far, 3, 47);
    let before = bytes(&far, 0xa000, 47);
    assert_eq!(far.receive(0, &frame), lost);
    assert_eq!(bytes(&far, 0xa000, 47), before);
    let found = far.poll_receive(number(1)).map(|found| (found.id, found.status, found.bytes));
    assert_eq!(found, Some((3, Status::LocalLength, 0)));
    post_receive(&mut far, 4, 47);
    assert_eq!(far.receive(0, &frame_of(&datagram(1, 7))), Ok(()));
    assert_eq!(far.poll_receive(number(1)).map(|found| (found.id, found.bytes)), Some((4, 47)));
}

#[test]
fn a_datagram_for_a_group_comes_to_its_member_alone() {
    let group_path = Path {
        remote: Mac([0x01, 0x00, 0x5e, 1, 2, 3]),
        addresses: Addresses::V4 { local: Ipv4Addr::new(10, 0, 0, 1), remote: GROUP },
        ..path(0, false)
    };
    let sent = Datagram { path: group_path, remote: GROUP_QP, ..datagram(0, 5) };
    let frame = frame_of(&sent);
    let mut far = end(settings(1));
    assert_eq!(far.receive(0, &frame), Err(Dropped::Elsewhere));
    let member = Qpn::new(0x50);
    far.open(DatagramSettings { local: member, groups: vec![GROUP.into()], ..settings(1) });
    let receive = |id| Receive { id, pieces: list(&[sge(1, 0x4000 + 0x1000 * id, 100)]) };
    far.post_receive(number(1), receive(0));
    far.post_receive(member, receive(1));
    assert_eq!(far.receive(0, &frame), Ok(()));
    assert_eq!(far.poll_receive(number(1)), None);
    assert_eq!(far.poll_receive(member).map(|found| (found.id, found.bytes)), Some((1, 45)));
    let header = grh::parse(bytes(&far, 0x5000, 40).first_chunk().unwrap()).unwrap();
    assert!(matches!(header, Ip::V4(ip) if ip.destination == GROUP));
    // The key counts for members, too.
    let wrong = frame_of(&Datagram { key: 5, ..sent });
    assert_eq!(far.receive(0, &wrong), Err(Dropped::Key { found: 5, wanted: KEYS[1] }));
}

#[test]
fn one_that_cannot_be_sent_ends_sending_and_not_receiving() {
    for (length, key, status) in [(4097, 1, Status::LocalLength), (8, 9, Status::LocalProtection)] {
        let mut near = end(settings(1));
        let back = |id, key, length| {
            Datagram::new(id, &[sge(key, 0x1000, length)], path(1, false), number(0), KEYS[0])
        };
        near.post_datagram(number(1), back(0, key, length));
        near.post_datagram(number(1), back(1, 1, 8));
        assert_eq!(near.transmit(0), None);
        near.post_datagram(number(1), back(2, 1, 8));
        let done: Vec<_> =
            std::iter::from_fn(|| near.poll(number(1))).map(|done| (done.id, done.status)).collect();
        assert_eq!(done, [(0, status), (1, Status::Flushed), (2, Status::Flushed)]);
        post_receive(&mut near, 0, 100);
        assert_eq!(near.receive(0, &frame_of(&datagram(0, 8))), Ok(()));
        assert_eq!(near.poll_receive(number(1)).unwrap().status, Status::Success);
    }
}

#[test]
fn queue_pairs_take_receives_from_a_queue_that_they_share() {
    let shared = ReceiveQueue::new(0);
    let mut far = end(settings(1));
    let other = Qpn::new(0x50);
    far.open_sharing(settings(1), &shared);
    far.open_sharing(DatagramSettings { local: other, ..settings(1) }, &shared);
    // The cut of the first is inside the header.
    shared.post(Receive { id: 0, pieces: list(&[sge(1, 0x4000, 25), sge(1, 0x5000, 25)]) });
    shared.post(Receive { id: 1, pieces: list(&[sge(1, 0x6000, 60)]) });
    let frame = frame_of(&datagram(0, 8));
    let for_other = changed(&frame, |frame| frame.bth.destination_qp = other);
    assert_eq!((far.receive(0, &for_other), far.receive(0, &frame)), (Ok(()), Ok(())));
    assert_eq!(far.poll_receive(other).map(|found| found.id), Some(0));
    assert_eq!(far.poll_receive(number(1)).map(|found| found.id), Some(1));
    let parts = [bytes(&far, 0x4000, 25), bytes(&far, 0x5000, 23)].concat();
    assert_eq!(parts, bytes(&far, 0x6000, 48));
    assert_eq!(parts[20..40], frame[14..34]);
}
