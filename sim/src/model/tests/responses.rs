//! The responder's rules of sequence and shape, one by one.

use stroma_abi::Psn;
use stroma_abi::wire::{AtomicEth, Extended, Header, Ieth, ImmDt, NakCode, Opcode, Reth, Syndrome, opcode};

use super::rig::{list, region, settings, sge};
use crate::model::{Dropped, Memory, Packet, Receive, Received, Responder, Settings};

const MTU: u32 = 256;
pub(super) const KEY: u32 = 9;
pub(super) const BASE: u64 = 0x4000;
/// What requests with immediate data bring.
pub(super) const IMMEDIATE: u32 = 0x00c0_ffee;
pub(super) const ACK: Syndrome = Syndrome::Ack { credits: 31 };
pub(super) const GAP: Syndrome = Syndrome::Nak(NakCode::PsnSequence);
pub(super) const INVALID: Syndrome = Syndrome::Nak(NakCode::InvalidRequest);

/// A responder of MTU 256 that expects PSN 0 and serves 64 KiB.
pub(super) struct Bench {
    pub(super) responder: Responder,
    pub(super) memory: Memory,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl Fn(&mut Settings)) -> Self {
        let mut settings = Settings { receive_psn: Psn::new(0), ..settings(1, 0, MTU) };
        change(&mut settings);
        let mut memory = Memory::default();
        memory.register(KEY, region(BASE, 0x1_0000, 0x77));
        Self { responder: Responder::new(&settings), memory }
    }

    /// Posts a receive of pieces at these places and of these lengths of the region.
    pub(super) fn post(&mut self, id: u64, pieces: &[(u64, u32)]) {
        let pieces: Vec<_> = pieces.iter().map(|(place, length)| sge(KEY, BASE + place, *length)).collect();
        self.responder.post_receive(Receive { id, pieces: list(&pieces) });
    }

    /// Receives that have completed.
    pub(super) fn received(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.responder.poll_receive()).collect()
    }

    pub(super) fn give(&mut self, request: &Packet) -> Result<(), Dropped> {
        self.responder.receive(request, &mut self.memory)
    }

    pub(super) fn answers(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.responder.transmit()).collect()
    }

    /// What the request is answered with: PSN, syndrome, MSN.
    pub(super) fn ask(&mut self, request: &Packet) -> Vec<(u32, Syndrome, u32)> {
        self.give(request).unwrap();
        let fields = |packet: Packet| {
            let aeth = packet.extended.aeth.expect("the answer has an AETH");
            (packet.psn.value(), Syndrome::decode(aeth.syndrome), aeth.msn.value())
        };
        self.answers().into_iter().map(fields).collect()
    }

    pub(super) fn bytes(&self, at: usize, length: usize) -> &[u8] {
        &self.memory.region(KEY).unwrap().bytes[at..at + length]
    }
}

/// A request of `payload` bytes; a RETH, where there is one, says `length`.
pub(super) fn request(row: Opcode, psn: u32, length: u32, payload: usize) -> Packet {
    let has = |header| row.header_set().contains(header);
    let extended = Extended {
        reth: has(Header::Reth).then_some(Reth { address: BASE, remote_key: KEY, length }),
        imm: has(Header::ImmDt).then_some(ImmDt { data: IMMEDIATE }),
        ieth: has(Header::Ieth).then_some(Ieth { remote_key: KEY }),
        ..Extended::default()
    };
    Packet { ack_request: true, extended, payload: vec![0xa5; payload], ..Packet::new(row, Psn::new(psn)) }
}

pub(super) fn only(psn: u32, length: u32) -> Packet {
    request(opcode::RC_WRITE_ONLY, psn, length, length as usize)
}

/// `FETCH_ADD` at this place of the region.
pub(super) fn fetch_add(psn: u32, place: u64, add: u64) -> Packet {
    atomic(opcode::RC_FETCH_ADD, psn, place, add, 0)
}

pub(super) fn atomic(row: Opcode, psn: u32, place: u64, swap_add: u64, compare: u64) -> Packet {
    let operands = AtomicEth { address: BASE + place, remote_key: KEY, swap_add, compare };
    let extended = Extended { atomic: Some(operands), ..Extended::default() };
    Packet { ack_request: true, extended, ..Packet::new(row, Psn::new(psn)) }
}

pub(super) fn read(psn: u32, length: u32) -> Packet {
    request(opcode::RC_READ_REQUEST, psn, length, 0)
}

#[test]
fn a_write_is_acknowledged_where_it_asks_and_counted_where_it_ends() {
    let mut bench = Bench::new();
    let first = request(opcode::RC_WRITE_FIRST, 0, 600, 256);
    assert_eq!(bench.ask(&Packet { ack_request: false, ..first }), []);
    assert_eq!(bench.ask(&request(opcode::RC_WRITE_MIDDLE, 1, 0, 256)), [(1, ACK, 0)]);
    assert_eq!(bench.ask(&request(opcode::RC_WRITE_LAST, 2, 0, 88)), [(2, ACK, 1)]);
    assert_eq!(bench.bytes(0, 600), [0xa5; 600]);
    assert_ne!(bench.bytes(600, 1), [0xa5]);
}

#[test]
fn a_gap_is_reported_once_until_the_missing_request_arrives() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(&only(1, 8)), [(0, GAP, 0)]);
    assert_eq!(bench.give(&only(2, 8)), Err(Dropped::Gap));
    assert_eq!(bench.ask(&only(0, 8)), [(0, ACK, 1)]);
    assert_eq!(bench.ask(&only(2, 8)), [(1, GAP, 1)]);
}

#[test]
fn a_repeated_write_is_acknowledged_with_the_latest_psn_and_not_written_again() {
    let mut bench = Bench::new();
    bench.ask(&only(0, 8));
    bench.ask(&only(1, 4));
    bench.memory.region_mut(KEY).unwrap().bytes[..8].fill(1);
    let silent = Packet { ack_request: false, ..only(0, 8) };
    assert_eq!(bench.ask(&silent), [(1, ACK, 2)]);
    assert_eq!(bench.bytes(0, 8), [1; 8]);
}

#[test]
fn a_repeated_psn_lies_up_to_half_the_circle_back() {
    let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(5));
    assert_eq!(bench.ask(&only(5 + Psn::HALF, 8)), [(4, ACK, 0)]);
    assert_eq!(bench.ask(&only(4 + Psn::HALF, 8)), [(5, GAP, 0)]);
}

#[test]
fn a_read_is_answered_in_packets_of_one_mtu_with_consecutive_psns() {
    for (length, rows) in [
        (0, vec![opcode::RC_READ_RESPONSE_ONLY]),
        (256, vec![opcode::RC_READ_RESPONSE_ONLY]),
        (257, vec![opcode::RC_READ_RESPONSE_FIRST, opcode::RC_READ_RESPONSE_LAST]),
        (
            768,
            vec![
                opcode::RC_READ_RESPONSE_FIRST,
                opcode::RC_READ_RESPONSE_MIDDLE,
                opcode::RC_READ_RESPONSE_LAST,
            ],
        ),
    ] {
        let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(0xff_ffff));
        bench.give(&read(0xff_ffff, length)).unwrap();
        let answers = bench.answers();
        assert_eq!(answers.iter().map(|packet| packet.opcode).collect::<Vec<_>>(), rows);
        let data: Vec<u8> = answers.iter().flat_map(|packet| packet.payload.clone()).collect();
        assert_eq!(data, bench.bytes(0, length as usize));
        for (index, packet) in (0..).zip(&answers) {
            assert_eq!(packet.psn, Psn::new(0xff_ffff).add(index));
            assert!(packet.extended.aeth.is_none_or(|aeth| aeth.msn == Psn::new(1)));
        }
        let next = Psn::new(0xff_ffff).add(u32::try_from(rows.len()).unwrap());
        assert_eq!(bench.ask(&only(next.value(), 0)), [(next.value(), ACK, 2)], "{length}");
    }
}

#[test]
fn a_repeated_read_is_executed_again_from_where_it_is_asked_for() {
    let mut bench = Bench::new();
    bench.give(&read(0, 700)).unwrap();
    bench.give(&only(3, 1)).unwrap();
    bench.answers();
    bench.memory.region_mut(KEY).unwrap().bytes[256..700].fill(3);
    let mut rest = read(1, 444);
    rest.extended.reth.as_mut().unwrap().address += 256;
    bench.give(&rest).unwrap();
    let answers = bench.answers();
    let shape: Vec<_> = answers.iter().map(|packet| (packet.opcode.code, packet.psn.value())).collect();
    assert_eq!(shape, [(0x0d, 1), (0x0f, 2)]);
    assert_eq!(answers.iter().flat_map(|packet| packet.payload.clone()).collect::<Vec<_>>(), [3; 444]);
}

#[test]
fn a_repeated_read_that_asks_for_other_bytes_is_dropped() {
    let mut bench = Bench::new();
    bench.give(&read(0, 700)).unwrap();
    bench.answers();
    let mut moved = read(1, 444);
    assert_eq!(bench.give(&moved), Err(Dropped::Repeated), "bytes of another PSN");
    moved.extended.reth.as_mut().unwrap().address += 256;
    moved.extended.reth.as_mut().unwrap().length += 1;
    assert_eq!(bench.give(&moved), Err(Dropped::Repeated), "beyond the end");
    let mut other = read(0, 700);
    other.extended.reth.as_mut().unwrap().remote_key += 1;
    assert_eq!(bench.give(&other), Err(Dropped::Repeated), "another key");
    assert_eq!(bench.answers(), []);
    assert!(!bench.responder.is_failed());
}

#[test]
fn sixteen_reads_are_remembered_and_a_seventeenth_unanswered_one_is_invalid() {
    let mut bench = Bench::new();
    for psn in 0..16 {
        bench.give(&read(psn, 8)).unwrap();
    }
    assert_eq!(bench.answers().len(), 16);
    bench.give(&read(16, 8)).unwrap();
    assert_eq!(bench.give(&read(0, 8)), Err(Dropped::Repeated), "the oldest made room");
    for psn in 1..16 {
        bench.give(&read(psn, 8)).unwrap();
    }
    assert_eq!(bench.answers().len(), 16, "repeated ones are no new ones");
    for psn in 17..33 {
        bench.give(&read(psn, 8)).unwrap();
    }
    bench.give(&read(33, 8)).unwrap();
    let answers = bench.answers();
    assert_eq!((answers.len(), answers[16].syndrome()), (17, Some(INVALID)));
}

#[test]
fn answers_leave_in_the_order_of_their_requests() {
    let mut bench = Bench::with(|settings| settings.coalesce = true);
    bench.give(&only(0, 1)).unwrap();
    bench.give(&only(1, 1)).unwrap();
    bench.give(&read(2, 300)).unwrap();
    bench.give(&only(4, 1)).unwrap();
    bench.give(&only(5, 1)).unwrap();
    bench.give(&only(7, 1)).unwrap();
    let answers: Vec<_> =
        bench.answers().iter().map(|packet| (packet.psn.value(), packet.opcode.code)).collect();
    assert_eq!(answers, [(1, 0x11), (2, 0x0d), (3, 0x0f), (5, 0x11), (6, 0x11)]);
}
