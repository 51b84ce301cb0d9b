//! The thread that has the cards: carries out orders, lets time pass, and brings what the cards have for their hosts.
//!
//! While a client is attached, or somebody outside is at an end of the wire, simulated time keeps behind the wall clock. When nothing
//! will happen by itself, or not for a while, the thread sleeps until an order comes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::Duration;

use stroma_sim::World;
use stroma_sim::host::bars::Access;
use stroma_sim::host::iommu::{self, MapError, PAGE_BYTES};
use stroma_vfio_user::Errno;
use stroma_vfio_user::server::Range;

use crate::Report;
use crate::host::Host;
use crate::memory::ClientMemory;
use crate::order::{Answer, Order, Request};

/// Cycles between two looks for orders. An access takes longer than that on its way.
const TURN: u64 = 16;
/// Orders between two turns, at most: whoever gives many must not keep the cards from working.
const ORDERS: usize = 256;
/// A quiet time shorter than this is not worth falling asleep for.
const NAP: Duration = Duration::from_micros(50);
/// Stores on their way to a card; the next one waits.
const STORES: usize = 32;
/// Cycles after which a load without an answer is a fault of the card.
const LOAD_LIMIT: u64 = 100_000;

/// The cards, and what their hosts wait for.
pub(crate) struct Simulation {
    world: World,
    hosts: Vec<Host>,
    requests: Receiver<Request>,
    report: Report,
    has_ended: bool,
}

impl Simulation {
    /// Of the first `cards` stations of a world.
    pub(crate) fn new(world: World, cards: usize, requests: Receiver<Request>, report: &Report) -> Self {
        let hosts = (0..cards).map(|_| Host::default()).collect();
        Self { world, hosts, requests, report: Arc::clone(report), has_ended: false }
    }

    /// Runs until it is told to end, or nobody is left who could give an order.
    pub(crate) fn run(mut self) {
        while self.listen() && !self.has_ended {
            if self.world.quiet_time() != Some(Duration::MAX) {
                self.world.run(TURN);
            }
            for card in 0..self.hosts.len() {
                self.deliver(card);
            }
        }
    }

    /// Carries out orders that have come, and waits for the first while nothing else is to be done; `false` when none will come.
    fn listen(&mut self) -> bool {
        let keeps_pace = self.world.keeps_pace();
        let mut request = match self.world.quiet_time() {
            Some(Duration::MAX) => self.requests.recv().map_err(|_| TryRecvError::Disconnected),
            Some(quiet) if keeps_pace && quiet >= NAP => {
                self.requests.recv_timeout(quiet).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                })
            }
            _ => self.requests.try_recv(),
        };
        // What has passed in sleep has passed for the cards as well.
        self.world.catch_up();
        for _ in 0..ORDERS {
            match request {
                Ok(request) => self.obey(request),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
            request = self.requests.try_recv();
        }
        if let Ok(last) = request {
            self.obey(last);
        }
        true
    }

    fn obey(&mut self, Request { card, order, answer }: Request) {
        let outcome = match order {
            Order::Attach(faults) => {
                self.hosts[card].client = Some(faults);
                self.master(card, false);
                self.world.keep_pace(true);
                Ok(0)
            }
            Order::Detach => self.detach(card),
            Order::Access(access) => return self.access(card, access, answer),
            Order::Peek(address) => {
                let last = self.hosts[card].loads.len();
                return self.queue_load(card, last, address, answer);
            }
            Order::Map(range) => self.map(card, range),
            Order::Unmap { first, last } => self
                .world
                .card_at_rest(card)
                .iommu()
                .unmap_between(first, last)
                .map(|()| 0)
                .map_err(|error| errno(&error)),
            Order::Connect { start, bells } => self.hosts[card].bells.connect(start, bells).map(|()| 0),
            Order::Master(may) => {
                self.master(card, may);
                Ok(0)
            }
            Order::Reset => {
                self.master(card, false);
                self.world.reset(card);
                self.hosts[card].bells.forget();
                self.load(card);
                Ok(0)
            }
            Order::Look => {
                self.world.look_outside();
                Ok(0)
            }
            Order::Listen(listener) => {
                self.world.add_listener(card, listener);
                Ok(0)
            }
            Order::WaveTime => Ok(self.world.card_at_rest(card).wave_time()),
            Order::Now => Ok(u64::try_from(self.world.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            Order::End => {
                self.has_ended = true;
                Ok(0)
            }
        };
        // Who asked may have gone.
        let _ = answer.send(outcome);
    }

    /// Lets a card do DMA, or stops it.
    fn master(&mut self, card: usize, may: bool) {
        self.world.card_at_rest(card).iommu().stop(!may);
    }

    /// Its memory goes first: from here on no card reaches it. Then the card forgets everything.
    fn detach(&mut self, card: usize) -> Answer {
        self.world.card_at_rest(card).iommu().unmap_between(0, u64::MAX).map_err(|error| errno(&error))?;
        let mut host = std::mem::take(&mut self.hosts[card]);
        // Those of others than the client, who waits for none when it has gone.
        self.hosts[card].loads = std::mem::take(&mut host.loads);
        if host.faults > 0 {
            (self.report)(&format!("card{card}: {} DMA accesses were stopped in all", host.faults));
        }
        self.world.reset(card);
        self.load(card);
        self.world.keep_pace(self.hosts.iter().any(|host| host.client.is_some()));
        Ok(0)
    }

    /// Makes an access, which is answered when its value is there, or when there is room for another store.
    fn access(&mut self, index: usize, access: Access, answer: SyncSender<Answer>) {
        let host = &mut self.hosts[index];
        match access {
            Access::Load { address } => {
                // Behind the one that is under way, before those of others.
                let place = host.loads.len().min(1);
                self.queue_load(index, place, address, answer);
            }
            Access::Store { .. } => {
                host.store = Some(answer);
                self.world.card(index).access(access);
                self.deliver(index);
            }
        }
    }

    /// One more load, at this place among those that wait.
    fn queue_load(&mut self, index: usize, place: usize, address: u64, answer: SyncSender<Answer>) {
        self.hosts[index].loads.insert(place, (address, answer));
        if self.hosts[index].loads.len() == 1 {
            self.load(index);
        }
        self.deliver(index);
    }

    /// Begins the first of the loads that wait; once more, if a reset has swallowed it.
    fn load(&mut self, index: usize) {
        let limit = self.world.now() + LOAD_LIMIT;
        let host = &mut self.hosts[index];
        let Some((address, _)) = host.loads.front() else { return };
        host.limit = limit;
        let card = self.world.card(index);
        // The late value of a load that was given up is not the value of this one.
        card.loaded();
        card.access(Access::Load { address: *address });
    }

    /// The value of the load under way, if it has come or nobody waits for it any longer.
    fn loaded(&mut self, index: usize) {
        let now = self.world.now();
        let host = &mut self.hosts[index];
        if host.loads.is_empty() {
            return;
        }
        let value = self.world.card_at_rest(index).loaded().map(Ok);
        if let Some(value) = value.or_else(|| (now >= host.limit).then_some(Err(Errno::TIMEDOUT)))
            && let Some((_, answer)) = host.loads.pop_front()
        {
            // Who asked may have gone.
            let _ = answer.send(value);
            self.load(index);
        }
    }

    fn map(&mut self, card: usize, range: Range) -> Answer {
        let (address, size) = (range.address, range.size);
        let iommu = self.world.card_at_rest(card).iommu();
        if !size.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::INVAL);
        }
        // What leads nowhere need not be mapped to fault.
        let Some(memory) = ClientMemory::of(range) else { return Ok(0) };
        iommu.map(address, &Arc::new(memory)).map(|()| 0).map_err(|error| errno(&error))
    }

    /// Brings what a card has for its host: values, interrupts, news of what went wrong.
    fn deliver(&mut self, index: usize) {
        self.loaded(index);
        let (card, host) = (self.world.card_at_rest(index), &mut self.hosts[index]);
        if let Some(answer) = host.store.take_if(|_| card.accesses_under_way() < STORES) {
            let _ = answer.send(Ok(0));
        }
        while let Some(vector) = card.interrupt() {
            host.bells.ring(vector.into());
        }
        for fault in card.iommu().take_faults() {
            if host.faults == 0 {
                let kind = match fault.access {
                    iommu::Access::Read => "read",
                    iommu::Access::Write => "write",
                };
                (self.report)(&format!("card{index}: a DMA {kind} at {:#x} leads to no memory", fault.iova));
            }
            host.faults += 1;
            if let Some(client) = &host.client {
                // When it has not answered yet to what it was told before, the count is enough.
                let _ = client.tell(fault.iova);
            }
        }
    }
}

fn errno(error: &MapError) -> Errno {
    match error {
        MapError::Taken { .. } => Errno::EXIST,
        _ => Errno::INVAL,
    }
}

#[cfg(test)]
mod tests;
