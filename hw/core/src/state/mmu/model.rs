//! The MMU in plain Rust: a table of regions, and page lists in a memory of words.

use std::collections::{HashMap, HashSet};

use stroma_abi::desc::Region;
use stroma_abi::desc::region::{PAGE_LIST_ENTRY, PAGE_LIST_LINE, PAGE_LOGS};

use super::XlatResponse;
use crate::state::access::{Cause, LEN_MAX, REMOTE, XlatRequest};

/// A request in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) client: u8,
    pub(super) tag: u8,
    pub(super) key: u32,
    pub(super) pd: u16,
    pub(super) qpn: u32,
    pub(super) va: u64,
    pub(super) len: u16,
    pub(super) need: u8,
}

impl Ask {
    /// As the port takes it.
    pub(super) fn request(&self) -> XlatRequest {
        XlatRequest {
            client: u64::from(self.client).into(),
            tag: u64::from(self.tag).into(),
            key: u64::from(self.key).into(),
            pd: u64::from(self.pd).into(),
            qpn: u64::from(self.qpn).into(),
            va: self.va.into(),
            len: u64::from(self.len).into(),
            need: u64::from(self.need).into(),
        }
    }

    fn answer(&self, iova: u64, len: u64, more: bool) -> XlatResponse {
        let (client, tag) = (u64::from(self.client).into(), u64::from(self.tag).into());
        XlatResponse { client, tag, ok: true, cause: 0.into(), iova: iova.into(), len: len.into(), more }
    }

    /// The answer that refuses it.
    pub(super) fn refusal(&self, cause: Cause) -> XlatResponse {
        XlatResponse { ok: false, cause: (cause as u64).into(), ..self.answer(0, 0, false) }
    }
}

/// Whose pages a window uses, and who may.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bond {
    pub(super) parent: u32,
    pub(super) qpn: u32,
}

/// Regions by number, and host memory.
#[derive(Default)]
pub(super) struct Table {
    /// Also bound windows: base, length, key and rights their own, the rest as of the region.
    pub(super) regions: HashMap<u32, Region>,
    pub(super) bonds: HashMap<u32, Bond>,
    /// Page-list entries by address.
    pub(super) memory: HashMap<u64, u64>,
    /// Lines that cannot be read.
    pub(super) faults: HashSet<u64>,
}

impl Table {
    /// A line of host memory, `None` when it cannot be read. Words nobody wrote hold a pattern.
    pub(super) fn line(&self, address: u64) -> Option<Vec<u32>> {
        let entry = |at: u64| self.memory.get(&at).copied().unwrap_or(0xdead_beef_dead_beef);
        let halves = |entry: u64| [(entry & 0xffff_ffff) as u32, (entry >> 32) as u32];
        let places = (address..).step_by(PAGE_LIST_ENTRY).take(PAGE_LIST_LINE / PAGE_LIST_ENTRY);
        (!self.faults.contains(&address)).then(|| places.map(entry).flat_map(halves).collect())
    }

    fn check(&self, ask: &Ask) -> Result<&Region, Cause> {
        let found = self.regions.get(&(ask.key >> 8));
        let region = found.filter(|region| u32::from(region.key) == ask.key & 0xff).ok_or(Cause::Key)?;
        if region.pd != ask.pd {
            return Err(Cause::Domain);
        }
        let bond = self.bonds.get(&(ask.key >> 8));
        if bond.is_some_and(|bond| bond.qpn != ask.qpn || ask.need & REMOTE == 0) {
            return Err(Cause::Window);
        }
        if region.rights & ask.need != ask.need {
            return Err(Cause::Rights);
        }
        let (start, end) = (u128::from(ask.va), u128::from(ask.va) + u128::from(ask.len));
        let (first, behind) = (u128::from(region.base), u128::from(region.base) + u128::from(region.length));
        let is_inside = first <= start && end <= behind && usize::from(ask.len) <= LEN_MAX;
        is_inside.then_some(region).ok_or(Cause::Bounds)
    }

    /// Where a byte is; `None` when the page list cannot be read there.
    fn address(&self, number: u32, va: u64) -> Option<u64> {
        // Pages belong to the region, whatever window one looks through.
        let region = &self.regions[&self.bonds.get(&number).map_or(number, |bond| bond.parent)];
        let log = PAGE_LOGS[usize::from(region.page)];
        let (page, offset) = ((va >> log) - (region.base >> log), va % (1 << log));
        if region.direct {
            return Some(region.list + (page << log) + offset);
        }
        let place = region.list + page * PAGE_LIST_ENTRY as u64;
        let line = place - place % PAGE_LIST_LINE as u64;
        (!self.faults.contains(&line)).then(|| (self.memory[&place] >> log << log) + offset)
    }

    /// What the MMU has to say to a request.
    pub(super) fn answers(&self, ask: &Ask) -> Vec<XlatResponse> {
        let region = match self.check(ask) {
            Ok(region) => region,
            Err(cause) => return vec![ask.refusal(cause)],
        };
        let len = u64::from(ask.len);
        if len == 0 {
            return vec![ask.answer(0, 0, false)];
        }
        let to_page_end =
            (1 << PAGE_LOGS[usize::from(region.page)]) - ask.va % (1 << PAGE_LOGS[usize::from(region.page)]);
        let first = if region.direct { len } else { len.min(to_page_end) };
        let pieces = [(ask.va, first, first < len), (ask.va.wrapping_add(first), len - first, false)];
        let answer = |&(va, len, more): &(u64, u64, bool)| match self.address(ask.key >> 8, va) {
            Some(iova) => ask.answer(iova, len, more),
            None => XlatResponse { more, ..ask.refusal(Cause::PageList) },
        };
        pieces.iter().filter(|(_, len, _)| *len > 0).map(answer).collect()
    }
}
