//! Many streams become one, in turn. [`Arbiter`] mixes beats, [`PacketArbiter`] keeps packets whole.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;
use super::round_robin::RoundRobin;
use super::skid::Skid;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Passes on beats of `N` streams, one stream after the other.
///
/// - **Ports** `sinks`: beats in; `source`: every beat once, those of one sink in their order.
/// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
/// - **Backpressure** holds two beats, then stalls all sinks; `sinks[i].ready` follows every `sinks[j].valid`
///   combinationally, nothing follows `source.ready`.
/// - **Fairness** an offered beat waits for at most `N - 1` beats of other sinks.
/// - **Reset** empties it; sink 0 goes first.
#[derive(LogicBlock)]
pub struct Arbiter<T: Synth, const N: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sinks: [StreamSink<T>; N],
    pub source: StreamSource<T>,
    turn: RoundRobin<N>,
    cut: Skid<T>,
    request: Signal<Local, Bits<N>>,
    chosen: Signal<Local, T>,
}

block! {
    /// Passes on packets of `N` streams, one packet after the other.
    ///
    /// - **Ports** `sinks`: packets in; `source`: every packet once and in one piece, those of one sink in their order.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle, also from packet to packet; a sink that pauses in mid packet
    ///   pauses the source.
    /// - **Backpressure** as [`Arbiter`].
    /// - **Fairness** an offered packet waits for at most `N - 1` packets of other sinks.
    /// - **Reset** empties it; sink 0 goes first, and its next beat begins a packet.
    pub struct PacketArbiter<const D: usize, const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sinks: [StreamSink<Beat<D>>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub source: StreamSource<Beat<D>>,
        turn: RoundRobin<N>,
        cut: Skid<Beat<D>>,
        locked: Reg<Bit>,
        owner: Reg<Bits<N>>,
        request: Signal<Local, Bits<N>>,
        chosen: Signal<Local, Beat<D>>,
    }
}

impl<T: Synth, const N: usize> Default for Arbiter<T, N> {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            reset: Signal::default(),
            sinks: std::array::from_fn(|_| StreamSink::default()),
            source: StreamSource::default(),
            turn: RoundRobin::default(),
            cut: Skid::default(),
            request: Signal::default(),
            chosen: Signal::default(),
        }
    }
}

impl<T: Synth, const N: usize> Logic for Arbiter<T, N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.turn.clock.next = self.clock.val();
        self.cut.clock.next = self.clock.val();
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.request.next = 0.into();
        for i in 0..N {
            self.request.next = self.request.val().replace_bit(i, self.sinks[i].valid.val());
        }
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.request.val().any() & self.cut.sink.ready.val();
        self.chosen.next = self.sinks[0].payload.val();
        for i in 0..N {
            self.sinks[i].ready.next = self.turn.grant.val().get_bit(i) & self.cut.sink.ready.val();
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.sinks[i].payload.val();
            }
        }
        self.cut.sink.valid.next = self.request.val().any();
        self.cut.sink.payload.next = self.chosen.val();
        StreamSource::<T>::link(&mut self.source, &mut self.cut.source);
    }
}

impl<const D: usize, const N: usize> Logic for PacketArbiter<D, N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, locked, owner);
        self.turn.clock.next = self.clock.val();
        self.cut.clock.next = self.clock.val();
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.request.next = 0.into();
        for i in 0..N {
            self.request.next = self.request.val().replace_bit(i, self.sinks[i].valid.val());
        }
        if self.locked.q.val() {
            self.request.next = self.request.val() & self.owner.q.val();
        }
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.request.val().any() & self.cut.sink.ready.val();
        self.chosen.next = self.sinks[0].payload.val();
        for i in 0..N {
            self.sinks[i].ready.next = self.turn.grant.val().get_bit(i) & self.cut.sink.ready.val();
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.sinks[i].payload.val();
            }
        }
        if self.request.val().any() & self.cut.sink.ready.val() {
            self.locked.d.next = !self.chosen.val().eop;
            self.owner.d.next = self.turn.grant.val();
        }
        self.cut.sink.valid.next = self.request.val().any();
        self.cut.sink.payload.next = self.chosen.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.reset.val() {
            self.locked.d.next = false;
        }
    }
}
