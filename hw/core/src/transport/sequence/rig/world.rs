//! What the blocks around the sequence know: receives, and how far requests were answered.

use std::collections::BTreeMap;

use stroma_verilate::SplitMix64;

use crate::transport::records::{Arrival, Stock};
use crate::transport::sequence::model::{Responder, View};

/// Receives that wait at most when nobody posts them on purpose.
const POSTED_MAX: u64 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    /// By kind of queue and number: how many there are, and the first.
    stocks: BTreeMap<(bool, u64), (u64, u16)>,
    /// By queue pair.
    pub(crate) answered: BTreeMap<u64, u8>,
    pub(crate) finished: BTreeMap<u64, u8>,
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
        View {
            stock: Stock { count: count.into(), first: u64::from(next).into() },
            answered: of(&self.answered),
            finished: of(&self.finished),
            part_room: true,
        }
    }

    pub(crate) fn take(&mut self, arrival: &Arrival) {
        let (count, next) = self.stocks.get_mut(&queue(arrival)).expect("there was one");
        *count -= 1;
        *next = next.wrapping_add(1);
    }

    /// A queue pair begins anew.
    pub(crate) fn reset(&mut self, qpn: u64) {
        self.answered.remove(&qpn);
        self.finished.remove(&qpn);
    }

    /// Somebody posts, or an answer goes out, or an atomic is done.
    pub(crate) fn drift(&mut self, model: &Responder, queues: &[(bool, u64)], rng: &mut SplitMix64) {
        let mut pick = |count: usize| usize::try_from(rng.below(count as u64)).expect("small");
        let (shared, number) = queues[pick(queues.len())];
        let connection = model.connections.iter().nth(pick(model.connections.len().max(1)));
        match (pick(4), connection) {
            (0, _) => {
                let waits = self.stocks.get(&(shared, number)).map_or(0, |stock| stock.0);
                self.post(shared, number, u64::from(waits < POSTED_MAX));
            }
            (1, Some((qpn, connection))) => {
                let answered = self.answered.entry(*qpn).or_default();
                *answered = (*answered + u8::from(*answered != connection.resources)) % 32;
            }
            (_, Some((qpn, connection))) => {
                let finished = self.finished.entry(*qpn).or_default();
                *finished = (*finished + u8::from(*finished != connection.atomics)) % 32;
            }
            _ => {}
        }
    }
}
