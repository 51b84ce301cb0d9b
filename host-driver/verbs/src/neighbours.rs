//! Neighbours: which MAC address an IPv4 address has, asked for and answered over the raw queue.

mod arp;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use stroma_abi::regs::map::PORT_ADDRESSES;

use crate::{
    Access, CompletionQueue, Device, Error, MemoryRegion, RawQueue, Result, Status, WorkCompletion, lock,
};
use arp::Station;

/// Receives that wait for frames, and the bytes of each: the longest frame that comes.
const RECEIVES: usize = 32;
const FRAME: usize = 4096;
/// Frames that may be on their way out: those of ARP are inline, and all alike.
const SENDS: usize = 32;
/// A question without an answer is asked again.
const PATIENCE: Duration = Duration::from_millis(200);

/// Answers ARP for the addresses of a card's port, and asks it for those of others. It has the card's raw queue; frames
/// other than ARP are taken and thrown away.
///
/// It works when it is called: [`serve`](Self::serve) from time to time, or from a thread of its own, keeps peers content.
#[derive(Debug)]
pub struct Neighbours {
    device: Arc<Device>,
    queue: RawQueue,
    completions: Arc<CompletionQueue>,
    memory: MemoryRegion,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<Ipv4Addr, [u8; 6]>,
    /// Frames on their way out.
    leaving: usize,
}

/// The receive that a completion is of.
fn slot_of(completion: &WorkCompletion) -> usize {
    usize::try_from(completion.wr_id).expect("receives are numbered by their slots")
}

impl Neighbours {
    /// Takes the card's raw queue, and posts receives to it.
    ///
    /// # Errors
    /// As [`RawQueue::open`]; when there is no memory.
    pub fn open(device: &Arc<Device>) -> Result<Self> {
        let domain = device.protection_domain()?;
        let completions = device.completion_queue(RECEIVES + SENDS)?;
        let memory = domain.allocate(RECEIVES * FRAME, Access::LOCAL_WRITE)?;
        let builder = domain.queue_pair(&completions).send_units(2 * SENDS).receive_entries(RECEIVES);
        let queue = RawQueue::open(builder)?;
        let device = Arc::clone(device);
        let neighbours = Self { device, queue, completions, memory, state: Mutex::default() };
        (0..RECEIVES).try_for_each(|slot| neighbours.receive(slot))?;
        Ok(neighbours)
    }

    /// The MAC address of a neighbour that has been heard of.
    #[must_use]
    pub fn known(&self, address: Ipv4Addr) -> Option<[u8; 6]> {
        lock(&self.state).known.get(&address).copied()
    }

    /// Takes the frames that have come: answers who asks, and remembers who speaks. Says how many they were.
    ///
    /// # Errors
    /// [`Error::RawQueue`] when the queue has failed; when the card cannot be reached, or its completions make no sense.
    pub fn serve(&self) -> Result<usize> {
        let mut found = [WorkCompletion::default(); RECEIVES];
        let mut state = lock(&self.state);
        let count = self.completions.poll(&mut found)?;
        let found = &found[..count];
        if let Some(failed) = found.iter().find(|found| found.status != Status::Success) {
            return Err(Error::RawQueue { number: failed.queue_pair, status: failed.status });
        }
        let (come, gone): (Vec<&WorkCompletion>, Vec<&WorkCompletion>) =
            found.iter().partition(|found| found.is_receive);
        state.leaving -= gone.len();
        if come.is_empty() {
            return Ok(0);
        }
        let station = self.station()?;
        for completion in &come {
            let slot = slot_of(completion);
            let mut frame = vec![0; completion.length as usize];
            self.memory.read(slot * FRAME, &mut frame)?;
            self.receive(slot)?;
            if let Some(heard) = station.hear(&frame) {
                state.known.insert(heard.neighbour.0, heard.neighbour.1);
                heard.answer.map_or(Ok(()), |answer| self.send(&mut state, &answer))?;
            }
        }
        Ok(come.len())
    }

    /// Asks who has `address`. The answer, if one comes, is heard by [`serve`](Self::serve).
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn ask(&self, address: Ipv4Addr) -> Result<()> {
        let question = self.station()?.question(address);
        self.send(&mut lock(&self.state), &question)
    }

    /// The MAC address of `address`: known, or asked for until an answer comes.
    ///
    /// # Errors
    /// [`Error::NoNeighbour`] after `timeout`; when the card cannot be reached.
    pub fn resolve(&self, address: Ipv4Addr, timeout: Duration) -> Result<[u8; 6]> {
        let begin = Instant::now();
        let mut asked = None;
        loop {
            if let Some(mac) = self.known(address) {
                return Ok(mac);
            }
            if begin.elapsed() > timeout {
                return Err(Error::NoNeighbour { address, timeout });
            }
            if asked.is_none_or(|asked: Instant| asked.elapsed() > PATIENCE) {
                self.ask(address)?;
                asked = Some(Instant::now());
            }
            self.serve()?;
        }
    }

    /// Who this card is.
    fn station(&self) -> Result<Station> {
        let port = self.device.port();
        let addresses = (0..PORT_ADDRESSES).map(|place| port.address(place)).collect::<Result<Vec<_>>>()?;
        // A place that was not set holds the unspecified address, which is IPv6.
        let ipv4 = |address: &IpAddr| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        };
        Ok(Station { mac: port.mac()?, addresses: addresses.iter().filter_map(ipv4).collect() })
    }

    fn receive(&self, slot: usize) -> Result<()> {
        let piece = self.memory.piece(slot * FRAME, FRAME)?;
        self.queue.queue_pair().receives()?.receive(slot as u64, &[piece]).post()
    }

    /// Sends a frame, or drops it when too many are on their way: whoever misses it asks again.
    fn send(&self, state: &mut State, frame: &[u8]) -> Result<()> {
        if state.leaving == SENDS {
            return Ok(());
        }
        state.leaving += 1;
        self.queue.queue_pair().start().signaled().inline_send(frame).post()
    }
}
