//! Two cards in one process, and connections between them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use stroma_abi::{Psn, Qpn};
use stroma_verbs::{
    Access, CompletionQueue, Connection, Device, MemoryRegion, ProtectionDomain, QueuePair, QueuePairKind,
    Status, WorkCompletion,
};

use super::{Between, Mtu};
use crate::card::{self, CardName, PATIENCE};
use crate::ready;
use crate::time::Time;

/// Places of each queue pair, so that what follows does not hide what went before.
pub(crate) const SLOTS: usize = 4;
/// Requests on their way on a queue pair, at least.
const DEPTH: u64 = 64;
/// Memory of each card, at most.
const MEMORY_MAX: usize = 1 << 30;
/// Looks at empty queues before one sleeps in between: the cards need the processor.
const LOOKS: u32 = 64;
const NAP: Duration = Duration::from_micros(50);

/// How much of everything.
pub(crate) struct Shape {
    pub(crate) queue_pairs: usize,
    /// Bytes from one place to the next.
    pub(crate) stride: usize,
    pub(crate) mtu: Mtu,
    /// Requests a doorbell.
    pub(crate) batch: u64,
}

impl Shape {
    /// Requests on their way on a queue pair, at most.
    pub(crate) fn depth(&self) -> u64 {
        DEPTH.max(2 * self.batch)
    }
}

/// One of the cards.
pub(crate) struct End {
    name: String,
    device: Arc<Device>,
    pub(crate) memory: MemoryRegion,
    completions: Arc<CompletionQueue>,
    pub(crate) queue_pairs: Vec<QueuePair>,
    /// Places of queue pairs, by their numbers.
    places: BTreeMap<u32, usize>,
    stride: usize,
    ip: Ipv4Addr,
    mac: [u8; 6],
}

/// Both, connected.
pub(crate) struct Pair {
    pub(crate) near: End,
    pub(crate) far: End,
    /// Of time stamps.
    pub(crate) time: Time,
    pub(crate) shape_depth: u64,
    pub(crate) batch: u64,
}

impl Pair {
    /// Opens two cards and connects them. A fabric is started if they are of one, and none runs.
    pub(crate) fn open(between: &Between, wanted: &ready::Wanted, shape: &Shape) -> anyhow::Result<Self> {
        let Between { from, to } = between;
        ensure!(
            from != to,
            "--from and --to are the same card: it takes two; `stroma selftest {from} --loopback` has one hear itself"
        );
        let folder = ready::folder(&[from, to], wanted)?;
        let open = |name: &CardName, number| -> anyhow::Result<End> {
            End::new(name, card::on_a_wire(name, &folder)?, number, shape)
        };
        let (near, far) = (open(from, 1)?, open(to, 2)?);
        for ((one, other), number) in near.queue_pairs.iter().zip(&far.queue_pairs).zip(1..) {
            // Any will do, if both know it.
            let (out, back) = (Psn::new(number), Psn::new(number << 12));
            connect([&near, &far], one, Qpn::new(other.number()), [out, back], shape.mtu)?;
            connect([&far, &near], other, Qpn::new(one.number()), [back, out], shape.mtu)?;
        }
        let time = Time::of(&near.device)?;
        Ok(Self { near, far, time, shape_depth: shape.depth(), batch: shape.batch })
    }

    /// What people call the cards.
    pub(crate) fn names(&self) -> [String; 2] {
        [&self.near, &self.far].map(|end| end.name.clone())
    }

    /// The clock that time stamps are of.
    pub(crate) fn clock_khz(&self) -> u32 {
        self.near.device.card().capabilities().clock_khz
    }

    /// Cycles of that clock in nanoseconds.
    pub(crate) fn nanoseconds(&self, cycles: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 cycles")]
        let cycles = cycles as f64;
        cycles * 1e6 / f64::from(self.clock_khz())
    }
}

fn connect(
    [end, to]: [&End; 2],
    queue_pair: &QueuePair,
    peer: Qpn,
    [out, back]: [Psn; 2],
    mtu: Mtu,
) -> anyhow::Result<()> {
    let way = end.device.port().way(to.ip.into(), to.mac)?;
    queue_pair.connect(&Connection { path_mtu: mtu.code(), ..Connection::new(way, peer, out, back) })?;
    Ok(())
}

impl End {
    fn new(name: &CardName, device: Arc<Device>, number: u8, shape: &Shape) -> anyhow::Result<Self> {
        // An address of documentation (RFC 5737) meanwhile.
        let (ip, mac) = (Ipv4Addr::new(192, 0, 2, number), name.mac(number));
        device.port().set_mac(mac)?;
        device.port().set_address(0, ip.into())?;
        let domain: Arc<ProtectionDomain> = device.protection_domain()?;
        let bytes = shape.queue_pairs * SLOTS * shape.stride;
        ensure!(
            bytes <= MEMORY_MAX,
            "{bytes} bytes on each card: {MEMORY_MAX} at most; fewer queue pairs, or a smaller size"
        );
        let remote = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC;
        let memory = domain.allocate(bytes, Access::LOCAL_WRITE | remote)?;
        let depth = usize::try_from(shape.depth())?;
        // Of each request and each receive on its way one completion, and no queue overflows.
        let completions = device.completion_queue(4 * depth * shape.queue_pairs)?;
        let queue_pairs = (0..shape.queue_pairs).map(|_| {
            let builder = domain.queue_pair(&completions).kind(QueuePairKind::Reliable);
            // One more for what tells when the first begins.
            builder.send_units(depth + 1).receive_entries(depth).build()
        });
        let queue_pairs: Vec<QueuePair> = queue_pairs.collect::<Result<_, _>>()?;
        let places = queue_pairs.iter().map(QueuePair::number).zip(0..).collect();
        let (name, stride) = (name.to_string(), shape.stride);
        Ok(Self { name, device, memory, completions, queue_pairs, places, stride, ip, mac })
    }

    /// Waits until the card has all that was written to it: a load follows the stores before it. The other card has its own
    /// way there, and a message that comes before its receive is sent again after 640 us.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        self.device.port().is_up()?;
        Ok(())
    }

    /// Where a message of a queue pair is, the number of which is given.
    pub(crate) fn offset(&self, queue_pair: usize, message: u64) -> usize {
        let slot = usize::try_from(message % SLOTS as u64).expect("few slots");
        (queue_pair * SLOTS + slot) * self.stride
    }

    /// Takes completions, all of them successes, each with the place of its queue pair; whether there were any.
    pub(crate) fn poll(&self, mut each: impl FnMut(usize, &WorkCompletion)) -> anyhow::Result<bool> {
        let mut found = [WorkCompletion::default(); 64];
        let count = self.completions.poll(&mut found)?;
        for completion in &found[..count] {
            if completion.status != Status::Success {
                let (number, status, vendor) = (completion.queue_pair, completion.status, completion.vendor);
                bail!(
                    "{}: a request on queue pair {number} ends with {status:?}, detail {vendor:#x}",
                    self.name
                );
            }
            let Some(place) = self.places.get(&completion.queue_pair) else {
                bail!(
                    "{}: a completion of queue pair {}, which is none of ours",
                    self.name,
                    completion.queue_pair
                );
            };
            each(*place, completion);
        }
        Ok(count > 0)
    }
}

/// Waits well: looks for a while, then sleeps between looks, and gives up when nothing happens for too long.
pub(crate) struct Patience {
    looks: u32,
    since: Instant,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { looks: 0, since: Instant::now() }
    }

    /// After a look: did something happen?
    pub(crate) fn wait(&mut self, happened: bool) -> anyhow::Result<()> {
        if happened {
            *self = Self::new();
            return Ok(());
        }
        self.looks += 1;
        if self.looks > LOOKS {
            std::thread::sleep(NAP);
            ensure!(self.since.elapsed() < PATIENCE, "no completion in {PATIENCE:?}");
        }
        Ok(())
    }
}
