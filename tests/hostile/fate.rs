//! What should become of a frame. Written from the rules of the transport, not from the card: the card's counters and memory
//! have to agree.

use stroma_abi::desc::region::rights;
use stroma_abi::wire::{
    Class, Frame, Header, Ip, Opcode, Position, Reject, Role, Syndrome, Transport, opcode,
};
use stroma_sim::model::Addresses;
use stroma_tests::pair::address;
use stroma_verbs::QueuePairState;

use super::arena::{Arena, INBOX};
use super::victim::{Asked, Message, Victim};

/// The longest message there is.
const MESSAGE_MAX: u32 = 1 << 31;
/// The top bit of a `P_Key`: a full member.
const FULL_MEMBER: u16 = 1 << 15;

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not RoCE, or not whole.
    Rejected(Class),
    /// It is for nobody.
    Unwanted,
    /// It is a congestion notification.
    Notice,
    /// It is an answer that is waited for.
    Answer,
    /// It is an answer to what was not asked, or not yet, or it says nothing.
    Stale,
    /// It is a request that came before. A READ is carried out again, and may be refused then.
    Repeated { refused: bool },
    /// It is a request after a gap, and the peer is told, unless it was before and has not sent again since.
    Gap { told: bool },
    /// It is refused, and its queue pair fails.
    Refused,
    /// There is no receive for it.
    NotReady,
    /// It is carried out.
    Done,
}

/// The fate of a frame, with all its consequences for the queue pairs and their memory.
pub(crate) fn fate(bytes: &[u8], victims: &mut [Victim], arena: &mut Arena) -> Fate {
    let frame = match Frame::parse(bytes) {
        Ok(frame) => frame,
        Err(Reject { class, .. }) => return Fate::Rejected(class),
    };
    let number = frame.bth.destination_qp.value();
    let victim = victims.iter_mut().find(|victim| victim.number == number);
    victim.map_or(Fate::Unwanted, |victim| victim.take(&frame, arena))
}

/// Is it for the card, or for a group of stations?
fn is_here(frame: &Frame) -> bool {
    let station = frame.ethernet.destination;
    station.is_group() || station.0 == address(0).mac
}

fn begins(op: &Opcode) -> bool {
    matches!(op.position, Position::First | Position::Only)
}

fn ends(op: &Opcode) -> bool {
    matches!(op.position, Position::Last | Position::Only)
}

fn is_send(op: &Opcode) -> bool {
    op.name.starts_with("RC_SEND")
}

fn is_atomic(op: &Opcode) -> bool {
    op.headers.contains(&Header::AtomicEth)
}

impl Victim {
    fn take(&mut self, frame: &Frame, arena: &mut Arena) -> Fate {
        let op = frame.opcode().expect("a frame that parses has an op-code");
        if !self.has_peer() || !is_here(frame) || !self.comes_from_peer(frame) {
            return Fate::Unwanted;
        }
        if op.transport == Transport::Cnp {
            return Fate::Notice;
        }
        let (theirs, ours) = (frame.bth.partition, self.partition);
        // Two limited members may not talk to each other.
        let is_partition = theirs | FULL_MEMBER == ours | FULL_MEMBER && (theirs | ours) & FULL_MEMBER != 0;
        // RPCs come on the same queue pairs, none of which may be asked for one.
        if !matches!(op.transport, Transport::Rc | Transport::Rpc) || !is_partition {
            return Fate::Unwanted;
        }
        match op.role {
            Role::Request if self.takes_requests() => self.request(frame, op, arena),
            Role::Response if self.takes_answers() => self.answer(frame, op),
            _ => Fate::Unwanted,
        }
    }

    fn comes_from_peer(&self, frame: &Frame) -> bool {
        match (self.addresses(), frame.ip) {
            (Addresses::V4 { local, remote }, Ip::V4(ip)) => (ip.source, ip.destination) == (local, remote),
            (Addresses::V6 { local, remote }, Ip::V6(ip)) => (ip.source, ip.destination) == (local, remote),
            _ => false,
        }
    }

    /// The first answer that says something about a request: what it leads to is not told here.
    fn answer(&mut self, frame: &Frame, op: &Opcode) -> Fate {
        let syndrome = frame.extended.aeth.map(|aeth| Syndrome::decode(aeth.syndrome));
        let speaks = match *op {
            opcode::RC_ACKNOWLEDGE => !matches!(syndrome, Some(Syndrome::Reserved(_))),
            opcode::RC_ATOMIC_ACKNOWLEDGE => matches!(syndrome, Some(Syndrome::Ack { .. })),
            // Data begin and end with a syndrome.
            _ => matches!(syndrome, None | Some(Syndrome::Ack { .. })),
        };
        let is_of = |asked: Asked| frame.bth.psn.distance(asked.psn) < self.packets(asked.length);
        if !speaks || !self.asked.is_some_and(is_of) {
            return Fate::Stale;
        }
        self.spent = true;
        Fate::Answer
    }

    fn request(&mut self, frame: &Frame, op: &Opcode, arena: &mut Arena) -> Fate {
        let psn = frame.bth.psn;
        if psn.is_before(self.expected) {
            let refused = self.reads_in_vain(frame, op, arena);
            if refused {
                self.state = QueuePairState::Error;
            }
            return Fate::Repeated { refused };
        }
        if psn != self.expected {
            // Told again when the peer has gone back, and what was missing is missing still.
            let has_gone_back = !self.last_early.is_before(psn);
            self.last_early = psn;
            return Fate::Gap { told: !std::mem::replace(&mut self.told, true) || has_gone_back };
        }
        self.told = false;
        if !self.keeps_rules(frame, op) {
            return self.fail();
        }
        let is_immediate = op.headers.contains(&Header::ImmDt);
        let needs_receive = if is_send(op) { begins(op) } else { is_immediate };
        if needs_receive && self.receives == 0 {
            (self.told, self.last_early) = (true, psn);
            return Fate::NotReady;
        }
        self.receives -= usize::from(needs_receive);
        let is_done = match op {
            _ if is_send(op) => self.send(frame, op, arena),
            _ if is_atomic(op) => self.operate(frame, op, arena),
            _ if *op == opcode::RC_READ_REQUEST => self.read(frame, arena),
            _ => self.write(frame, op, arena),
        };
        // No window is bound here, so a SEND that ends a key is placed, and refused then.
        let ends_key = op.headers.contains(&Header::Ieth);
        if is_done && !ends_key {
            return Fate::Done;
        }
        self.fail()
    }

    fn fail(&mut self) -> Fate {
        self.state = QueuePairState::Error;
        Fate::Refused
    }

    fn keeps_rules(&self, frame: &Frame, op: &Opcode) -> bool {
        let payload = u32::try_from(frame.payload.len()).expect("a packet is short");
        match (self.message, is_send(op)) {
            (None | Some(Message::Send { .. }), true) if self.message.is_some() != begins(op) => {
                let least = u32::from(!begins(op));
                if ends(op) { (least..=self.mtu).contains(&payload) } else { payload == self.mtu }
            }
            (None, false) if is_atomic(op) => {
                let target = frame.extended.atomic.expect("its header");
                payload == 0 && self.rights & rights::REMOTE_ATOMIC != 0 && target.address.is_multiple_of(8)
            }
            (None, false) if *op == opcode::RC_READ_REQUEST => self.may_read(frame),
            (message, false) if op.name.starts_with("RC_WRITE") && message.is_some() != begins(op) => {
                let left = match (message, frame.extended.reth) {
                    (Some(Message::Write { left, .. }), _) => left,
                    (None, Some(reth)) if reth.length <= MESSAGE_MAX => reth.length,
                    _ => return false,
                };
                let may = message.is_some() || self.rights & rights::REMOTE_WRITE != 0;
                let fits = if ends(op) {
                    payload == left && payload <= self.mtu
                } else {
                    payload == self.mtu && left > self.mtu
                };
                may && fits
            }
            _ => false,
        }
    }

    fn may_read(&self, frame: &Frame) -> bool {
        let reth = frame.extended.reth.expect("its header");
        let may = self.rights & rights::REMOTE_READ != 0;
        frame.payload.is_empty() && may && reth.length <= MESSAGE_MAX
    }

    /// PSNs that so many bytes take.
    fn packets(&self, length: u32) -> u32 {
        length.div_ceil(self.mtu).max(1)
    }

    /// Is this a READ that came before and may not be carried out again?
    fn reads_in_vain(&self, frame: &Frame, op: &Opcode, arena: &Arena) -> bool {
        if *op != opcode::RC_READ_REQUEST || !self.may_read(frame) {
            return false;
        }
        let reth = frame.extended.reth.expect("its header");
        let is_whole = self.packets(reth.length) <= self.expected.distance(frame.bth.psn);
        let allows = || arena.allows(reth.remote_key, reth.address, reth.length, rights::REMOTE_READ);
        is_whole && reth.length > 0 && allows().is_none()
    }

    fn send(&mut self, frame: &Frame, op: &Opcode, arena: &mut Arena) -> bool {
        let before = if let Some(Message::Send { received }) = self.message { received } else { 0 };
        let total = before + frame.payload.len();
        // What fits is placed, whatever becomes of the rest.
        let (start, fits) = (self.slot + INBOX.start, total.min(INBOX.len()));
        arena.expected[start + before..start + fits].copy_from_slice(&frame.payload[..fits - before]);
        self.message = (!ends(op)).then_some(Message::Send { received: total });
        self.expected = self.expected.next();
        total <= INBOX.len()
    }

    fn write(&mut self, frame: &Frame, op: &Opcode, arena: &mut Arena) -> bool {
        let (address, key, left) = match (self.message, frame.extended.reth) {
            (Some(Message::Write { address, key, left }), _) => (address, key, left),
            (_, Some(reth)) => (reth.address, reth.remote_key, reth.length),
            _ => unreachable!("it keeps the rules"),
        };
        let payload = u32::try_from(frame.payload.len()).expect("a packet is short");
        // With the first packet the whole message has to be allowed.
        let range = arena.allows(key, address, left, rights::REMOTE_WRITE);
        if left > 0 {
            let Some(range) = range else { return false };
            arena.expected[range.start..range.start + frame.payload.len()].copy_from_slice(frame.payload);
        }
        let rest =
            Message::Write { address: address.wrapping_add(payload.into()), key, left: left - payload };
        self.message = (!ends(op)).then_some(rest);
        self.expected = self.expected.next();
        true
    }

    fn read(&mut self, frame: &Frame, arena: &Arena) -> bool {
        let reth = frame.extended.reth.expect("its header");
        self.expected = self.expected.add(self.packets(reth.length));
        let allows = || arena.allows(reth.remote_key, reth.address, reth.length, rights::REMOTE_READ);
        reth.length == 0 || allows().is_some()
    }

    fn operate(&mut self, frame: &Frame, op: &Opcode, arena: &mut Arena) -> bool {
        let target = frame.extended.atomic.expect("its header");
        self.expected = self.expected.next();
        let place = arena.allows(target.remote_key, target.address, 8, rights::REMOTE_ATOMIC);
        let Some(place) = place else { return false };
        let is_addition = *op == opcode::RC_FETCH_ADD;
        arena.apply(place, |word| match word {
            _ if is_addition => word.wrapping_add(target.swap_add),
            _ if word == target.compare => target.swap_add,
            _ => word,
        });
        true
    }
}
