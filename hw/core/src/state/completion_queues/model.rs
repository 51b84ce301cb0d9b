//! Completion queues in plain Rust. Positions count from creation and never wrap; the 24 bits of a doorbell are read as
//! the next position that ends in them.

use std::collections::{BTreeMap, VecDeque};

use stroma_abi::Qpn;
use stroma_abi::desc::completion_queue::{CQ_LOG_MAX, CQ_LOG_MIN, MODERATION_ATTRIBUTE};
use stroma_abi::desc::mailbox::BODY_LEN;
use stroma_abi::desc::{CommandStatus, CompletionQueue, Cqe, Event, RING_ALIGN, Status, Verb, phase};

use crate::host::work::{CqDoorbell, Done, EntryWrite, EventRecord, QpError};
use crate::pack::Packed;
use crate::state::command::{ObjectCommand, ObjectReply};

/// Indices of a CQ are positions modulo this.
pub(super) const INDICES: u64 = 1 << 24;

/// One queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    pub(super) base: u64,
    pub(super) log: u32,
    pub(super) page: u64,
    pub(super) producer: u64,
    pub(super) consumer: u64,
    pub(super) armed: u64,
    pub(super) overflowed: bool,
    pub(super) count: u64,
    pub(super) period: u64,
    /// Entries that are to be told.
    pub(super) awaited: u64,
    pub(super) since: u64,
}

/// What an operation gives out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) entry: Option<EntryWrite>,
    pub(super) event: Option<EventRecord>,
    pub(super) error: Option<QpError>,
    pub(super) bad: bool,
    pub(super) wrong_page: bool,
}

impl Outcome {
    fn tell(&mut self, event: Event, cq: u64) {
        let kind = (event as u64).into();
        self.event = Some(EventRecord { object: cq.into(), kind, ..EventRecord::default() });
    }
}

impl Queue {
    /// Entries written and not taken.
    pub(super) fn held(&self) -> u64 {
        self.producer - self.consumer
    }

    /// Must its event come without another entry?
    pub(super) fn is_timed(&self) -> bool {
        self.awaited > 0 && self.period > 0
    }

    /// Tells those awaited if they are enough.
    fn tell(&mut self, cq: u64, out: &mut Outcome) {
        if self.awaited > 0 && self.awaited >= self.count {
            (self.armed, self.awaited) = (0, 0);
            out.tell(Event::Completion, cq);
        }
    }

    fn complete(&mut self, done: &Done, time: u64, out: &mut Outcome) {
        let slot = self.producer % (1 << self.log);
        let flags = u64::from(done.flags);
        let has = |field: stroma_abi::Field| flags >> field.bit & 1 == 1;
        let narrow = |value: u64| u32::try_from(value).expect("no field is wider than 32 bits");
        let byte = |value: u64| u8::try_from(value).expect("eight bits");
        let cqe = Cqe {
            detail: narrow(done.detail.into()),
            length: narrow(done.length.into()),
            queue_pair: Qpn::new(narrow(done.qpn.into())),
            opcode: byte(done.opcode.into()),
            index: u16::try_from(u64::from(done.index)).expect("sixteen bits"),
            status: byte(done.status.into()),
            vendor: byte(done.vendor.into()),
            source_qp: Qpn::new(narrow(done.source_qp.into())),
            has_immediate: has(Cqe::HAS_IMMEDIATE),
            has_invalidated: has(Cqe::HAS_INVALIDATED),
            has_grh: has(Cqe::HAS_GRH),
            solicited: has(Cqe::SOLICITED),
            receive: has(Cqe::RECEIVE),
            rpc: has(Cqe::RPC),
            partition_index: 0,
            timestamp: time % (1 << 56),
            phase: phase(narrow(self.producer % (1 << 32)), self.log),
        };
        out.entry = Some(EntryWrite {
            iova: (self.base + slot * Cqe::LEN as u64).into(),
            data: crate::pack::from_bytes(&cqe.to_bytes()),
            long: true,
        });
        self.producer += 1;
        let is_special = cqe.status != Status::Success as u8 || cqe.solicited;
        if self.armed == 1 || (self.armed == 2 && is_special) {
            if self.awaited == 0 {
                self.since = time;
            }
            self.awaited += 1;
            self.tell(done.cq.into(), out);
        }
    }

    fn consume(&mut self, doorbell: &CqDoorbell, time: u64, out: &mut Outcome) {
        let moved = (u64::from(doorbell.consumer) + INDICES - self.consumer % INDICES) % INDICES;
        if moved > self.held() {
            out.bad = true;
            return;
        }
        self.consumer += moved;
        self.armed = match (self.armed, u64::from(doorbell.arm)) {
            (_, 0) => return,
            (1, _) | (_, 1 | 3) => 1,
            _ => 2,
        };
        if self.awaited == 0 {
            self.since = time;
        }
        self.awaited = self.held();
        self.tell(doorbell.cq.into(), out);
    }
}

/// All queues of a card.
pub(super) struct Queues {
    pub(super) rows: BTreeMap<u64, Queue>,
    /// Numbers in the order in which they are visited.
    pub(super) line: VecDeque<u64>,
    capacity: u64,
    pages: u64,
    clock_khz: u64,
}

impl Queues {
    /// A card with room for this many queues and doorbell pages, and with this clock.
    pub(super) fn new(capacity: u64, pages: u64, clock_khz: u64) -> Self {
        Self { rows: BTreeMap::new(), line: VecDeque::new(), capacity, pages, clock_khz }
    }

    /// Whoever has to be told without another entry stands in line, and nobody twice.
    fn line_up(&mut self, cq: u64) {
        if self.rows.get(&cq).is_some_and(Queue::is_timed) && !self.line.contains(&cq) {
            self.line.push_back(cq);
        }
    }

    /// Cycles that are surely as many microseconds: a sixteenth of a cycle is the finest step.
    pub(super) fn cycles(&self, period: u64) -> u64 {
        period * (self.clock_khz * 16).div_ceil(1000) / 16 + 1
    }

    /// The head of the line is looked at.
    pub(super) fn visit(&mut self, time: u64) -> Outcome {
        let mut out = Outcome::default();
        let cq = self.line.pop_front().expect("somebody stands in line");
        let periods = self.rows.get(&cq).map(|queue| self.cycles(queue.period));
        if let Some((queue, cycles)) = self.rows.get_mut(&cq).zip(periods) {
            // What is late is enough, and the reckoning takes a cycle.
            if queue.is_timed() && time - 1 - queue.since >= cycles {
                (queue.armed, queue.awaited) = (0, 0);
                out.tell(Event::Completion, cq);
            }
            queue.tell(cq, &mut out);
        }
        self.line_up(cq);
        out
    }

    pub(super) fn complete(&mut self, done: &Done, time: u64) -> Outcome {
        let mut out = Outcome::default();
        let cq = u64::from(done.cq);
        let lost = Some(QpError { qpn: done.qpn, status: (Status::General as u64).into(), untold: true });
        match self.rows.get_mut(&cq) {
            None => out.error = lost,
            Some(queue) if queue.held() == 1 << queue.log => {
                if !queue.overflowed {
                    out.tell(Event::CqOverflow, cq);
                }
                queue.overflowed = true;
                out.error = lost;
            }
            Some(queue) => queue.complete(done, time, &mut out),
        }
        self.line_up(cq);
        out
    }

    pub(super) fn consume(&mut self, doorbell: &CqDoorbell, time: u64) -> Outcome {
        let mut out = Outcome::default();
        match self.rows.get_mut(&doorbell.cq.into()) {
            None => out.bad = true,
            Some(queue) if queue.page != u64::from(doorbell.page) => out.wrong_page = true,
            Some(queue) => queue.consume(doorbell, time, &mut out),
        }
        self.line_up(doorbell.cq.into());
        out
    }

    /// The reply, and whether a queue ended.
    pub(super) fn command(&mut self, command: &ObjectCommand) -> (ObjectReply, bool) {
        let body = crate::pack::to_bytes(command.body);
        let mut words = vec![0_u8; BODY_LEN];
        let mut ends = false;
        let number = u64::from(command.object);
        let verb = Verb::from_code(u8::try_from(u64::from(command.verb)).expect("eight bits"));
        let judged = match (verb, self.rows.get(&number)) {
            (None, _) => Err((CommandStatus::UnknownVerb, 0)),
            (Some(Verb::Create), _) if number >= self.capacity => Err((CommandStatus::OutOfRange, 0)),
            (Some(Verb::Create), Some(_)) => Err((CommandStatus::Exists, 0)),
            (Some(Verb::Create), None) => {
                let asked = CompletionQueue::parse(&body).expect("a body is long enough");
                self.fault(&asked, u64::from(command.attributes)).map_or(Ok(()), Err).map(|()| {
                    let (log, page) = (asked.log.into(), asked.page.into());
                    let (count, period) = (asked.count.into(), asked.period.into());
                    let queue = Queue { base: asked.base, log, page, count, period, ..Queue::default() };
                    self.rows.insert(number, queue);
                })
            }
            (_, None) => Err((CommandStatus::NoObject, 0)),
            (Some(Verb::Modify), _) if u64::from(command.attributes) != MODERATION_ATTRIBUTE => {
                Err((CommandStatus::BadAttribute, 0))
            }
            (Some(Verb::Modify), Some(_)) => {
                let asked = CompletionQueue::parse(&body).expect("a body is long enough");
                let queue = self.rows.get_mut(&number).expect("it exists");
                (queue.count, queue.period) = (asked.count.into(), asked.period.into());
                if queue.awaited > 0 && !self.line.contains(&number) {
                    self.line.push_back(number);
                }
                Ok(())
            }
            (Some(Verb::Query), Some(queue)) => {
                shown(queue).emit(&mut words);
                Ok(())
            }
            (Some(Verb::Destroy), Some(_)) => {
                ends = true;
                self.rows.remove(&number);
                Ok(())
            }
        };
        let (status, field) = judged.err().unwrap_or((CommandStatus::Done, 0));
        let body = crate::pack::from_bytes(&words);
        (ObjectReply { status: (status as u64).into(), field: field.into(), body }, ends)
    }

    /// What is wrong with a queue to be created.
    fn fault(&self, asked: &CompletionQueue, attributes: u64) -> Option<(CommandStatus, u64)> {
        let field = |field: stroma_abi::Field| Some((CommandStatus::BadField, field.byte as u64));
        let is_log_good = (CQ_LOG_MIN..=CQ_LOG_MAX).contains(&usize::from(asked.log));
        let bytes = || (Cqe::LEN as u64) << asked.log;
        if attributes != 0 {
            Some((CommandStatus::BadAttribute, 0))
        } else if !asked.base.is_multiple_of(RING_ALIGN)
            || (is_log_good && asked.base.checked_add(bytes() - 1).is_none())
        {
            field(CompletionQueue::BASE)
        } else if !is_log_good {
            field(CompletionQueue::LOG)
        } else if u64::from(asked.page) >= self.pages {
            field(CompletionQueue::PAGE)
        } else {
            None
        }
    }
}

/// What a query shows.
fn shown(queue: &Queue) -> CompletionQueue {
    let index = |position| u32::try_from(position % INDICES).expect("24 bits");
    CompletionQueue {
        base: queue.base,
        log: u8::try_from(queue.log).expect("small"),
        page: u16::try_from(queue.page).expect("small"),
        count: u16::try_from(queue.count).expect("sixteen bits"),
        period: u16::try_from(queue.period).expect("sixteen bits"),
        producer: index(queue.producer),
        consumer: index(queue.consumer),
        armed: u8::try_from(queue.armed).expect("two bits"),
        overflowed: queue.overflowed,
    }
}

/// A command, with noise wherever nothing is meant.
pub(super) fn order(verb: u8, object: u64, asked: &CompletionQueue, noise: &ObjectCommand) -> ObjectCommand {
    let mut bytes: Vec<u8> = noise.body.to_words().into_iter().flat_map(u32::to_le_bytes).collect();
    CompletionQueue::BASE.set(&mut bytes, asked.base);
    CompletionQueue::LOG.set(&mut bytes, asked.log);
    CompletionQueue::PAGE.set(&mut bytes, asked.page);
    CompletionQueue::MODERATION_COUNT.set(&mut bytes, asked.count);
    CompletionQueue::MODERATION_PERIOD.set(&mut bytes, asked.period);
    ObjectCommand {
        verb: u64::from(verb).into(),
        object: object.into(),
        attributes: 0.into(),
        body: crate::pack::from_bytes(&bytes),
    }
}
