//! Two cards on a cable, an application on each, and connections between them.

#![expect(clippy::missing_panics_doc, reason = "a test that is not as expected panics, wherever it is")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stroma_abi::regs::Reg;
use stroma_abi::regs::map::counters;
use stroma_abi::{Psn, Qpn};
use stroma_device::Backend;
pub use stroma_party::{address, pattern};
use stroma_sim::link::LinkConfig;
use stroma_sim::{Kind, Shared, SimBackend, World};
use stroma_verbs::{
    Access, Address, AsyncEvent, CompletionQueue, Connection, Device, MemoryRegion, ProtectionDomain,
    QueuePair, QueuePairKind, Sge, Status, WorkCompletion,
};
use stroma_verilate::Options;

/// Cycles after which something that should happen has not.
pub const LIMIT: u64 = 3_000_000;
/// Bytes of each end's memory.
pub const MEMORY: usize = 1 << 20;
/// Entries of a queue pair's receive queue.
pub const RECEIVES: usize = 64;
/// What an owner and its peer may do with it.
const ALL: Access = Access::LOCAL_WRITE;

/// One end: a card, its driver, and an application's objects.
pub struct End {
    /// The card, opened.
    pub device: Arc<Device>,
    /// Its domain.
    pub domain: Arc<ProtectionDomain>,
    /// Where its completions go.
    pub completions: Arc<CompletionQueue>,
    /// Its memory, which the peer may read and write.
    pub memory: MemoryRegion,
    /// How it is found.
    pub address: Address,
    shared: Arc<Shared>,
    found: Mutex<VecDeque<WorkCompletion>>,
}

/// Two ends.
pub struct Pair {
    /// The world they live in.
    pub shared: Arc<Shared>,
    /// The ends.
    pub ends: [End; 2],
}

impl End {
    /// Opens the card of this index, with completion queues of at least so many entries.
    pub fn open(shared: &Arc<Shared>, index: usize, entries: usize) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(shared, index));
        let device = Device::builder().timeout(Duration::from_mins(1)).open(backend).expect("a card");
        let address = address(index);
        device.port().set_mac(address.mac).expect("a register");
        device.port().set_address(0, address.ip).expect("a register");
        let domain = device.protection_domain().expect("a domain");
        let rights = ALL | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC | Access::RPC;
        let memory = domain.allocate(MEMORY, rights).expect("memory");
        let completions = device.completion_queue(entries).expect("a completion queue");
        Self {
            device,
            domain,
            completions,
            memory,
            address,
            shared: Arc::clone(shared),
            found: Mutex::default(),
        }
    }

    /// A queue pair that is not connected, with room for [`RECEIVES`] receives.
    pub fn queue_pair(&self, units: usize) -> QueuePair {
        self.queue_pair_of(QueuePairKind::Reliable, units)
    }

    /// The same, of this kind.
    pub fn queue_pair_of(&self, kind: QueuePairKind, units: usize) -> QueuePair {
        let builder = self.domain.queue_pair(&self.completions).kind(kind);
        let builder = builder.receive_entries(RECEIVES).receive_pieces(16);
        builder.send_units(units).build().expect("a queue pair")
    }

    /// A queue pair that is not connected, whose peer's RPCs may have answers of so many bytes.
    pub fn calling(&self, bytes: usize) -> QueuePair {
        let builder = self.domain.queue_pair(&self.completions).kind(QueuePairKind::Reliable);
        builder.result_bytes(bytes).send_units(256).build().expect("a queue pair")
    }

    /// The next completion is of this receive, and a success of so many bytes.
    pub fn received(&self, wr_id: u64, length: usize) -> WorkCompletion {
        let found = self.expect(wr_id);
        assert_eq!((found.is_receive, found.length as usize), (true, length), "{found:?}");
        found
    }

    /// The next completion.
    pub fn complete(&self) -> WorkCompletion {
        let end = self.shared.world().now() + LIMIT;
        loop {
            if let Some(found) = self.poll() {
                return found;
            }
            assert!(self.shared.world().now() < end, "no completion in {LIMIT} cycles");
        }
    }

    /// The next completion, if there is one; otherwise some time has passed.
    pub fn poll(&self) -> Option<WorkCompletion> {
        let mut found = self.found.lock().expect("no story panics with it");
        if found.is_empty() {
            let mut room = [WorkCompletion::default(); 16];
            let count = self.completions.poll(&mut room).expect("entries with a sense");
            found.extend(&room[..count]);
        }
        found.pop_front()
    }

    /// The next completion is of this request, and a success.
    pub fn expect(&self, wr_id: u64) -> WorkCompletion {
        let found = self.complete();
        assert_eq!((found.wr_id, found.status, found.vendor), (wr_id, Status::Success, 0));
        found
    }

    /// Part of its memory, for a request.
    pub fn piece(&self, offset: usize, len: usize) -> Sge {
        self.memory.piece(offset, len).expect("inside the memory")
    }

    /// Address of a byte of its memory, for a peer.
    pub fn at(&self, offset: usize) -> u64 {
        self.memory.address(offset).expect("inside the memory")
    }

    /// Some of its bytes.
    pub fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(offset, &mut bytes).expect("inside the memory");
        bytes
    }

    /// Stores bytes.
    pub fn put(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside the memory");
    }

    /// A counter of the card.
    pub fn count(&self, counter: &Reg) -> u64 {
        self.device.card().read(&counters::BLOCK, counter).expect("a register")
    }

    /// The next event that belongs to no completion queue.
    pub fn event(&self) -> AsyncEvent {
        let found = self.device.wait_async_event(Duration::from_millis(20)).expect("a card that answers");
        found.expect("an event within 20 ms")
    }
}

impl Pair {
    /// Two cards on a cable without faults.
    pub fn new(kind: impl Into<Kind>) -> Self {
        let kind = kind.into();
        let config = LinkConfig::cable(kind.profile);
        Self::with(kind, config, 256)
    }

    /// Two cards on such a cable, with completion queues of so many entries.
    pub fn with(kind: impl Into<Kind>, config: LinkConfig, entries: usize) -> Self {
        Self::made(kind, config, entries, &Options { seed: 7, ..Options::default() })
    }

    /// The same, of cards with these options.
    pub fn made(kind: impl Into<Kind>, config: LinkConfig, entries: usize, options: &Options) -> Self {
        let mut world = World::new(kind, 2, options).unwrap_or_else(|error| panic!("{error}"));
        world.cable(0, 1, config);
        let shared = Shared::new(world);
        let ends = [0, 1].map(|index| End::open(&shared, index, entries));
        Self { shared, ends }
    }

    /// A connection: a queue pair at each end.
    pub fn connect(&self) -> [QueuePair; 2] {
        self.connect_with(256, |_, _| {})
    }

    /// A connection, with send queues of so many units and after a change to what each end is told.
    pub fn connect_with(&self, units: usize, change: impl Fn(usize, &mut Connection)) -> [QueuePair; 2] {
        let pairs = [0, 1].map(|end| self.ends[end].queue_pair(units));
        self.join(pairs.each_ref(), change);
        pairs
    }

    /// Connects queue pairs in RESET to each other.
    pub fn reconnect(&self, pairs: [&QueuePair; 2]) {
        self.join(pairs, |_, _| {});
    }

    /// The same, after a change to what each end is told.
    pub fn join(&self, pairs: [&QueuePair; 2], change: impl Fn(usize, &mut Connection)) {
        for end in 0..2 {
            let peer = 1 - end;
            let psn = |of: usize| Psn::new(0x10_0000 * u32::try_from(of + 1).expect("small"));
            let mut connection =
                Connection::new(self.ends[peer].address, Qpn::new(pairs[peer].number()), psn(end), psn(peer));
            change(end, &mut connection);
            pairs[end].connect(&connection).expect("a connection");
        }
    }

    /// Lets time pass.
    pub fn run(&self, cycles: u64) {
        self.shared.world().run(cycles);
    }

    /// Now, in cycles.
    pub fn now(&self) -> u64 {
        self.shared.world().now()
    }
}
