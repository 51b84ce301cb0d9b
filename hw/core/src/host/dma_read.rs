//! AXI read engine: host memory comes back in any order, and leaves in the order it was asked for.

pub mod deliver;
#[cfg(test)]
mod differential;
pub mod ids;
pub mod lane;
pub mod model;
pub mod reorder;
#[cfg(test)]
mod rig;
pub mod split;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use ids::{Ids, Request};
use lane::Lane;

use super::axi::{ReadAddress, ReadBeat};
use crate::prim::arbiter::Arbiter;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

/// Bursts in flight at most, unless said otherwise: what AMD's bridge takes.
pub const OUTSTANDING: usize = 32;
/// Bits of a slot, the name of a burst in its lane.
const SLOT_LOG: usize = 5;
/// Bursts, and commands, that one client can have under way.
const SLOTS: usize = 1 << SLOT_LOG;

record! {
    /// Bytes to read.
    pub struct ReadCommand {
        /// Of the first byte, any alignment unless the engine was built for steps.
        pub iova: Bits<64>,
        /// How many; none gives no answer.
        pub len: Bits<13>,
        /// Comes back with the bytes.
        pub tag: Bits<6>,
    }
}

record! {
    /// One beat of the bytes read: a [`Beat`](crate::stream::Beat) with a tag.
    pub struct ReadData<const D: usize> {
        /// The bytes, first byte lowest.
        pub data: Bits<D>,
        /// How many of them count: 1 to `D / 8`, and `D / 8` unless `eop`.
        pub nbytes: Bits<7>,
        /// First beat of its command.
        pub sop: Bit,
        /// Last beat of its command.
        pub eop: Bit,
        /// The host could not read some of the command's bytes; meaningful with `eop`.
        pub err: Bit,
        /// The command's.
        pub tag: Bits<6>,
    }
}

block! {
    /// Reads host memory for `CLIENTS` clients.
    ///
    /// ```text
    ///   command[i] ─ Lane i ─┬─ Arbiter ─ Ids ─ ar
    ///      data[i] ─ Lane i ─┴──────────── Ids ─ r
    /// ```
    ///
    /// **Shares.** Each client owns a reorder buffer of `2^LOG` beats and 32 slots, which no other can use; a burst is asked
    /// for once its owner has room for all of it. IDs are common, taken in turn, and free again when the burst is back. So
    /// a client that takes nothing delays the others by the bursts it had room for, and stops none. A common buffer would
    /// hold more for a lone client, but needs rules against the greedy, and its one read port would serve all of them.
    ///
    /// - **Ports** `command[i]`: what client `i` wants; `data[i]`: its bytes from byte 0 of the first beat on, one packet for each
    ///   command, in command order, `err` at `eop` if any beat came back with an error (all beats are delivered all
    ///   the same); `ar`, `r`: the host, as [`axi`](super::axi) says; `busy`: a command is under way.
    /// - **Latency** 3 cycles from `command` to `ar`, 7 from `r` to `data`; beats leave as they come, once it is their turn.
    ///   **Rate** 1 beat per cycle from `r`, 1 to each client; a command every 2 cycles from each.
    /// - **Backpressure** `r.ready` is always high. A client that stalls `data` stalls its own commands. No combinational
    ///   path from port to port.
    /// - **Size** a client alone runs at full rate if its `2^LOG` beats, less one burst, cover the round trip in cycles.
    /// - **Fairness** at `ar`, a client waits for at most one burst of each other.
    /// - **Reset** forgets all commands. Bursts in flight would come back to other owners: reset the host's side too.
    /// - **Limits** [`DmaRead::in_steps_of`]: commands of a client begin at multiples of its step, else they give the wrong bytes. `CLIENTS` at most 8; `2^LOG` beats hold two of the longest bursts (4 KiB, or 256 beats) or more;
    ///   otherwise building panics. The 33rd command, or burst, of a client waits for the first.
    pub struct DmaRead<const D: usize, const CLIENTS: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: [StreamSink<ReadCommand>; CLIENTS] = std::array::from_fn(|_| StreamSink::default()),
        pub data: [StreamSource<ReadData<D>>; CLIENTS] = std::array::from_fn(|_| StreamSource::default()),
        pub ar: StreamSource<ReadAddress>,
        pub r: StreamSink<ReadBeat<D>>,
        pub busy: Signal<Out, Bit>,
        lanes: [Lane<D, LOG>; CLIENTS] = std::array::from_fn(|client| Lane::new(client, 1)),
        turn: Arbiter<Request, CLIENTS>,
        ids: Ids<D> = Ids::new(OUTSTANDING),
        is_busy: Signal<Local, Bit>,
    }
}

impl<const D: usize, const CLIENTS: usize, const LOG: usize> DmaRead<D, CLIENTS, LOG> {
    /// An engine with at most `outstanding` bursts in flight, from 1 to 64; `default()` has [`OUTSTANDING`].
    #[must_use]
    pub fn new(outstanding: usize) -> Self {
        Self { ids: Ids::new(outstanding), ..Self::default() }
    }

    /// An engine whose clients' commands begin at multiples of these, powers of two. Moving bytes is most of a lane, and who reads
    /// rings alone needs none of it.
    #[must_use]
    pub fn in_steps_of(steps: [usize; CLIENTS]) -> Self {
        Self { lanes: std::array::from_fn(|client| Lane::new(client, steps[client])), ..Self::default() }
    }
}

impl<const D: usize, const CLIENTS: usize, const LOG: usize> Logic for DmaRead<D, CLIENTS, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, ids);
        self.turn.reset.next = self.reset.val();
        self.ids.reset.next = self.reset.val();
        self.is_busy.next = false;
        for i in 0..CLIENTS {
            self.lanes[i].clock.next = self.clock.val();
            self.lanes[i].reset.next = self.reset.val();
            StreamSink::<ReadCommand>::link(&mut self.command[i], &mut self.lanes[i].command);
            StreamSource::<Request>::join(&mut self.lanes[i].request, &mut self.turn.sinks[i]);
            self.lanes[i].arrival.next = self.ids.arrival.val();
            self.lanes[i].arrived.next =
                self.ids.arrived.val() & (self.ids.arrival.val().client.index() == i);
            StreamSource::<ReadData<D>>::link(&mut self.data[i], &mut self.lanes[i].data);
            self.is_busy.next = self.is_busy.val() | self.lanes[i].busy.val();
        }
        self.busy.next = self.is_busy.val();
        StreamSource::<Request>::join(&mut self.turn.source, &mut self.ids.sink);
        StreamSource::<ReadAddress>::link(&mut self.ar, &mut self.ids.ar);
        StreamSink::<ReadBeat<D>>::link(&mut self.r, &mut self.ids.r);
    }
}
