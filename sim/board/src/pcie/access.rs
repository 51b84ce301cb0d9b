//! Stores and loads of the processor as packets on `m_axis_cq`.

use super::DWORD;
use super::bits::{put, words};
use super::byte_enables::ByteEnables;
use super::processor::Bar;
use super::stream::{CQ, CqBeat, beats};

/// The processor's own number on the bus.
pub(crate) const REQUESTER: u32 = 0x0018;
/// Words of the descriptor.
const DESCRIPTOR: usize = 4;

/// What the processor does to a BAR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Store(Vec<u8>),
    Load { length: usize, tag: u8 },
}

/// An access to a BAR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) bar: Bar,
    pub(crate) offset: u64,
    pub(crate) action: Action,
}

impl Access {
    pub(crate) fn address(&self) -> u64 {
        self.bar.base() + self.offset
    }

    /// Bytes of it.
    pub(crate) fn len(&self) -> usize {
        match &self.action {
            Action::Store(bytes) => bytes.len(),
            Action::Load { length, .. } => *length,
        }
    }

    pub(crate) fn enables(&self) -> ByteEnables {
        ByteEnables::of(self.offset, self.len())
    }

    /// `DWord`s that it touches.
    pub(crate) fn dwords(&self) -> usize {
        (usize::try_from(self.offset % DWORD as u64).expect("below four") + self.len()).div_ceil(DWORD)
    }

    /// The four words at the packet's start.
    pub(crate) fn descriptor(&self) -> Vec<u32> {
        let address = self.address();
        let mut words = vec![0; DESCRIPTOR];
        put(&mut words, 0, 32, u32::try_from(address & 0xffff_fffc).expect("32 bits"));
        put(&mut words, 32, 32, u32::try_from(address >> 32).expect("32 bits"));
        put(&mut words, 64, 11, u32::try_from(self.dwords()).expect("a small access"));
        if let Action::Load { tag, .. } = &self.action {
            put(&mut words, 96, 8, u32::from(*tag));
        } else {
            put(&mut words, 75, 4, 1);
        }
        put(&mut words, 80, 16, REQUESTER);
        put(&mut words, 112, 3, self.bar.id());
        put(&mut words, 115, 6, self.bar.bytes().trailing_zeros());
        words
    }

    /// The packet, in beats.
    pub(crate) fn beats(&self) -> Vec<CqBeat> {
        let (mut packet, enables) = (self.descriptor(), self.enables());
        let mut nibbles = vec![0; DESCRIPTOR];
        if let Action::Store(bytes) = &self.action {
            let mut data = vec![0; usize::try_from(self.offset % DWORD as u64).expect("below four")];
            data.extend(bytes);
            data.resize(self.dwords() * DWORD, 0);
            packet.extend(words(&data));
            nibbles.extend(enables.nibbles(self.dwords()));
        }
        let mut user = [0; 6];
        put(&mut user, 0, 4, u32::from(enables.first));
        put(&mut user, 8, 4, u32::from(enables.last));
        beats(CQ, &packet, user, (16, &nibbles))
    }
}
