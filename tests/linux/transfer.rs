//! One operation between two ends, with every byte looked at on both: those that were to be changed, those beside them, and
//! the original.

use anyhow::{Context, Result, ensure};
use stroma_tests::pair::pattern;
use stroma_verbs::Grh;

use crate::cases::{Case, Operation, Service, Trial};
use crate::grh::Carried;
use crate::party::{Completed, Party, Request};

/// Where payloads come from and go to. Neither begins at the start of a page, so that pages are crossed early.
const SOURCE: usize = 0x100f;
const TARGET: usize = 0x8_0ff5;
/// Atomics want eight-byte words.
const WORD: usize = 0x8_1000;
/// Bytes before and behind a payload that nobody may touch.
const GUARD: usize = 16;
/// Immediate data with four different bytes, so that none can change places.
const IMMEDIATE: u32 = 0x1234_5678;
/// Bits in which a wrong key differs from the right one: the lowest alone.
const WRONG: u32 = 1;
/// Carries run through all eight bytes.
const ADDEND: u64 = 0x0102_0304_0506_07ff;

/// Carries out one case; the client asks.
pub(crate) fn run(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    match case.trial {
        Trial::Once(Operation::Write) => write(case, client, server),
        Trial::Once(Operation::Read) => read(case, client, server),
        Trial::Once(Operation::Send | Operation::SendImmediate | Operation::WriteImmediate) => {
            message(case, client, server)
        }
        Trial::Once(Operation::FetchAdd) => fetch_add(case, client, server),
        Trial::Once(Operation::CompareSwap) => compare_swap(case, client, server),
        Trial::Answer => answer(case, client, server),
        Trial::WrongKey => wrong_key(case, client, server),
    }
}

fn write(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    client.fill(SOURCE, case.bytes, case.seed)?;
    prepare(case, server)?;
    let is_unreliable = case.link.service == Service::Unreliable;
    if is_unreliable {
        server.receive(0, 0)?;
    }
    client.post(&request(case, SOURCE, TARGET))?;
    client.take().context("the client's completion")?;
    if is_unreliable {
        // That it has left is all that a completion says; an empty message behind it says that it has come.
        client.post(&Request { operation: Operation::Send, bytes: 0, ..request(case, SOURCE, 0) })?;
        client.take().context("the client's completion of the message behind")?;
        server.take().context("the server's receive of the message behind")?;
    }
    judge(case, server).context("the server's memory")?;
    client.check(SOURCE, case.bytes, case.seed).context("the client's original")
}

fn read(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    server.fill(SOURCE, case.bytes, case.seed)?;
    prepare(case, client)?;
    client.post(&request(case, TARGET, SOURCE))?;
    client.take().context("the client's completion")?;
    judge(case, client).context("the client's memory")?;
    server.check(SOURCE, case.bytes, case.seed).context("the server's original")
}

/// What completes a receive.
fn message(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    expect(case, server)?;
    send(case, client, 0)?;
    arrived(case, client, server)
}

/// The server of a datagram learns from its GRH where it came from, and answers there.
fn answer(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    message(case, client, server)?;
    server.reply(TARGET - case.link.service.header()).context("the way to the sender")?;
    message(&Case { seed: case.seed + 4, ..*case }, server, client).context("the answer")
}

/// A datagram with a wrong key is refused: the next one, which has the right key, finds the receive.
fn wrong_key(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let before = server.refused()?;
    expect(case, server)?;
    send(&Case { seed: case.seed + 4, ..*case }, client, WRONG)?;
    send(case, client, 0)?;
    arrived(case, client, server)?;
    let refused = server.refused()? - before;
    ensure!(refused == 1, "the server refused {refused} datagrams, and one had a wrong key");
    Ok(())
}

/// A receive for what comes; a WRITE needs no room in it.
fn expect(case: &Case, server: &mut dyn Party) -> Result<()> {
    prepare(case, server)?;
    if case.trial.operation() == Operation::WriteImmediate {
        return server.receive(TARGET, 0);
    }
    let header = case.link.service.header();
    // More room than the message needs: its length must be told.
    server.receive(TARGET - header, header + case.bytes + GUARD)
}

fn send(case: &Case, client: &mut dyn Party, key_error: u32) -> Result<()> {
    client.fill(SOURCE, case.bytes, case.seed)?;
    let operands = [immediate(case).into(), 0];
    let remote = if case.trial.operation() == Operation::WriteImmediate { TARGET } else { 0 };
    client.post(&Request { operands, key_error, ..request(case, SOURCE, remote) })?;
    client.take().context("the client's completion")?;
    Ok(())
}

fn arrived(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let (header, immediate) = (case.link.service.header(), immediate(case));
    let found = server.take().context("the server's receive")?;
    let expected = (header + case.bytes, immediate);
    ensure!(
        (found.bytes, found.immediate) == expected,
        "the server received {} bytes with immediate data {:#x}, expected {} with {immediate:#x}",
        found.bytes,
        found.immediate,
        expected.0
    );
    if case.link.service == Service::Datagram {
        sender(case, &found, client, server).context("who has sent the datagram")?;
    }
    judge(case, server).context("the server's memory")?;
    client.check(SOURCE, case.bytes, case.seed).context("the client's original")
}

/// Completion and GRH say who has sent it.
fn sender(case: &Case, found: &Completed, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let number = client.number()?;
    ensure!(found.sender == Some(number), "queue pair {:?}, expected {number}", found.sender);
    let family = case.link.family;
    let carried = Carried {
        from: client.address(family),
        to: server.address(family),
        bytes: case.bytes,
        has_immediate: case.trial.operation() == Operation::SendImmediate,
    };
    let mut grh = [0; Grh::LEN];
    for (at, word) in (TARGET - Grh::LEN..).step_by(8).zip(grh.chunks_mut(8)) {
        word.copy_from_slice(&server.word(at)?.to_le_bytes());
    }
    carried.check(&grh)
}

/// The immediate data of a case; zero where it has none.
fn immediate(case: &Case) -> u32 {
    if case.trial.operation() == Operation::Send { 0 } else { IMMEDIATE }
}

fn fetch_add(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let before = word_of(case.seed);
    server.fill(WORD, case.bytes, case.seed)?;
    atomic(case, client, server, [ADDEND, 0], before, before.wrapping_add(ADDEND))
}

/// Once with the wrong number, which changes nothing, and once with the right one.
fn compare_swap(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let before = word_of(case.seed);
    let after = word_of(case.seed + 1);
    server.fill(WORD, case.bytes, case.seed)?;
    atomic(case, client, server, [before ^ 1, after], before, before)?;
    atomic(case, client, server, [before, after], before, after)
}

fn atomic(
    case: &Case,
    client: &mut dyn Party,
    server: &mut dyn Party,
    operands: [u64; 2],
    before: u64,
    after: u64,
) -> Result<()> {
    client.post(&Request { operands, ..request(case, SOURCE, WORD) })?;
    client.take().context("the client's completion")?;
    let (told, left) = (client.word(SOURCE)?, server.word(WORD)?);
    ensure!(told == before, "the client was told {told:#x}, and {before:#x} was there");
    ensure!(left == after, "the server has {left:#x}, expected {after:#x}");
    Ok(())
}

/// A little-endian word of such bytes.
fn word_of(seed: u64) -> u64 {
    u64::from_le_bytes(pattern(seed, 8).try_into().expect("eight bytes"))
}

fn request(case: &Case, local: usize, remote: usize) -> Request {
    Request {
        operation: case.trial.operation(),
        local,
        bytes: case.bytes,
        remote,
        operands: [0; 2],
        key_error: 0,
    }
}

/// Where the bytes before a payload are that nobody may touch: in front of its GRH, if it has one.
fn guard(case: &Case) -> usize {
    TARGET - case.link.service.header() - GUARD
}

/// Fills the target and its guards with something else than what will come.
fn prepare(case: &Case, party: &mut dyn Party) -> Result<()> {
    party.fill(guard(case), GUARD, case.seed + 1)?;
    party.fill(TARGET, case.bytes, case.seed + 2)?;
    party.fill(TARGET + case.bytes, GUARD, case.seed + 3)
}

/// The target has the payload, and its guards are as they were.
fn judge(case: &Case, party: &mut dyn Party) -> Result<()> {
    party.check(TARGET, case.bytes, case.seed).context("payload")?;
    party.check(guard(case), GUARD, case.seed + 1).context("bytes before the payload")?;
    party.check(TARGET + case.bytes, GUARD, case.seed + 3).context("bytes behind the payload")
}
