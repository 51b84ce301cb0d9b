//! Random requests.

use stroma_abi::kernel::hyperloglog::{Action, HyperLogLog, ITEMS};
use stroma_kernel_models::Invocation;
use stroma_verilate::SplitMix64;

use super::{ALL, Bed, NAME, of};

fn one_of<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

/// Items that differ much, little or not at all.
fn payload(rng: &mut SplitMix64, item: u8, len: usize) -> Vec<u8> {
    let kind = rng.below(4);
    let start = rng.next_u64();
    let items = (0..).flat_map(|at: u64| {
        let word = match kind {
            0 => rng.next_u64(),
            1 => start.wrapping_add(at),
            2 => start ^ rng.below(3),
            _ => start,
        };
        let mut bytes = word.to_le_bytes().to_vec();
        bytes.extend(word.wrapping_mul(at.wrapping_mul(kind & 1) | 1).to_be_bytes());
        bytes.truncate(item.into());
        bytes
    });
    items.take(len).collect()
}

/// Requests for the sketch that is called [`NAME`], most of them good, and memory that some cannot write to.
pub(super) fn invocations<const D: usize>(rig: &mut Bed<D>, count: u64) -> Vec<Invocation> {
    rig.host.refused.push(0x40 << 16..0x41 << 16);
    rig.host.failing.push(0x42 << 16..0x43 << 16);
    (0..count).map(|_| invocation(rig)).collect()
}

fn invocation<const D: usize>(rig: &mut Bed<D>) -> Invocation {
    let rng = &mut rig.rng;
    let item = one_of(rng, &ITEMS);
    let items = [rng.below(4), rng.below(64), rng.below(1200)][usize::try_from(rng.below(3)).expect("small")];
    let mut len = usize::try_from(items).expect("small") * usize::from(item);
    let page = one_of(
        rng,
        &[0x3f_f000_u64, 0x40_0000, 0x41_8000, 0x41_f000, 0x42_0000, 0x43_0000, 0x50_0000, u64::MAX << 12],
    );
    let offset = [rng.below(4096), rng.below(64) * 64, 0][usize::try_from(rng.below(3)).expect("small")];
    let mut task =
        HyperLogLog { item, address: page + offset, discard: rng.below(6) == 0, ..of(Action::Count) };
    let (mut response_max, mut domain) = (0, 0);
    match rng.below(24) {
        0 => task.sketch = NAME + 1,
        1 => task.item = one_of(rng, &[0, 2, 12, 17, 32, 64, 255]),
        2 => len += 1 + usize::try_from(rng.below(2)).expect("small"),
        3 => (task.action, len, response_max) = (Action::Read as u8, 0, ALL),
        4 => (task.action, len, response_max) = (Action::Take as u8, 0, ALL + 5),
        5 => (task.action, len) = (Action::Clear as u8, 0),
        7 => (task.action, task.release, len, domain) = (Action::Clear as u8, rng.below(2) == 0, 0, 9),
        6 => (task.action, response_max) = (one_of(rng, &[Action::Read, Action::Take]) as u8, ALL),
        _ => {}
    }
    let payload = payload(rng, item, len);
    let mut invocation = rig.streamed(&task.to_bytes(), payload, response_max);
    invocation.command.domain = domain;
    match rig.rng.below(40) {
        0 => invocation.command.key ^= 1 << rig.rng.below(32),
        1 => invocation.command.flags = 1 << rig.rng.below(8),
        _ => {}
    }
    invocation
}
