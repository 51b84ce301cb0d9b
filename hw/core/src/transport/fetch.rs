//! Fetch: packets get their payload out of host memory, and leave when all of it is here.

pub mod ask;
pub mod collect;
pub mod deliver;
#[cfg(test)]
pub(crate) mod model;
pub mod resolve;
#[cfg(test)]
mod rig;
pub mod store;
#[cfg(test)]
mod tests;
pub mod turns;
pub mod whole;

use rust_hdl::prelude::*;

use ask::{Ask, Ticket, Waiting};
use collect::{Collect, Outcome};
use deliver::Deliver;
use resolve::{Part, Resolve};
use store::Store;
use turns::Turns;

use super::records::{TxFailure, TxPacket, TxStep};
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::prim::splice::PieceBeat;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

/// The MMU's client for what packets carry.
pub const CLIENT: u8 = 3;

block! {
    /// Gets the payload of packets.
    ///
    /// ```text
    ///   requests ──┐              ┌ xlat   answer ┐  ┌ read
    ///              Turns ─ steps ─ Ask ─ waiting ─ Resolve ─ parts ─ Collect ─ pieces ─ Store ─ payload
    ///   responses ─┘               │         inline, results, read_data ┘ └ outcomes ─ Deliver ─ packet, failed, leaves
    ///                              └ tickets ──────────────────────────────────────────┘
    /// ```
    ///
    /// Steps are translated and read ahead; what has become of a packet is decided in order, when its last byte is taken.
    ///
    /// - **Ports** `requests`, `responses`: packets in steps, taken whole and by turns; `inline`, `results`: a packet for each step
    ///   that says `inline`, of requests and of answers, taken when it is that step's turn. `xlat`, `answer`: the MMU, as client 3. `read`, `read_data`: a packet for each command,
    ///   in order. `packet`, `payload`: packets in the order in which they were taken, and `payload_len` bytes for each that has
    ///   some; a payload comes without a gap, and may come before or behind its packet. `failed`: in the packet's place, why it is
    ///   not sent. `leaves`, `leaves_colour`: the cycle before, a packet with `frees` was taken on `packet` or `failed`: a request
    ///   (0), an answer (1). `busy`: something is inside or due.
    /// - **Steps** one with `bytes` asks one question; each answer that allows is read. A step may have no bytes, the last of a
    ///   packet too. Of `inline` without `payload_len` nothing comes.
    /// - **Failures** refused: `LocalProtection`, or `General` if a page list could not be read, and the cause as vendor code;
    ///   failed read: `General` and 0. The first of a packet counts. Its other bytes are read all the same, and thrown away.
    /// - **Latency** from a step to `xlat` 1 cycle; `answer` to `read` 2; to `packet` 2 from the last step without payload, and 1 from the last
    ///   beat of a payload. Inline data are taken 1 cycle behind their step, or later. To `payload` 3 from the last beat, if it is the only
    ///   one, otherwise 4; 1 more if it leaves bytes for another beat. Behind other payloads it comes without a gap.
    ///   **Rate** 1 beat of payload per cycle, without a gap between packets, if reads come as fast; a step, a piece, and a
    ///   packet 1 cycle each.
    /// - **Backpressure** 16 questions, 32 parts (reads among them), 32 packets and `2^LOG` beats of payload are inside at most; then
    ///   steps wait. `answer` is always taken. A `packet` or `failed` that is not taken, and inline data that do not come, stall all behind. `ready` of `requests`
    ///   and `responses` follows the other's `valid` combinationally; no other path runs from port to port.
    /// - **Reset** forgets all; the MMU and the read engine have to be reset with it.
    /// - **Limits** `D` is 64 or 512; `2^LOG` beats hold 4 KiB and eight beats more, otherwise building panics. The bytes of a
    ///   packet's steps are `payload_len` in all, at most 4096: whoever makes the steps sees to it, and nobody here counts.
    pub struct Fetch<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub requests: StreamSink<TxStep>,
        pub responses: StreamSink<TxStep>,
        pub inline: StreamSink<Beat<D>>,
        pub results: StreamSink<Beat<D>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub packet: StreamSource<TxPacket>,
        pub payload: StreamSource<Beat<D>>,
        pub failed: StreamSource<TxFailure>,
        pub leaves: [Signal<Out, Bit>; 2],
        pub leaves_colour: [Signal<Out, Bit>; 2],
        pub busy: Signal<Out, Bit>,
        turns: Turns,
        ask: Ask,
        resolve: Resolve,
        collect: Collect<D>,
        store: Store<D, LOG>,
        deliver: Deliver,
    }
}

impl<const D: usize, const LOG: usize> Logic for Fetch<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turns, ask, resolve, collect, store, deliver);
        self.turns.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.resolve.reset.next = self.reset.val();
        self.collect.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();

        StreamSink::<TxStep>::link(&mut self.requests, &mut self.turns.requests);
        StreamSink::<TxStep>::link(&mut self.responses, &mut self.turns.responses);
        StreamSource::<TxStep>::join(&mut self.turns.source, &mut self.ask.steps);
        self.ask.has_bytes.next = self.turns.has_bytes.val();
        self.ask.has_payload.next = self.turns.has_payload.val();
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.ask.xlat);
        StreamSource::<Waiting>::join(&mut self.ask.waiting, &mut self.resolve.waiting);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.resolve.answer);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.resolve.read);

        StreamSource::<Part>::join(&mut self.resolve.parts, &mut self.collect.parts);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.collect.read_data);
        StreamSink::<Beat<D>>::link(&mut self.inline, &mut self.collect.inline);
        StreamSink::<Beat<D>>::link(&mut self.results, &mut self.collect.results);
        StreamSource::<PieceBeat<D>>::join(&mut self.collect.pieces, &mut self.store.pieces);
        StreamSource::<Beat<D>>::link(&mut self.payload, &mut self.store.payload);

        StreamSource::<Ticket>::join(&mut self.ask.tickets, &mut self.deliver.tickets);
        StreamSource::<Outcome>::join(&mut self.collect.outcomes, &mut self.deliver.outcomes);
        StreamSource::<TxPacket>::link(&mut self.packet, &mut self.deliver.packet);
        StreamSource::<TxFailure>::link(&mut self.failed, &mut self.deliver.failed);
        for i in 0..2 {
            self.leaves[i].next = self.deliver.leaves[i].val();
            self.leaves_colour[i].next = self.deliver.leaves_colour[i].val();
        }
        // An outcome waits for its ticket, and an answer for its step: both count there.
        self.busy.next = self.turns.busy.val()
            | self.ask.busy.val()
            | self.resolve.busy.val()
            | self.store.busy.val()
            | self.deliver.busy.val();
    }
}
