//! The requester's rules, one by one.

use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::wire::{Aeth, Extended, NakCode, Opcode, Syndrome, opcode};

use super::rig::{region, settings, work};
use crate::model::{Dropped, Memory, Operation, Packet, Requester, Settings};

pub(super) const ACK: Syndrome = Syndrome::Ack { credits: 31 };

/// A requester of MTU 256 that begins with PSN 0 and has 64 KiB.
pub(super) struct Bench {
    pub(super) requester: Requester,
    pub(super) memory: Memory,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl Fn(&mut Settings)) -> Self {
        let mut settings = Settings { send_psn: Psn::new(0), timeout: Some(100), ..settings(0, 0, 256) };
        change(&mut settings);
        let mut memory = Memory::default();
        memory.register(1, region(0x1000, 0x1_0000, 0));
        Self { requester: Requester::new(&settings), memory }
    }

    pub(super) fn post(&mut self, id: u64, operation: Operation, length: u32) {
        self.requester.post(work(id, operation, length));
    }

    /// Everything that can be sent now: PSN, op-code, whether it asks for an ACK.
    pub(super) fn sent(&mut self, now: u64) -> Vec<(u32, u8, bool)> {
        std::iter::from_fn(|| self.requester.transmit(now, &mut self.memory))
            .map(|packet| (packet.psn.value(), packet.opcode.code, packet.ack_request))
            .collect()
    }

    pub(super) fn psns(&mut self, now: u64) -> Vec<u32> {
        self.sent(now).into_iter().map(|(psn, ..)| psn).collect()
    }

    pub(super) fn answer(&mut self, psn: u32, syndrome: Syndrome) -> Result<(), Dropped> {
        let packet = Packet::acknowledge(Psn::new(psn), syndrome, Psn::new(0));
        self.requester.receive(0, &packet, &mut self.memory)
    }

    pub(super) fn data(&mut self, row: Opcode, psn: u32, length: usize) -> Result<(), Dropped> {
        let aeth = Some(Aeth { syndrome: ACK.encode(), msn: Psn::new(0) });
        let aeth = if row.extended_len() > 0 { aeth } else { None };
        let extended = Extended { aeth, ..Extended::default() };
        let packet = Packet { extended, payload: vec![0xee; length], ..Packet::new(row, Psn::new(psn)) };
        self.requester.receive(0, &packet, &mut self.memory)
    }

    pub(super) fn done(&mut self) -> Vec<(u64, Status)> {
        std::iter::from_fn(|| self.requester.poll()).map(|done| (done.id, done.status)).collect()
    }
}

#[test]
fn messages_become_packets_and_reads_take_the_psns_of_their_answers() {
    let mut bench = Bench::new();
    bench.post(1, Operation::Write, 0);
    bench.post(2, Operation::Write, 257);
    bench.post(3, Operation::Read, 600);
    bench.post(4, Operation::Write, 768);
    let expected = [
        (0, 0x0a, true),
        (1, 0x06, false),
        (2, 0x08, true),
        (3, 0x0c, true),
        (6, 0x06, false),
        (7, 0x07, false),
    ];
    let sent = bench.sent(0);
    assert_eq!((&sent[..6], sent[6]), (&expected[..], (8, 0x08, true)));
}

#[test]
fn a_long_message_asks_for_an_ack_every_so_many_packets() {
    let mut bench = Bench::with(|settings| settings.ack_every = 4);
    bench.post(1, Operation::Write, 12 * 256);
    let asking: Vec<u32> = bench.sent(0).iter().filter(|sent| sent.2).map(|sent| sent.0).collect();
    assert_eq!(asking, [4, 9, 11]);
}

#[test]
fn one_ack_answers_all_before_it() {
    let mut bench = Bench::new();
    (0..3).for_each(|id| bench.post(id, Operation::Write, 300));
    bench.psns(0);
    bench.answer(2, ACK).unwrap();
    assert_eq!(bench.done(), [(0, Status::Success)]);
    bench.answer(5, ACK).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success), (2, Status::Success)]);
    assert_eq!(bench.answer(5, ACK), Err(Dropped::Stale));
    assert_eq!(bench.answer(6, ACK), Err(Dropped::Unasked));
}

#[test]
fn a_sequence_nak_answers_what_is_before_it_and_sends_again_from_there_once() {
    let mut bench = Bench::new();
    bench.post(1, Operation::Write, 8);
    bench.post(2, Operation::Write, 700);
    bench.psns(0);
    bench.answer(2, Syndrome::Nak(NakCode::PsnSequence)).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success)]);
    assert_eq!(bench.sent(0), [(2, 0x07, false), (3, 0x08, true)]);
    bench.answer(2, Syndrome::Nak(NakCode::PsnSequence)).unwrap();
    assert!(bench.psns(0).is_empty(), "the same loss reported twice");
    bench.answer(3, ACK).unwrap();
    assert_eq!(bench.done(), [(2, Status::Success)]);
}

#[test]
fn an_ack_beyond_a_read_without_data_asks_for_the_read_again() {
    let mut bench = Bench::new();
    bench.post(1, Operation::Write, 8);
    bench.post(2, Operation::Read, 600);
    bench.post(3, Operation::Write, 8);
    assert_eq!(bench.psns(0), [0, 1, 4]);
    bench.answer(4, ACK).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success)]);
    assert_eq!(bench.sent(0), [(1, 0x0c, true), (4, 0x0a, true)]);
}

#[test]
fn a_read_that_misses_a_packet_is_asked_for_again_from_there() {
    let mut bench = Bench::new();
    bench.post(1, Operation::Read, 700);
    bench.psns(0);
    bench.data(opcode::RC_READ_RESPONSE_FIRST, 0, 256).unwrap();
    bench.data(opcode::RC_READ_RESPONSE_LAST, 2, 188).unwrap();
    let again = bench.requester.transmit(0, &mut bench.memory).unwrap();
    let reth = again.extended.reth.unwrap();
    assert_eq!((again.psn.value(), reth.address, reth.length), (1, 0x2000 + 256, 444));
    bench.data(opcode::RC_READ_RESPONSE_FIRST, 1, 256).unwrap();
    bench.data(opcode::RC_READ_RESPONSE_LAST, 2, 188).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success)]);
    assert_eq!(bench.memory.region(1).unwrap().bytes[..700], [0xee; 700]);
}

#[test]
fn the_seventeenth_read_waits_for_the_first() {
    let mut bench = Bench::new();
    (0..18).for_each(|id| bench.post(id, Operation::Read, 8));
    bench.post(18, Operation::Write, 8);
    assert_eq!(bench.psns(0).len(), 16);
    bench.data(opcode::RC_READ_RESPONSE_ONLY, 0, 8).unwrap();
    assert_eq!(bench.psns(0), [16]);
    bench.requester.tick(100);
    assert_eq!(bench.psns(100), (1..17).collect::<Vec<_>>(), "sent again, they are no new ones");
}

#[test]
fn silence_is_answered_by_sending_again_until_the_retries_are_used_up() {
    let mut bench = Bench::with(|settings| settings.retries = 2);
    bench.post(1, Operation::Write, 300);
    bench.post(2, Operation::Read, 8);
    bench.psns(5);
    for attempt in 1..=2 {
        bench.requester.tick(5 + 100 * attempt - 1);
        assert!(bench.psns(0).is_empty(), "not before the time");
        bench.requester.tick(5 + 100 * attempt);
        assert_eq!(bench.psns(5 + 100 * attempt), [0, 1, 2]);
    }
    assert_eq!(bench.done(), []);
    bench.requester.tick(305);
    assert_eq!(bench.done(), [(1, Status::RetryExceeded), (2, Status::Flushed)]);
    assert_eq!(bench.requester.deadline(), None);
}

#[test]
fn progress_gives_all_retries_back() {
    let mut bench = Bench::with(|settings| settings.retries = 1);
    bench.post(1, Operation::Write, 600);
    bench.psns(0);
    bench.requester.tick(100);
    bench.psns(100);
    bench.answer(0, ACK).unwrap();
    bench.requester.tick(200);
    assert_eq!(bench.psns(200), [1, 2]);
    bench.requester.tick(300);
    assert_eq!(bench.done(), [(1, Status::RetryExceeded)]);
}

#[test]
fn a_refusal_ends_its_operation_and_flushes_the_rest() {
    for (code, status) in [
        (NakCode::InvalidRequest, Status::RemoteInvalid),
        (NakCode::RemoteAccess, Status::RemoteAccess),
        (NakCode::RemoteOperational, Status::RemoteOperation),
    ] {
        let mut bench = Bench::new();
        (0..3).for_each(|id| bench.post(id, Operation::Write, 300));
        bench.psns(0);
        bench.answer(3, Syndrome::Nak(code)).unwrap();
        assert_eq!(bench.done(), [(0, Status::Success), (1, status), (2, Status::Flushed)]);
        assert_eq!(bench.answer(5, ACK), Err(Dropped::Failed));
    }
}

#[test]
fn data_that_does_not_fit_the_question_is_a_bad_response() {
    let bad = |name: &str, operation, row, psn, length| {
        let mut bench = Bench::new();
        bench.post(1, operation, 700);
        bench.psns(0);
        if psn == 1 {
            bench.data(opcode::RC_READ_RESPONSE_FIRST, 0, 256).unwrap();
        }
        bench.data(row, psn, length).unwrap();
        assert_eq!(bench.done(), [(1, Status::BadResponse)], "{name}");
    };
    let read = Operation::Read;
    bad("data for a WRITE", Operation::Write, opcode::RC_READ_RESPONSE_FIRST, 0, 256);
    bad("Middle first", read, opcode::RC_READ_RESPONSE_MIDDLE, 0, 256);
    bad("Only of three", read, opcode::RC_READ_RESPONSE_ONLY, 0, 256);
    bad("Last of three as second", read, opcode::RC_READ_RESPONSE_LAST, 1, 256);
    bad("First again, not asked for", read, opcode::RC_READ_RESPONSE_FIRST, 1, 256);
    bad("too short", read, opcode::RC_READ_RESPONSE_FIRST, 0, 252);
    bad("too long", read, opcode::RC_READ_RESPONSE_FIRST, 0, 260);
}
