//! Packets that are for nobody: no answer, no completion, no event, and the connection goes on.

use std::net::Ipv4Addr;

use stroma_abi::Qpn;
use stroma_abi::wire::opcode::{RC_WRITE_ONLY, UC_WRITE_ONLY, UD_SEND_ONLY};
use stroma_abi::wire::{Bth, Deth, Ethernet, Extended, Frame, Ip, Ipv4, Syndrome, Udp, icrc};
use stroma_sim::model::Packet;
use stroma_tests::pair::pattern;
use stroma_tests::widths;
use stroma_verbs::{QueuePair, QueuePairState};

use crate::packets::{Answer, packet, reth};
use crate::stage::{PEER_PSN, Stage, is};

/// A WRITE of eight bytes to the first place.
fn good(stage: &Stage, psn: u32) -> Packet {
    Packet { extended: reth(stage.end.at(0), stage.end.memory.rkey(), 8), ..packet(RC_WRITE_ONLY, psn, 8) }
}

/// The frame of a good WRITE, with a change, sealed again.
fn changed(stage: &Stage, queue_pair: &QueuePair, change: impl FnOnce(&mut Frame<'_>)) -> Vec<u8> {
    let bytes = Stage::path().frame(&good(stage, PEER_PSN), Qpn::new(queue_pair.number()), 0xffff);
    let mut frame = Frame::parse(&bytes).expect("a good frame");
    change(&mut frame);
    frame.seal().and_then(|frame| frame.to_vec()).unwrap_or_else(|error| panic!("{error}"))
}

/// RC's op-code 31 is kept for later by the specification. The ICRC is right.
fn unknown_opcode(stage: &Stage, queue_pair: &QueuePair) -> Vec<u8> {
    let mut bytes = changed(stage, queue_pair, |_| {});
    let packet = &mut bytes[Ethernet::LEN..];
    packet[Ipv4::LEN + Udp::LEN] = 31;
    icrc::seal(packet);
    bytes
}

#[test]
fn packets_for_nobody_are_dropped_without_a_word_and_the_connection_goes_on() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let queue_pair = stage.connect(|_| {});
        let number = Qpn::new(queue_pair.number());
        let strange = Ipv4Addr::new(10, 0, 0, 99);
        let datagram = Packet {
            extended: Extended { deth: Some(Deth::default()), ..Extended::default() },
            ..packet(UD_SEND_ONLY, PEER_PSN, 8)
        };
        let unreliable = Packet { opcode: UC_WRITE_ONLY, ..good(&stage, PEER_PSN) };
        let cases = [
            ("another partition", changed(&stage, &queue_pair, |frame| frame.bth.partition = 0x1234)),
            (
                "a queue pair that there is not",
                changed(&stage, &queue_pair, |frame| {
                    frame.bth = Bth { destination_qp: Qpn::new(200), ..frame.bth };
                }),
            ),
            (
                "another sender",
                changed(&stage, &queue_pair, |frame| {
                    let Ip::V4(ip) = frame.ip else { panic!("IPv4") };
                    frame.ip = Ip::V4(Ipv4 { source: strange, ..ip });
                }),
            ),
            ("an op-code of datagrams", Stage::path().frame(&datagram, number, 0xffff)),
            ("an op-code of unreliable connections", Stage::path().frame(&unreliable, number, 0xffff)),
            ("an op-code that nobody knows", unknown_opcode(&stage, &queue_pair)),
        ];
        for (name, frame) in cases {
            let what = format!("{profile:?}, {name}");
            stage.send_frame(frame);
            stage.rests(&what);
            assert!(is(&queue_pair, QueuePairState::ReadyToSend), "{what}");
        }
        assert_eq!(stage.end.bytes(0, 8), [0; 8], "{profile:?}: nothing was placed");
        stage.send(&queue_pair, &good(&stage, PEER_PSN));
        let syndrome = Syndrome::Ack { credits: 31 };
        stage.answers("afterwards", Answer { syndrome, psn: PEER_PSN });
        assert_eq!(stage.end.bytes(0, 8), pattern(u64::from(PEER_PSN), 8), "{profile:?}");
    }
}
