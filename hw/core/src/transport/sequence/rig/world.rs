//! What the blocks around the sequence know: receives, how far requests were answered, and where kernels have room.

use std::collections::BTreeMap;

use stroma_verilate::SplitMix64;

use crate::transport::records::{Arrival, DEFERRED_LOG, Stock};
use crate::transport::sequence::model::{Message, Reservation, Responder, View};

/// Receives that wait at most when nobody posts them on purpose.
const POSTED_MAX: u64 = 4;
/// RPC op-codes, of as many kernels as there may be; none is far from another, and three have one and the same.
pub(crate) const OPERATIONS: [u16; 15] = [
    0x0007, 0x0000, 0x0107, 0x8007, 0x0006, 0x0017, 0x4007, 0x0047, 0x0003, 0x4007, 0x0005, 0x1007, 0x0207,
    0x4007, 0xffff,
];
/// Packets that a kernel has room for.
const PACKETS: u8 = 4;

/// What stands before a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Packets that it has not taken.
    pub(crate) waiting: u8,
    /// It has a stream that has not ended.
    pub(crate) streams: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    /// By kind of queue and number: how many there are, and the first.
    stocks: BTreeMap<(bool, u64), (u64, u16)>,
    /// By queue pair.
    pub(crate) answered: BTreeMap<u64, u8>,
    pub(crate) finished: BTreeMap<u64, u8>,
    pub(crate) slots: [Slot; OPERATIONS.len()],
    /// More than half of the places for requests that are deferred is in use.
    pub(crate) is_full: bool,
    /// Requests that were.
    stored: u64,
}

/// The queue that an arrival takes receives from.
fn queue(arrival: &Arrival) -> (bool, u64) {
    (arrival.has_srq, if arrival.has_srq { arrival.srq } else { arrival.qpn }.into())
}

impl World {
    /// Receives are posted to an SRQ, or to a queue pair.
    pub(crate) fn post(&mut self, shared: bool, number: u64, count: u64) {
        // Numbers of different queues differ, and wrap.
        let first = 0xfffd_u16.wrapping_add(u16::try_from(number * 64).expect("few queues"));
        self.stocks.entry((shared, number)).or_insert((0, first)).0 += count;
    }

    pub(crate) fn view(&self, arrival: &Arrival) -> View {
        let (count, next) = self.stocks.get(&queue(arrival)).copied().unwrap_or_default();
        let of = |counts: &BTreeMap<u64, u8>| counts.get(&arrival.qpn.into()).copied().unwrap_or_default();
        let bits = |has_room: &dyn Fn(&Slot) -> bool| {
            let bit = |(at, slot)| u16::from(has_room(slot)) << at;
            self.slots.iter().enumerate().map(bit).sum()
        };
        View {
            stock: Stock { count: count.into(), first: u64::from(next).into() },
            answered: of(&self.answered),
            finished: of(&self.finished),
            part_room: true,
            roomy: !self.is_full,
            place: u8::try_from(self.stored % (1 << DEFERRED_LOG)).expect("six bits"),
            operations: &OPERATIONS,
            room: bits(&|slot| slot.waiting < PACKETS && !slot.streams),
            room_more: bits(&|slot| slot.waiting < PACKETS),
            behind: 0,
        }
    }

    pub(crate) fn take(&mut self, arrival: &Arrival) {
        let (count, next) = self.stocks.get_mut(&queue(arrival)).expect("there was one");
        *count -= 1;
        *next = next.wrapping_add(1);
    }

    /// A request is deferred.
    pub(crate) fn store(&mut self) {
        self.stored += 1;
    }

    /// A packet is taken for a kernel.
    pub(crate) fn reserve(&mut self, reservation: Reservation) {
        let slot = &mut self.slots[usize::from(reservation.kernel)];
        slot.waiting += 1;
        slot.streams = !reservation.ends;
    }

    /// A queue pair begins anew.
    pub(crate) fn reset(&mut self, qpn: u64) {
        self.answered.remove(&qpn);
        self.finished.remove(&qpn);
    }

    /// Somebody posts, or an answer goes out, or an atomic is done, or a kernel takes a packet, or gives up a stream.
    pub(crate) fn drift(&mut self, model: &Responder, queues: &[(bool, u64)], rng: &mut SplitMix64) {
        self.is_full = rng.below(2) == 0;
        let mut pick = |count: usize| usize::try_from(rng.below(count as u64)).expect("small");
        let (shared, number) = queues[pick(queues.len())];
        let connection = model.connections.iter().nth(pick(model.connections.len().max(1)));
        let slot = &mut self.slots[pick(OPERATIONS.len())];
        match (pick(8), connection) {
            (4..7, _) => slot.waiting = slot.waiting.saturating_sub(1),
            (7, _) => slot.streams = false,
            (0, _) => {
                let waits = self.stocks.get(&(shared, number)).map_or(0, |stock| stock.0);
                self.post(shared, number, u64::from(waits < POSTED_MAX));
            }
            (1, Some((qpn, connection))) => {
                let answered = self.answered.entry(*qpn).or_default();
                // A stream that has not ended has no answer.
                let streams = u8::from(matches!(connection.message, Some(Message::Call(_))));
                let open = connection.resources.wrapping_sub(*answered) % 32;
                *answered = (*answered + u8::from(open > streams)) % 32;
            }
            (_, Some((qpn, connection))) => {
                let finished = self.finished.entry(*qpn).or_default();
                *finished = (*finished + u8::from(*finished != connection.atomics)) % 32;
            }
            _ => {}
        }
    }
}
