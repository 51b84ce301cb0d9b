//! A packet between the transport and the network: what is said, without the way it takes.

use stroma_abi::Psn;
use stroma_abi::wire::{Aeth, AtomicAckEth, Cnp, Extended, Header, Opcode, RpcEth, Syndrome, opcode};
use stroma_kernel_models::Outcome;

/// A packet from the BTH on, without the fields that the path fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Row of the op-code.
    pub opcode: Opcode,
    /// Does it ask for an ACK?
    pub ack_request: bool,
    /// Does it ask for the receiver to be woken?
    pub solicited: bool,
    /// Does it report congestion back?
    pub becn: bool,
    /// Sequence number.
    pub psn: Psn,
    /// Extended headers.
    pub extended: Extended,
    /// Payload without pad.
    pub payload: Vec<u8>,
}

impl Packet {
    /// A packet with no headers and no payload yet.
    #[must_use]
    pub fn new(opcode: Opcode, psn: Psn) -> Self {
        Self {
            opcode,
            ack_request: false,
            solicited: false,
            becn: false,
            psn,
            extended: Extended::default(),
            payload: Vec::new(),
        }
    }

    /// ACK or NAK.
    #[must_use]
    pub fn acknowledge(psn: Psn, syndrome: Syndrome, msn: Psn) -> Self {
        let aeth = Some(Aeth { syndrome: syndrome.encode(), msn });
        Self { extended: Extended { aeth, ..Extended::default() }, ..Self::new(opcode::RC_ACKNOWLEDGE, psn) }
    }

    /// The answer to an atomic: what the eight bytes were.
    #[must_use]
    pub fn atomic_answer(psn: Psn, original: u64, aeth: Aeth) -> Self {
        let atomic_ack = Some(AtomicAckEth { original });
        let extended = Extended { aeth: Some(aeth), atomic_ack, ..Extended::default() };
        Self { extended, ..Self::new(opcode::RC_ATOMIC_ACKNOWLEDGE, psn) }
    }

    /// The answer to a READ: packets of one MTU, consecutive PSNs from that of the request, an AETH in the first and last.
    #[must_use]
    pub fn read_answer(first: Psn, bytes: &[u8], mtu: u32, aeth: Aeth) -> Vec<Self> {
        let mut packets = Vec::new();
        let (mut psn, mut rest) = (first, bytes);
        loop {
            let (payload, behind) = rest.split_at(rest.len().min(mtu as usize));
            let row = match (psn == first, behind.is_empty()) {
                (true, true) => opcode::RC_READ_RESPONSE_ONLY,
                (true, false) => opcode::RC_READ_RESPONSE_FIRST,
                (false, true) => opcode::RC_READ_RESPONSE_LAST,
                (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
            };
            let aeth = row.header_set().contains(Header::Aeth).then_some(aeth);
            let extended = Extended { aeth, ..Extended::default() };
            packets.push(Self { extended, payload: payload.to_vec(), ..Self::new(row, psn) });
            if behind.is_empty() {
                return packets;
            }
            (psn, rest) = (psn.next(), behind);
        }
    }

    /// The answer to a call: packets of one MTU, the last of which says how it ended.
    #[must_use]
    pub fn call_answer(base: Psn, outcome: &Outcome, mtu: u32, aeth: Aeth) -> Vec<Self> {
        let mut packets = Vec::new();
        let (mut psn, mut rest) = (base, outcome.data.as_slice());
        while rest.len() > mtu as usize {
            let (payload, behind) = rest.split_at(mtu as usize);
            packets.push(Self { payload: payload.to_vec(), ..Self::new(opcode::RPC_RESPONSE, psn) });
            (psn, rest) = (psn.next(), behind);
        }
        let length = u32::try_from(outcome.data.len()).unwrap_or(u32::MAX);
        let rpc = Some(RpcEth { status: outcome.status, length });
        let extended = Extended { aeth: Some(aeth), rpc, ..Extended::default() };
        packets.push(Self { extended, payload: rest.to_vec(), ..Self::new(opcode::RPC_RESPONSE_END, psn) });
        packets
    }

    /// A call that came again while it runs.
    #[must_use]
    pub fn busy(psn: Psn, aeth: Aeth) -> Self {
        let extended = Extended { aeth: Some(aeth), ..Extended::default() };
        Self { extended, ..Self::new(opcode::RPC_BUSY, psn) }
    }

    /// Congestion notification (Annex A17): BECN set, PSN zero, sixteen bytes of zeros.
    #[must_use]
    pub fn notice() -> Self {
        let cnp = Some(Cnp::default());
        Self {
            becn: true,
            extended: Extended { cnp, ..Extended::default() },
            ..Self::new(opcode::CNP, Psn::new(0))
        }
    }

    /// The syndrome, where there is an AETH.
    #[must_use]
    pub fn syndrome(&self) -> Option<Syndrome> {
        self.extended.aeth.map(|aeth| Syndrome::decode(aeth.syndrome))
    }
}
