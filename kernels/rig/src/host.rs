//! The caller's memory: all addresses are there, filled with noise unless something was stored, but for some ranges.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use stroma_kernel_models::{Failure, Memory};
use stroma_verilate::SplitMix64;

const PAGE: usize = 4096;

/// Pages are shared until they change, so that a copy of it costs little.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// By address in pages.
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
    /// The only key that opens it.
    pub key: u32,
    /// Addresses that are not the caller's.
    pub refused: Vec<Range<u64>>,
    /// Addresses that can neither be read nor written.
    pub failing: Vec<Range<u64>>,
    /// Addresses that can only be read.
    pub read_only: Vec<Range<u64>>,
    /// Writes are carried out whatever those ranges say.
    takes_all: bool,
    /// By address: what somebody else stores there, one by one, before each read that begins there.
    changes: BTreeMap<u64, VecDeque<Vec<u8>>>,
}

/// A page that nobody has stored to.
fn noise(page: u64) -> Vec<u8> {
    let start = page * PAGE as u64;
    (start..=start + (PAGE as u64 - 1)).map(|va| SplitMix64::at(0xb17e, va).to_le_bytes()[0]).collect()
}

/// The parts of a range by page: the page, where the part lies in it, and where in the range.
fn parts(va: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = va.wrapping_add(at as u64);
        let place = usize::try_from(from % PAGE as u64).expect("within a page");
        let size = (PAGE - place).min(len - at);
        at += size;
        (size > 0).then_some((from / PAGE as u64, place..place + size, at - size..at))
    })
}

/// Is any of those bytes in that range?
fn meets(range: &Range<u64>, va: u64, len: usize) -> bool {
    range.contains(&va) || range.start.wrapping_sub(va) < len as u64
}

impl Host {
    /// Opened by `key`, and all noise.
    pub(super) fn new(key: u32) -> Self {
        Self { key, ..Self::default() }
    }

    /// Stores words, one behind the other.
    pub fn store(&mut self, va: u64, words: &[u64]) {
        self.put(va, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    }

    /// Stores bytes, whoever's they are.
    pub fn put(&mut self, va: u64, bytes: &[u8]) {
        for (page, place, part) in parts(va, bytes.len()) {
            let page = self.pages.entry(page).or_insert_with(|| Arc::new(noise(page)));
            Arc::make_mut(page)[place].copy_from_slice(&bytes[part]);
        }
    }

    /// Stores the next of these before each read that begins there; the last one stays.
    pub fn change(&mut self, va: u64, versions: impl IntoIterator<Item = Vec<u8>>) {
        self.changes.entry(va).or_default().extend(versions);
    }

    /// The bytes there, whoever's they are.
    #[must_use]
    pub fn bytes(&self, va: u64, len: usize) -> Vec<u8> {
        parts(va, len).flat_map(|(page, place, _)| self.page(page)[place].to_vec()).collect()
    }

    /// A copy to which everything can be written.
    pub(super) fn that_takes_all(&self) -> Self {
        Self { takes_all: true, ..self.clone() }
    }

    /// The first byte that is as in none of `others`.
    pub(super) fn stray(&self, others: &[&Self]) -> Option<u64> {
        let pages: BTreeSet<u64> =
            others.iter().chain([&self]).flat_map(|host| host.pages.keys().copied()).collect();
        pages.into_iter().find_map(|page| {
            let mine = self.page(page);
            let theirs: Vec<_> = others.iter().map(|other| other.page(page)).collect();
            let is_stray = |at: &usize| theirs.iter().all(|theirs| theirs[*at] != mine[*at]);
            let is_same = theirs.iter().any(|theirs| Arc::ptr_eq(theirs, &mine) || *theirs == mine);
            let at = if is_same { None } else { (0..PAGE).find(is_stray) };
            at.map(|at| page * PAGE as u64 + at as u64)
        })
    }

    fn page(&self, page: u64) -> Arc<Vec<u8>> {
        self.pages.get(&page).cloned().unwrap_or_else(|| Arc::new(noise(page)))
    }

    fn check(&self, key: u32, va: u64, len: usize) -> Result<(), Failure> {
        let meets = |range: &Range<u64>| meets(range, va, len);
        if key != self.key || self.refused.iter().any(meets) {
            Err(Failure::Refused)
        } else if self.failing.iter().any(meets) {
            Err(Failure::Host)
        } else {
            Ok(())
        }
    }
}

impl Memory for Host {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        self.check(key, va, len)?;
        if let Some(version) = self.changes.get_mut(&va).and_then(VecDeque::pop_front) {
            self.put(va, &version);
        }
        Ok(self.bytes(va, len))
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let is_read_only = self.read_only.iter().any(|range| meets(range, va, bytes.len()));
        let checked = if is_read_only { Err(Failure::Refused) } else { self.check(key, va, bytes.len()) };
        if self.takes_all || checked.is_ok() {
            self.put(va, bytes);
        }
        checked
    }
}
