//! A card in a host without a driver above the registers: commands, rings and doorbells by hand, so that stories can do what
//! a driver never would.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics, wherever it is; what it makes it may keep or not"
)]

use std::sync::Arc;
use std::time::Duration;

use stroma_abi::desc::{
    Command, CommandStatus, CompletionQueue, Cqe, Eqe, ObjectKind, QueuePair, QueuePairKind, QueuePairState,
    Region, Reply, Sge, SgeList, Status, Verb, Wqe, WqeHead,
    mailbox::{BODY_AT, BODY_LEN, MAILBOX_LEN},
    phase,
    queue_pair::attribute,
    region::rights,
    request::Body,
    wqe::UNIT,
};
use stroma_abi::regs::map::{DOORBELL_PAGE, PUSH_WINDOW, counters, doorbells, events, mailbox};
use stroma_abi::regs::{Block, Reg};
use stroma_device::{Backend, BarId, Card, DmaMemory, Iova, Mapping, compose, part};
use stroma_sim::{Shared, SimBackend, World};
use stroma_top::Profile;
use stroma_verilate::Options;

/// Cycles after which something that should happen has not.
pub const LIMIT: u64 = 400_000;
/// log2 of the entries of rings, unless a story needs another size.
pub const RING_LOG: u8 = 6;

/// Memory that the card reaches, and where.
pub struct Buffer {
    mapping: Mapping,
}

impl Buffer {
    /// Where the card finds it.
    pub fn iova(&self) -> u64 {
        self.mapping.iova().0
    }

    /// Bytes of it.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.mapping.memory().len()
    }

    /// Some of its bytes.
    pub fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.mapping.memory().read(offset, &mut bytes).expect("inside the buffer");
        bytes
    }

    /// Stores bytes.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.mapping.memory().write(offset, bytes).expect("inside the buffer");
    }
}

/// A queue pair of kind LOCAL, its send queue, and its CQ.
pub struct Queue {
    /// Its number.
    pub qpn: u32,
    /// Its CQ.
    pub cq: u32,
    /// Its doorbell page.
    pub page: usize,
    /// Index of the next unit to be written.
    pub producer: u16,
    log: u8,
    ring: Buffer,
}

/// A completion queue.
pub struct Completions {
    /// Its number.
    pub number: u32,
    /// Its doorbell page.
    pub page: usize,
    /// Entries taken.
    pub taken: u32,
    log: u8,
    ring: Buffer,
}

/// A card and its host.
pub struct Rig {
    /// The card's registers.
    pub card: Card,
    shared: Arc<Shared>,
    next_iova: u64,
    events: Option<Buffer>,
    events_taken: u32,
}

impl Rig {
    /// A card, ready, with nothing created.
    pub fn new(profile: Profile) -> Self {
        Self::with_world(World::new(profile, 1, &Options { seed: 7, ..Options::default() }).expect("a card"))
    }

    /// The first card of a world.
    pub fn with_world(world: World) -> Self {
        let shared = Shared::new(world);
        let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(&shared, 0));
        let card = Card::open(backend, Duration::from_mins(1)).unwrap_or_else(|error| panic!("{error}"));
        Self { card, shared, next_iova: 0x10_0000_0000, events: None, events_taken: 0 }
    }

    /// How the card is reached.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        self.card.backend()
    }

    /// The simulation, to be asked and run.
    pub fn world<T>(&self, ask: impl FnOnce(&mut World) -> T) -> T {
        ask(&mut self.shared.world())
    }

    /// Lets some cycles pass.
    pub fn run(&self, cycles: u64) {
        self.world(|world| world.run(cycles));
    }

    /// Runs until nothing is going to happen any more.
    pub fn settle(&self) {
        assert!(
            self.world(|world| world.run_until(LIMIT, |world| world.is_idle())),
            "the card does not come to rest"
        );
    }

    /// Memory of `length` bytes, mapped; pages follow each other for the card.
    pub fn buffer(&mut self, length: usize) -> Buffer {
        let memory = Arc::new(DmaMemory::allocate(length, None).expect("memory"));
        let iova = Iova(self.next_iova);
        // Room between two buffers, so that running over one is noticed.
        self.next_iova += (memory.len() as u64).next_multiple_of(1 << 21) + (1 << 21);
        Buffer { mapping: Mapping::new(Arc::clone(self.backend()), iova, memory).expect("a free range") }
    }

    /// The last 4 KiB of a page of `size` bytes: where the page begins, and the memory at its end.
    pub fn page_end(&mut self, size: u64) -> (u64, Buffer) {
        self.next_iova = self.next_iova.next_multiple_of(size);
        let start = self.next_iova;
        self.next_iova += size - 4096;
        let buffer = self.buffer(4096);
        (start, buffer)
    }

    /// The first 4 KiB of a page of `size` bytes: where the page begins, and the memory there.
    pub fn page_start(&mut self, size: u64) -> (u64, Buffer) {
        self.next_iova = self.next_iova.next_multiple_of(size);
        let buffer = self.buffer(4096);
        (buffer.iova(), buffer)
    }

    /// Runs a command of the mailbox; the reply's head and body.
    pub fn command(&self, verb: u8, kind: u8, object: u32, attributes: u64, body: &[u8]) -> (Reply, Vec<u8>) {
        let mut input = [0; MAILBOX_LEN];
        Command { verb, object_kind: kind, modifier: 0x5a17, object, attributes }.emit(&mut input);
        input[BODY_AT..BODY_AT + body.len()].copy_from_slice(body);
        let place = |reg: &Reg| mailbox::BLOCK.address(reg);
        for (at, word) in input.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            self.backend().write64(BarId::Bar0, place(&mailbox::INPUT) + at * 8, word).expect("in the BAR");
        }
        self.backend().write32(BarId::Bar0, place(&mailbox::GO), 1).expect("in the BAR");
        let done = |state: u32| part::<bool>(&mailbox::STATE, "done", state.into());
        let answered = (0..1000)
            .any(|_| done(self.backend().read32(BarId::Bar0, place(&mailbox::STATE)).expect("in the BAR")));
        assert!(answered, "the mailbox does not answer");
        // Loads take their time, and only a query has a body to show.
        let words = if verb == Verb::Query as u8 { MAILBOX_LEN / 8 } else { BODY_AT / 8 };
        let output: Vec<u8> = (0..words)
            .flat_map(|at| {
                let word = self.backend().read64(BarId::Bar0, place(&mailbox::OUTPUT) + at * 8);
                word.expect("in the BAR").to_le_bytes()
            })
            .collect();
        let reply = Reply::parse(&output).expect("a whole head");
        assert_eq!((reply.token, reply.object), (0x5a17, object), "the reply names its command");
        (reply, output[BODY_AT..].to_vec())
    }

    /// A command that succeeds; the reply's body.
    pub fn done(&self, verb: Verb, kind: ObjectKind, object: u32, attributes: u64, body: &[u8]) -> Vec<u8> {
        let (reply, body) = self.command(verb as u8, kind as u8, object, attributes, body);
        assert_eq!(
            reply.status,
            CommandStatus::Done as u16,
            "{verb:?} {kind:?} {object}: field {}",
            reply.field
        );
        body
    }

    /// Makes a CQ of `2^log` entries.
    pub fn completions(&mut self, number: u32, log: u8, page: usize) -> Completions {
        let ring = self.buffer(Cqe::LEN << log);
        let body = CompletionQueue {
            base: ring.iova(),
            log,
            page: u16::try_from(page).expect("a page"),
            ..CompletionQueue::default()
        };
        self.done(Verb::Create, ObjectKind::CompletionQueue, number, 0, &body.to_bytes());
        Completions { number, page, taken: 0, log, ring }
    }

    /// What creates a queue pair of kind LOCAL.
    pub fn local(cq: u32, log: u8, page: usize, pd: u16, base: u64) -> QueuePair {
        QueuePair {
            kind: QueuePairKind::Local as u8,
            pd,
            send_cq: cq,
            receive_cq: cq,
            send_log: log,
            page: u16::try_from(page).expect("a page"),
            send_base: base,
            ..QueuePair::default()
        }
    }

    /// Changes a queue pair's state.
    pub fn state(&self, qpn: u32, state: QueuePairState) {
        let body = QueuePair { state: state as u8, ..QueuePair::default() };
        self.done(Verb::Modify, ObjectKind::QueuePair, qpn, attribute::STATE, &body.to_bytes());
    }

    /// Makes a queue pair of kind LOCAL, ready to send.
    pub fn queue(&mut self, qpn: u32, completions: &Completions, pd: u16) -> Queue {
        self.queue_of(qpn, completions, pd, RING_LOG)
    }

    /// As [`queue`](Self::queue), with `2^log` units.
    pub fn queue_of(&mut self, qpn: u32, completions: &Completions, pd: u16, log: u8) -> Queue {
        let ring = self.buffer(UNIT << log);
        let body = Self::local(completions.number, log, completions.page, pd, ring.iova());
        self.done(Verb::Create, ObjectKind::QueuePair, qpn, 0, &body.to_bytes());
        for state in [QueuePairState::Init, QueuePairState::ReadyToReceive, QueuePairState::ReadyToSend] {
            self.state(qpn, state);
        }
        Queue { qpn, cq: completions.number, page: completions.page, producer: 0, log, ring }
    }

    /// The state that a query shows.
    pub fn state_of(&self, qpn: u32) -> QueuePairState {
        let body = self.done(Verb::Query, ObjectKind::QueuePair, qpn, 0, &[0; BODY_LEN]);
        let state = QueuePair::parse(&body).expect("a whole body").state;
        QueuePairState::from_code(state).unwrap_or_else(|| panic!("{state} is no state"))
    }

    /// Registers a region; its key.
    pub fn region(&self, number: u32, region: &Region) -> u32 {
        self.done(Verb::Create, ObjectKind::Region, number, 0, &region.to_bytes());
        number << 8 | u32::from(region.key)
    }

    /// A region over all of a buffer, at virtual address `base`, with all rights and without a page list.
    pub fn direct(buffer: &Buffer, base: u64, pd: u16) -> Region {
        Region {
            base,
            length: buffer.len() as u64,
            key: 0x42,
            direct: true,
            list: buffer.iova(),
            pd,
            rights: rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ,
            ..Region::default()
        }
    }

    /// Stores to a doorbell register.
    pub fn ring(&self, page: usize, reg: &Reg, value: u64) {
        let place = page * DOORBELL_PAGE + doorbells::BLOCK.address(reg);
        self.backend().write64(BarId::Bar2, place, value).expect("in the BAR");
    }

    /// Rings the send doorbell of a queue for all that was put into it.
    pub fn doorbell(&self, queue: &Queue) {
        let parts = [("queue_pair", u64::from(queue.qpn)), ("producer", u64::from(queue.producer))];
        self.ring(queue.page, &doorbells::SEND, compose(&doorbells::SEND, parts));
    }

    /// Stores a WQE into a push window, the words in the given order, and commits it.
    pub fn push(&self, queue: &Queue, window: usize, wqe: &[u8], order: impl IntoIterator<Item = usize>) {
        for word in order {
            self.push_word(queue.page, window, word, wqe);
        }
        let index = queue.producer.wrapping_sub(u16::try_from(wqe.len() / UNIT).expect("few units"));
        self.commit(queue, window, index, wqe.len() / UNIT);
    }

    /// Stores one word of a WQE into a push window.
    pub fn push_word(&self, page: usize, window: usize, word: usize, wqe: &[u8]) {
        let place = page * DOORBELL_PAGE + doorbells::PUSH.offset + window * PUSH_WINDOW + word * 8;
        let value = u64::from_le_bytes(wqe[word * 8..word * 8 + 8].try_into().expect("eight bytes"));
        self.backend().write64(BarId::Bar2, place, value).expect("in the BAR");
    }

    /// Commits a push window.
    pub fn commit(&self, queue: &Queue, window: usize, index: u16, units: usize) {
        let parts = [
            ("queue_pair", u64::from(queue.qpn)),
            ("index", u64::from(index)),
            ("units", units as u64),
            ("window", window as u64),
        ];
        self.ring(queue.page, &doorbells::PUSH_COMMIT, compose(&doorbells::PUSH_COMMIT, parts));
    }

    /// Tells a CQ what was taken, and arms it.
    pub fn arm(&self, completions: &Completions, arm: u64) {
        let parts = [
            ("queue", u64::from(completions.number)),
            ("consumer", u64::from(completions.taken & 0xff_ffff)),
            ("arm", arm),
        ];
        self.ring(completions.page, &doorbells::COMPLETION, compose(&doorbells::COMPLETION, parts));
    }

    /// The next entry of a CQ, if it is there.
    pub fn poll(&self, completions: &mut Completions) -> Option<Cqe> {
        let size = 1_usize << completions.log;
        let at = completions.taken as usize % size;
        let cqe = Cqe::parse(&completions.ring.read(at * Cqe::LEN, Cqe::LEN)).expect("a whole entry");
        if cqe.phase != phase(completions.taken, u32::from(completions.log)) {
            return None;
        }
        completions.taken += 1;
        Some(cqe)
    }

    /// Waits for the next entry of a CQ.
    pub fn completion(&self, completions: &mut Completions) -> Cqe {
        let start = self.world(|world| world.now());
        loop {
            if let Some(cqe) = self.poll(completions) {
                return cqe;
            }
            assert!(
                self.world(|world| world.now()) - start < LIMIT,
                "no completion in CQ {}",
                completions.number
            );
            self.backend().idle();
        }
    }

    /// Switches the event queue on: `2^log` entries, vector 0.
    pub fn enable_events(&mut self, log: u8) {
        let ring = self.buffer(Eqe::LEN << log);
        self.set(&events::BLOCK, &events::BASE, ring.iova());
        let config = compose(&events::CONFIG, [("log", u64::from(log)), ("vector", 0), ("enable", 1)]);
        self.set(&events::BLOCK, &events::CONFIG, config);
        (self.events, self.events_taken) = (Some(ring), 0);
    }

    /// The next entry of the event queue, if it is there.
    pub fn event(&mut self, log: u8) -> Option<Eqe> {
        let ring = self.events.as_ref().expect("events are enabled");
        let at = self.events_taken as usize % (1 << log);
        let eqe = Eqe::parse(&ring.read(at * Eqe::LEN, Eqe::LEN)).expect("a whole entry");
        if eqe.phase != phase(self.events_taken, u32::from(log)) {
            return None;
        }
        self.events_taken += 1;
        Some(eqe)
    }

    /// Tells the card which events were taken.
    pub fn acknowledge_events(&self) {
        self.set(&events::BLOCK, &events::CONSUMER, u64::from(self.events_taken));
    }

    /// Writes a register.
    pub fn set(&self, block: &Block, reg: &Reg, value: u64) {
        self.card.write(block, reg, value).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Reads a register.
    pub fn get(&self, block: &Block, reg: &Reg) -> u64 {
        self.card.read(block, reg).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads a counter.
    pub fn count(&self, reg: &Reg) -> u64 {
        self.get(&counters::BLOCK, reg)
    }
}

impl Completions {
    /// Where the card finds its ring.
    pub fn base(&self) -> u64 {
        self.ring.iova()
    }
}

impl Queue {
    /// Where the card finds its ring.
    pub fn base(&self) -> u64 {
        self.ring.iova()
    }

    /// Puts a request into the send queue, without a doorbell; its bytes.
    pub fn put(&mut self, head: WqeHead, body: Body<'_>) -> Vec<u8> {
        let wqe = Wqe::new(WqeHead { index: self.producer, ..head }, body)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = vec![0; wqe.encoded_len()];
        wqe.encode(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
        self.put_bytes(&bytes);
        bytes
    }

    /// Puts units into the send queue as they are.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        for unit in bytes.chunks(UNIT) {
            let slot = usize::from(self.producer) % (1 << self.log);
            self.ring.write(slot * UNIT, unit);
            self.producer = self.producer.wrapping_add(1);
        }
    }
}

/// The head of a signaled request.
pub fn head(op: stroma_abi::desc::WorkOp) -> WqeHead {
    WqeHead { opcode: op as u8, signaled: true, ..WqeHead::default() }
}

/// A list of pieces.
pub fn pieces(pieces: &[Sge]) -> Body<'static> {
    Body::Gather(SgeList::new(pieces).expect("at most 16 pieces"))
}

/// The status of a completion.
pub fn status(cqe: &Cqe) -> Status {
    Status::from_code(cqe.status).unwrap_or_else(|| panic!("{} is no status", cqe.status))
}
