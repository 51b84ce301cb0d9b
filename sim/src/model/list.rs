//! A list of pieces: one run of bytes that lies in several places of local memory.

use std::ops::Range;

use stroma_abi::desc::SgeList;

use super::{Access, Denied, Memory};

/// Pieces in message order, with whose they are and what they are needed for.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) pieces: SgeList,
    pub(super) domain: u16,
    /// Rights needed; zero for reading.
    pub(super) rights: u8,
}

impl List {
    /// Where these bytes of the run lie. Bytes beyond its end lie nowhere; callers ask for none.
    fn places(&self, range: &Range<u64>) -> Vec<(Access, u64)> {
        let mut places = Vec::new();
        let mut before = 0;
        for piece in self.pieces.as_slice() {
            let end = before + u64::from(piece.length);
            let (from, to) = (range.start.max(before), range.end.min(end));
            if from < to {
                let address = piece.address.wrapping_add(from - before);
                let Self { domain, rights, .. } = *self;
                places.push((
                    Access { key: piece.local_key, domain, rights, address, queue_pair: None },
                    to - from,
                ));
            }
            before = end;
        }
        places
    }

    /// May all of these bytes be touched? Pieces outside the range are not looked at.
    pub(super) fn check(&self, memory: &Memory, range: &Range<u64>) -> Result<(), Denied> {
        self.places(range).iter().try_for_each(|(access, length)| memory.check(access, *length))
    }

    /// These bytes, gathered.
    pub(super) fn read(&self, memory: &Memory, range: &Range<u64>) -> Result<Vec<u8>, Denied> {
        let read = |(access, length): &(Access, u64)| memory.read(access, *length);
        Ok(self.places(range).iter().map(read).collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Scatters bytes from `offset` on. If one piece does not allow it, no piece is written.
    pub(super) fn write(&self, memory: &mut Memory, offset: u64, bytes: &[u8]) -> Result<(), Denied> {
        let range = offset..offset + bytes.len() as u64;
        self.check(memory, &range)?;
        let mut rest = bytes;
        for (access, length) in self.places(&range) {
            let (here, behind) = rest.split_at(usize::try_from(length).unwrap_or(usize::MAX));
            memory.write(&access, here)?;
            rest = behind;
        }
        Ok(())
    }
}
