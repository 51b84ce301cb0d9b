//! What datagrams look like on the wire, and the queue pair for management.

use stroma_abi::wire::deth::MANAGEMENT_QP;
use stroma_abi::wire::{Deth, Frame, Ip, Mac};
use stroma_abi::{Psn, Qpn};
use stroma_sim::peer::Raw;
use stroma_tests::pair::{address, pattern};
use stroma_tests::widths;
use stroma_verbs::{Address, Datagrams, OWN_KEY};

use crate::stage::{GOLDEN, Stage, builder, check, frame, header, key, path, post_receive, six, way};

/// What the peer has heard.
fn heard(stage: &Stage) -> Vec<Vec<u8>> {
    stage.settle();
    let heard = stage.shared.world().peer_mut::<Raw>(1).take();
    assert!(heard.iter().all(|frame| !frame.bad));
    heard.into_iter().map(|frame| frame.bytes).collect()
}

#[test]
fn a_datagram_has_the_fields_of_its_handle() {
    for profile in widths!() {
        let stage = Stage::new(profile, Box::<Raw>::default());
        let end = &stage.end;
        let queue_pair = builder(end).build().expect("a queue pair");
        let how = Datagrams { q_key: key(0), p_key: 0x8123, send_psn: Psn::new(0xff_ffff) };
        queue_pair.activate_datagrams(&how).expect("it is fresh");
        let [four, tagged] = [
            Address { traffic_class: 0x88, hop_limit: 9, source_port: 0xd001, ..way(1, false) },
            Address {
                vlan: Some(0x5064),
                traffic_class: 0xb9,
                flow_label: 0xa_bcde,
                hop_limit: 1,
                source_port: 0xffff,
                ..way(1, true)
            },
        ];
        let handles = [four, tagged].map(|way| end.domain.address_handle(&way).expect("a handle"));
        let batch = queue_pair.start().to(&handles[0], Qpn::new(0xab_cdef), 0x7654_3210).inline_send(b"abc");
        let batch = batch.solicited().to(&handles[1], GOLDEN, 5).inline_send_imm(b"", 0x0102_0304);
        batch.post().expect("room");
        let found = heard(&stage);
        let [one, other] = &found[..] else { panic!("{profile:?}: {} frames", found.len()) };

        let one = Frame::parse(one).expect("a good frame");
        assert_eq!(
            (one.ethernet.source, one.ethernet.destination),
            (Mac(address(0).mac), Mac(address(1).mac))
        );
        assert_eq!((one.tag, one.udp.source_port, one.udp.destination_port), (None, 0xd001, 4791));
        let Ip::V4(ip) = one.ip else { panic!("{:?}", one.ip) };
        assert_eq!((ip.dscp, ip.ecn, ip.ttl), (0x22, 0, 9));
        assert_eq!((ip.source, ip.destination), ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        assert_eq!((one.bth.opcode, one.bth.destination_qp), (0x64, Qpn::new(0xab_cdef)));
        assert_eq!((one.bth.partition, one.bth.psn), (0x8123, Psn::new(0xff_ffff)));
        assert_eq!((one.bth.solicited, one.bth.ack_request), (false, false));
        let source_qp = Qpn::new(queue_pair.number());
        assert_eq!(one.extended.deth, Some(Deth { queue_key: 0x7654_3210, source_qp, ..Deth::default() }));
        assert_eq!((one.payload, one.pad.len()), (&b"abc"[..], 1));

        let other = Frame::parse(other).expect("a good frame");
        let tag = other.tag.expect("it has one");
        assert_eq!((tag.priority, tag.drop_eligible, tag.vlan), (2, true, 0x064));
        let Ip::V6(ip) = other.ip else { panic!("{:?}", other.ip) };
        assert_eq!((ip.traffic_class, ip.flow_label, ip.hop_limit), (0xb9, 0xa_bcde, 1));
        assert_eq!((ip.source, ip.destination, other.udp.source_port), (six(0), six(1), 0xffff));
        assert_eq!((other.bth.opcode, other.bth.destination_qp, other.bth.solicited), (0x65, GOLDEN, true));
        assert_eq!(other.bth.psn, Psn::new(0), "{profile:?}: numbers go on");
        assert_eq!(other.extended.deth, Some(Deth { queue_key: 5, source_qp, ..Deth::default() }));
        assert_eq!(other.extended.imm.map(|imm| imm.data), Some(0x0102_0304));
        assert_eq!(other.payload, b"");
    }
}

#[test]
fn a_datagram_with_a_tag_arrives_as_without() {
    for profile in widths!() {
        let stage = Stage::new(profile, Box::<Raw>::default());
        let end = &stage.end;
        for (slot, is_ipv6) in [false, true].into_iter().enumerate() {
            let mut way = path(1, 0, is_ipv6);
            way.tag = Some((3, 100));
            post_receive(end, &stage.queue_pair, slot, 500);
            let deth = Deth { queue_key: key(0), source_qp: GOLDEN, ..Deth::default() };
            let payload = pattern(9, 333);
            let bytes = frame(&way, stage.number(), deth, Some(4), &payload);
            stage.shared.world().peer_mut::<Raw>(1).send(bytes);
            check(end, slot, GOLDEN, Some(4), &header(&path(1, 0, is_ipv6), Some(4), &payload), &payload);
        }
    }
}

#[test]
fn queue_pair_1_hears_management_datagrams_and_answers_with_their_key() {
    for profile in widths!() {
        let stage = Stage::new(profile, Box::<Raw>::default());
        let end = &stage.end;
        let management = end.device.port().management_queue_pair(builder(end)).expect("there is none yet");
        assert_eq!(management.number(), 1, "{profile:?}");
        assert!(end.device.port().management_queue_pair(builder(end)).is_err());
        post_receive(end, &management, 0, 40 + 256);
        let deth = Deth { queue_key: 0x8001_0000, source_qp: MANAGEMENT_QP, ..Deth::default() };
        let mad = pattern(5, 256);
        let way_in = path(1, 0, false);
        let bytes = frame(&way_in, MANAGEMENT_QP, deth, None, &mad);
        stage.shared.world().peer_mut::<Raw>(1).send(bytes);
        let found = check(end, 0, MANAGEMENT_QP, None, &header(&way_in, None, &mad), &mad);
        assert_eq!(found.queue_pair, 1, "{profile:?}");

        let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
        let batch = management.start().wr_id(2).signaled().to(&handle, MANAGEMENT_QP, OWN_KEY);
        end.put(0, &mad);
        batch.send(&[end.piece(0, 256)]).post().expect("room");
        end.expect(2);
        let found = heard(&stage);
        assert_eq!(found.len(), 1, "{profile:?}");
        let answer = Frame::parse(&found[0]).expect("a good frame");
        assert_eq!((answer.bth.destination_qp, answer.extended.deth), (MANAGEMENT_QP, Some(deth)));
        assert!(answer.payload == mad, "{profile:?}");
    }
}
