//! One operation between two ends, with every byte looked at on both: those that were to be changed, those beside them, and
//! the original.

use anyhow::{Context, Result, ensure};
use stroma_tests::pair::pattern;

use crate::cases::{Case, Operation, Service};
use crate::party::{Party, Request};

/// Where payloads come from and go to. Neither begins at the start of a page, so that pages are crossed early.
const SOURCE: usize = 0x100f;
const TARGET: usize = 0x8_0ff5;
/// Atomics want eight-byte words.
const WORD: usize = 0x8_1000;
/// Bytes before and behind a payload that nobody may touch.
const GUARD: usize = 16;
/// Immediate data with four different bytes, so that none can change places.
const IMMEDIATE: u32 = 0x1234_5678;
/// Carries run through all eight bytes.
const ADDEND: u64 = 0x0102_0304_0506_07ff;

/// Carries out one case; the client asks.
pub(crate) fn run(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    match case.operation {
        Operation::Write => write(case, client, server),
        Operation::Read => read(case, client, server),
        Operation::Send | Operation::SendImmediate | Operation::WriteImmediate => {
            message(case, client, server)
        }
        Operation::FetchAdd => fetch_add(case, client, server),
        Operation::CompareSwap => compare_swap(case, client, server),
    }
}

fn write(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    client.fill(SOURCE, case.bytes, case.seed)?;
    prepare(case, server)?;
    if case.service == Service::Unreliable {
        server.receive(0, 0)?;
    }
    client.post(&request(case, SOURCE, TARGET))?;
    client.take().context("the client's completion")?;
    if case.service == Service::Unreliable {
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

/// What completes a receive; that of a WRITE has no bytes.
fn message(case: &Case, client: &mut dyn Party, server: &mut dyn Party) -> Result<()> {
    let immediate = if case.operation == Operation::Send { 0 } else { IMMEDIATE };
    let is_write = case.operation == Operation::WriteImmediate;
    client.fill(SOURCE, case.bytes, case.seed)?;
    prepare(case, server)?;
    // More room than the message needs: its length must be told.
    let room = if is_write { 0 } else { case.bytes + GUARD };
    server.receive(TARGET, room)?;
    let operands = [immediate.into(), 0];
    let remote = if is_write { TARGET } else { 0 };
    client.post(&Request { operands, ..request(case, SOURCE, remote) })?;
    client.take().context("the client's completion")?;
    let found = server.take().context("the server's receive")?;
    ensure!(
        (found.bytes, found.immediate) == (case.bytes, immediate),
        "the server received {} bytes with immediate data {:#x}, expected {} with {immediate:#x}",
        found.bytes,
        found.immediate,
        case.bytes
    );
    judge(case, server).context("the server's memory")?;
    client.check(SOURCE, case.bytes, case.seed).context("the client's original")
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
    Request { operation: case.operation, local, bytes: case.bytes, remote, operands: [0; 2] }
}

/// Fills the target and its guards with something else than what will come.
fn prepare(case: &Case, party: &mut dyn Party) -> Result<()> {
    party.fill(TARGET - GUARD, GUARD, case.seed + 1)?;
    party.fill(TARGET, case.bytes, case.seed + 2)?;
    party.fill(TARGET + case.bytes, GUARD, case.seed + 3)
}

/// The target has the payload, and its guards are as they were.
fn judge(case: &Case, party: &mut dyn Party) -> Result<()> {
    party.check(TARGET, case.bytes, case.seed).context("payload")?;
    party.check(TARGET - GUARD, GUARD, case.seed + 1).context("bytes before the payload")?;
    party.check(TARGET + case.bytes, GUARD, case.seed + 3).context("bytes behind the payload")
}
