//! Which packets a rule means.

use stroma_abi::wire::{Frame, Opcode, Position, Role, Syndrome, Transport, opcode};

/// A frame, and the packet in it.
pub(super) struct Seen<'a> {
    pub(super) length: usize,
    pub(super) packet: Option<Frame<'a>>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(frame: &'a [u8]) -> Self {
        Self { length: frame.len(), packet: Frame::parse(frame).ok() }
    }
}

/// Op-codes that one thinks of together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Write,
    Read,
    Send,
    Ack,
    Nak,
    Rnr,
    Atomic,
    Cnp,
    Rpc,
}

impl Family {
    pub(super) const ALL: [(Self, &'static str); 9] = [
        (Self::Write, "WRITE"),
        (Self::Read, "READ"),
        (Self::Send, "SEND"),
        (Self::Ack, "ACK"),
        (Self::Nak, "NAK"),
        (Self::Rnr, "RNR"),
        (Self::Atomic, "ATOMIC"),
        (Self::Cnp, "CNP"),
        (Self::Rpc, "RPC"),
    ];
    const ATOMICS: [Opcode; 3] = [opcode::RC_CMP_SWAP, opcode::RC_FETCH_ADD, opcode::RC_ATOMIC_ACKNOWLEDGE];

    /// Does an op-code belong to it?
    pub(super) fn holds(self, row: &Opcode) -> bool {
        let operation = row.name.split_once('_').map_or(row.name, |(_, behind)| behind);
        match self {
            // A kernel is invoked by packets that look like WRITEs, and are none.
            Self::Write => row.transport != Transport::Rpc && operation.starts_with("WRITE"),
            Self::Read => operation.starts_with("READ"),
            Self::Send => operation.starts_with("SEND"),
            Self::Ack | Self::Nak | Self::Rnr => *row == opcode::RC_ACKNOWLEDGE,
            Self::Atomic => Self::ATOMICS.contains(row),
            Self::Cnp => row.transport == Transport::Cnp,
            Self::Rpc => row.transport == Transport::Rpc,
        }
    }

    /// Does a packet with an op-code of it say what it stands for?
    fn fits(self, packet: &Frame<'_>) -> bool {
        let syndrome = packet.extended.aeth.map(|aeth| Syndrome::decode(aeth.syndrome));
        match self {
            Self::Ack => matches!(syndrome, Some(Syndrome::Ack { .. })),
            Self::Nak => matches!(syndrome, Some(Syndrome::Nak(_))),
            Self::Rnr => matches!(syndrome, Some(Syndrome::RnrNak { .. })),
            _ => true,
        }
    }
}

/// What a kind is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noun {
    Frame,
    Packet,
    Opcode(&'static Opcode),
    Family(Family),
}

/// A kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) noun: Noun,
    pub(super) role: Option<Role>,
    pub(super) position: Option<Position>,
}

impl Kind {
    pub(super) const fn of(noun: Noun) -> Self {
        Self { noun, role: None, position: None }
    }

    /// Is there an op-code of this kind?
    pub(super) fn exists(&self) -> bool {
        opcode::TABLE.iter().any(|row| self.holds(row))
    }

    fn holds(&self, row: &Opcode) -> bool {
        let is_named = match self.noun {
            Noun::Frame | Noun::Packet => true,
            Noun::Opcode(wanted) => wanted == row,
            Noun::Family(family) => family.holds(row),
        };
        is_named
            && self.role.is_none_or(|role| role == row.role)
            && self.position.is_none_or(|position| position == row.position)
    }

    pub(super) fn fits(&self, packet: Option<&Frame<'_>>) -> bool {
        let Some((packet, row)) = packet.and_then(|packet| Some((packet, packet.opcode()?))) else {
            return self.noun == Noun::Frame;
        };
        let says_so = |family: Family| family.fits(packet);
        self.holds(row) && if let Noun::Family(family) = self.noun { says_so(family) } else { true }
    }
}
