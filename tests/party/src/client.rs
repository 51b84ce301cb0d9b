//! A card that was opened, a connection, and what can be done with them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::{Psn, Qpn};
use stroma_device::{Backend, DmaMemory};
use stroma_verbs::{
    Access, CompletionChannel, CompletionQueue, Connection, Device, MemoryRegion, Neighbours,
    ProtectionDomain, QueuePair, QueuePairKind, QueuePairState, Status, WorkCompletion,
};

use crate::{PATIENCE, address, alone, pattern, target, task};

/// How long somebody who is not there is looked for.
const BRIEF: Duration = Duration::from_millis(500);
/// Bytes of a client's memory.
pub const MEMORY: usize = 1 << 20;
/// Bytes of an element of a list: key, pointer to the next, pointer to the value.
const ELEMENT: usize = 24;
/// Where the values of a list begin, and how far they are apart.
const VALUES_AT: usize = 1 << 16;
const VALUE_STRIDE: usize = 1024;

/// Where the other end is.
#[derive(Clone, Copy)]
struct Peer {
    remote_key: u32,
    address: u64,
}

/// A client.
pub struct Client {
    number: usize,
    neighbours: Neighbours,
    device: Arc<Device>,
    domain: Arc<ProtectionDomain>,
    channel: Arc<CompletionChannel>,
    completions: Arc<CompletionQueue>,
    memory: MemoryRegion,
    queue_pair: QueuePair,
    peer: Option<Peer>,
}

impl Client {
    /// Opens the card behind `backend` as number 0 or 1 of two.
    ///
    /// # Errors
    /// When it cannot be opened, or has no room.
    pub fn open(number: usize, backend: Arc<dyn Backend>) -> Result<Self> {
        let memory = DmaMemory::allocate(MEMORY, backend.identity().numa_node)?;
        Self::with_memory(number, backend, memory)
    }

    /// The same, with memory that somebody else allocated.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_memory(number: usize, backend: Arc<dyn Backend>, memory: DmaMemory) -> Result<Self> {
        let device = Device::builder().timeout(PATIENCE).open(backend)?;
        device.port().set_mac(address(number).mac)?;
        device.port().set_address(0, address(number).ip)?;
        device.port().set_address(1, second(number))?;
        let neighbours = Neighbours::open(&device)?;
        let domain = device.protection_domain()?;
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memory = domain.region(rights).register(Arc::new(memory))?;
        let channel = device.completion_channel();
        let completions = device.build_completion_queue(256).channel(&channel).build()?;
        let queue_pair = queue_pair(&domain, &completions)?;
        Ok(Self { number, neighbours, device, domain, channel, completions, memory, queue_pair, peer: None })
    }

    /// The card.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Where a peer finds it: queue pair, key and first address of its memory.
    ///
    /// # Errors
    /// Never: its memory has a first byte.
    pub fn place(&self) -> Result<String> {
        let start = self.memory.address(0)?;
        Ok(format!("{} {} {start}", self.queue_pair.number(), self.memory.rkey()))
    }

    /// Does what a line says; the answer.
    ///
    /// # Errors
    /// When it cannot, and when what it finds is not as the line says.
    ///
    /// # Panics
    /// When the line has numbers that no order has.
    pub fn obey(&mut self, line: &str) -> Result<String> {
        let mut words = line.split(' ');
        let order = words.next().unwrap_or_default();
        // Of somebody who is no card.
        match (order, &words.clone().collect::<Vec<_>>()[..]) {
            ("ping", [to, bytes]) => {
                self.neighbours.ping(to.parse()?, bytes.parse()?, PATIENCE)?;
                return Ok("ok".into());
            }
            ("seek", [to]) => {
                self.neighbours.resolve(to.parse()?, BRIEF)?;
                return Ok("ok".into());
            }
            _ => {}
        }
        let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>().context("numbers")?;
        let small = |at: usize| usize::try_from(numbers[at]).expect("orders have small numbers");
        match (order, numbers.len()) {
            ("connect", 3) => {
                self.connect(u32::try_from(numbers[0])?, u32::try_from(numbers[1])?, numbers[2])?;
            }
            ("renew", 0) => {
                self.queue_pair = queue_pair(&self.domain, &self.completions)?;
                return self.place();
            }
            ("fill", 3) => self.memory.write(small(1), &pattern(numbers[0], small(2)))?,
            ("clear", 2) => self.memory.write(small(0), &vec![0; small(1)])?,
            ("blank", 2) => self.check(small(0), &vec![0; small(1)])?,
            ("check", 3) => self.check(small(1), &pattern(numbers[0], small(2)))?,
            ("write", 3) => self.write(small(0), numbers[1], small(2))?,
            ("read", 3) => self.read(numbers[0], small(1), small(2))?,
            ("receive", 2) => {
                let piece = self.memory.piece(small(0), small(1))?;
                self.queue_pair.receives().context("a receive queue")?.receive(1, &[piece]).post()?;
            }
            ("send", 2) => {
                let piece = self.memory.piece(small(0), small(1))?;
                self.queue_pair.start().wr_id(2).signaled().send(&[piece]).post()?;
                self.complete(2)?;
            }
            ("received", 1) => ensure!(self.complete(1)?.length as usize == small(0), "of another length"),
            ("list", 1) => self.list(small(0))?,
            ("walk", 3) => self.walk(numbers[0], small(1), small(2))?,
            ("flood", 3) => self.flood(numbers[0], small(1), small(2))?,
            ("mark", 1) => {
                let (peer, piece) = (self.peer()?, self.memory.piece(0, 1)?);
                let batch = self.queue_pair.start().wr_id(7);
                batch.write(&[piece], peer.address + numbers[0], peer.remote_key).post()?;
            }
            ("watch", 1) => self.watch(small(0))?,
            ("sleep", 0) => return self.sleep(),
            ("stray", 1) => return self.stray(numbers[0]),
            _ => bail!("no such order"),
        }
        Ok("ok".into())
    }

    fn peer(&self) -> Result<Peer> {
        self.peer.context("not connected")
    }

    fn connect(&mut self, queue_pair: u32, remote_key: u32, start: u64) -> Result<()> {
        let psn = |of: usize| Psn::new(0x10_0000 * u32::try_from(of + 1).expect("small"));
        let (near, far) = (self.number, 1 - self.number);
        let mut connection = Connection::new(address(far), Qpn::new(queue_pair), psn(near), psn(far));
        connection.path_mtu = 3;
        connection.rights = connection.rights | Access::RPC;
        self.queue_pair.connect(&connection)?;
        self.peer = Some(Peer { remote_key, address: start });
        Ok(())
    }

    fn check(&self, at: usize, expected: &[u8]) -> Result<()> {
        let mut bytes = vec![0; expected.len()];
        self.memory.read(at, &mut bytes)?;
        let wrong = bytes.iter().zip(expected).position(|(found, expected)| found != expected);
        wrong.map_or(Ok(()), |wrong| bail!("byte {wrong} of {} is wrong", expected.len()))
    }

    fn write(&self, from: usize, to: u64, len: usize) -> Result<()> {
        let (peer, piece) = (self.peer()?, self.memory.piece(from, len)?);
        let batch = self.queue_pair.start().wr_id(3).signaled();
        batch.write(&[piece], peer.address + to, peer.remote_key).post()?;
        self.complete(3).map(drop)
    }

    fn read(&self, from: u64, to: usize, len: usize) -> Result<()> {
        let (peer, piece) = (self.peer()?, self.memory.piece(to, len)?);
        let batch = self.queue_pair.start().wr_id(4).signaled();
        batch.read(&[piece], peer.address + from, peer.remote_key).post()?;
        self.complete(4).map(drop)
    }

    /// Makes a list of elements with keys from 100 on; their values are a pattern of seed 9.
    fn list(&self, length: usize) -> Result<()> {
        self.memory.write(VALUES_AT, &pattern(9, length * VALUE_STRIDE))?;
        for index in 0..length {
            let next = if index + 1 < length { self.memory.address((index + 1) * ELEMENT)? } else { 0 };
            let value = self.memory.address(VALUES_AT + index * VALUE_STRIDE)?;
            let words = [100 + index as u64, next, value];
            self.memory.write(index * ELEMENT, &words.map(u64::to_le_bytes).concat())?;
        }
        Ok(())
    }

    /// Has the peer's card walk the list in the peer's memory, to the value of a key.
    fn walk(&self, key: u64, to: usize, len: usize) -> Result<()> {
        let peer = self.peer()?;
        let length = u32::try_from(len)?;
        let task = Traversal { sought: key, value_length: length, ..task(peer.address) };
        let parameters = Parameters::new(&task.to_bytes()).context("whole words")?;
        let batch = self.queue_pair.start().wr_id(5).signaled();
        batch.rpc(self.memory.piece(to, len)?, &target(length), peer.remote_key, parameters).post()?;
        let found = self.complete(5)?;
        ensure!((found.rpc, found.length) == (Some(0), length), "{found:?}");
        let at = usize::try_from(key - 100)? * VALUE_STRIDE;
        self.check(to, &pattern(9, at + len)[at..])
    }

    /// Has so many bytes written again and again, and does not wait for it.
    fn flood(&self, to: u64, len: usize, count: usize) -> Result<()> {
        let (peer, piece) = (self.peer()?, self.memory.piece(0, len)?);
        for _ in 0..count {
            self.queue_pair.start().wr_id(6).write(&[piece], peer.address + to, peer.remote_key).post()?;
        }
        Ok(())
    }

    /// Waits until a byte is not 0.
    fn watch(&self, at: usize) -> Result<()> {
        let started = Instant::now();
        let mut byte = [0];
        while byte == [0] {
            ensure!(started.elapsed() < PATIENCE, "nothing in {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(1));
            self.memory.read(at, &mut byte)?;
        }
        Ok(())
    }

    /// Sleeps until a receive completes; `ok`, and for how many milliseconds it slept, of which it had the processor for so many.
    fn sleep(&self) -> Result<String> {
        self.completions.request_notify(false)?;
        let early = self.completions.poll(&mut [WorkCompletion::default()])?;
        ensure!(early == 0, "the completion was there before anybody slept");
        let (started, before) = (Instant::now(), processor_time()?);
        let ready = self.channel.wait(PATIENCE)?.context("no event of the completion queue")?;
        let (slept, busy) = (started.elapsed(), processor_time()?.saturating_sub(before));
        ensure!(ready.number() == self.completions.number(), "an event of another queue");
        self.complete(1)?;
        Ok(format!("ok {} {}", slept.as_millis(), busy.as_millis()))
    }

    /// Has the peer written to from memory that the card can no longer reach; `ok`, the address at which it does not, the status
    /// of the request, and the state of its queue pair.
    fn stray(&self, to: u64) -> Result<String> {
        let peer = self.peer()?;
        let (memory, iova) = alone::orphan(&self.domain)?;
        let batch = self.queue_pair.start().wr_id(8).signaled();
        batch.write(&[memory.piece(0, memory.len())?], peer.address + to, peer.remote_key).post()?;
        let found = next(&self.completions)?;
        ensure!(found.wr_id == 8, "{found:?}");
        let state = QueuePairState::from_code(self.queue_pair.query()?.state).context("a state")?;
        Ok(format!("ok {iova:#x} {:?} {state:?}", found.status))
    }

    /// The next completion is of this request, and a success.
    fn complete(&self, wr_id: u64) -> Result<WorkCompletion> {
        let found = next(&self.completions)?;
        ensure!((found.wr_id, found.status) == (wr_id, Status::Success), "{found:?}");
        Ok(found)
    }
}

/// Its address of IPv6.
fn second(number: usize) -> IpAddr {
    let number = u16::try_from(number + 1).expect("few cards");
    [0xfd00, 0, 0, 0, 0, 0, 0, number].into()
}

/// The next completion, which is looked for again and again.
pub(crate) fn next(completions: &CompletionQueue) -> Result<WorkCompletion> {
    let started = Instant::now();
    let mut found = [WorkCompletion::default()];
    while completions.poll(&mut found)? == 0 {
        ensure!(started.elapsed() < PATIENCE, "no completion in {PATIENCE:?}");
    }
    Ok(found[0])
}

/// How long this thread has had a processor.
fn processor_time() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("read the thread's times")?;
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map(Duration::from_nanos).with_context(|| format!("times of a thread: {text}"))
}

fn queue_pair(domain: &Arc<ProtectionDomain>, completions: &Arc<CompletionQueue>) -> Result<QueuePair> {
    let builder = domain.queue_pair(completions).kind(QueuePairKind::Reliable);
    let builder = builder.receive_entries(64).receive_pieces(1).result_bytes(4096).send_units(256);
    Ok(builder.build()?)
}
