//! What the steps share: memory, queue pairs that talk to each other, and waits.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stroma_verbs::{
    Access, CompletionChannel, CompletionQueue, Device, MemoryRegion, QueuePair, QueuePairKind, Status,
    WorkCompletion,
};

/// Bytes of the memory: the first half is what is sent, the second where it goes.
pub(crate) const MEMORY: usize = 1 << 18;
/// Longest answer of a kernel.
const ANSWER: usize = 4096;
/// Who the card is while it tests itself: an address of documentation (RFC 5737), and a local MAC address.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const MAC: [u8; 6] = [2, 0, 0x53, 0x54, 0, 1];

/// A card under test.
pub(crate) struct Bench {
    /// How long anything may take.
    pub(crate) patience: Duration,
    pub(crate) device: Arc<Device>,
    pub(crate) memory: MemoryRegion,
    pub(crate) channel: Arc<CompletionChannel>,
    pub(crate) completions: Arc<CompletionQueue>,
    /// Copies within the host's memory.
    pub(crate) local: QueuePair,
    /// Connected to each other.
    pub(crate) pair: [QueuePair; 2],
}

impl Bench {
    pub(crate) fn new(device: &Arc<Device>, patience: Duration) -> Result<Self, Box<dyn Error>> {
        device.port().set_mac(MAC)?;
        device.port().set_address(0, ADDRESS.into())?;
        let domain = device.protection_domain()?;
        let remote = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memory = domain.allocate(MEMORY, Access::LOCAL_WRITE | remote)?;
        let channel = device.completion_channel();
        let completions = device.build_completion_queue(64).channel(&channel).build()?;
        let local = domain.queue_pair(&completions).build()?;
        local.activate()?;
        let reliable = || {
            let builder = domain.queue_pair(&completions).kind(QueuePairKind::Reliable).send_units(32);
            builder.receive_entries(16).receive_pieces(1).result_bytes(ANSWER).build()
        };
        let pair = [reliable()?, reliable()?];
        pair[0].connect_locally(&pair[1], remote)?;
        Ok(Self { patience, device: Arc::clone(device), memory, channel, completions, local, pair })
    }

    /// The next completion is of this request, and a success.
    pub(crate) fn complete(&self, wr_id: u64) -> Result<WorkCompletion, Box<dyn Error>> {
        let started = Instant::now();
        let mut found = [WorkCompletion::default()];
        while self.completions.poll(&mut found)? == 0 {
            if started.elapsed() > self.patience {
                return Err(format!("request {wr_id}: no completion in {:?}", self.patience).into());
            }
        }
        let [found] = found;
        if (found.wr_id, found.status) != (wr_id, Status::Success) {
            return Err(format!("request {wr_id} completes as {found:?}").into());
        }
        Ok(found)
    }

    /// Compares memory with what it should hold, and clears it.
    pub(crate) fn check(&self, at: usize, expected: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut found = vec![0; expected.len()];
        self.memory.read(at, &mut found)?;
        if let Some(wrong) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
            let (found, expected, len) = (found[wrong], expected[wrong], expected.len());
            return Err(format!("byte {wrong} of {len} is {found:#04x}, not {expected:#04x}").into());
        }
        Ok(self.memory.write(at, &vec![0; expected.len()])?)
    }
}
