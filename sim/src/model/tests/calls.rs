//! Calls of kernels: executed once whatever the wire does, answered whole, and refused without harm.

use std::sync::{Arc, Mutex};

use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::rpc::Parameters;
use stroma_abi::kernel::traversal::{self, Traversal, TraversalStatus};
use stroma_abi::wire::{Frame, Opcode, RpcStatus, opcode};
use stroma_kernel_models::{Invocation, Memory as Callers, Outcome, traversal as model};

use super::channel::Faults;
use super::rig::{Pair, number, region, settings, sge, work};
use crate::model::{Completion, Operation, Settings};

const MTU: u32 = 256;
/// A kernel that answers as many bytes as its first parameter says, with the second as status.
const KERNEL: u16 = 0x70;
const ANSWERED: u32 = 0x1234;

/// What a call's answer is: a pattern that begins with the sum of what came behind the parameters.
fn pattern(length: usize, payload: &[u8]) -> Vec<u8> {
    let sum = payload.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(3).wrapping_add(*byte));
    (0..length).map(|index| (index % 241).to_le_bytes()[0].wrapping_add(sum)).collect()
}

type Executed = Arc<Mutex<Vec<Invocation>>>;

/// A pair whose second end has the kernel, and the calls that it has executed.
fn calling(seed: u64, faults: Faults, change: impl Fn(&mut Settings)) -> (Pair, Executed) {
    let mut pair = Pair::new(seed, faults);
    let executed = Executed::default();
    for end in 0..2_u8 {
        let executed = executed.clone();
        let here = &mut pair.ends[usize::from(end)];
        here.kernels.add(
            KERNEL,
            Box::new(move |call, _| {
                executed.lock().unwrap().push(call.clone());
                let word = |at: usize| {
                    u32::from_le_bytes(call.parameters.as_bytes()[at..at + 4].try_into().unwrap())
                };
                Outcome { status: word(4), data: pattern(word(0) as usize, &call.data) }
            }),
        );
        let mut settings = settings(end, 0, MTU);
        settings.rights |= rights::RPC;
        settings.result_max = 0x1_0000;
        change(&mut settings);
        here.connect(settings);
        here.memory.register(u32::from(end) + 1, region(0x1000 * (u64::from(end) + 1), 0x2_0000, end));
    }
    (pair, executed)
}

fn call(length: u32, payload: Option<u32>) -> Operation {
    let words = [length, ANSWERED].map(u32::to_le_bytes).concat();
    Operation::Call {
        operation: KERNEL,
        flags: 0x5a,
        parameters: Parameters::new(&words).unwrap(),
        payload: payload.map(|length| sge(1, 0x1_1000, length)),
    }
}

/// Where the bytes of the payload lie.
fn payload_bytes(length: u32) -> Vec<u8> {
    region(0x1000, 0x2_0000, 0).bytes[0x1_0000..0x1_0000 + length as usize].to_vec()
}

fn result(pair: &Pair, length: usize) -> Vec<u8> {
    let access = crate::model::Access { key: 1, domain: 0, rights: 0, address: 0x1000, queue_pair: None };
    pair.ends[0].memory.read(&access, length as u64).unwrap()
}

fn done(id: u64, bytes: u32) -> Completion {
    Completion { id, status: Status::Success, bytes, rpc: Some(ANSWERED) }
}

fn opcodes(frames: &[Vec<u8>]) -> Vec<Opcode> {
    frames.iter().map(|frame| *Frame::parse(frame).unwrap().opcode().unwrap()).collect()
}

const SIZES: [u32; 8] = [0, 1, MTU - 1, MTU, MTU + 1, 3 * MTU, 0xffff, 0x1_0000];

#[test]
fn answers_of_every_size_come_whole_and_with_their_status() {
    for length in SIZES {
        let (mut pair, executed) = calling(0, Faults::default(), |_| {});
        // Room for more than comes: the rest of its PSNs is never used.
        let most = (length + 2 * MTU).min(0x1_0000);
        pair.post(7, call(length, None), most);
        pair.post(8, Operation::Read, 10);
        pair.run();
        assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(7, length)));
        assert_eq!(pair.ends[0].poll(number(0, 0)).map(|done| done.status), Some(Status::Success));
        assert!(pair.dropped.is_empty(), "{:?}", pair.dropped);
        let executed = executed.lock().unwrap();
        assert_eq!(
            (executed.len(), executed[0].command.flags, executed[0].command.response_max),
            (1, 0x5a, most)
        );
        let behind = result(&pair, 0x1_0000)[10.min(length as usize)..length as usize].to_vec();
        assert_eq!(behind, pattern(length as usize, &[])[10.min(length as usize)..]);
    }
}

#[test]
fn a_payload_comes_to_the_kernel_behind_the_parameters() {
    for payload in [0, 1, MTU - 9, MTU - 8, MTU - 7, 5 * MTU, 0x8000] {
        let (mut pair, executed) = calling(0, Faults::default(), |_| {});
        pair.post(1, call(40, Some(payload)), 64);
        pair.run();
        assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(1, 40)));
        assert_eq!(executed.lock().unwrap()[0].data, payload_bytes(payload));
        assert_eq!(result(&pair, 40), pattern(40, &payload_bytes(payload)));
        let sent = opcodes(&pair.sent[0]);
        let expected = if payload + 8 <= MTU { opcode::RPC_WRITE_ONLY } else { opcode::RPC_WRITE_FIRST };
        assert_eq!(sent[0], expected);
    }
}

/// Runs a call and loses the n-th frame that `end` sends; how many frames that end sent if none was lost.
fn loses(end: usize, nth: usize, length: u32, payload: Option<u32>) -> usize {
    let (mut pair, executed) = calling(0, Faults::default(), |_| {});
    pair.post(1, call(length, payload), length);
    pair.post(2, Operation::Read, 0);
    while pair.sent[end].len() <= nth && !(pair.ends[0].is_idle() && pair.ends[1].is_idle()) {
        pair.step();
    }
    let sent = pair.sent[end].len();
    if sent == nth + 1 {
        pair.wires[end].lose_newest();
    }
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(1, length)), "frame {nth} of end {end}");
    assert_eq!(executed.lock().unwrap().len(), 1, "executed once");
    assert_eq!(
        result(&pair, length as usize),
        pattern(length as usize, &payload_bytes(payload.unwrap_or(0)))
    );
    sent
}

#[test]
fn each_frame_lost_once_changes_nothing() {
    for (length, payload) in [(0, None), (MTU, None), (MTU + 1, Some(700)), (5 * MTU, Some(3 * MTU))] {
        for end in 0..2 {
            let mut nth = 0;
            while loses(end, nth, length, payload) > nth {
                nth += 1;
            }
            assert!(nth > 1, "several frames were lost");
        }
    }
}

#[test]
fn a_call_that_still_runs_is_busy_and_all_behind_it_waits() {
    let (mut pair, executed) = calling(0, Faults::default(), |settings| settings.busy = 3);
    pair.post(1, call(600, None), 600);
    pair.post(2, Operation::Write, 10);
    pair.post(3, call(1, None), 1);
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(1, 600)));
    assert_eq!(
        pair.ends[0].poll(number(0, 0)).map(|done| (done.id, done.status)),
        Some((2, Status::Success))
    );
    assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(3, 1)));
    assert_eq!(executed.lock().unwrap().len(), 2);
    let busy = opcodes(&pair.sent[1]).iter().filter(|row| **row == opcode::RPC_BUSY).count();
    assert_eq!(busy, 6, "three times for each");
}

#[test]
fn busy_is_no_reason_to_give_up() {
    let (mut pair, _) = calling(0, Faults::default(), |settings| {
        settings.busy = 20;
        settings.retries = 2;
    });
    pair.post(1, call(5, None), 5);
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(1, 5)));
}

#[test]
fn what_cannot_run_is_answered_with_a_status_and_the_connection_lives() {
    let (mut pair, executed) = calling(0, Faults::default(), |settings| settings.result_max = 1000);
    let Operation::Call { flags, parameters, payload, .. } = call(0, None) else { unreachable!() };
    pair.post(1, Operation::Call { operation: KERNEL + 1, flags, parameters, payload }, 1000);
    pair.post(2, call(5, None), 1001);
    pair.post(3, call(5, None), 1000);
    pair.run();
    for (id, status) in [(1, RpcStatus::UnknownOperation), (2, RpcStatus::TooLong)] {
        let rpc = Some(status as u32);
        let expected = Completion { id, status: Status::Success, bytes: 0, rpc };
        assert_eq!(pair.ends[0].poll(number(0, 0)), Some(expected));
    }
    assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(3, 5)));
    assert_eq!(executed.lock().unwrap().len(), 1);
}

#[test]
fn without_the_right_a_call_ends_the_connection() {
    let (mut pair, executed) = calling(0, Faults::default(), |settings| settings.rights &= !rights::RPC);
    pair.post(1, call(5, None), 5);
    pair.run();
    let status = pair.ends[0].poll(number(0, 0)).map(|done| done.status);
    assert_eq!(status, Some(Status::RemoteInvalid));
    assert!(executed.lock().unwrap().is_empty());
}

#[test]
fn over_a_bad_wire_each_call_is_executed_once_and_in_order() {
    for seed in 0..16 {
        let faults = Faults { loss: 60, duplication: 60, reordering: 60, corruption: 20 };
        let (mut pair, executed) = calling(seed, faults, |settings| {
            settings.busy = u32::try_from(seed % 3).unwrap();
            settings.coalesce = seed % 2 == 0;
            // Each that is busy waits for it twice.
            settings.timeout = Some(2_000);
        });
        pair.keep = false;
        let sizes: Vec<_> = (0..40).map(|id| SIZES[id % 6] + u32::try_from(id).unwrap()).collect();
        for (id, length) in (0..).zip(&sizes) {
            let payload = (id % 3 == 0).then_some(*length * 2);
            let work = work(id, call(*length, payload), *length);
            pair.ends[0].post(number(0, 0), work);
        }
        pair.run();
        for (id, length) in (0..).zip(&sizes) {
            assert_eq!(pair.ends[0].poll(number(0, 0)), Some(done(id, *length)), "seed {seed}");
        }
        let executed = executed.lock().unwrap();
        let found: Vec<_> = executed.iter().map(|call| call.command.response_max).collect();
        assert_eq!(found, sizes, "seed {seed}");
    }
}

#[test]
fn a_kernel_walks_memory_of_the_peer_and_only_what_the_key_allows() {
    let (mut pair, _) = calling(0, Faults::default(), |_| {});
    let kernel = |call: &Invocation, reach: &mut crate::model::Reach<'_>| model::run(call, reach);
    pair.ends[1].kernels.add(traversal::OPERATION, Box::new(kernel));
    // Two elements of {key, next, value}: 5 at 0x100, 6 at 0x200, whose value lies at 0x300.
    let words = [(0x100, [5, 0x200, 0]), (0x200, [6, 0, 0x300]), (0x300, [0x1234_5678, 0, 0])];
    for key in [7, 8, 9] {
        let mut bytes = vec![0; 0x400];
        for (at, values) in words {
            bytes[at..at + 24].copy_from_slice(&values.map(u64::to_le_bytes).concat());
        }
        // The first key is for kernels that read, the second for none, and the third for those that touch nothing.
        let rights = match key {
            7 => rights::RPC | rights::REMOTE_READ,
            8 => rights::REMOTE_READ,
            _ => rights::RPC | rights::LOCAL_WRITE,
        };
        pair.ends[1].memory.register(key, crate::model::Region { base: 0, bytes, domain: 0, rights });
    }
    let walk = |sought| Traversal {
        root: 0x100,
        sought,
        mask: u64::MAX,
        value_length: 8,
        hop_limit: 10,
        key_words: 1,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    };
    for (id, sought, key) in [(1, 6, 7), (2, 9, 7), (3, 6, 8), (4, 6, 9)] {
        let parameters = Parameters::new(&walk(sought).to_bytes()).unwrap();
        let operation =
            Operation::Call { operation: traversal::OPERATION, flags: 0, parameters, payload: None };
        let work = crate::model::Work { remote_key: key, ..work(id, operation, 8) };
        pair.ends[0].post(number(0, 0), work);
    }
    pair.run();
    let access = RpcStatus::Access as u32;
    let statuses = [RpcStatus::Ok as u32, TraversalStatus::NotFound as u32, access, access].map(Some);
    let found = [1, 2, 3, 4].map(|_| pair.ends[0].poll(number(0, 0)).unwrap());
    assert_eq!(found.map(|done| done.rpc), statuses);
    assert_eq!(found.map(|done| done.bytes), [8, 0, 0, 0]);
    assert_eq!(result(&pair, 8), 0x1234_5678_u64.to_le_bytes());
}

/// A kernel reads and writes for its caller where a READ and a WRITE of his would, and nowhere else.
#[test]
fn the_right_to_call_is_none_to_read_or_write() {
    let whole = crate::model::Access { key: 7, domain: 0, rights: 0, address: 0, queue_pair: None };
    for (connection, region) in (0..32).flat_map(|connection| (0..32).map(move |region| (connection, region)))
    {
        let mut memory = crate::model::Memory::default();
        memory.register(7, crate::model::Region { base: 0, bytes: vec![5; 8], domain: 0, rights: region });
        let needed = |right| right | rights::RPC;
        let may = |right| connection & right != 0 && region & needed(right) == needed(right);
        let queue_pair = number(1, 0);
        let mut reach =
            crate::model::Reach { memory: &mut memory, domain: 0, queue_pair, rights: connection };
        let what = format!("{connection:#x} of the connection, {region:#x} of the region");
        assert_eq!(Callers::read(&mut reach, 7, 0, 8).is_ok(), may(rights::REMOTE_READ), "{what}");
        assert_eq!(Callers::write(&mut reach, 7, 0, &[6; 8]).is_ok(), may(rights::REMOTE_WRITE), "{what}");
        let expected = if may(rights::REMOTE_WRITE) { 6 } else { 5 };
        assert_eq!(memory.read(&whole, 8).unwrap(), [expected; 8], "{what}");
    }
}
