//! Neighbours: which MAC address an IP address has, and whether somebody is there; asked for and answered over the raw queue.

mod arp;
mod discovery;
mod echo;
mod frame;
pub(crate) mod station;

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{
    Access, Address, CompletionChannel, CompletionQueue, CompletionQueueBuilder, Device, Error, MemoryRegion,
    RawQueue, Result, Status, WorkCompletion, lock, way::group_mac,
};
use station::{Heard, Station};

/// Receives that wait for frames, and the bytes of each: the longest frame that comes.
const RECEIVES: usize = 32;
const FRAME: usize = 4096;
/// Frames that may be on their way out.
const SENDS: usize = 32;
/// Neighbours that are remembered; one more, and one of the others is forgotten and has to be asked for again.
const KNOWN: usize = 4096;
/// A question without an answer is asked again.
const PATIENCE: Duration = Duration::from_millis(200);

/// Answers ARP (IPv4), neighbour discovery (IPv6) and echoes for the addresses of a card's port, and asks others. It has the card's raw
/// queue; frames of other kinds, pieces of packets and frames with a VLAN tag are taken and thrown away.
///
/// It works when it is called: [`serve`](Self::serve) from time to time, or from a thread of its own, keeps peers content.
#[derive(Debug)]
pub struct Neighbours {
    device: Arc<Device>,
    queue: RawQueue,
    completions: Arc<CompletionQueue>,
    memory: MemoryRegion,
    /// Frames that come are announced on a channel.
    is_announced: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    known: HashMap<IpAddr, [u8; 6]>,
    /// Slots for frames on their way out that are free.
    free: Vec<usize>,
    /// The last echo that was sent.
    number: u16,
    /// The last that was answered: by whom, its number, its bytes.
    echo: Option<(IpAddr, u16, Vec<u8>)>,
}

impl State {
    fn new() -> Self {
        Self { known: HashMap::new(), free: (RECEIVES..RECEIVES + SENDS).collect(), number: 0, echo: None }
    }

    fn remember(&mut self, address: IpAddr, mac: [u8; 6]) {
        if self.known.len() == KNOWN
            && !self.known.contains_key(&address)
            && let Some(other) = self.known.keys().next().copied()
        {
            self.known.remove(&other);
        }
        self.known.insert(address, mac);
    }
}

/// The slot of the frame that a completion is of.
fn slot_of(completion: &WorkCompletion) -> usize {
    usize::try_from(completion.wr_id).expect("frames are numbered by their slots")
}

impl Neighbours {
    /// Takes the card's raw queue, and posts receives to it.
    ///
    /// # Errors
    /// As [`RawQueue::open`]; when there is no memory.
    pub fn open(device: &Arc<Device>) -> Result<Self> {
        Self::with(device, device.build_completion_queue(RECEIVES + SENDS), false)
    }

    /// The same, announced on a channel: when it tells of [`completions`](Self::completions), it is time to [`serve`](Self::serve).
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn announced(device: &Arc<Device>, channel: &Arc<CompletionChannel>) -> Result<Self> {
        Self::with(device, device.build_completion_queue(RECEIVES + SENDS).channel(channel), true)
    }

    fn with(device: &Arc<Device>, completions: CompletionQueueBuilder, is_announced: bool) -> Result<Self> {
        let domain = device.protection_domain()?;
        let completions = completions.build()?;
        let memory = domain.allocate((RECEIVES + SENDS) * FRAME, Access::LOCAL_WRITE)?;
        let builder = domain.queue_pair(&completions).send_units(2 * SENDS).receive_entries(RECEIVES);
        let queue = RawQueue::open(builder)?;
        let device = Arc::clone(device);
        let state = Mutex::new(State::new());
        let neighbours = Self { device, queue, completions, memory, is_announced, state };
        (0..RECEIVES).try_for_each(|slot| neighbours.receive(slot))?;
        if is_announced {
            neighbours.completions.request_notify(false)?;
        }
        Ok(neighbours)
    }

    /// Where frames complete.
    #[must_use]
    pub fn completions(&self) -> &Arc<CompletionQueue> {
        &self.completions
    }

    /// The MAC address of a neighbour that has been heard of.
    #[must_use]
    pub fn known(&self, address: IpAddr) -> Option<[u8; 6]> {
        lock(&self.state).known.get(&address).copied()
    }

    /// Takes the frames that have come: answers who asks, and remembers who says where he is. Says how many they were.
    ///
    /// # Errors
    /// [`Error::RawQueue`] when the queue has failed; when the card cannot be reached, or its completions make no sense.
    pub fn serve(&self) -> Result<usize> {
        let mut found = [WorkCompletion::default(); RECEIVES];
        let mut state = lock(&self.state);
        let count = self.completions.poll(&mut found)?;
        if self.is_announced && count > 0 {
            // What is left, and what has come meanwhile, is announced at once.
            self.completions.request_notify(false)?;
        }
        let found = &found[..count];
        if let Some(failed) = found.iter().find(|found| found.status != Status::Success) {
            return Err(Error::RawQueue { number: failed.queue_pair, status: failed.status });
        }
        let (come, gone): (Vec<&WorkCompletion>, Vec<&WorkCompletion>) =
            found.iter().partition(|found| found.is_receive);
        state.free.extend(gone.into_iter().map(slot_of));
        if come.is_empty() {
            return Ok(0);
        }
        let station = self.station()?;
        for completion in &come {
            let slot = slot_of(completion);
            let mut frame = vec![0; completion.length as usize];
            self.memory.read(slot * FRAME, &mut frame)?;
            self.receive(slot)?;
            let answer = match station.hear(&frame) {
                None => None,
                Some(Heard::Neighbour { address, mac, answer }) => {
                    state.remember(address, mac);
                    answer
                }
                Some(Heard::Question { answer }) => Some(answer),
                Some(Heard::Echo { from, number, bytes }) => {
                    state.echo = Some((from, number, bytes));
                    None
                }
            };
            answer.map_or(Ok(()), |answer| self.send(&mut state, &answer))?;
        }
        Ok(come.len())
    }

    /// Asks who has `address`. The answer, if one comes, is heard by [`serve`](Self::serve).
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn ask(&self, address: IpAddr) -> Result<()> {
        let question = self.station()?.question(address);
        self.send(&mut lock(&self.state), &question)
    }

    /// The way to `address`, of a station on this link or of a group: its MAC address [resolved](Self::resolve), the rest as
    /// [`Port::way`](crate::Port::way) and [`Port::group_way`](crate::Port::group_way) have it.
    ///
    /// # Errors
    /// [`Error::NoSource`]; as [`Self::resolve`].
    pub fn way(&self, address: IpAddr, timeout: Duration) -> Result<Address> {
        if group_mac(address).is_some() {
            return self.device.port().group_way(address);
        }
        self.device.port().way(address, self.resolve(address, timeout)?)
    }

    /// The MAC address of `address`: that of a group, which follows from it; known; or asked for until an answer comes.
    ///
    /// # Errors
    /// [`Error::NoNeighbour`] after `timeout`; when the card cannot be reached.
    pub fn resolve(&self, address: IpAddr, timeout: Duration) -> Result<[u8; 6]> {
        if let Some(mac) = group_mac(address) {
            return Ok(mac);
        }
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

    /// Sends an echo of so many bytes to `address`; how long the answer, which must have the same bytes, took. One echo is under way at a
    /// time: the answer to another that is sent meanwhile is missed.
    ///
    /// # Errors
    /// [`Error::EchoTooLong`] beyond [`ECHO_MAX`](Self::ECHO_MAX); [`Error::NoSource`] when the port has no address of this kind;
    /// [`Error::NoNeighbour`] and [`Error::NoEcho`] after `timeout`; when the card cannot be reached.
    pub fn ping(&self, address: IpAddr, bytes: usize, timeout: Duration) -> Result<Duration> {
        if bytes > Self::ECHO_MAX {
            return Err(Error::EchoTooLong { bytes, limit: Self::ECHO_MAX });
        }
        let mac = self.resolve(address, timeout)?;
        let number = {
            let mut state = lock(&self.state);
            state.number = state.number.wrapping_add(1);
            state.number
        };
        let data: Vec<u8> = (0..=u8::MAX).cycle().skip(number.into()).take(bytes).collect();
        let frame = echo::question(&self.station()?, address, mac, number, &data);
        let frame = frame.ok_or(Error::NoSource { address })?;
        self.send(&mut lock(&self.state), &frame)?;
        let begin = Instant::now();
        let answer = (address, number, data);
        loop {
            self.serve()?;
            if lock(&self.state).echo.take_if(|echo| *echo == answer).is_some() {
                return Ok(begin.elapsed());
            }
            if begin.elapsed() > timeout {
                return Err(Error::NoEcho { address, bytes, timeout });
            }
        }
    }

    /// Bytes of the longest echo: what a frame has room for behind its headers, of which IPv6 has the longer ones.
    pub const ECHO_MAX: usize = FRAME - 14 - 40 - 8;

    /// Who this card is.
    fn station(&self) -> Result<Station> {
        let port = self.device.port();
        Ok(Station { mac: port.mac()?, addresses: port.addresses()? })
    }

    fn receive(&self, slot: usize) -> Result<()> {
        let piece = self.memory.piece(slot * FRAME, FRAME)?;
        self.queue.queue_pair().receives()?.receive(slot as u64, &[piece]).post()
    }

    /// Sends a frame, or drops it when too many are on their way: whoever misses it asks again.
    fn send(&self, state: &mut State, frame: &[u8]) -> Result<()> {
        let Some(slot) = state.free.pop() else { return Ok(()) };
        self.memory.write(slot * FRAME, frame)?;
        let piece = self.memory.piece(slot * FRAME, frame.len())?;
        self.queue.queue_pair().start().wr_id(slot as u64).signaled().send(&[piece]).post()
    }
}
