//! The copy engine in plain Rust: what is written, and what is told.

use std::collections::BTreeSet;

use stroma_abi::desc::{Sge, Status, WorkOp};
use stroma_verilate::SplitMix64;

use crate::host::work::{Done, QpError};
use crate::state::access::Cause;

/// Keys with this bit have pages that are refused.
pub(super) const REFUSED: u32 = 1 << 31;
/// Keys with this bit have pages that cannot be read.
pub(super) const BROKEN: u32 = 1 << 30;
/// No piece of a chunk lies in two of these.
const PAGE: u64 = 4096;

/// Where a page lies, or why it may not be touched.
pub(super) fn translate(key: u32, address: u64) -> Result<u64, u8> {
    let chance = SplitMix64::at(u64::from(key), address / PAGE);
    if key & REFUSED != 0 && chance.is_multiple_of(8) {
        return Err(1 + u8::try_from(chance / 8 % 5).expect("small"));
    }
    let broken = u64::from(key & BROKEN != 0) << 63;
    Ok(broken | chance << 13 >> 1 | (address % PAGE))
}

/// Can the page of this address not be read?
pub(super) fn is_broken(iova: u64) -> bool {
    iova >> 63 == 1 && SplitMix64::at(1, iova / PAGE).is_multiple_of(8)
}

/// The byte at an address of the host.
pub(super) fn byte(iova: u64) -> u8 {
    SplitMix64::at(2, iova).to_le_bytes()[0]
}

/// What a work asks for.
#[derive(Clone, Debug)]
pub(super) enum Task {
    Nop,
    /// It comes with this status and vendor code.
    Refused(u8, u8),
    Gather(Vec<Sge>),
    Scatter(Vec<Sge>),
    Inline(Vec<u8>),
    /// The end of a job of this colour.
    End(bool),
}

/// A work.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) task: Task,
    pub(super) qpn: u32,
    pub(super) index: u16,
    pub(super) cq: u32,
    pub(super) pd: u16,
    pub(super) is_signaled: bool,
    pub(super) remote: u64,
    pub(super) key: u32,
    /// Bytes it claims to have, if not those of its entries.
    pub(super) claims: Option<u64>,
    /// Entries it claims to have beyond those of its units.
    pub(super) missing: u64,
}

impl Item {
    pub(super) fn opcode(&self) -> u8 {
        match self.task {
            Task::Nop => WorkOp::Nop as u8,
            Task::Refused(status, _) => status ^ 0x5a,
            Task::Gather(_) | Task::Inline(_) => WorkOp::Gather as u8,
            Task::Scatter(_) => WorkOp::Scatter as u8,
            Task::End(_) => 0,
        }
    }

    pub(super) fn length(&self) -> u64 {
        self.claims.unwrap_or(match &self.task {
            Task::Gather(list) | Task::Scatter(list) => list.iter().map(|sge| u64::from(sge.length)).sum(),
            Task::Inline(bytes) => bytes.len() as u64,
            Task::Nop | Task::Refused(..) | Task::End(_) => 0,
        })
    }
}

/// Bytes that lie in one page at either end. A place is a key and an address.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chunk {
    /// Nothing for inline bytes.
    pub(super) source: Option<(u32, u64)>,
    pub(super) destination: (u32, u64),
    pub(super) len: u64,
    inline: Vec<u8>,
    entry: usize,
}

/// The chunks of a work, byte by byte: a byte joins the chunk before it unless an entry or a page begins.
pub(super) fn chunks(item: &Item) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut add = |source: Option<(u32, u64)>, destination: (u32, u64), inline: Option<u8>, entry| {
        let begins_page = destination.1.is_multiple_of(PAGE)
            || source.is_some_and(|(_, address)| address.is_multiple_of(PAGE));
        match chunks.last_mut() {
            Some(chunk) if chunk.entry == entry && !begins_page => {
                chunk.len += 1;
                chunk.inline.extend(inline);
            }
            _ => chunks.push(Chunk {
                source,
                destination,
                len: 1,
                inline: inline.into_iter().collect(),
                entry,
            }),
        }
    };
    let remote = (0..item.length()).map(|at| (item.key, item.remote.wrapping_add(at)));
    match &item.task {
        Task::Inline(bytes) => bytes.iter().zip(remote).for_each(|(byte, to)| add(None, to, Some(*byte), 0)),
        Task::Gather(list) | Task::Scatter(list) => {
            let places = list.iter().enumerate().flat_map(|(entry, sge)| {
                (0..u64::from(sge.length))
                    .map(move |at| (entry, (sge.local_key, sge.address.wrapping_add(at))))
            });
            for ((entry, place), remote) in places.zip(remote) {
                if matches!(item.task, Task::Gather(_)) {
                    add(Some(place), remote, None, entry);
                } else {
                    add(Some(remote), place, None, entry);
                }
            }
        }
        Task::Nop | Task::Refused(..) | Task::End(_) => {}
    }
    chunks
}

/// Bytes for host memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) iova: u64,
    pub(super) qpn: u32,
    pub(super) bytes: Vec<u8>,
}

/// What comes of works.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) writes: Vec<Write>,
    /// Each with the number of writes that go before it.
    pub(super) dones: Vec<(Done, usize)>,
    pub(super) errors: Vec<QpError>,
    /// Colours of the jobs that ended, each with the number of completions that go before it.
    pub(super) retired: Vec<(bool, usize)>,
    /// Every chunk, whether it has a source, and the writes up to and with it.
    pub(super) chunks: Vec<(bool, usize)>,
}

/// The engine's memory: which queue pairs have failed.
#[derive(Debug, Default)]
pub(super) struct Twin {
    pub(super) failed: BTreeSet<u32>,
}

/// What is written for a chunk, or status and vendor code of its failure.
fn place(chunk: &Chunk, qpn: u32) -> Result<Write, (u8, u8)> {
    let refuse = |cause: u8| {
        let is_page_list = cause == Cause::PageList as u8;
        let status = if is_page_list { Status::General } else { Status::LocalProtection };
        (status as u8, cause)
    };
    let from = chunk.source.map(|(key, address)| translate(key, address)).transpose().map_err(refuse)?;
    let iova = translate(chunk.destination.0, chunk.destination.1).map_err(refuse)?;
    match from {
        Some(from) if is_broken(from) => Err((Status::General as u8, 0)),
        Some(from) => Ok(Write { iova, qpn, bytes: (from..from + chunk.len).map(byte).collect() }),
        None => Ok(Write { iova, qpn, bytes: chunk.inline.clone() }),
    }
}

impl Twin {
    /// Carries out works, one after the other.
    pub(super) fn run(&mut self, items: &[Item]) -> Outcome {
        let mut out = Outcome::default();
        for item in items {
            if let Task::End(colour) = item.task {
                out.retired.push((colour, out.dones.len()));
                continue;
            }
            let is_flushed = self.failed.contains(&item.qpn);
            let mut end = match item.task {
                _ if is_flushed => Err((Status::Flushed as u8, 0)),
                Task::Refused(status, vendor) => Err((status, vendor)),
                _ => Ok(()),
            };
            for chunk in chunks(item) {
                if end.is_ok() {
                    end = place(&chunk, item.qpn).map(|write| out.writes.push(write));
                }
                out.chunks.push((chunk.source.is_some(), out.writes.len()));
            }
            let (status, vendor) = end.err().unwrap_or((Status::Success as u8, 0));
            if end.is_err() && status != Status::Flushed as u8 {
                self.failed.insert(item.qpn);
                out.errors.push(QpError {
                    qpn: u64::from(item.qpn).into(),
                    status: u64::from(status).into(),
                    untold: false,
                });
            }
            if end.is_err() || item.is_signaled {
                let length = if end.is_ok() { item.length() } else { 0 };
                let done = Done {
                    cq: u64::from(item.cq).into(),
                    qpn: u64::from(item.qpn).into(),
                    index: u64::from(item.index).into(),
                    opcode: u64::from(item.opcode()).into(),
                    status: u64::from(status).into(),
                    vendor: u64::from(vendor).into(),
                    length: length.into(),
                    ..Done::default()
                };
                out.dones.push((done, out.writes.len()));
            }
        }
        out
    }
}
