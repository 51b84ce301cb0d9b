//! A card behind its driver as a side.

mod build;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_abi::desc::Sge;
use stroma_abi::wire::Mac;
use stroma_sim::model::{Completion, Received};
use stroma_verbs::{
    Address, AddressHandle, CompletionQueue, Connection, Datagrams, Device, Error, MemoryRegion,
    MemoryWindow, ProtectionDomain, QueuePair, QueuePairKind, SharedReceiveQueue, WorkCompletion,
};

use super::side::{HOP_LIMIT, TRAFFIC_CLASS, queue_key};
use super::terms::READS;
use super::{Area, Grant, Kind, Offer, Operation, PairTerms, Piece, Queue, Receive, Side, first_psn};
use build::{addresses, open_to_peers};

/// One queue pair, and what of it has completed.
struct Link {
    queue_pair: QueuePair,
    /// Over its target, if it is reached through one. It goes before the region it is bound to.
    window: Option<MemoryWindow>,
    far: Option<Offer>,
    /// To there, for datagrams.
    way: Option<AddressHandle>,
    found: VecDeque<Completion>,
    received: VecDeque<Received>,
}

/// A card of a shared world.
pub struct CardSide {
    device: Arc<Device>,
    domain: Arc<ProtectionDomain>,
    end: usize,
    completions: Arc<CompletionQueue>,
    /// Of receives.
    arrivals: Arc<CompletionQueue>,
    receives: Arc<SharedReceiveQueue>,
    pairs: Vec<Link>,
    regions: Vec<(Area, MemoryRegion)>,
}

impl CardSide {
    /// Its card, opened.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    fn region(&self, wanted: Area) -> &MemoryRegion {
        let found = self.regions.iter().find(|(area, _)| *area == wanted);
        found.map(|(_, region)| region).expect("all are registered")
    }

    fn list(&self, area: Area, pieces: &[Piece]) -> Vec<Sge> {
        let region = self.region(area);
        pieces.iter().map(|piece| region.piece(piece.place, piece.length).expect("inside")).collect()
    }

    /// Takes all completions of a queue there are.
    fn take(&mut self, queue: &CompletionQueue) {
        let mut room = [WorkCompletion::default(); 32];
        loop {
            let count = queue.poll(&mut room).expect("entries with a sense");
            for found in &room[..count] {
                let of = |pair: &&mut Link| pair.queue_pair.number() == found.queue_pair;
                let pair = self.pairs.iter_mut().find(of).expect("a queue pair of this side");
                let &WorkCompletion { wr_id: id, status, length: bytes, .. } = found;
                if found.is_receive {
                    let &WorkCompletion {
                        op: operation,
                        immediate,
                        invalidated,
                        is_solicited: solicited,
                        source_qp: source,
                        ..
                    } = found;
                    pair.received.push_back(Received {
                        id,
                        status,
                        operation,
                        bytes,
                        immediate,
                        invalidated,
                        solicited,
                        source,
                    });
                } else {
                    pair.found.push_back(Completion { id, status, bytes, rpc: None });
                }
            }
            if count < room.len() {
                return;
            }
        }
    }
}

impl Side for CardSide {
    fn offer(&self, pair: usize) -> Offer {
        let place = |area| {
            let region = self.region(area);
            (region.rkey(), region.address(0).expect("its first byte"))
        };
        Offer {
            number: Qpn::new(self.pairs[pair].queue_pair.number()),
            psn: first_psn(self.end, pair),
            mac: Mac([2, 0, 0, 0, 0, u8::try_from(self.end + 1).expect("one of two")]),
            address: addresses(self.end)[pair % 2],
            target: place(Area::Target(pair)),
            words: place(Area::Words),
            queue_key: queue_key(self.end, pair),
        }
    }

    fn connect(&mut self, pair: usize, terms: &PairTerms, far: &Offer) {
        let address = Address {
            mac: far.mac.0,
            ip: far.address,
            source_port: 0xc001,
            hop_limit: HOP_LIMIT,
            traffic_class: TRAFFIC_CLASS,
            vlan: None,
            flow_label: 0,
            source_address: u8::try_from(pair % 2).expect("small"),
        };
        let (first, link) = (first_psn(self.end, pair), &mut self.pairs[pair]);
        link.far = Some(*far);
        if link.queue_pair.kind() == QueuePairKind::Datagram {
            let how = Datagrams { send_psn: first, ..Datagrams::new(queue_key(self.end, pair)) };
            link.queue_pair.activate_datagrams(&how).expect("a queue pair that is ready");
            link.way = Some(self.domain.address_handle(&address).expect("an address handle"));
            return;
        }
        let mut connection = Connection::new(address, far.number, first, far.psn);
        connection.path_mtu = u8::try_from(terms.mtu.ilog2() - 7).expect("small");
        (connection.timeout, connection.retry) = (terms.timeout, terms.retry);
        (connection.reads_out, connection.reads_in) = (terms.reads, READS);
        connection.min_rnr = terms.min_rnr;
        link.queue_pair.connect(&connection).expect("a connection");
    }

    fn next_key(&mut self, pair: usize) -> u32 {
        self.pairs[pair].window.as_ref().expect("it has a window").next_key()
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let Link { queue_pair, far, way, .. } = &self.pairs[pair];
        let far = far.expect("it is connected");
        let (key, remote) = far.remote(operation);
        let batch = queue_pair.start().wr_id(operation.id).signaled();
        let batch = if let Some(way) = way { batch.to(way, far.number, far.queue_key) } else { batch };
        let batch = if operation.fence { batch.fence() } else { batch };
        let batch = if operation.solicited { batch.solicited() } else { batch };
        let area = operation.local(pair);
        let pieces = self.list(area, &operation.pieces);
        let bytes = || -> Vec<u8> {
            operation.pieces.iter().flat_map(|piece| self.read(area, piece.range())).collect()
        };
        let batch = match operation.kind {
            Kind::Send if operation.inline => batch.inline_send(&bytes()),
            Kind::Send => batch.send(&pieces),
            Kind::SendImm(data) => batch.send_imm(&pieces, data),
            Kind::SendInv(key) => batch.send_invalidate(&pieces, key),
            Kind::Write if operation.inline => batch.inline_write(&bytes(), remote, key),
            Kind::Write => batch.write(&pieces, remote, key),
            Kind::WriteImm(data) => batch.write_imm(&pieces, remote, key, data),
            Kind::Read => batch.read(&pieces, remote, key),
            Kind::CompareSwap { compare, swap } => batch.compare_swap(pieces[0], remote, key, compare, swap),
            Kind::FetchAdd(add) => batch.fetch_add(pieces[0], remote, key, add),
            Kind::Bind(Grant { key, part: Piece { place, length } }) => {
                batch.bind(key, self.region(Area::Target(pair)), place, length, open_to_peers())
            }
            Kind::Invalidate(key) => batch.invalidate(key),
        };
        batch.post().expect("room in the queue");
    }

    fn post_receive(&mut self, queue: Queue, receive: &Receive) -> bool {
        let pieces = self.list(Area::Room(queue), &receive.pieces);
        let batch = match queue {
            Queue::Own(pair) => self.pairs[pair].queue_pair.receives().expect("a queue of its own"),
            Queue::Shared => self.receives.receives(),
        };
        match batch.receive(receive.id, &pieces).post() {
            Ok(()) => true,
            Err(Error::ReceiveQueueFull { .. }) => false,
            Err(error) => panic!("receive {}: {error}", receive.id),
        }
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        // A look that finds nothing costs time, so one does for all queue pairs.
        if pair == 0 && self.pairs[pair].found.is_empty() {
            self.take(&Arc::clone(&self.completions));
        }
        self.pairs[pair].found.pop_front()
    }

    fn poll_receive(&mut self, pair: usize) -> Option<Received> {
        if pair == 0 && self.pairs[pair].received.is_empty() {
            self.take(&Arc::clone(&self.arrivals));
        }
        self.pairs[pair].received.pop_front()
    }

    fn write(&mut self, area: Area, place: usize, bytes: &[u8]) {
        self.region(area).write(place, bytes).expect("an area");
    }

    fn read(&self, area: Area, range: Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; range.len()];
        self.region(area).read(range.start, &mut bytes).expect("an area");
        bytes
    }
}
