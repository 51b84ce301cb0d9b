//! What the fake card does with doorbells, requests, completions and events.

use std::collections::{BTreeMap, HashMap};

use stroma_abi::{
    Qpn,
    desc::{
        AddressHandle, Body, CommandStatus, CompletionQueue, Cqe, Eqe, Event, QueuePair, QueuePairKind,
        QueuePairState, Region, Status, Wqe, WqeHead, phase,
        region::{PAGE_LOGS, rights},
        wqe::{UNIT, UNITS_MAX},
    },
    regs::map::events::{self, CONFIG},
};
use stroma_device::{BarId, Iova, mock::Mock, part};

use super::network::Sent;

#[derive(Default)]
pub(crate) struct Engine {
    pub(crate) queue_pairs: BTreeMap<u32, Queues>,
    pub(crate) completion_queues: BTreeMap<u32, CompletionQueue>,
    pub(crate) regions: BTreeMap<u32, Region>,
    pub(crate) address_handles: BTreeMap<u32, AddressHandle>,
    /// Datagrams that have left.
    pub(crate) sent: Vec<Sent>,
    /// Words in push windows, by page and window.
    pub(crate) windows: HashMap<(u16, usize), BTreeMap<usize, u64>>,
    pub(crate) events: EventQueue,
    pub(crate) refusal: Option<(CommandStatus, u16)>,
    /// Takes commands and does not answer.
    pub(crate) is_deaf: bool,
    pub(crate) doorbells: usize,
    pub(crate) pushes: usize,
    pub(crate) time: u64,
}

#[derive(Default)]
pub(crate) struct Queues {
    pub(crate) body: QueuePair,
    pub(crate) next: u16,
    pub(crate) producer: u16,
    pub(crate) receive_next: u16,
    pub(crate) receive_producer: u16,
    /// Pushed requests by index.
    pub(crate) pushed: HashMap<u16, Vec<u8>>,
}

impl Engine {
    pub(crate) fn send_doorbell(&mut self, page: u16, number: u32, producer: u16) {
        let queues = self.queue_pairs.get_mut(&number).expect("the queue pair exists");
        assert_eq!(queues.body.page, page);
        let ahead = producer.wrapping_sub(queues.next);
        assert!(ahead <= 1 << queues.body.send_log, "index {producer} is not in the ring");
        queues.producer = producer;
    }

    pub(crate) fn commit(&mut self, page: u16, number: u32, index: u16, units: usize, window: usize) {
        let words = self.windows.remove(&(page, window)).unwrap_or_default();
        assert!(words.keys().copied().eq(0..units * UNIT / 8), "the window has the words of the request");
        self.send_doorbell(page, number, index.wrapping_add(u16::try_from(units).unwrap()));
        let request = words.values().flat_map(|word| word.to_le_bytes()).collect();
        self.queue_pairs.get_mut(&number).unwrap().pushed.insert(index, request);
        self.pushes += 1;
    }

    pub(crate) fn cq_doorbell(&mut self, mock: &Mock, page: u16, number: u32, consumer: u32, arm: u8) {
        let queue = self.completion_queues.get_mut(&number).expect("the completion queue exists");
        assert_eq!(queue.page, page);
        queue.consumer = consumer;
        // The stronger wish stays.
        queue.armed = if queue.armed == 1 || arm == 0 { queue.armed } else { arm };
        if queue.armed != 0 && is_enough(queue) {
            queue.armed = 0;
            self.events.write(mock, Event::Completion, number, 0);
        }
    }

    /// Carries out all requests there are.
    pub(crate) fn run(&mut self, mock: &Mock) {
        let numbers: Vec<u32> = self.queue_pairs.keys().copied().collect();
        for number in numbers {
            while self.step(mock, number) {}
        }
    }

    fn step(&mut self, mock: &Mock, number: u32) -> bool {
        let queues = &self.queue_pairs[&number];
        let state = QueuePairState::from_code(queues.body.state).unwrap();
        let runs = matches!(state, QueuePairState::ReadyToSend | QueuePairState::Error);
        if queues.next == queues.producer || !runs {
            return false;
        }
        let (index, body) = (queues.next, queues.body);
        let mut bytes = vec![0; UNITS_MAX * UNIT];
        for (unit, place) in bytes.chunks_exact_mut(UNIT).zip(0..) {
            let slot = u64::from(index.wrapping_add(place)) % (1 << body.send_log);
            mock.dma_read(Iova(body.send_base + slot * UNIT as u64), unit).unwrap();
        }
        let pushed = self.queue_pairs.get_mut(&number).unwrap().pushed.remove(&index);
        if let Some(pushed) = pushed {
            assert_eq!(pushed, bytes[..pushed.len()], "a pushed request is in the ring, too");
        }
        let head = WqeHead::parse(&bytes).unwrap();
        let outcome = match Wqe::decode(&bytes) {
            _ if state == QueuePairState::Error => Err(Status::Flushed),
            Ok(request) if head.index == index && body.kind == QueuePairKind::Datagram as u8 => {
                self.send(mock, body.pd, &request)
            }
            Ok(request) if head.index == index => self.execute(mock, body.pd, &request),
            _ => Err(Status::LocalQueuePair),
        };
        let queues = self.queue_pairs.get_mut(&number).unwrap();
        queues.next = index.wrapping_add(head.units.into());
        if outcome.is_err() {
            queues.body.state = QueuePairState::Error as u8;
        }
        if head.signaled || outcome.is_err() {
            let status = outcome.err().unwrap_or(Status::Success) as u8;
            let entry = Cqe { length: head.length, opcode: head.opcode, index, status, ..Cqe::default() };
            self.complete(mock, body.send_cq, Cqe { queue_pair: Qpn::new(number), ..entry });
        }
        true
    }

    pub(super) fn execute(&self, mock: &Mock, pd: u16, request: &Wqe<'_>) -> Result<(), Status> {
        let head = request.head();
        let one = (head.remote, head.key);
        match request.body() {
            Body::Inline(data) => self.write(mock, pd, one, data),
            Body::Gather(list) if head.opcode == stroma_abi::desc::WorkOp::Gather as u8 => {
                let mut data = Vec::new();
                for piece in list.as_slice() {
                    data.extend(self.read(mock, pd, (piece.address, piece.local_key), piece.length)?);
                }
                self.write(mock, pd, one, &data)
            }
            Body::Gather(list) => {
                let data = self.read(mock, pd, one, head.length)?;
                let mut rest = &data[..];
                for piece in list.as_slice() {
                    let (now, later) = rest.split_at(piece.length as usize);
                    self.write(mock, pd, (piece.address, piece.local_key), now)?;
                    rest = later;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn read(
        &self,
        mock: &Mock,
        pd: u16,
        (address, key): (u64, u32),
        len: u32,
    ) -> Result<Vec<u8>, Status> {
        let mut data = vec![0; len as usize];
        for (byte, place) in data.iter_mut().zip(0..) {
            let iova = self.translate(mock, pd, address.wrapping_add(place), key, 0)?;
            mock.dma_read(iova, std::slice::from_mut(byte)).map_err(|_| Status::General)?;
        }
        Ok(data)
    }

    pub(super) fn write(
        &self,
        mock: &Mock,
        pd: u16,
        (address, key): (u64, u32),
        data: &[u8],
    ) -> Result<(), Status> {
        for (byte, place) in data.iter().zip(0..) {
            let iova = self.translate(mock, pd, address.wrapping_add(place), key, rights::LOCAL_WRITE)?;
            mock.dma_write(iova, &[*byte]).map_err(|_| Status::General)?;
        }
        Ok(())
    }

    /// Where a byte is: slowly, and so that one can see that it is right.
    fn translate(&self, mock: &Mock, pd: u16, address: u64, key: u32, right: u8) -> Result<Iova, Status> {
        let region = self.regions.get(&(key >> 8)).ok_or(Status::LocalProtection)?;
        let is_in = address >= region.base && address - region.base < region.length;
        let is_allowed = region.pd == pd && region.rights & right == right;
        if !is_in || !is_allowed || u32::from(region.key) != key & 0xff {
            return Err(Status::LocalProtection);
        }
        let log = PAGE_LOGS[usize::from(region.page)];
        let page = (address >> log) - (region.base >> log);
        let mut entry = (region.list + (page << log)).to_le_bytes();
        if !region.direct {
            mock.dma_read(Iova(region.list + page * 8), &mut entry).map_err(|_| Status::General)?;
        }
        Ok(Iova(u64::from_le_bytes(entry) + (address & ((1 << log) - 1))))
    }

    pub(super) fn complete(&mut self, mock: &Mock, number: u32, entry: Cqe) {
        let queue_pair = entry.queue_pair.value();
        let queue = self.completion_queues.get_mut(&number).expect("queue pairs hold their queues");
        self.time += 1;
        if queue.producer.wrapping_sub(queue.consumer) & 0xff_ffff == 1 << queue.log {
            if !std::mem::replace(&mut queue.overflowed, true) {
                self.events.write(mock, Event::CqOverflow, number, 0);
            }
            self.queue_pairs.get_mut(&queue_pair).unwrap().body.state = QueuePairState::Error as u8;
            self.events.write(mock, Event::QueuePairError, queue_pair, Status::General as u8);
            return;
        }
        let phase = phase(queue.producer, queue.log.into());
        let bytes = Cqe { phase, timestamp: self.time, ..entry }.to_bytes();
        let place = u64::from(queue.producer) % (1 << queue.log) * Cqe::LEN as u64;
        mock.dma_write(Iova(queue.base + place), &bytes).unwrap();
        queue.producer = (queue.producer + 1) & 0xff_ffff;
        let is_awaited = queue.armed == 1 || (queue.armed == 2 && entry.status != Status::Success as u8);
        if is_awaited && is_enough(queue) {
            queue.armed = 0;
            self.events.write(mock, Event::Completion, number, 0);
        }
    }
}

/// Are there entries enough for an event? Whatever was not taken counts, and every period is over at once.
fn is_enough(queue: &CompletionQueue) -> bool {
    let held = queue.producer.wrapping_sub(queue.consumer) & 0xff_ffff;
    held > 0 && (queue.period > 0 || held >= queue.count.into())
}

#[derive(Default)]
pub(crate) struct EventQueue {
    base: u64,
    log: u32,
    vector: usize,
    is_enabled: bool,
    producer: u32,
    consumer: u32,
    is_armed: bool,
}

impl EventQueue {
    pub(crate) fn configure(&mut self, config: u32, base: u64) {
        let config = config.into();
        *self = Self {
            base,
            log: part(&CONFIG, "log", config),
            vector: part::<u32>(&CONFIG, "vector", config) as usize,
            is_enabled: part(&CONFIG, "enable", config),
            is_armed: true,
            ..Self::default()
        };
    }

    pub(crate) fn consume(&mut self, mock: &Mock, consumer: u32) {
        self.consumer = consumer;
        self.is_armed = true;
        self.fire(mock);
    }

    /// Writes an event. A full queue loses it.
    pub(crate) fn write(&mut self, mock: &Mock, event: Event, object: u32, subkind: u8) {
        if !self.is_enabled {
            return;
        }
        if self.producer.wrapping_sub(self.consumer) == 1 << self.log {
            mock.poke32(BarId::Bar0, events::BLOCK.address(&events::OVERFLOW), 1);
            return;
        }
        let phase = phase(self.producer, self.log);
        let bytes = Eqe { data: 0, object, kind: event as u8, subkind, phase }.to_bytes();
        let place = u64::from(self.producer) % (1 << self.log) * Eqe::LEN as u64;
        mock.dma_write(Iova(self.base + place), &bytes).unwrap();
        self.producer = self.producer.wrapping_add(1);
        self.fire(mock);
    }

    fn fire(&mut self, mock: &Mock) {
        if self.is_armed && self.producer != self.consumer {
            self.is_armed = false;
            mock.fire(self.vector);
        }
    }
}
