//! A card under attack: its queue pairs in all states, the memory they share, and the wire to the attacker.

mod checks;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};
use stroma_sim::link::LinkConfig;
use stroma_sim::model::{Addresses, Path};
use stroma_sim::peer::Peer;
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, RECEIVES};
use stroma_top::Profile;
use stroma_verbs::{Access, Address, Attributes, Connection, QueuePair, QueuePairState, WorkOp};
use stroma_verilate::{Options, SplitMix64};

use super::arena::{Arena, INBOX, LANDING, SLOT};
use super::attacker::Attacker;
use super::forge::noise;
use super::victim::{Asked, Victim};

/// Where the attacker stands.
pub(crate) const STATION: usize = 1;
/// Queue pairs that are ready to send.
const LIVING: usize = 40;
/// Codes of their path MTUs, in turn.
const MTU_CODES: [u8; 8] = [1, 2, 1, 3, 1, 4, 2, 5];
/// Receives of those that have any.
const POSTED: usize = 4;
/// Both ends, as the last byte of their addresses.
pub(crate) const CARD: u8 = 1;
const ATTACKER: u8 = 2;

/// What a victim's queue pair is told.
struct Plan {
    connection: Connection,
    state: QueuePairState,
    posts: usize,
    asks: Option<WorkOp>,
}

/// A card, its queue pairs, and their attacker.
pub(crate) struct Stage {
    /// The world.
    pub shared: Arc<Shared>,
    /// The card.
    pub end: End,
    /// The memory.
    pub arena: Arena,
    /// The queue pairs, as they should be.
    pub victims: Vec<Victim>,
    queue_pairs: Vec<QueuePair>,
    plans: Vec<Plan>,
    /// What is posted and has not completed: the queue pair's place by request.
    open: BTreeMap<u64, usize>,
    next_request: u64,
    /// What the memory held at first.
    contents: Vec<u8>,
}

/// The address of an end.
pub(crate) fn ip(last: u8, is_ipv6: bool) -> IpAddr {
    if is_ipv6 {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last.into()).into()
    } else {
        Ipv4Addr::new(10, 0, 0, last).into()
    }
}

/// From the attacker to the card.
pub(crate) fn path(is_ipv6: bool, tag: Option<(u8, u16)>) -> Path {
    let addresses = match (ip(ATTACKER, is_ipv6), ip(CARD, is_ipv6)) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => Addresses::V4 { local, remote },
        (IpAddr::V6(local), IpAddr::V6(remote)) => Addresses::V6 { local, remote },
        _ => unreachable!("both are of one kind"),
    };
    Path {
        local: Mac([2, 0, 0, 0, 0, ATTACKER]),
        remote: Mac([2, 0, 0, 0, 0, CARD]),
        tag,
        addresses,
        source_port: 0xc002,
        traffic_class: 0b10,
        hop_limit: 64,
    }
}

/// Where the card finds the attacker.
pub(crate) fn attacker(is_ipv6: bool) -> Address {
    Address {
        mac: [2, 0, 0, 0, 0, ATTACKER],
        ip: ip(ATTACKER, is_ipv6),
        source_port: 0xc001,
        hop_limit: 64,
        traffic_class: 2,
        vlan: None,
        flow_label: 0,
        source_address: u8::from(is_ipv6),
    }
}

fn plan(index: usize, state: QueuePairState) -> Plan {
    let number = u32::try_from(index).expect("few");
    // PSNs all around the circle, some of them about to wrap.
    let psn = |salt: u32| Psn::new((number * 0x06_6666 + salt).wrapping_sub(3) & 0xff_ffff);
    let mut connection =
        Connection::new(attacker(index % 4 == 3), Qpn::new(0x900 + number), psn(0x33), psn(0));
    connection.path_mtu = MTU_CODES[index % 8];
    connection.timeout = 0;
    if index % 8 == 6 {
        connection.rights = Access::LOCAL_READ;
    }
    if index % 8 == 4 {
        connection.p_key = 0x7fff;
    }
    let asks = match index % 6 {
        1 => Some(WorkOp::Write),
        3 => Some(WorkOp::Read),
        5 => Some(WorkOp::FetchAdd),
        _ => None,
    };
    let asks = asks.filter(|_| state == QueuePairState::ReadyToSend);
    Plan { connection, state, posts: if index.is_multiple_of(5) { 0 } else { POSTED }, asks }
}

impl Stage {
    /// A card of this profile, with memory and queue pairs; the seed fills the memory.
    pub(crate) fn new(profile: Profile, seed: u64) -> Self {
        use QueuePairState::{Drained, Error, Init, ReadyToReceive, ReadyToSend, Reset};
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
        world.card(0).set_timing(super::BRISK);
        assert_eq!(world.add_peer(Box::new(Attacker::default())), STATION);
        world.cable(0, STATION, LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let end = End::open(&shared, 0, 2048);
        end.device.port().set_address(1, ip(CARD, true)).expect("a register");
        let states = [ReadyToSend; LIVING].into_iter().chain([Reset, Init, ReadyToReceive, Drained, Error]);
        let plans: Vec<Plan> = states.enumerate().map(|(index, state)| plan(index, state)).collect();
        let contents = noise(&mut SplitMix64::new(seed), plans.len() * SLOT);
        let arena = Arena::new(&end.domain, plans.len(), contents.clone());
        let queue_pairs: Vec<QueuePair> = plans.iter().map(|_| end.queue_pair(16)).collect();
        let victims = plans.iter().zip(&queue_pairs).enumerate();
        let victims = victims.map(|(index, (plan, queue_pair))| Victim {
            number: queue_pair.number(),
            path: path(index % 4 == 3, (index % 4 == 1).then_some((3, 7))),
            mtu: 128 << plan.connection.path_mtu,
            partition: plan.connection.p_key,
            rights: plan.connection.rights.bits(),
            state: QueuePairState::Reset,
            open: arena.windows()[index],
            slot: index * SLOT,
            expected: plan.connection.receive_psn,
            message: None,
            told: false,
            last_early: plan.connection.receive_psn,
            receives: 0,
            asked: None,
            spent: false,
        });
        let victims = victims.collect();
        let open = BTreeMap::new();
        let mut stage =
            Self { shared, end, arena, victims, queue_pairs, plans, open, next_request: 0, contents };
        (0..stage.victims.len()).for_each(|index| stage.connect(index));
        stage.settle();
        stage
    }

    /// From RESET to where it should be, with what it should have.
    fn connect(&mut self, index: usize) {
        let (plan, queue_pair) = (&self.plans[index], &self.queue_pairs[index]);
        let to = &plan.connection;
        let change = |state| queue_pair.modify(&Attributes::default().state(state)).expect("a change");
        match plan.state {
            QueuePairState::Reset => {}
            QueuePairState::Init => {
                queue_pair.to_init(Attributes::default().rights(to.rights).p_key(to.p_key)).expect("INIT");
            }
            QueuePairState::ReadyToReceive => {
                queue_pair.to_init(Attributes::default().rights(to.rights).p_key(to.p_key)).expect("INIT");
                let attributes =
                    Attributes::default().address(&to.address).path_mtu(to.path_mtu).peer(to.peer);
                let attributes = attributes.receive_psn(to.receive_psn).reads_in(to.reads_in);
                queue_pair.to_rtr(attributes.min_rnr(to.min_rnr)).expect("RTR");
            }
            QueuePairState::Drained | QueuePairState::Error => {
                queue_pair.connect(to).expect("a connection");
                change(plan.state);
            }
            _ => queue_pair.connect(to).expect("a connection"),
        }
        let victim = &mut self.victims[index];
        (victim.state, victim.expected, victim.message) = (plan.state, to.receive_psn, None);
        (victim.told, victim.spent, victim.receives, victim.asked) = (false, false, 0, None);
        if victim.takes_requests() {
            self.post(index);
        }
    }

    /// Posts its receives, and its request.
    fn post(&mut self, index: usize) {
        let (plan, queue_pair) = (&self.plans[index], &self.queue_pairs[index]);
        let victim = &mut self.victims[index];
        let piece = |within: std::ops::Range<usize>, length: usize| {
            self.arena.closed().piece(index * SLOT + within.start, length).expect("inside")
        };
        let mut next = || {
            self.next_request += 1;
            self.open.insert(self.next_request, index);
            self.next_request
        };
        assert!(plan.posts <= RECEIVES);
        for _ in 0..plan.posts {
            let batch = queue_pair.receives().expect("a receive queue");
            batch.receive(next(), &[piece(INBOX, INBOX.len())]).post().expect("room");
        }
        victim.receives = plan.posts;
        let Some(op) = plan.asks else { return };
        let batch = queue_pair.start().wr_id(next()).signaled();
        let length = match op {
            WorkOp::Write => 600,
            WorkOp::Read => 1500,
            _ => 8,
        };
        let target = (0x1000, 0x77);
        let batch = match op {
            WorkOp::Write => batch.write(&[piece(LANDING, length)], target.0, target.1),
            WorkOp::Read => batch.read(&[piece(LANDING, length)], target.0, target.1),
            _ => batch.fetch_add(piece(LANDING, length), target.0, target.1, 1),
        };
        batch.post().expect("room");
        let length = u32::try_from(length).expect("small");
        victim.asked = Some(Asked { psn: plan.connection.send_psn, length });
    }

    /// Hands frames to the attacker, who sends them as time passes.
    pub(crate) fn begin(&self, frames: impl IntoIterator<Item = Vec<u8>>) {
        let mut world = self.shared.world();
        let attacker: &mut Attacker = world.peer_mut(STATION);
        frames.into_iter().for_each(|frame| attacker.raw.send(frame));
    }

    /// Sends frames and waits until they have had their effects.
    pub(crate) fn send(&self, frames: impl IntoIterator<Item = Vec<u8>>) {
        self.begin(frames);
        let mut world = self.shared.world();
        let sent = |world: &mut World| world.peer_mut::<Attacker>(STATION).raw.next_due(0).is_none();
        assert!(world.run_until(3_000_000, sent), "the wire takes no more frames");
        drop(world);
        self.settle();
    }

    /// Waits for the longest effect of a packet: a READ of host memory, an answer, a completion.
    fn settle(&self) {
        self.shared.world().run(4000);
    }

    /// Takes all completions: each is of something that was posted, and once. How many receives were successes?
    pub(crate) fn completions(&mut self) -> usize {
        let mut received = 0;
        while let Some(found) = self.end.poll() {
            let index = self.open.remove(&found.wr_id).unwrap_or_else(|| panic!("{found:?} was not posted"));
            assert_eq!(self.queue_pairs[index].number(), found.queue_pair, "{found:?}");
            received += usize::from(found.is_receive && found.status == stroma_verbs::Status::Success);
        }
        while self.end.device.poll_async_event().expect("a card that answers").is_some() {}
        received
    }

    /// Begins anew with every queue pair that is not where it should be.
    pub(crate) fn revive(&mut self) {
        for index in 0..self.victims.len() {
            let (victim, plan) = (&self.victims[index], &self.plans[index]);
            let is_short = victim.takes_requests() && victim.receives < plan.posts;
            if victim.state != plan.state || victim.message.is_some() || victim.spent || is_short {
                self.queue_pairs[index].reset().expect("a reset");
                self.open.retain(|_, of| *of != index);
                self.connect(index);
            }
        }
        self.settle();
        self.shared.world().peer_mut::<Attacker>(STATION).raw.take();
    }

    /// Begins anew with every queue pair.
    pub(crate) fn restart(&mut self) {
        self.victims.iter_mut().for_each(|victim| victim.spent = true);
        self.revive();
    }
}
