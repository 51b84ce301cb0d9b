//! How a side reaches a far target: under the key of its region, or under that of a memory window, which the target's owner
//! binds and which either side ends, again and again.

use super::{AREA, Kind, Operation, Piece, Wire};

/// What a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The key.
    pub key: u32,
    /// The part of the target that it opens.
    pub part: Piece,
}

/// ```text
///   Closed ── BIND_MW posted ──> Binding ── completed ──> Open ── SEND_INV posted ──> Ending ── received ──> Closed
///                                                           └───── LOCAL_INV posted ───────────────────────> Closed
/// ```
///
/// Behind `LOCAL_INV` the owner may bind at once, for requests of a queue pair take their turn. The other side learns of a key
/// when the bind has completed.
enum State {
    /// By the key of the region, for good.
    Region(Grant),
    /// Nothing is bound; the key that is to be next.
    Closed(u32),
    Binding,
    Open(Grant),
    Ending,
}

/// The way to one target.
pub(super) struct Gate {
    state: State,
    /// Operations through it that have not completed.
    writes: usize,
    reads: usize,
    /// When the last READ did.
    latest_read: u64,
}

impl Gate {
    /// To a target that is open under its region's key.
    pub(super) fn region(key: u32) -> Self {
        Self::new(State::Region(Grant { key, part: Piece { place: 0, length: AREA } }))
    }

    /// To a target with a window, to be bound first under this key.
    pub(super) fn window(next: u32) -> Self {
        Self::new(State::Closed(next))
    }

    fn new(state: State) -> Self {
        Self { state, writes: 0, reads: 0, latest_read: 0 }
    }

    /// What the far side may use.
    pub(super) fn grant(&self) -> Option<Grant> {
        match self.state {
            State::Region(grant) | State::Open(grant) => Some(grant),
            _ => None,
        }
    }

    /// The key that the owner may bind the window under.
    pub(super) fn next(&self) -> Option<u32> {
        if let State::Closed(next) = self.state { Some(next) } else { None }
    }

    /// The key of the window, if its owner may end it: nobody uses it, and no READ is on its way that was answered already.
    pub(super) fn ends_here(&self, calm: u64) -> Option<u32> {
        self.window_key().filter(|_| self.writes == 0 && self.is_calm(calm))
    }

    /// The key of the window, if the far side may end it by a message. READs before it are waited for with a fence. That is
    /// enough where frames keep their order; elsewhere one that was sent again may come behind the message, and be refused.
    pub(super) fn ends_by_message(&self, wire: Wire, calm: u64) -> Option<u32> {
        self.window_key().filter(|_| wire == Wire::InOrder || self.is_calm(calm))
    }

    fn window_key(&self) -> Option<u32> {
        if let State::Open(Grant { key, .. }) = self.state { Some(key) } else { None }
    }

    /// Have all READs completed, by this time at the latest?
    fn is_calm(&self, by: u64) -> bool {
        self.reads == 0 && self.latest_read <= by
    }

    /// The key is over; the window is to be bound under the next.
    pub(super) fn close(&mut self, next: u32) {
        self.state = State::Closed(next);
    }
}

/// The ways to both targets of a queue pair, as one side sees them.
pub(super) struct Gates<'a> {
    /// To its own target.
    pub(super) own: &'a mut Gate,
    /// To the target of the far side.
    pub(super) far: &'a mut Gate,
}

impl<'a> Gates<'a> {
    /// Of the side at this end; gates are in the order of their owners.
    pub(super) fn of(end: usize, [one, other]: &'a mut [Gate; 2]) -> Self {
        if end == 0 { Self { own: one, far: other } } else { Self { own: other, far: one } }
    }

    /// The side has posted an operation; `next` makes a key for its window.
    pub(super) fn posted(&mut self, operation: &Operation, next: impl FnOnce() -> u32) {
        match operation.kind {
            Kind::Bind(_) => self.own.state = State::Binding,
            Kind::Invalidate(_) => self.own.close(next()),
            Kind::SendInv(_) => self.far.state = State::Ending,
            Kind::Read => self.far.reads += 1,
            kind => self.far.writes += usize::from(kind.is_write()),
        }
    }

    /// An operation of the side has completed.
    pub(super) fn completed(&mut self, operation: &Operation, now: u64) {
        match operation.kind {
            Kind::Bind(grant) => self.own.state = State::Open(grant),
            Kind::Read => {
                self.far.reads -= 1;
                self.far.latest_read = now;
            }
            kind => self.far.writes -= usize::from(kind.is_write()),
        }
    }
}
