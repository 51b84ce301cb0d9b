//! Good packets of every RC op-code, as the peer of a queue pair would send them.

use stroma_abi::wire::{
    Aeth, AtomicAckEth, AtomicEth, Extended, Header, Ieth, ImmDt, Opcode, Position, Reth, Role, Syndrome,
    Transport, opcode,
};
use stroma_abi::{Psn, Qpn};
use stroma_sim::model::Packet;
use stroma_verilate::SplitMix64;

use super::victim::{Asked, Message, Victim};

/// Every op-code of a reliable connection, and the congestion notification.
pub(crate) fn opcodes() -> Vec<Opcode> {
    let is_ours = |row: &&Opcode| matches!(row.transport, Transport::Rc | Transport::Cnp);
    opcode::TABLE.iter().filter(is_ours).copied().collect()
}

/// A number below `bound`.
pub(crate) fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("less than a usize")
}

/// One of these.
pub(crate) fn one_of<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[below(random, from.len())]
}

fn short(length: usize) -> u32 {
    u32::try_from(length).expect("a message is short")
}

/// A frame for a queue pair, good unless its op-code has no place now.
pub(crate) fn frame(victim: &Victim, random: &mut SplitMix64) -> Vec<u8> {
    let op = choose(victim, random);
    let packet = match op.role {
        Role::Request => request(victim, op, random),
        Role::Response => answer(victim, op, random),
        Role::Notice => Packet::notice(),
    };
    victim.path.frame(&packet, Qpn::new(victim.number), victim.partition | 1 << 15)
}

/// A message goes on more often than not, and what was asked is answered.
fn choose(victim: &Victim, random: &mut SplitMix64) -> Opcode {
    let all = opcodes();
    let goes_on = |row: &&Opcode| matches!(row.position, Position::Middle | Position::Last);
    let follows = |prefix: &str| -> Vec<Opcode> {
        all.iter().filter(goes_on).filter(|row| row.name.starts_with(prefix)).copied().collect()
    };
    let likely = match (victim.message, victim.asked) {
        (Some(Message::Send { .. }), _) => follows("RC_SEND"),
        (Some(Message::Write { .. }), _) => follows("RC_WRITE"),
        (None, Some(_)) => all.iter().filter(|row| row.role == Role::Response).copied().collect(),
        (None, None) => {
            all.iter().filter(|row| row.role == Role::Request && !goes_on(row)).copied().collect()
        }
    };
    if random.below(4) > 0 { one_of(random, &likely) } else { one_of(random, &all) }
}

fn request(victim: &Victim, op: Opcode, random: &mut SplitMix64) -> Packet {
    let mtu = victim.mtu as usize;
    let open = usize::try_from(victim.open.length).expect("small");
    let left = match victim.message {
        Some(Message::Write { left, .. }) => left as usize,
        _ => 1 + below(random, mtu),
    };
    let length = match op.position {
        Position::First | Position::Middle => mtu,
        Position::Last => left.min(mtu),
        Position::Only if op.payload => below(random, mtu.min(open) + 1),
        Position::Only => 0,
    };
    // A WRITE that begins and does not end has room for more packets.
    let total = match op.position {
        Position::First => mtu + 1 + below(random, 2 * mtu),
        _ if op == opcode::RC_READ_REQUEST => below(random, open + 1),
        _ => length,
    };
    let place = below(random, open.saturating_sub(total).max(8)) as u64;
    let (address, key) = (victim.open.base + place, victim.open.key);
    let has = |header| op.headers.contains(&header);
    let atomic = AtomicEth {
        address: victim.open.base + place.min(victim.open.length - 8) / 8 * 8,
        remote_key: key,
        swap_add: random.next_u64(),
        compare: random.next_u64(),
    };
    let extended = Extended {
        reth: has(Header::Reth).then_some(Reth { address, remote_key: key, length: short(total) }),
        atomic: has(Header::AtomicEth).then_some(atomic),
        imm: has(Header::ImmDt).then_some(ImmDt { data: random.next_u32() }),
        ieth: has(Header::Ieth).then_some(Ieth { remote_key: key }),
        ..Extended::default()
    };
    Packet {
        ack_request: random.below(2) == 0,
        extended,
        payload: noise(random, length),
        ..Packet::new(op, victim.expected)
    }
}

/// An answer to what was asked; without a question to one that was not.
fn answer(victim: &Victim, op: Opcode, random: &mut SplitMix64) -> Packet {
    let unasked = Asked { psn: Psn::new(random.next_u32() & 0xff_ffff), length: 16 };
    let asked = victim.asked.unwrap_or(unasked);
    let packets = asked.length.div_ceil(victim.mtu).max(1);
    let last = packets - 1;
    let (progress, length) = match op {
        opcode::RC_READ_RESPONSE_FIRST => (0, victim.mtu),
        opcode::RC_READ_RESPONSE_MIDDLE => (last.min(1), victim.mtu),
        opcode::RC_READ_RESPONSE_LAST => (last, asked.length - last * victim.mtu),
        opcode::RC_READ_RESPONSE_ONLY => (0, asked.length.min(victim.mtu)),
        _ => (last, 0),
    };
    let syndrome = Syndrome::Ack { credits: 31 };
    let has = |header| op.headers.contains(&header);
    let extended = Extended {
        aeth: has(Header::Aeth).then_some(Aeth { syndrome: syndrome.encode(), msn: Psn::new(1) }),
        atomic_ack: has(Header::AtomicAckEth).then_some(AtomicAckEth { original: random.next_u64() }),
        ..Extended::default()
    };
    let payload = noise(random, length as usize);
    Packet { extended, payload, ..Packet::new(op, asked.psn.add(progress)) }
}

/// Random bytes.
pub(crate) fn noise(random: &mut SplitMix64, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.next_u64().to_le_bytes()[0]).collect()
}
