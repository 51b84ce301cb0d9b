//! Where operations come from.

use stroma_verilate::SplitMix64;

use super::operation::{cut, spread};
use super::{
    AREA, Area, CONTENDERS, Grant, Kind, LENGTH_MAX, OPEN, Operation, PIECES, Piece, Service, below,
};

/// Bytes that an inline operation has at most.
const INLINE: usize = 128;
/// Bytes by which a message is told from all others, at least.
const NAME: usize = 8;
/// Bytes that a window leaves out at either end of its area at most: the longest operation fits into what is left.
const MARGIN: usize = (AREA - LENGTH_MAX) / 2;

/// What a queue pair may use when an operation is drawn for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// What the queue pair promises.
    pub service: Service,
    /// Must each of its messages be told from all others by what arrives? Then a short one has immediate data.
    pub is_named: bool,
    /// What its own word is going to be.
    pub word: u64,
    /// How it reaches the far target, if it does.
    pub target: Option<Grant>,
    /// The key that the own window may be bound under.
    pub bind: Option<u32>,
    /// The key of the own window, if its end may be posted here.
    pub invalidate: Option<u32>,
    /// The key of the far window, if a message may end it.
    pub send_invalidate: Option<u32>,
}

impl Scope {
    /// Something about keys: a bind as soon as may be, and an end so often that a window has several in a run, and so seldom that
    /// they are used.
    fn key_work(&self, random: &mut SplitMix64) -> Option<Kind> {
        if let Some(key) = self.bind {
            let place = below(random, MARGIN + 1);
            let length = AREA - below(random, MARGIN + 1) - place;
            return Some(Kind::Bind(Grant { key, part: Piece { place, length } }));
        }
        let mut is_turn = |one_in: u64| random.below(one_in) == 0;
        let ends = self.invalidate.filter(|_| is_turn(8)).map(Kind::Invalidate);
        ends.or_else(|| self.send_invalidate.filter(|_| is_turn(8)).map(Kind::SendInv))
    }

    fn kind(&self, random: &mut SplitMix64) -> Kind {
        let number = random.next_u64();
        let immediate = u32::try_from(number >> 32).expect("half of it");
        // What comes first in the list needs no answer.
        let kinds = match self.service {
            Service::Reliable => 100,
            Service::Unreliable => 56,
            Service::Datagram => 26,
        };
        match random.below(kinds) {
            0..16 => Kind::Send,
            16..26 => Kind::SendImm(immediate),
            26..46 => Kind::Write,
            46..56 => Kind::WriteImm(immediate),
            56..80 => Kind::Read,
            80..85 => Kind::CompareSwap { compare: self.word, swap: number },
            85..88 => Kind::CompareSwap { compare: number, swap: !number },
            _ => Kind::FetchAdd(number),
        }
    }
}

/// Operations without end from a seed: of every kind, mostly small ones, some of a megabyte, at any alignment, in one piece or
/// in several.
pub struct Generator {
    random: SplitMix64,
}

impl Generator {
    /// The same seed gives the same operations.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// The next one of a queue pair, to be numbered so.
    pub fn operation(&mut self, id: u64, pair: usize, scope: &Scope) -> Operation {
        let random = &mut self.random;
        // Those that add to one word together do so often, or they would seldom meet.
        let adds = pair < CONTENDERS && scope.service == Service::Reliable;
        let is_common = adds && random.below(4) == 0;
        let kind = if is_common {
            Kind::FetchAdd(random.next_u64())
        } else if let Some(kind) = scope.key_work(random) {
            kind
        } else {
            let mut kinds = std::iter::repeat_with(|| scope.kind(random));
            kinds.find(|kind| scope.target.is_some() || !kind.uses_target()).expect("there is no end of them")
        };
        let (fence, solicited) = (random.below(8) == 0, random.below(4) == 0);
        let (pieces, inline) = (vec![], false);
        let operation = Operation { id, kind, pieces, remote: 0, key: 0, inline, fence, solicited };
        if kind.is_local() {
            return Operation { solicited: false, ..operation };
        }
        if kind.is_atomic() {
            let slot = usize::try_from(id % OPEN as u64).expect("small");
            let pieces = vec![Piece { place: 8 * slot, length: 8 }];
            return Operation {
                pieces,
                remote: if is_common { 0 } else { Area::own_word(pair) },
                ..operation
            };
        }
        let (pieces, inline) = self.bytes(kind, scope.service);
        let length: usize = pieces.iter().map(|piece| piece.length).sum();
        if scope.is_named && kind == Kind::Send && length < NAME {
            let immediate = u32::try_from(self.random.next_u64() >> 32).expect("half of it");
            return Operation { kind: Kind::SendImm(immediate), pieces, ..operation };
        }
        let Some(Grant { key, part }) = scope.target.filter(|_| kind.uses_target()) else {
            return Operation { pieces, inline, ..operation };
        };
        let remote = part.place + below(&mut self.random, part.length - length + 1);
        Operation { pieces, remote, key, inline, ..operation }
    }

    /// Pieces for an operation, and whether their bytes are to travel with the request.
    fn bytes(&mut self, kind: Kind, service: Service) -> (Vec<Piece>, bool) {
        let random = &mut self.random;
        let most = match random.below(1000) {
            0..700 => 256,
            700..940 => 4096,
            _ if kind.is_send() => service.message_max(),
            940..990 => 0x1_0000,
            _ => LENGTH_MAX,
        };
        let length = below(random, most + 1);
        let count = if random.below(2) == 0 { 1 } else { 1 + below(random, PIECES) };
        let place = below(random, AREA - spread(length, count) + 1);
        let pieces = if length == 0 { vec![] } else { cut(random, place, length, count) };
        (pieces, matches!(kind, Kind::Send | Kind::Write) && length <= INLINE && random.below(3) == 0)
    }
}
