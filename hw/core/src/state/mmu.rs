//! The MMU: no DMA of the card without a translation from here, and none here without the check.
//!
//! ```text
//!   request ─ lookup ──────────────┬─ order ─ response
//!      row ─┐  │ ▲ ▲ miss    grant │    ▲
//!           │  ▼ │ └─ line ─ walker ─────┘ line
//!   invalidate ─ maintain ─ done     └─ line_request, line
//! ```

#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::access::XlatRequest;
use super::lookup::Lookup;
use super::maintain::Maintain;
use super::memory_keys::RowWrite;
use super::order::Order;
use super::pages::Frame;
use super::walker::{Line, LineRequest, Walker};
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// The answer to a request, or to its part in one page.
    pub struct XlatResponse {
        /// As asked.
        pub client: Bits<3>,
        /// As asked.
        pub tag: Bits<6>,
        /// The access is allowed, and this is where it goes.
        pub ok: Bit,
        /// Why not: a [`super::access::Cause`], or 0.
        pub cause: Bits<3>,
        /// Address for the DMA; zero unless `ok` and `len > 0`.
        pub iova: Bits<64>,
        /// Bytes from there on; zero unless `ok`.
        pub len: Bits<13>,
        /// The request goes on in another page, whose answer is the client's next.
        pub more: Bit,
    }
}

block! {
    /// Checks and translates requests of eight clients, over `2^MRS` regions and windows and a TLB of `32 * 2^SETS` pages.
    ///
    /// - **Ports** `request`, `response`: one answer for each request, or two with `more` on the first if it crosses a
    ///   page; one that fails the check has one answer; a page whose list cannot be read is refused alone. Of one
    ///   client answers come in the order of its requests, between clients in any. `line_request`, `line`: reads of page
    ///   lists, answered in any order. `row`, `invalidate`, `done`: as [`Maintain`]; no answer after `done` stems from the
    ///   row that ended. `hits`, `misses`: pieces found in the TLB or not; `walks`: lines read. Two misses share a walk if
    ///   they meet. `busy`: something is inside.
    /// - **Latency** 6 cycles for a hit, a direct region, or a refusal; one more while answers from walks leave without a gap
    ///   before it. For a miss 5 cycles to `line_request`, and 4 from `line`. **Rate** 1 answer per cycle,
    ///   and a cycle without one before the first that waited for a walk.
    /// - **Backpressure** a client with 24 answers waiting is refused, and with it the stream `request`; so is any while
    ///   eight walks are under way and a ninth is needed. Otherwise misses hold up their own client alone.
    ///   `request.ready` follows `request.payload` combinationally; no other path from port to port.
    /// - **Reset** forgets all regions, which takes `2^MRS` cycles, requests and walks; lines asked for before must
    ///   not come any more. Counters are cleared, and wrap.
    /// - **Limits** `MRS` from 1 to 24, `SETS` from 1 to 34.
    pub struct Mmu<const MRS: usize, const SETS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: StreamSink<XlatRequest>,
        pub response: StreamSource<XlatResponse>,
        pub line_request: StreamSource<LineRequest>,
        pub line: StreamSink<Line>,
        pub row: StreamSink<RowWrite<MRS>>,
        pub invalidate: StreamSink<Bits<MRS>>,
        pub done: StreamSource<Bits<MRS>>,
        pub hits: Signal<Out, Bits<64>>,
        pub misses: Signal<Out, Bits<64>>,
        pub walks: Signal<Out, Bits<64>>,
        pub busy: Signal<Out, Bit>,
        lookup: Lookup<MRS, SETS>,
        walker: Walker<MRS>,
        order: Order,
        maintain: Maintain<MRS>,
        frame: Frame,
        hit_count: Reg<Bits<64>>,
        miss_count: Reg<Bits<64>>,
        walk_count: Reg<Bits<64>>,
        is_missing: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        cause: Signal<Local, Bits<3>>,
    }
}

impl<const MRS: usize, const SETS: usize> Logic for Mmu<MRS, SETS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, lookup, walker, order, maintain);
        dff_setup!(self, clock, hit_count, miss_count, walk_count);
        self.lookup.reset.next = self.reset.val();
        self.walker.reset.next = self.reset.val();
        self.order.reset.next = self.reset.val();
        self.maintain.reset.next = self.reset.val();

        // In.
        StreamSink::<XlatRequest>::link(&mut self.request, &mut self.lookup.request);
        self.lookup.colour.next = self.maintain.colour.val();
        self.lookup.open.next = self.maintain.open.val();
        self.lookup.room.next = self.order.room.val();
        self.maintain.enters.next = self.lookup.enters.val();

        // A piece that missed joins a walk, and takes its number along.
        self.is_missing.next = self.lookup.piece.val().translate & !self.lookup.hit.val();
        self.walker.ask.next = self.lookup.valid.val() & self.is_missing.val();
        self.walker.region.next = self.lookup.piece.val().region;
        self.walker.line.next = bit_cast::<34, 37>(self.lookup.piece.val().page >> 3);
        self.walker.moves.next = self.lookup.moves.val();
        self.walker.next_region.next = self.lookup.follower.val().region;
        self.walker.next_line.next = bit_cast::<34, 37>(self.lookup.follower.val().page >> 3);
        self.walker.list.next = self.lookup.piece.val().list;
        self.goes.next = self.lookup.valid.val() & (!self.is_missing.val() | self.walker.granted.val());
        self.lookup.go.next = self.goes.val();
        self.frame.entry.next = self.lookup.entry.val();
        self.frame.page.next = self.lookup.piece.val().size;
        self.frame.offset.next = self.lookup.piece.val().iova;
        self.order.valid.next = self.goes.val();
        self.order.answer.next.client = self.lookup.piece.val().client;
        self.order.answer.next.tag = self.lookup.piece.val().tag;
        self.order.answer.next.colour = self.lookup.piece.val().colour;
        self.order.answer.next.cause = self.lookup.piece.val().cause;
        self.order.answer.next.iova = self.lookup.piece.val().iova;
        if self.lookup.piece.val().translate & self.lookup.hit.val() {
            self.order.answer.next.iova = self.frame.iova.val();
        }
        self.order.answer.next.len = self.lookup.piece.val().len;
        self.order.answer.next.more = self.lookup.piece.val().rest.any();
        self.order.answer.next.pending = self.is_missing.val();
        self.order.answer.next.walk = self.walker.walk.val();
        self.order.answer.next.at = bit_cast::<3, 37>(self.lookup.piece.val().page);
        self.order.answer.next.size = self.lookup.piece.val().size;

        // Walks.
        StreamSource::<LineRequest>::link(&mut self.line_request, &mut self.walker.line_request);
        StreamSink::<Line>::link(&mut self.line, &mut self.walker.answer);
        self.lookup.fill.next = self.walker.fill.val();
        self.lookup.fill_region.next = self.walker.fill_region.val();
        self.lookup.fill_line.next = self.walker.fill_line.val();
        self.lookup.fill_data.next = self.walker.fill_data.val();
        self.order.arrived.next = self.walker.arrived.val();
        self.order.failed.next = self.walker.failed.val();
        self.walker.look.next = self.order.look.val();
        self.order.line.next = self.walker.data.val();
        self.walker.gone.next = self.order.gone.val();
        self.walker.gone_walk.next = self.order.gone_walk.val();

        // Out.
        self.cause.next = self.order.source.payload.val().cause;
        self.response.valid.next = self.order.source.valid.val();
        self.order.source.ready.next = self.response.ready.val();
        self.response.payload.next.client = self.order.source.payload.val().client;
        self.response.payload.next.tag = self.order.source.payload.val().tag;
        self.response.payload.next.ok = !self.cause.val().any();
        self.response.payload.next.cause = self.cause.val();
        self.response.payload.next.iova = self.order.source.payload.val().iova;
        self.response.payload.next.len = self.order.source.payload.val().len;
        self.response.payload.next.more = self.order.source.payload.val().more;
        self.maintain.leaves.next =
            self.order.source.valid.val() & self.response.ready.val() & !self.order.source.payload.val().more;
        self.maintain.leaves_colour.next = self.order.source.payload.val().colour;

        // Regions.
        StreamSink::<RowWrite<MRS>>::link(&mut self.row, &mut self.maintain.row);
        StreamSink::<Bits<MRS>>::link(&mut self.invalidate, &mut self.maintain.invalidate);
        StreamSource::<Bits<MRS>>::link(&mut self.done, &mut self.maintain.done);
        self.lookup.write.next = self.maintain.write.val();
        self.lookup.write_index.next = self.maintain.write_index.val();
        self.lookup.write_row.next = self.maintain.write_row.val();
        self.lookup.forget.next = self.maintain.forget.val();
        self.lookup.forget_region.next = self.maintain.forget_region.val();
        self.maintain.forgetting.next = self.lookup.forgetting.val();

        self.busy.next = self.maintain.busy.val();
        self.hits.next = self.hit_count.q.val();
        self.misses.next = self.miss_count.q.val();
        self.walks.next = self.walk_count.q.val();
        if self.goes.val() & self.lookup.piece.val().translate {
            if self.lookup.hit.val() {
                self.hit_count.d.next = self.hit_count.q.val() + 1;
            } else {
                self.miss_count.d.next = self.miss_count.q.val() + 1;
            }
        }
        if self.walker.starts.val() {
            self.walk_count.d.next = self.walk_count.q.val() + 1;
        }
        if self.reset.val() {
            self.hit_count.d.next = 0.into();
            self.miss_count.d.next = 0.into();
            self.walk_count.d.next = 0.into();
        }
    }
}
