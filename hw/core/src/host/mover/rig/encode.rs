//! Works and units as the engine gets them.

use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::{BODY_AT, UNIT};
use stroma_verilate::SplitMix64;

use super::super::model::{Item, Task};
use crate::host::work::Work;
use crate::testing::noise;

/// A work as it travels, and its units; what has no meaning is noise.
pub(super) fn encode(item: &Item, rng: &mut SplitMix64) -> (Work, Vec<Vec<u32>>) {
    let mut body = vec![0; BODY_AT];
    let (status, vendor) = match &item.task {
        Task::Refused(status, vendor) => (*status, *vendor),
        _ => (0, rng.next_u32().to_le_bytes()[0]),
    };
    let list: &[Sge] = match &item.task {
        Task::Gather(list) | Task::Scatter(list) => list,
        _ => &[],
    };
    for sge in list {
        body.extend(sge.to_bytes());
    }
    if let Task::Inline(bytes) = &item.task {
        body.extend(bytes);
    }
    let has_units = matches!(item.task, Task::Gather(_) | Task::Scatter(_) | Task::Inline(_));
    let units = body.len().div_ceil(UNIT);
    body[..BODY_AT].fill_with(|| rng.next_u32().to_le_bytes()[0]);
    body.resize_with(units * UNIT, || rng.next_u32().to_le_bytes()[0]);
    let words = |unit: &[u8]| {
        unit.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    };
    let work = if let Task::End(colour) = item.task {
        Work { ends: true, colour, ..noise(rng) }
    } else {
        Work {
            ends: false,
            colour: rng.below(2) == 1,
            qpn: u64::from(item.qpn).into(),
            index: u64::from(item.index).into(),
            cq: u64::from(item.cq).into(),
            pd: u64::from(item.pd).into(),
            status: u64::from(status).into(),
            vendor: u64::from(vendor).into(),
            signaled: item.is_signaled,
            opcode: u64::from(item.opcode()).into(),
            inline: matches!(item.task, Task::Inline(_)),
            units: (units as u64).into(),
            sge_count: (list.len() as u64 + item.missing).into(),
            length: item.length().into(),
            remote: item.remote.into(),
            key: u64::from(item.key).into(),
            ..noise(rng)
        }
    };
    (work, if has_units { body.chunks(UNIT).map(words).collect() } else { Vec::new() })
}
