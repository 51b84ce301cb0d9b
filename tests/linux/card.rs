//! The simulated card behind its driver, as one end.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use stroma_abi::regs::map::counters;
use stroma_abi::{Psn, Qpn};
use stroma_sim::Shared;
use stroma_tests::pair::{End, address, pattern};
use stroma_verbs::{
    Address, AddressHandle, Connection, Datagrams, Grh, Neighbours, QueuePair, QueuePairKind, Sge, Status,
};

use crate::cases::{Family, Link, Operation, Service};
use crate::party::{AREA, Completed, Offer, Party, Request};

/// Where the card and the guest are found: the numbers of `stroma_tests::pair::address`.
pub(crate) const CARD: usize = 0;
pub(crate) const GUEST: usize = 1;

/// PSN of the card's first request: the 24 bits run over within a few packets.
const FIRST_PSN: u32 = 0xff_fffc;
/// What datagrams to the card have to know.
const Q_KEY: u32 = 0x1357_9bdf;
/// Code of the wait for an answer, 2.1 s: the guest's processor is emulated, on a machine that has other things to do.
const TIMEOUT: u8 = 19;
/// How long a completion may take on the wall clock.
const PATIENCE: Duration = Duration::from_mins(1);
/// Cycles between two looks for a completion.
const LOOK_CYCLES: u64 = 1000;
/// Cycles after which writes that the card has handed over are visible to the processor: its host takes 450 ns.
const VISIBLE_CYCLES: u64 = 500;
/// Units of a send queue.
const UNITS: usize = 64;

/// Which of its port's addresses the card sends from.
fn source(family: Family) -> u8 {
    match family {
        Family::V4 => 0,
        Family::V6 => 1,
    }
}

/// The IP address of the card or the guest.
pub(crate) fn ip(index: usize, family: Family) -> IpAddr {
    let number = u16::try_from(index + 1).expect("one of two");
    match family {
        Family::V4 => address(index).ip,
        Family::V6 => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number).into(),
    }
}

/// A queue pair, and who is at its other end.
struct Joined {
    pair: QueuePair,
    far: Option<Offer>,
    /// Where datagrams go.
    way: Option<AddressHandle>,
    /// Who has sent the one that was taken last.
    sender: Option<Qpn>,
}

/// A card, and a connection.
pub(crate) struct CardEnd {
    pub(crate) end: End,
    /// Answers and asks ARP and neighbour discovery.
    pub(crate) neighbours: Arc<Neighbours>,
    shared: Arc<Shared>,
    joined: Option<Joined>,
}

impl CardEnd {
    /// Opens the first card of a world.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Self> {
        let end = End::open(shared, CARD, 4 * UNITS);
        for family in Family::BOTH {
            end.device.port().set_address(usize::from(source(family)), ip(CARD, family))?;
        }
        let neighbours = Arc::new(Neighbours::open(&end.device)?);
        Ok(Self { end, neighbours, shared: Arc::clone(shared), joined: None })
    }

    /// Where the guest is: its IP address is agreed, its MAC address is asked for on the wire.
    fn guest(&self, family: Family) -> Result<Address> {
        let agreed = address(GUEST);
        let ip = ip(GUEST, family);
        let mac = self.neighbours.resolve(ip, PATIENCE)?;
        ensure!(mac == agreed.mac, "{ip} is at {mac:02x?}, and the guest at {:02x?}", agreed.mac);
        Ok(Address { mac, ip, source_address: source(family), ..agreed })
    }

    fn run(&self, cycles: u64) {
        self.shared.world().run(cycles);
    }

    fn joined(&self) -> Result<&Joined> {
        self.joined.as_ref().context("the card has no queue pair")
    }

    fn joined_mut(&mut self) -> Result<&mut Joined> {
        self.joined.as_mut().context("the card has no queue pair")
    }

    /// Part of the memory; a request without bytes has none.
    fn piece(&self, offset: usize, bytes: usize) -> Option<Sge> {
        (bytes > 0).then(|| self.end.piece(offset, bytes))
    }
}

impl Party for CardEnd {
    fn offer(&mut self, service: Service) -> Result<Offer> {
        ensure!(self.end.memory.len() >= AREA, "the card's end has {} bytes", self.end.memory.len());
        self.joined = None;
        let kind = match service {
            Service::Reliable => QueuePairKind::Reliable,
            Service::Unreliable => QueuePairKind::Unreliable,
            Service::Datagram => QueuePairKind::Datagram,
        };
        let pair = self.end.queue_pair_of(kind, UNITS);
        let offer = Offer {
            number: pair.number(),
            psn: FIRST_PSN,
            base: self.end.at(0),
            key: self.end.memory.rkey(),
            q_key: Q_KEY,
        };
        self.joined = Some(Joined { pair, far: None, way: None, sender: None });
        Ok(offer)
    }

    fn connect(&mut self, far: &Offer, link: &Link) -> Result<()> {
        let guest = self.guest(link.family)?;
        let first = Psn::new(FIRST_PSN);
        let way = match link.service {
            Service::Datagram => {
                let how = Datagrams { send_psn: first, ..Datagrams::new(Q_KEY) };
                self.joined()?.pair.activate_datagrams(&how)?;
                Some(self.end.domain.address_handle(&guest)?)
            }
            Service::Reliable | Service::Unreliable => {
                let mut connection = Connection::new(guest, Qpn::new(far.number), first, Psn::new(far.psn));
                connection.path_mtu = u8::try_from(link.mtu.ilog2() - 7).context("a path MTU")?;
                connection.timeout = TIMEOUT;
                self.joined()?.pair.connect(&connection)?;
                None
            }
        };
        let joined = self.joined_mut()?;
        (joined.far, joined.way) = (Some(*far), way);
        Ok(())
    }

    fn number(&self) -> Result<u32> {
        Ok(self.joined()?.pair.number())
    }

    fn address(&self, family: Family) -> IpAddr {
        ip(CARD, family)
    }

    fn fill(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()> {
        self.end.put(offset, &pattern(seed, bytes));
        Ok(())
    }

    fn check(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()> {
        self.run(VISIBLE_CYCLES);
        let (found, expected) = (self.end.bytes(offset, bytes), pattern(seed, bytes));
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        if let Some(at) = differs {
            bail!("byte {at} of {bytes}: {:#04x}, expected {:#04x}", found[at], expected[at]);
        }
        Ok(())
    }

    fn word(&mut self, offset: usize) -> Result<u64> {
        self.run(VISIBLE_CYCLES);
        Ok(u64::from_le_bytes(self.end.bytes(offset, 8).try_into().expect("eight bytes")))
    }

    fn post(&mut self, request: &Request) -> Result<()> {
        let Joined { pair, far, way, .. } = self.joined()?;
        let far = far.as_ref().context("the card's queue pair is not connected")?;
        let piece = self.piece(request.local, request.bytes);
        let (remote, key) = (far.base + request.remote as u64, far.key);
        let [one, other] = request.operands;
        let word = |piece: Option<Sge>| piece.context("an atomic brings eight bytes");
        let immediate = |data: u64| u32::try_from(data).context("immediate data have 32 bits");
        let mut batch = pair.start().signaled();
        if let Some(way) = way {
            batch = batch.to(way, Qpn::new(far.number), far.q_key ^ request.key_error);
        }
        let batch = match request.operation {
            Operation::Write => batch.write(piece.as_slice(), remote, key),
            Operation::WriteImmediate => batch.write_imm(piece.as_slice(), remote, key, immediate(one)?),
            Operation::Read => batch.read(piece.as_slice(), remote, key),
            Operation::Send => batch.send(piece.as_slice()),
            Operation::SendImmediate => batch.send_imm(piece.as_slice(), immediate(one)?),
            Operation::FetchAdd => batch.fetch_add(word(piece)?, remote, key, one),
            Operation::CompareSwap => batch.compare_swap(word(piece)?, remote, key, one, other),
        };
        Ok(batch.post()?)
    }

    fn receive(&mut self, offset: usize, bytes: usize) -> Result<()> {
        Ok(self.joined()?.pair.receives()?.receive(0, self.piece(offset, bytes).as_slice()).post()?)
    }

    fn take(&mut self) -> Result<Completed> {
        let started = Instant::now();
        loop {
            if let Some(found) = self.end.poll() {
                ensure!(
                    found.status == Status::Success,
                    "the card completes {:?} with {:?}, vendor code {}",
                    found.op,
                    found.status,
                    found.vendor
                );
                self.joined_mut()?.sender = found.source_qp;
                return Ok(Completed {
                    bytes: found.length as usize,
                    immediate: found.immediate.unwrap_or(0),
                    sender: found.source_qp.filter(|_| found.has_grh).map(Qpn::value),
                });
            }
            ensure!(started.elapsed() < PATIENCE, "the card has no completion after {PATIENCE:?}");
            self.neighbours.serve()?;
            self.run(LOOK_CYCLES);
        }
    }

    fn reply(&mut self, offset: usize) -> Result<()> {
        self.run(VISIBLE_CYCLES);
        let grh = Grh::read(&self.end.memory, offset)?;
        let way = self.end.domain.answer_handle(&grh, self.neighbours.resolve(grh.source, PATIENCE)?)?;
        let joined = self.joined_mut()?;
        let sender = joined.sender.context("what was taken last is no datagram")?;
        joined.far.as_mut().context("the card's queue pair is not connected")?.number = sender.value();
        joined.way = Some(way);
        Ok(())
    }

    fn refused(&mut self) -> Result<u64> {
        Ok(self.end.count(&counters::RX_UNWANTED))
    }
}
