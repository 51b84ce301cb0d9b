//! What the port adds: congestion notices, and frames that are for somebody else.

use stroma_abi::Qpn;
use stroma_abi::desc::Status;
use stroma_abi::wire::{Frame, Ip, opcode};

use super::rig::{Pair, number, path, settings};
use crate::model::{Dropped, Endpoint, Operation, Settings};

#[test]
fn requests_that_met_congestion_are_answered_by_notices() {
    for is_ipv6 in [false, true] {
        let way = |end| path(end, is_ipv6);
        let mut pair = Pair::simple();
        for end in 0..2 {
            let settings = Settings { path: way(end), ..settings(end, 0, 256) };
            pair.ends[usize::from(end)].connect(settings);
        }
        pair.post(1, Operation::Write, 8);
        let bytes = pair.ends[0].transmit(0).unwrap();
        let mut frame = Frame::parse(&bytes).unwrap();
        match &mut frame.ip {
            Ip::V4(ip) => ip.ecn = 3,
            Ip::V6(ip) => ip.traffic_class |= 3,
        }
        pair.ends[1].receive(0, &frame.seal().unwrap().to_vec().unwrap()).unwrap();
        let notice = pair.ends[1].transmit(0).unwrap();
        let bth = Frame::parse(&notice).unwrap().bth;
        assert_eq!((bth.opcode, bth.destination_qp, bth.becn), (0x81, number(0, 0), true));
        pair.ends[0].receive(0, &notice).unwrap();
        assert_eq!(pair.ends[0].queue_pair(number(0, 0)).unwrap().notices(), 1);
        pair.run();
        assert_eq!(pair.ends[0].poll(number(0, 0)).unwrap().status, Status::Success);
        assert_eq!(pair.ends[1].queue_pair(number(1, 0)).unwrap().notices(), 0);
    }
}

/// The frame as it arrives through a router that was congested.
fn marked(bytes: &[u8]) -> Vec<u8> {
    let mut frame = Frame::parse(bytes).unwrap();
    let Ip::V4(ip) = &mut frame.ip else { panic!("the queue pair speaks IPv4") };
    assert_eq!(ip.ecn, 2, "no router would mark it");
    ip.ecn = 3;
    frame.seal().unwrap().to_vec().unwrap()
}

#[test]
fn data_of_a_read_that_met_congestion_are_answered_by_notices_an_interval_apart() {
    let mut pair = Pair::simple();
    pair.post(1, Operation::Read, 256 * 3);
    let request = pair.ends[0].transmit(0).unwrap();
    pair.ends[1].receive(0, &request).unwrap();
    let is_notice = |bytes: Vec<u8>| {
        let frame = Frame::parse(&bytes).unwrap();
        let Ip::V4(ip) = frame.ip else { panic!("the queue pair speaks IPv4") };
        (frame.bth.opcode, frame.bth.migration, frame.bth.becn, ip.ecn) == (0x81, false, true, 0)
    };
    // The third comes when the interval is over.
    for (now, is_told) in [(0, true), (3999, false), (4000, true)] {
        let data = pair.ends[1].transmit(now).unwrap();
        pair.ends[0].receive(now, &marked(&data)).unwrap();
        assert_eq!(pair.ends[0].transmit(now).map(is_notice), is_told.then_some(true), "{now}");
    }
}

#[test]
fn acknowledgements_say_that_nobody_may_mark_them() {
    let mut pair = Pair::simple();
    for operation in [Operation::Write, Operation::FetchAdd(1)] {
        pair.post(1, operation, 8);
        let request = pair.ends[0].transmit(0).unwrap();
        pair.ends[1].receive(0, &marked(&request)).unwrap();
        while let Some(answer) = pair.ends[1].transmit(0) {
            let Ip::V4(ip) = Frame::parse(&answer).unwrap().ip else { panic!("the queue pair speaks IPv4") };
            assert_eq!(ip.ecn, 0);
        }
    }
}

#[test]
fn frames_for_another_are_dropped_for_their_reason() {
    let mut pair = Pair::simple();
    pair.post(1, Operation::Write, 8);
    let bytes = pair.ends[0].transmit(0).unwrap();
    let frame = Frame::parse(&bytes).unwrap();
    let mut give = |change: fn(&mut Frame)| {
        let mut frame = frame;
        change(&mut frame);
        pair.ends[1].receive(0, &frame.seal().unwrap().to_vec().unwrap())
    };
    let stranger = Qpn::new(0x999);
    assert_eq!(
        give(|frame| frame.bth.destination_qp = Qpn::new(0x999)),
        Err(Dropped::QueuePair { number: stranger })
    );
    let partition = Dropped::Partition { found: 0x8001, wanted: 0xffff };
    assert_eq!(give(|frame| frame.bth.partition = 0x8001), Err(partition));
    let service = Dropped::Service { opcode: "UC_WRITE_ONLY" };
    assert_eq!(give(|frame| frame.bth.opcode = opcode::UC_WRITE_ONLY.code), Err(service));
    let elsewhere = |frame: &mut Frame| match &mut frame.ip {
        Ip::V4(ip) => ip.source = std::net::Ipv4Addr::LOCALHOST,
        Ip::V6(_) => unreachable!("the queue pair speaks IPv4"),
    };
    assert_eq!(give(elsewhere), Err(Dropped::Peer));
    assert_eq!(give(|_| {}), Ok(()));
    assert!(matches!(Endpoint::default().receive(0, &bytes[..50]), Err(Dropped::Frame(_))));
}
