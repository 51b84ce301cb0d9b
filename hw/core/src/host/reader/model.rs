//! The reader in plain Rust: what each client gets for what it asks.

use super::LINE_BYTES;
use crate::host::dma_read::model::answer;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::Unit;
use crate::state::walker::{Line, LineRequest};

/// The units for a command of a multiple of 64 bytes, on a path of `D` bits; memory as in [`answer`].
#[must_use]
pub fn units<const D: usize>(
    command: &ReadCommand,
    byte: impl Fn(u64) -> u8,
    broken: impl Fn(u64) -> bool,
) -> Vec<Unit> {
    let beats = answer::<D>(command, byte, broken);
    let unit = |beats: &[ReadData<D>]| {
        let place = |(at, beat): (usize, &ReadData<D>)| num_bigint::BigUint::from(beat.data) << (at * D);
        let data = beats.iter().enumerate().map(place).sum::<num_bigint::BigUint>();
        let last = beats[beats.len() - 1];
        Unit { data: data.into(), last: last.eop, err: last.eop && last.err }
    };
    beats.chunks(512 / D).map(unit).collect()
}

/// The line for a request.
#[must_use]
pub fn line<const D: usize>(
    request: &LineRequest,
    byte: impl Fn(u64) -> u8,
    broken: impl Fn(u64) -> bool,
) -> Line {
    let command = ReadCommand { iova: request.addr, len: (LINE_BYTES as u64).into(), tag: 0.into() };
    let unit = units::<D>(&command, byte, broken)[0];
    Line { data: unit.data, id: request.id, err: unit.err }
}
