//! Many queue pairs behind one port, with their memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use stroma_abi::Qpn;
use stroma_abi::wire::deth::GROUP_QP;
use stroma_abi::wire::{Frame, Transport};

use super::{
    Completion, Datagram, DatagramSettings, Datagrams, Dropped, Kernels, Memory, QueuePair, Receive,
    ReceiveQueue, Received, Settings, Work,
};

/// An endpoint. Time is in ticks of the caller's choice; it never reads a clock.
#[derive(Default)]
pub struct Endpoint {
    /// Registered regions.
    pub memory: Memory,
    /// What peers may call; of queue pairs connected from now on.
    pub kernels: Kernels,
    pairs: BTreeMap<Qpn, QueuePair>,
    datagrams: BTreeMap<Qpn, Datagrams>,
    served: Qpn,
}

impl Endpoint {
    /// Adds a queue pair, in place of the one that had its number.
    pub fn connect(&mut self, settings: Settings) {
        let number = settings.local;
        self.add(number, QueuePair::new(settings));
    }

    /// The same, for a queue pair that takes its receives from a queue of several.
    pub fn connect_sharing(&mut self, settings: Settings, receives: &ReceiveQueue) {
        let number = settings.local;
        self.add(number, QueuePair::sharing(settings, receives));
    }

    fn add(&mut self, number: Qpn, mut pair: QueuePair) {
        pair.responder.offer(&self.kernels);
        self.pairs.insert(number, pair);
    }

    /// Adds a queue pair for datagrams, in place of the one that had its number.
    pub fn open(&mut self, settings: DatagramSettings) {
        self.datagrams.insert(settings.local, Datagrams::new(settings));
    }

    /// The same, for one that takes its receives from a queue of several.
    pub fn open_sharing(&mut self, settings: DatagramSettings, receives: &ReceiveQueue) {
        self.datagrams.insert(settings.local, Datagrams::sharing(settings, receives));
    }

    /// Posts a datagram.
    ///
    /// # Panics
    /// When there is no such queue pair for datagrams.
    pub fn post_datagram(&mut self, number: Qpn, datagram: Datagram) {
        let pair = self.datagrams.get_mut(&number);
        pair.unwrap_or_else(|| panic!("no queue pair for datagrams has number {number}")).post(datagram);
    }

    /// Takes a queue pair away; frames to it are dropped from now on.
    pub fn disconnect(&mut self, number: Qpn) -> Option<QueuePair> {
        self.pairs.remove(&number)
    }

    /// A queue pair, to look at.
    #[must_use]
    pub fn queue_pair(&self, number: Qpn) -> Option<&QueuePair> {
        self.pairs.get(&number)
    }

    /// Posts an operation.
    ///
    /// # Panics
    /// When there is no such queue pair, or as [`Requester::post`](super::Requester::post).
    pub fn post(&mut self, number: Qpn, work: Work) {
        self.pair(number).requester.post(work);
    }

    /// Posts a receive to the queue of a queue pair.
    ///
    /// # Panics
    /// When there is no such queue pair.
    pub fn post_receive(&mut self, number: Qpn, receive: Receive) {
        match self.datagrams.get_mut(&number) {
            Some(pair) => pair.post_receive(receive),
            None => self.pair(number).responder.post_receive(receive),
        }
    }

    fn pair(&mut self, number: Qpn) -> &mut QueuePair {
        self.pairs.get_mut(&number).unwrap_or_else(|| panic!("no queue pair has number {number}"))
    }

    /// The oldest completion of a queue pair not yet taken.
    pub fn poll(&mut self, number: Qpn) -> Option<Completion> {
        match self.datagrams.get_mut(&number) {
            Some(pair) => pair.poll(),
            None => self.pairs.get_mut(&number)?.requester.poll(),
        }
    }

    /// The oldest completion of a receive of a queue pair not yet taken, also of one from a shared queue.
    pub fn poll_receive(&mut self, number: Qpn) -> Option<Received> {
        match self.datagrams.get_mut(&number) {
            Some(pair) => pair.poll_receive(),
            None => self.pairs.get_mut(&number)?.responder.poll_receive(),
        }
    }

    /// Takes a frame from the wire (without FCS).
    ///
    /// # Errors
    /// When it has no effect.
    pub fn receive(&mut self, now: u64, bytes: &[u8]) -> Result<(), Dropped> {
        let frame = Frame::parse(bytes).map_err(Dropped::Frame)?;
        let number = frame.bth.destination_qp;
        let is_datagram = frame.opcode().is_some_and(|row| row.transport == Transport::Ud);
        if is_datagram && number == GROUP_QP {
            let member = self.datagrams.values_mut().find(|pair| pair.is_of_group(&frame));
            return member.ok_or(Dropped::Elsewhere)?.receive(&frame, &mut self.memory);
        }
        if let Some(pair) = self.datagrams.get_mut(&number) {
            return pair.receive(&frame, &mut self.memory);
        }
        let pair = self.pairs.get_mut(&number).ok_or(Dropped::QueuePair { number })?;
        pair.receive(now, &frame, &mut self.memory)
    }

    /// The next frame for the wire: one a queue pair, in turn.
    pub fn transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        let Self { memory, pairs, datagrams, served, .. } = self;
        let numbers: BTreeSet<Qpn> = pairs.keys().chain(datagrams.keys()).copied().collect();
        let behind = numbers.range((Bound::Excluded(*served), Bound::Unbounded));
        behind.chain(numbers.range(..=*served)).find_map(|number| {
            let frame = match datagrams.get_mut(number) {
                Some(pair) => pair.transmit(memory)?,
                None => pairs.get_mut(number)?.transmit(now, memory)?,
            };
            *served = *number;
            Some(frame)
        })
    }

    /// Lets time pass: what is overdue is sent again, or given up.
    pub fn tick(&mut self, now: u64) {
        self.pairs.values_mut().for_each(|pair| pair.tick(now));
    }

    /// The first time at which [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.pairs.values().filter_map(|pair| pair.requester.deadline()).min()
    }

    /// Is every operation completed and every answer sent?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pairs.values().all(|pair| pair.requester.is_idle() && pair.responder.is_idle())
            && self.datagrams.values().all(Datagrams::is_idle)
    }
}
