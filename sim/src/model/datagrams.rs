//! A queue pair for datagrams (IBTA 9.8.4): each is one packet, goes where it says, and is over when it has left.

use std::collections::VecDeque;
use std::net::IpAddr;

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::deth::OWN_KEY_BIT;
use stroma_abi::wire::{Deth, Extended, Frame, ImmDt, Ip, Transport, grh, opcode};

use super::list::List;
use super::{
    Completion, Datagram, DatagramSettings, Dropped, Memory, Packet, Receive, ReceiveQueue, Received,
};

/// Most bytes of a datagram.
const BYTES_MAX: u64 = 4096;
/// The bit of a `P_Key` that a full member has.
const FULL_MEMBER: u16 = 0x8000;

/// A queue pair for datagrams. One that cannot be sent ends sending; receiving goes on. What arrives is judged by station, service,
/// address, partition, key, and room; whatever is wrong is dropped without a word, and without a change but for a receive that is too short:
/// it is completed with an error.
pub struct Datagrams {
    settings: DatagramSettings,
    next: Psn,
    posted: VecDeque<Datagram>,
    completions: VecDeque<Completion>,
    receives: ReceiveQueue,
    received: VecDeque<Received>,
    failed: bool,
}

impl Datagrams {
    /// A queue pair with a receive queue of its own.
    #[must_use]
    pub fn new(settings: DatagramSettings) -> Self {
        let receives = ReceiveQueue::new(settings.domain);
        Self::sharing(settings, &receives)
    }

    /// The same, with a receive queue that others use too.
    #[must_use]
    pub fn sharing(settings: DatagramSettings, receives: &ReceiveQueue) -> Self {
        Self {
            next: settings.send_psn,
            settings,
            posted: VecDeque::new(),
            completions: VecDeque::new(),
            receives: receives.clone(),
            received: VecDeque::new(),
            failed: false,
        }
    }

    /// Posts a datagram. Behind one that could not be sent it is flushed.
    pub fn post(&mut self, datagram: Datagram) {
        if self.failed {
            return self.complete(&datagram, Status::Flushed);
        }
        self.posted.push_back(datagram);
    }

    /// Posts a receive.
    pub fn post_receive(&self, receive: Receive) {
        self.receives.post(receive);
    }

    /// The oldest completion not yet taken.
    pub fn poll(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The oldest completion of a receive not yet taken.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Has everything posted left?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.posted.is_empty()
    }

    /// The next frame to send; its datagram is over.
    pub(super) fn transmit(&mut self, memory: &Memory) -> Option<Vec<u8>> {
        let datagram = self.posted.pop_front()?;
        match self.packet(&datagram, memory) {
            Ok(packet) => {
                self.next = self.next.next();
                self.complete(&datagram, Status::Success);
                Some(datagram.path.frame(&packet, datagram.remote, self.settings.partition))
            }
            Err(status) => {
                self.failed = true;
                self.complete(&datagram, status);
                while let Some(behind) = self.posted.pop_front() {
                    self.complete(&behind, Status::Flushed);
                }
                None
            }
        }
    }

    fn packet(&self, datagram: &Datagram, memory: &Memory) -> Result<Packet, Status> {
        let length = datagram.pieces.total();
        if length > BYTES_MAX {
            return Err(Status::LocalLength);
        }
        let list = List { pieces: datagram.pieces, domain: self.settings.domain, rights: 0 };
        let payload = list.read(memory, &(0..length)).map_err(|_| Status::LocalProtection)?;
        let is_own = datagram.key & OWN_KEY_BIT != 0;
        let queue_key = if is_own { self.settings.key } else { datagram.key };
        let deth = Some(Deth { queue_key, source_qp: self.settings.local, ..Deth::default() });
        let imm = datagram.immediate.map(|data| ImmDt { data });
        let row = if imm.is_some() { opcode::UD_SEND_ONLY_IMM } else { opcode::UD_SEND_ONLY };
        let extended = Extended { deth, imm, ..Extended::default() };
        Ok(Packet { solicited: datagram.solicited, extended, payload, ..Packet::new(row, self.next) })
    }

    fn complete(&mut self, datagram: &Datagram, status: Status) {
        let bytes = if status == Status::Success { datagram.pieces.total() } else { 0 };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.completions.push_back(Completion { id: datagram.id, status, bytes, rpc: None });
    }

    /// Is the frame for a group that this queue pair belongs to?
    pub(super) fn is_of_group(&self, frame: &Frame) -> bool {
        self.settings.groups.contains(&destination(frame))
    }

    /// Takes a frame that carries this queue pair's number, or is for one of its groups.
    pub(super) fn receive(&mut self, frame: &Frame, memory: &mut Memory) -> Result<(), Dropped> {
        let station = frame.ethernet.destination;
        let is_here = station == self.settings.mac || station.is_group();
        let row = frame.opcode().ok_or(Dropped::Unasked)?;
        let deth = frame.extended.deth.filter(|_| row.transport == Transport::Ud);
        let deth = deth.ok_or(Dropped::Service { opcode: row.name })?;
        if !is_here || !(self.settings.addresses.contains(&destination(frame)) || self.is_of_group(frame)) {
            return Err(Dropped::Elsewhere);
        }
        let (found, wanted) = (frame.bth.partition, self.settings.partition);
        // The same partition, and not two limited members, who may not talk to each other.
        if (found ^ wanted) & !FULL_MEMBER != 0 || (found | wanted) & FULL_MEMBER == 0 {
            return Err(Dropped::Partition { found, wanted });
        }
        let (found, wanted) = (deth.queue_key, self.settings.key);
        if found != wanted {
            return Err(Dropped::Key { found, wanted });
        }
        self.place(frame, &deth, memory)
    }

    /// The IP header and the payload fill the next receive; if they do not fit it, it is completed without them.
    fn place(&mut self, frame: &Frame, deth: &Deth, memory: &mut Memory) -> Result<(), Dropped> {
        let bytes = [&grh::emit(&frame.ip)[..], frame.payload].concat();
        let length = bytes.len() as u64;
        let receive = self.receives.take().ok_or(Dropped::NoReceive { bytes: length })?;
        if receive.pieces.total() < length {
            self.received.push_back(Received::failed(receive.id, Status::LocalLength));
            return Err(Dropped::NoReceive { bytes: length });
        }
        let list = List { pieces: receive.pieces, domain: self.receives.domain, rights: rights::LOCAL_WRITE };
        if list.write(memory, 0, &bytes).is_err() {
            self.received.push_back(Received::failed(receive.id, Status::LocalProtection));
            return Err(Dropped::Failed);
        }
        let imm = frame.extended.imm;
        self.received.push_back(Received {
            id: receive.id,
            status: Status::Success,
            operation: if imm.is_some() { WorkOp::SendImm } else { WorkOp::Send },
            bytes: u32::try_from(length).unwrap_or(u32::MAX),
            immediate: imm.map(|imm| imm.data),
            invalidated: None,
            solicited: frame.bth.solicited,
            source: Some(deth.source_qp),
        });
        Ok(())
    }
}

fn destination(frame: &Frame) -> IpAddr {
    match frame.ip {
        Ip::V4(ip) => ip.destination.into(),
        Ip::V6(ip) => ip.destination.into(),
    }
}
