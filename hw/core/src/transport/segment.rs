//! Segment: messages become packets of one path MTU, and packets the pieces of memory they are made of.

pub mod codes;
pub mod data;
pub mod intake;
pub mod model;
pub mod opening;
pub mod packets;
pub mod pieces;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
pub mod window;

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNITS_MAX;

use data::{Data, Part};
use intake::Intake;
use opening::Plan;
use packets::{Packet, Packets};
use pieces::Pieces;
use window::{Reach, Span, Window};

use super::records::{Message, TxStep};
use crate::host::mover::entries::{Entries, InlineUnit, Outline, Range};
use crate::prim::fifo::Fifo;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Code 0 of the path MTU would be this many bytes; each higher one is twice as many.
pub const MTU_BASE: usize = 128;
/// `2^LOG` units may come before their message: those of the longest WQE.
const UNITS_LOG: usize = 3;

const _: () = assert!(1 << UNITS_LOG == UNITS_MAX, "a whole WQE may come before its message");

block! {
    /// Makes the steps of each message, in order.
    ///
    /// ```text
    ///   message ─ Intake ─┬─ plan ─── Packets ──┬───────── Pieces ─ step
    ///                     ├─ reach ─────────────│─ Window ──┘
    ///                     └─ order ── Entries ──│────┘
    ///   units ─ FIFO ───────────────────┘ └─── Data ─────────────── inline
    /// ```
    ///
    /// A SEND or WRITE gives `packets` packets of the path MTU from byte `skips` on, the last of the message as long as what
    /// is left. A packet has one step for each piece of memory it is made of, at most 16; one without payload, or with inline
    /// data, has one step without a piece. Its op-code and its headers follow from its place in the whole message, as
    /// [`Codes`](codes::Codes) has them: a WRITE's first packet has a RETH, the last of any may have immediate data or a key to
    /// invalidate, and wakes the receiver if the message takes a receive and is `solicited`. The last packet of the visit asks
    /// for an acknowledgement, and frees. A READ is one request for the bytes from `skips` on, an atomic one with its operands. An
    /// RPC with parameters is one packet, with them or without payload; one with a stream has the packets of a WRITE. Both have
    /// their `RpcTarget` for an address, and what they carry stands in the WQE behind the entry of their result.
    ///
    /// - **Ports** `message`: what is to be sent; `units`: those of its WQE, whatever it is; `step`: see above;
    ///   `inline`: for each packet with inline data, that packet; `busy`: something is inside.
    /// - **Latency** 4 cycles from `message` and its first unit to the first step, and 1 more for each entry that is passed
    ///   over; 2 to a step without a piece, 3 to the first beat of `inline`.
    /// - **Rate** a step per cycle. A message takes 1 cycle for each packet; 1 for each entry, sent or not, and 1 more; 1 for
    ///   each unit, whichever takes longest. Inline data take 1 for each beat and 1 for each row of 64 bytes that is not
    ///   sent; 1 more if they end within the lower half of the WQE's last unit: 64 bytes take 2, or 9 where `D` is 64.
    /// - **Backpressure** `message` waits while 4 wait for their units, or for their packets' turn. A whole WQE is taken
    ///   before its message, if it comes first. A stalled `step` stalls all but `inline`; a stalled `inline` stalls all when
    ///   32 beats or 4 packets wait. No combinational path from port to port.
    /// - **Reset** forgets everything; the next unit is the first of a WQE.
    /// - **Limits** `D` is 64 or 512, the code of the path MTU 1 to 5. `skips` is a multiple of it and less than `length`, or
    ///   both are 0. A SEND or WRITE that is not inline has entries with exactly `length` bytes, an inline one fits its units, as
    ///   [`Check`](crate::host::check::Check) and [`Parse`](crate::host::parse::Parse) make sure; for bytes that are missing,
    ///   Segment waits for ever. A message ends with its last byte, whatever it says of packets.
    pub struct Segment<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub message: StreamSink<Message>,
        pub units: StreamSink<Bits<512>>,
        pub step: StreamSource<TxStep>,
        pub inline: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        intake: Intake,
        early: Fifo<Bits<512>, UNITS_LOG>,
        entries: Entries,
        window: Window,
        packets: Packets,
        pieces: Pieces,
        data: Data<D>,
    }
}

impl<const D: usize> Logic for Segment<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, intake, early, entries, window, packets, pieces, data);
        self.intake.reset.next = self.reset.val();
        self.early.reset.next = self.reset.val();
        self.entries.reset.next = self.reset.val();
        self.window.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();
        self.pieces.reset.next = self.reset.val();
        self.data.reset.next = self.reset.val();

        StreamSink::<Message>::link(&mut self.message, &mut self.intake.message);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.early.sink);
        StreamSource::<Outline>::join(&mut self.intake.order, &mut self.entries.order);
        StreamSource::<Bits<512>>::join(&mut self.early.source, &mut self.entries.units);
        StreamSource::<Reach>::join(&mut self.intake.reach, &mut self.window.reach);
        StreamSource::<Range>::join(&mut self.entries.ranges, &mut self.window.ranges);
        StreamSource::<Plan>::join(&mut self.intake.plan, &mut self.packets.plan);
        StreamSource::<Packet>::join(&mut self.packets.source, &mut self.pieces.packet);
        StreamSource::<Span>::join(&mut self.window.source, &mut self.pieces.spans);
        StreamSource::<Part>::join(&mut self.packets.part, &mut self.data.part);
        StreamSource::<InlineUnit>::join(&mut self.entries.inlines, &mut self.data.units);
        StreamSource::<TxStep>::link(&mut self.step, &mut self.pieces.step);
        StreamSource::<Beat<D>>::link(&mut self.inline, &mut self.data.source);

        // While entries are on their way to the window, it is open or its reach waits.
        self.busy.next = self.intake.busy.val()
            | self.early.source.valid.val()
            | self.window.busy.val()
            | self.pieces.busy.val()
            | self.data.busy.val();
    }
}
