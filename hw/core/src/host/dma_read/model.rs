//! The read engine in plain Rust: what it asks the host for, and what a client gets.

use super::{ReadCommand, ReadData};
use crate::host::axi::burst_bytes;
use crate::stream::beats;

/// The bursts of a command on a path of `width` bits, as first address and number of beats.
#[must_use]
pub fn bursts(command: &ReadCommand, width: usize) -> Vec<(u64, u64)> {
    let beat = width as u64 / 8;
    let chunk = burst_bytes(width / 8) as u64;
    let (iova, len) = (u64::from(command.iova), u64::from(command.len));
    let (mut at, end) = (iova / beat * beat, (iova + len).next_multiple_of(beat));
    let mut bursts = Vec::new();
    while at < end {
        let stop = end.min((at / chunk + 1) * chunk);
        bursts.push((at, (stop - at) / beat));
        at = stop;
    }
    bursts
}

/// What the client gets for a command with `len > 0` from a memory that holds `byte` at each address and cannot read those
/// that are `broken`. A beat fails as a whole.
#[must_use]
pub fn answer<const D: usize>(
    command: &ReadCommand,
    byte: impl Fn(u64) -> u8,
    broken: impl Fn(u64) -> bool,
) -> Vec<ReadData<D>> {
    let (iova, len) = (u64::from(command.iova), u64::from(command.len));
    let bytes: Vec<u8> = (iova..iova + len).map(byte).collect();
    let read = |(at, count): (u64, u64)| at..at + count * D as u64 / 8;
    let failed = bursts(command, D).into_iter().flat_map(read).any(broken);
    let of = |beat: crate::stream::Beat<D>| ReadData {
        data: beat.data,
        nbytes: beat.nbytes,
        sop: beat.sop,
        eop: beat.eop,
        err: beat.eop && failed,
        tag: command.tag,
    };
    beats(&bytes).into_iter().map(of).collect()
}
