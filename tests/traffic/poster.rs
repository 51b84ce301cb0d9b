//! What one side posts on one queue pair, and what memory must become of it.

use std::collections::VecDeque;
use std::sync::Arc;

use stroma_abi::desc::Status;
use stroma_sim::model::Completion;

use super::envelope::Envelope;
use super::gate::Gates;
use super::ledger::{Addition, Ledger, word};
use super::lossy::Writes;
use super::receiver::{Message, Receiver};
use super::{Generator, Kind, Operation, Plan, Receivers, Scope, Side, Tally};

/// An operation that has not completed.
struct Open {
    operation: Operation,
    /// What an atomic must find, if nobody else works on its word.
    found: Option<u64>,
}

/// One side of a queue pair.
pub(super) struct Poster {
    pub(super) end: usize,
    pub(super) pair: usize,
    source: Arc<Vec<u8>>,
    /// What the far target is when all posted so far is done; what it was at first, if WRITEs may be lost.
    pub(super) target: Vec<u8>,
    /// The same of the own landing.
    pub(super) landing: Vec<u8>,
    /// The same of the far word that is its own.
    pub(super) word: u64,
    /// WRITEs that may be lost.
    pub(super) writes: Option<Writes>,
    /// What its messages arrive in, if they are datagrams.
    pub(super) envelope: Option<Envelope>,
    open: VecDeque<Open>,
    posted: u64,
    pub(super) tally: Tally,
}

impl Poster {
    pub(super) fn new(
        end: usize,
        pair: usize,
        source: Arc<Vec<u8>>,
        target: Vec<u8>,
        landing: Vec<u8>,
        word: u64,
        plan: &Plan,
    ) -> Self {
        let (open, tally) = (VecDeque::new(), Tally::new(plan.services.of(pair)));
        let writes = plan.loses(pair).then(Writes::default);
        Self { end, pair, source, target, writes, envelope: None, landing, word, open, posted: 0, tally }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Posts one more operation, if there is room; whether it did. A WRITE must not overtake an open READ of the same bytes:
    /// a READ sent again sees what is there by then, and so the transport promises no order between the two, but by a fence.
    /// Nor must the end of a key overtake a READ under it. One that completed at `calm` is not sent again any more.
    pub(super) fn post(
        &mut self,
        generator: &mut Generator,
        side: &mut dyn Side,
        far: &mut Receiver,
        mut gates: Gates<'_>,
        plan: &Plan,
        calm: u64,
    ) -> bool {
        let service = plan.services.of(self.pair);
        let scope = Scope {
            service,
            is_named: plan.loses(self.pair),
            word: self.word,
            target: gates.far.grant(),
            bind: gates.own.next(),
            invalidate: gates.own.ends_here(calm),
            send_invalidate: gates.far.ends_by_message(plan.wire, calm),
        };
        let mut operation = generator.operation(self.posted, self.pair, &scope);
        let reads = |open: &Open| open.operation.kind == Kind::Read;
        operation.fence |= operation.kind.ended().is_some() && self.open.iter().any(reads);
        let range = operation.remote_range();
        let is_read = |open: &Open| {
            let other = open.operation.remote_range();
            reads(open) && other.start < range.end && range.start < other.end
        };
        let overtakes = operation.kind.is_write() && !operation.fence && self.open.iter().any(is_read);
        let is_early =
            operation.kind.takes_receive() && plan.receivers == Receivers::Ready && !far.is_ready();
        if self.open.len() >= plan.terms.of(self.end, self.pair).open || overtakes || is_early {
            return false;
        }
        let found = self.foresee(&operation, far);
        side.post(self.pair, &operation);
        gates.posted(&operation, || side.next_key(self.pair));
        self.tally.count(service, operation.kind, plan.services.is_windowed(self.pair));
        self.posted += 1;
        self.open.push_back(Open { operation, found });
        true
    }

    /// Does to the plain copy what the operation is to do; what an atomic is going to find, where that is known.
    fn foresee(&mut self, operation: &Operation, far: &mut Receiver) -> Option<u64> {
        let mut from = operation.remote;
        if operation.kind == Kind::Read {
            for piece in &operation.pieces {
                self.landing[piece.range()].copy_from_slice(&self.target[from..from + piece.length]);
                from += piece.length;
            }
        }
        let word = self.word;
        match operation.kind {
            Kind::FetchAdd(_) if operation.remote == 0 => return None,
            Kind::FetchAdd(add) => self.word = word.wrapping_add(add),
            Kind::CompareSwap { compare, swap } if compare == word => self.word = swap,
            _ => {}
        }
        if operation.kind.is_write() || operation.kind.is_send() {
            let pieces = operation.pieces.iter().map(|piece| &self.source[piece.range()]);
            let bytes = pieces.collect::<Vec<_>>().concat();
            let &Operation { id, kind, solicited, remote, .. } = operation;
            if kind.is_write() {
                match &mut self.writes {
                    Some(writes) => writes.push(id, remote, bytes.clone(), kind.takes_receive()),
                    None => self.target[operation.remote_range()].copy_from_slice(&bytes),
                }
            }
            if kind.takes_receive() {
                let header = self.envelope.map(|envelope| envelope.header(kind, bytes.len()));
                let bytes = header.map_or(vec![], Vec::from).into_iter().chain(bytes).collect();
                let source = self.envelope.map(|envelope| envelope.source);
                far.expect(self.pair, Message { id, kind, bytes, solicited, source });
            }
        }
        operation.kind.is_atomic().then_some(word)
    }

    /// Takes completions, which must be those of the oldest operations; results of atomics must be what was foreseen.
    pub(super) fn poll(&mut self, side: &mut dyn Side, ledger: &mut Ledger, mut gates: Gates<'_>, now: u64) {
        while let Some(completion) = side.poll(self.pair) {
            let place = format!("side {}, queue pair {}", self.end, self.pair);
            let Some(Open { operation, found }) = self.open.pop_front() else {
                panic!("{place}: {completion:?}, and nothing is open");
            };
            let id = operation.id;
            let bytes = u32::try_from(operation.length()).expect("a megabyte at most");
            assert_eq!(completion, Completion { id, status: Status::Success, bytes, rpc: None }, "{place}");
            gates.completed(&operation, now);
            if !operation.kind.is_atomic() {
                continue;
            }
            let result = word(&side.read(operation.local(self.pair), operation.pieces[0].range()), 0);
            match (found, operation.kind) {
                (None, Kind::FetchAdd(added)) => {
                    ledger.enter(Addition { pair: self.pair, id, found: result, added });
                }
                _ => assert_eq!(Some(result), found, "{place}: what operation {id} found"),
            }
        }
    }
}
