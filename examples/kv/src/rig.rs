//! Two simulated cards on a cable: clients on one, the store on the other.

mod paced;
mod play;

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use stroma_abi::{Psn, Qpn};
use stroma_device::Backend;
use stroma_sim::link::{Counters, Faults, LinkConfig};
use stroma_sim::{Shared, World};
use stroma_top::Profile;
use stroma_verbs::{Access, Address, Connection, Device, ProtectionDomain, QueuePair, QueuePairKind};
use stroma_verilate::Options;

use crate::{Client, Clock, DESK, Error, Inbox, Layout, Line, ROOM, Result, Server, Store, Task, Way};
use paced::{Paced, SimTime};
pub use play::Played;

/// Entries of completion queues.
const COMPLETIONS: usize = 256;
/// Units of send queues, and entries of receive queues.
const UNITS: usize = 64;
const RECEIVES: usize = 16;
/// Bytes of the longest answer of a kernel: an object of the largest buffers.
const ANSWER: usize = 8192;
/// Cycles after which a run counts as stuck.
const LIMIT: u64 = 200_000_000;
/// The clients' card, and the server's.
const CLIENTS: usize = 0;
const SERVER: usize = 1;

/// A card and its host.
struct Host {
    domain: Arc<ProtectionDomain>,
    inbox: Rc<Inbox>,
    pace: Arc<Paced>,
}

/// How the rig is built.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The cards.
    pub profile: Profile,
    /// The store.
    pub layout: Layout,
    /// Nanoseconds of the server's processor for a message.
    pub cpu_ns: u64,
    /// Path MTU, by its code, and how long to wait for an answer, as [`Connection`] has them.
    pub path_mtu: u8,
    /// See there.
    pub timeout: u8,
}

impl Plan {
    /// A store on a cable: packets of 4096 bytes, 67 ms, 1 us for a message.
    #[must_use]
    pub const fn new(profile: Profile, layout: Layout) -> Self {
        Self { profile, layout, cpu_ns: 1000, path_mtu: 5, timeout: 14 }
    }
}

/// The cards, and the store.
pub struct Rig {
    // Fields are dropped in this order: what is connected before what it is connected to.
    hosts: [Host; 2],
    /// The store, between two runs the owner's.
    pub store: RefCell<Store>,
    clock: Rc<Clock>,
    shared: Arc<Shared>,
    plan: Plan,
}

impl Rig {
    /// Opens the cards, and lays the store out.
    ///
    /// # Errors
    /// [`Error::Layout`]; what drivers tell.
    ///
    /// # Panics
    /// When the cards of the profile cannot be built.
    pub fn new(plan: Plan) -> Result<Self> {
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(plan.profile, 2, &options).unwrap_or_else(|error| panic!("{error}"));
        world.cable(CLIENTS, SERVER, LinkConfig::cable(plan.profile));
        let shared = Shared::new(world);
        let clock = Clock::new(Box::new(SimTime::new(&shared)));
        let hosts = [Host::open(&shared, CLIENTS)?, Host::open(&shared, SERVER)?];
        let store = RefCell::new(Store::new(&hosts[SERVER].domain, plan.layout)?);
        Ok(Self { hosts, store, clock, shared, plan })
    }

    /// Spoils the wire: what the clients' card sends, and what the server's does.
    pub fn spoil(&self, faults: [Faults; 2]) {
        let mut world = self.shared.world();
        for (station, faults) in faults.into_iter().enumerate() {
            world.line(station).set_faults(faults);
        }
    }

    /// What became of the frames of either card.
    #[must_use]
    pub fn lines(&self) -> [Counters; 2] {
        let mut world = self.shared.world();
        [CLIENTS, SERVER].map(|station| world.line(station).counters())
    }

    /// The clock of both hosts.
    #[must_use]
    pub const fn clock(&self) -> &Rc<Clock> {
        &self.clock
    }

    /// Clients that work in one way, and what they need at the server's side. Their connections last as long as the latter.
    ///
    /// # Errors
    /// What drivers tell.
    pub fn clients(&self, way: Way, count: usize) -> Result<(Vec<Client>, Server)> {
        let directory = self.store.borrow().directory();
        let mut clients = Vec::new();
        let mut servers = Vec::new();
        for _ in 0..count {
            let [near, far] = self.connection()?;
            let room = self.hosts[CLIENTS].domain.allocate(ROOM, Access::LOCAL_WRITE)?;
            let (inbox, clock) = (Rc::clone(&self.hosts[CLIENTS].inbox), Rc::clone(&self.clock));
            clients.push(Client::new(Line::new(near, room, inbox, clock, directory.key), directory, way));
            servers.push(far);
        }
        let desks = self.hosts[SERVER].domain.allocate(count.max(1) * DESK, Access::LOCAL_WRITE)?;
        let cost = self.plan.cpu_ns * u64::from(self.plan.profile.clock_khz()) / 1_000_000;
        let inbox = Rc::clone(&self.hosts[SERVER].inbox);
        Ok((clients, Server::new(inbox, Rc::clone(&self.clock), servers, desks, cost)?))
    }

    /// A queue pair at either end, connected.
    fn connection(&self) -> Result<[QueuePair; 2]> {
        let make = |host: &Host| {
            let builder = host.domain.queue_pair(host.inbox.queue()).kind(QueuePairKind::Reliable);
            builder.result_bytes(ANSWER).send_units(UNITS).receive_entries(RECEIVES).build()
        };
        let ends = [make(&self.hosts[0])?, make(&self.hosts[1])?];
        for (end, peer) in [(0, 1), (1, 0)] {
            let psn = |of: usize| Psn::new(if of == 0 { 0x10_0000 } else { 0x20_0000 });
            let number = Qpn::new(ends[peer].number());
            let mut connection = Connection::new(address(peer), number, psn(end), psn(peer));
            connection.rights = connection.rights | Access::RPC;
            (connection.path_mtu, connection.timeout) = (self.plan.path_mtu, self.plan.timeout);
            ends[end].connect(&connection)?;
        }
        Ok(ends)
    }

    /// Carries tasks out, and the server beside them; how many cycles that took.
    ///
    /// # Errors
    /// The first that a task ends with; [`Error::Stuck`].
    pub fn run<'a>(&'a self, server: &'a Server, tasks: Vec<Task<'a>>) -> Result<u64> {
        let start = self.clock.now();
        let inboxes = self.hosts.each_ref().map(|host| Rc::clone(&host.inbox));
        let serve: Task<'a> = Box::pin(server.serve(&self.store));
        self.hosts.iter().for_each(|host| host.pace.hold(true));
        let ended = crate::run(&self.clock, &inboxes, tasks, vec![serve], LIMIT);
        self.hosts.iter().for_each(|host| host.pace.hold(false));
        ended.map(|()| self.clock.now() - start)
    }

    /// Does one thing that can be waited for; what came of it.
    ///
    /// # Errors
    /// What it ends with; [`Error::Stuck`].
    pub fn wait<T>(&self, server: &Server, work: impl Future<Output = Result<T>>) -> Result<T> {
        let result = RefCell::new(None);
        let task: Task<'_> = Box::pin(async {
            *result.borrow_mut() = Some(work.await?);
            Ok(())
        });
        self.run(server, vec![task])?;
        result.into_inner().ok_or(Error::Stuck { left: 1, cycles: 0 })
    }
}

impl Host {
    fn open(shared: &Arc<Shared>, index: usize) -> Result<Self> {
        let pace = Arc::new(Paced::new(shared, index));
        let backend: Arc<dyn Backend> = pace.clone();
        let device = Device::builder().timeout(Duration::from_mins(1)).open(backend)?;
        device.port().set_mac(address(index).mac)?;
        device.port().set_address(0, address(index).ip)?;
        let domain = device.protection_domain()?;
        let inbox = Inbox::new(&device.completion_queue(COMPLETIONS)?);
        Ok(Self { domain, inbox, pace })
    }
}

/// Where a card is found.
fn address(index: usize) -> Address {
    let number = if index == CLIENTS { 1 } else { 2 };
    Address {
        mac: [2, 0, 0, 0, 0, number],
        ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)),
        source_port: 0xc000 + u16::from(number),
        hop_limit: 64,
        traffic_class: 2,
        vlan: None,
        flow_label: 0,
        source_address: 0,
    }
}
