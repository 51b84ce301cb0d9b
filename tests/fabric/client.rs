//! A card opened over vfio-user, a connection, and what can be done with them.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::{Psn, Qpn};
use stroma_device::VfioUser;
use stroma_tests::pair::{address, pattern};
use stroma_tests::walks::{target, task};
use stroma_verbs::{
    Access, CompletionQueue, Connection, Device, MemoryRegion, Neighbours, ProtectionDomain, QueuePair,
    QueuePairKind, Status, WorkCompletion,
};

/// The longest that anything may take: the cards are slow on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long somebody who is not there is looked for.
const BRIEF: Duration = Duration::from_millis(500);
/// Bytes of a client's memory.
const MEMORY: usize = 1 << 20;
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
pub(crate) struct Client {
    number: usize,
    neighbours: Neighbours,
    domain: Arc<ProtectionDomain>,
    completions: Arc<CompletionQueue>,
    memory: MemoryRegion,
    queue_pair: QueuePair,
    peer: Option<Peer>,
}

impl Client {
    /// Opens the card at `socket` as number 0 or 1 of two.
    pub(crate) fn open(number: usize, socket: &Path) -> Result<Self> {
        let backend = VfioUser::open(socket)?;
        let device = Device::builder().timeout(PATIENCE).open(Arc::new(backend))?;
        device.port().set_mac(address(number).mac)?;
        device.port().set_address(0, address(number).ip)?;
        device.port().set_address(1, second(number))?;
        let neighbours = Neighbours::open(&device)?;
        let domain = device.protection_domain()?;
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memory = domain.allocate(MEMORY, rights)?;
        let completions = device.completion_queue(256)?;
        let queue_pair = queue_pair(&domain, &completions)?;
        Ok(Self { number, neighbours, domain, completions, memory, queue_pair, peer: None })
    }

    /// Where a peer finds it: queue pair, key and first address of its memory.
    pub(crate) fn place(&self) -> Result<String> {
        let start = self.memory.address(0)?;
        Ok(format!("{} {} {start}", self.queue_pair.number(), self.memory.rkey()))
    }

    /// Does what a line says.
    pub(crate) fn obey(&mut self, line: &str) -> Result<String> {
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
            ("watch", 1) => self.watch(small(0))?,
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

    /// The next completion is of this request, and a success.
    fn complete(&self, wr_id: u64) -> Result<WorkCompletion> {
        let started = Instant::now();
        let mut found = [WorkCompletion::default()];
        while self.completions.poll(&mut found)? == 0 {
            ensure!(started.elapsed() < PATIENCE, "no completion in {PATIENCE:?}");
        }
        let [found] = found;
        ensure!((found.wr_id, found.status) == (wr_id, Status::Success), "{found:?}");
        Ok(found)
    }
}

/// Its address of IPv6.
fn second(number: usize) -> IpAddr {
    let number = u16::try_from(number + 1).expect("few cards");
    [0xfd00, 0, 0, 0, 0, 0, 0, number].into()
}

fn queue_pair(domain: &Arc<ProtectionDomain>, completions: &Arc<CompletionQueue>) -> Result<QueuePair> {
    let builder = domain.queue_pair(completions).kind(QueuePairKind::Reliable);
    let builder = builder.receive_entries(64).receive_pieces(1).result_bytes(4096).send_units(256);
    Ok(builder.build()?)
}
