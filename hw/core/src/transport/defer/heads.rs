//! What packets said that are deferred, and when they are looked at again.

#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Arrival, DEFERRED_LOG, Deferral, Deferred, Nudge, Occasion};

/// Requests between the first look at their packet and their judgement, at most: two in `Lookup`, four in its FIFO, four in the
/// one after that, two in `Sequence`, and two of which the store has not heard yet.
pub const UNDER_WAY: usize = 14;
/// Cycles of rest after a round in which nobody could go.
const REST: u64 = 8;

block! {
    /// Keeps up to `places` requests, in the order in which they came, and has each looked at again until it can go.
    ///
    /// ```text
    ///   arrival ──────────────┬─ source ─ Sequence ─┐
    ///            memory ──────┘                     │
    ///              └──────────────── acted, deferral┘
    ///   change ─ purge, walk ─ nudge ─ Lookup
    /// ```
    ///
    /// The walk goes from the oldest to the newest, one at a time, and leaves out those that follow another of their queue pair. When one
    /// goes, or nobody is left who may, it begins anew, with those, too: so what comes first of a queue pair goes first. Each is looked up like any arrival, so
    /// that its queue pair has the state of that time, and what had arrived before has left.
    ///
    /// | port | what |
    /// |---|---|
    /// | `arrival`, `source` | all requests, on their way to the judge; of one that is looked at `again` the store says what its packet did |
    /// | `acts`, `acted` | a request is judged; `place`: where it is kept if it is deferred |
    /// | `deferral` | what came of it, a cycle later |
    /// | `nudge` | have the request `slot` looked at again |
    /// | `lost` | high for a cycle: it is for nobody any more |
    /// | `change` | a queue pair; if it resets, its requests are forgotten, `purged`: a pulse each |
    /// | `places` | how many there are, a power of 2, from 32 to 64 |
    /// | `admits` | there is room for one more packet, whatever becomes of those that are under way |
    /// | `roomy` | at most half of the places are in use |
    /// | `busy` | a request is kept |
    ///
    /// - **Latency** `arrival` to `source` 0 cycles. The nudge of a request that may go comes within a round.
    /// - **Rate** one question at a time; a round takes a cycle for each place in use and each question its time, and 8 of rest.
    /// - **Back-pressure** none towards `arrival`; who looks at packets stops when `admits` is low. `change` of a queue pair that
    ///   resets waits for the answer to a question, and a cycle for each place in use; all others move at once.
    /// - **Reset** forgets all requests.
    /// - **Limits** what `admits` counts on: at most [`UNDER_WAY`] requests between the first look and their judgement. A place is used
    ///   again when all older ones are free.
    pub struct DeferHeads {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub places: Signal<In, Bits<7>>,
        pub arrival: StreamSink<Arrival>,
        pub source: StreamSource<Arrival>,
        pub acts: Signal<In, Bit>,
        pub acted: Signal<In, Arrival>,
        pub place: Signal<Out, Bits<DEFERRED_LOG>>,
        pub deferral: Signal<In, Deferral>,
        pub nudge: StreamSource<Nudge>,
        pub lost: Signal<In, Bit>,
        pub change: StreamSink<QpChange>,
        pub purged: Signal<Out, Bit>,
        pub admits: Signal<Out, Bit>,
        pub roomy: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        memory: LutRam<Deferred, DEFERRED_LOG>,
        owners: LutRam<Bits<24>, DEFERRED_LOG>,
        /// By place: a request is there.
        kept: Reg<Bits<64>>,
        /// It follows another.
        following: Reg<Bits<64>>,
        /// Counts of places given out and taken back; the low bits are the next place, and the oldest.
        newest: Reg<Bits<7>>,
        oldest: Reg<Bits<7>>,
        /// The walk.
        at: Reg<Bits<7>>,
        rest: Reg<Bits<4>>,
        is_asking: Reg<Bit>,
        is_waiting: Reg<Bit>,
        /// Somebody was asked for in this round.
        has_asked: Reg<Bit>,
        /// The purge: `at` walks for it.
        is_purging: Reg<Bit>,
        was_purged: Reg<Bit>,
        mask: Signal<Local, Bits<7>>,
        newest_place: Signal<Local, Bits<DEFERRED_LOG>>,
        oldest_place: Signal<Local, Bits<DEFERRED_LOG>>,
        here: Signal<Local, Bits<DEFERRED_LOG>>,
        level: Signal<Local, Bits<7>>,
        is_empty: Signal<Local, Bit>,
        resets: Signal<Local, Bit>,
        begins_purge: Signal<Local, Bit>,
        is_end: Signal<Local, Bit>,
        frees: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        stays: Signal<Local, Bit>,
        purges: Signal<Local, Bit>,
        kept_then: Signal<Local, Bits<64>>,
        following_then: Signal<Local, Bits<64>>,
        packet: Constant<Bits<3>> = number(Occasion::Packet as u8),
        under_way: Constant<Bits<7>> = number(UNDER_WAY),
        long_rest: Constant<Bits<4>> = number(REST),
    }
}

impl Logic for DeferHeads {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line a field of what a packet said")]
    fn update(&mut self) {
        clock!(self, clock, memory, owners);
        dff_setup!(self, clock, kept, following, newest, oldest, at, rest);
        dff_setup!(self, clock, is_asking, is_waiting, has_asked, is_purging, was_purged);
        self.mask.next = self.places.val() - 1;
        self.newest_place.next = bit_cast::<DEFERRED_LOG, 7>(self.newest.q.val() & self.mask.val());
        self.oldest_place.next = bit_cast::<DEFERRED_LOG, 7>(self.oldest.q.val() & self.mask.val());
        self.here.next = bit_cast::<DEFERRED_LOG, 7>(self.at.q.val() & self.mask.val());
        self.level.next = self.newest.q.val() - self.oldest.q.val();
        self.is_empty.next = !self.level.val().any();
        self.admits.next = self.level.val() + self.under_way.val() <= self.places.val();
        self.roomy.next = self.level.val() <= (self.places.val() >> 1);
        self.busy.next = !self.is_empty.val();

        // Requests pass, and those that were deferred say again what they said.
        self.source.valid.next = self.arrival.valid.val();
        self.arrival.ready.next = self.source.ready.val();
        self.memory.read_address.next = self.arrival.payload.val().slot;
        self.source.payload.next = self.arrival.payload.val();
        if self.arrival.payload.val().again {
            self.source.payload.next.op = self.memory.read_data.val().op;
            self.source.payload.next.ackreq = self.memory.read_data.val().ackreq;
            self.source.payload.next.solicited = self.memory.read_data.val().solicited;
            self.source.payload.next.psn = self.memory.read_data.val().psn;
            self.source.payload.next.va = self.memory.read_data.val().va;
            self.source.payload.next.rkey = self.memory.read_data.val().rkey;
            self.source.payload.next.len = self.memory.read_data.val().len;
            self.source.payload.next.imm = self.memory.read_data.val().imm;
            self.source.payload.next.a1 = self.memory.read_data.val().a1;
            self.source.payload.next.a2 = self.memory.read_data.val().a2;
            self.source.payload.next.payload_len = self.memory.read_data.val().payload_len;
        }

        // What is judged is written down, and counts if it is deferred.
        self.place.next = self.newest_place.val();
        self.memory.write_enable.next = self.acts.val() & !self.acted.val().again;
        self.memory.write_address.next = self.newest_place.val();
        self.memory.write_data.next.op = self.acted.val().op;
        self.memory.write_data.next.ackreq = self.acted.val().ackreq;
        self.memory.write_data.next.solicited = self.acted.val().solicited;
        self.memory.write_data.next.psn = self.acted.val().psn;
        self.memory.write_data.next.va = self.acted.val().va;
        self.memory.write_data.next.rkey = self.acted.val().rkey;
        self.memory.write_data.next.len = self.acted.val().len;
        self.memory.write_data.next.imm = self.acted.val().imm;
        self.memory.write_data.next.a1 = self.acted.val().a1;
        self.memory.write_data.next.a2 = self.acted.val().a2;
        self.memory.write_data.next.payload_len = self.acted.val().payload_len;
        self.owners.write_enable.next = self.acts.val() & !self.acted.val().again;
        self.owners.write_address.next = self.newest_place.val();
        self.owners.write_data.next = self.acted.val().qpn;
        self.owners.read_address.next = self.here.val();

        // The walk.
        self.is_end.next = self.at.q.val() == self.newest.q.val();
        self.goes.next = self.is_waiting.q.val()
            & (self.lost.val() | (self.deferral.val().judged & !self.deferral.val().stays));
        self.stays.next = self.is_waiting.q.val() & self.deferral.val().judged & self.deferral.val().stays;
        self.resets.next = self.change.valid.val() & self.change.payload.val().resets & !self.is_empty.val();
        self.begins_purge.next =
            self.resets.val() & !self.is_purging.q.val() & !self.is_asking.q.val() & !self.is_waiting.q.val();
        self.purges.next = self.is_purging.q.val()
            & !self.is_end.val()
            & self.kept.q.val().get_bit(self.here.val().index())
            & (self.owners.read_data.val() == self.change.payload.val().qpn);
        self.was_purged.d.next = self.purges.val();
        self.purged.next = self.was_purged.q.val();
        self.change.ready.next =
            (self.change.valid.val() & !self.resets.val()) | (self.is_purging.q.val() & self.is_end.val());

        self.nudge.valid.next = self.is_asking.q.val();
        self.nudge.payload.next.again = true;
        self.nudge.payload.next.occasion = self.packet.val();
        self.nudge.payload.next.qpn = self.owners.read_data.val();
        self.nudge.payload.next.slot = self.here.val();
        self.nudge.payload.next.status = 0.into();
        self.nudge.payload.next.vendor = 0.into();
        self.nudge.payload.next.psn = 0.into();

        if self.deferral.val().stored {
            self.newest.d.next = self.newest.q.val() + 1;
        }
        // Places are taken back from the oldest on.
        if !self.is_empty.val() & !self.kept.q.val().get_bit(self.oldest_place.val().index()) {
            self.oldest.d.next = self.oldest.q.val() + 1;
        }

        self.frees.next = false;
        if self.is_asking.q.val() {
            self.has_asked.d.next = true;
            if self.nudge.ready.val() {
                self.is_asking.d.next = false;
                self.is_waiting.d.next = true;
            }
        } else if self.is_waiting.q.val() {
            if self.goes.val() {
                self.at.d.next = self.oldest.q.val();
            } else if self.stays.val() {
                self.at.d.next = self.at.q.val() + 1;
            }
            self.is_waiting.d.next = !self.goes.val() & !self.stays.val();
        } else if self.is_purging.q.val() {
            self.at.d.next = self.at.q.val() + 1;
            if self.is_end.val() {
                self.is_purging.d.next = false;
                self.at.d.next = self.oldest.q.val();
            }
        } else if self.begins_purge.val() {
            self.is_purging.d.next = true;
            self.at.d.next = self.oldest.q.val();
        } else if self.rest.q.val().any() {
            self.rest.d.next = self.rest.q.val() - 1;
        } else if self.is_end.val() {
            self.at.d.next = self.oldest.q.val();
            self.has_asked.d.next = false;
            if !self.is_empty.val() {
                self.rest.d.next = self.long_rest.val();
                // Who followed one that was lost follows nobody any more.
                self.frees.next = !self.has_asked.q.val();
            }
        } else if self.kept.q.val().get_bit(self.here.val().index())
            & !self.following.q.val().get_bit(self.here.val().index())
        {
            self.is_asking.d.next = true;
        } else {
            self.at.d.next = self.at.q.val() + 1;
        }

        self.kept_then.next = self.kept.q.val();
        self.following_then.next = self.following.q.val();
        if self.goes.val() | self.purges.val() {
            self.kept_then.next = self.kept_then.val().replace_bit(self.here.val().index(), false);
        }
        if self.goes.val() | self.purges.val() | self.frees.val() {
            self.following_then.next = 0.into();
        }
        if self.stays.val() {
            self.following_then.next =
                self.following_then.val().replace_bit(self.here.val().index(), self.deferral.val().follows);
        }
        if self.deferral.val().stored {
            self.kept_then.next = self.kept_then.val().replace_bit(self.newest_place.val().index(), true);
            self.following_then.next = self
                .following_then
                .val()
                .replace_bit(self.newest_place.val().index(), self.deferral.val().follows & !self.goes.val());
        }
        self.kept.d.next = self.kept_then.val();
        self.following.d.next = self.following_then.val();
        if self.reset.val() {
            self.kept.d.next = 0.into();
            self.following.d.next = 0.into();
            self.newest.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.at.d.next = 0.into();
            self.rest.d.next = 0.into();
            self.is_asking.d.next = false;
            self.is_waiting.d.next = false;
            self.has_asked.d.next = false;
            self.is_purging.d.next = false;
            self.was_purged.d.next = false;
        }
    }
}
