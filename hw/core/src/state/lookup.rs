//! The lookup pipeline: a request meets its region, is judged, cut at the page's end, and shown to the TLB.

use rust_hdl::prelude::*;

use super::access::{Access, XlatRequest};
use super::memory_keys::{MemoryKeys, RegionRow};
use super::pages::{LINE_BITS, PAGE_BITS, Pages};
use super::tlb::Tlb;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::StreamSink;

record! {
    /// A request that has been judged, or one of the pieces it is cut into.
    pub struct Piece<const MRS: usize> {
        pub client: Bits<3>,
        pub tag: Bits<6>,
        /// The request's, as [`super::maintain`] gives it.
        pub colour: Bit,
        /// 0, or why it is refused; then nothing below counts but `len`, `rest` and `iova`, which are zero.
        pub cause: Bits<3>,
        /// The address is in the page list.
        pub translate: Bit,
        /// Whose pages they are: through a window those of the region under it, which finds them in the TLB and leaves them there.
        pub region: Bits<MRS>,
        pub list: Bits<58>,
        /// Size of the pages.
        pub size: Bits<2>,
        /// The page in its region.
        pub page: Bits<PAGE_BITS>,
        /// With `translate` the place in the page, otherwise the address.
        pub iova: Bits<64>,
        /// Bytes of this piece.
        pub len: Bits<13>,
        /// Bytes of the next one.
        pub rest: Bits<13>,
    }
}

block! {
    /// Looks requests up, one a cycle.
    ///
    /// Whether all stages move is known late, too late for whoever asks: who comes in the first cycle of a stop has a place to wait.
    ///
    /// ```text
    ///   request ─▮ region table ─▮ check, place ─▮ cut, TLB ─▮ compare ─▮ piece
    /// ```
    ///
    /// - **Ports** `request`, `colour`: as they enter; `enters`: one does; `room`: a bit for each client that may enter;
    ///   `open`: any may. `valid`, `piece`: one or two for each request, `rest` zero on the last; `hit`, `entry`:
    ///   whether its page-list entry is here, and that entry; `go`: the piece is taken; `moves`, `follower`: one follows in its place, if there is one.
    ///   The other ports are those of the
    ///   table and the TLB.
    /// - **Latency** 4 cycles. **Rate** 1 piece per cycle.
    /// - **Backpressure** stalls the pipeline, which holds up to eight pieces: six, and those of one request that came when it had just
    ///   stopped. `request.ready` follows `room`, `open` and `request.payload` combinationally, and `go` a cycle late.
    /// - **Reset** forgets what is inside, and starts clearing the TLB.
    pub struct Lookup<const MRS: usize, const SETS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: StreamSink<XlatRequest>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub room: Signal<In, Bits<8>>,
        pub open: Signal<In, Bit>,
        pub valid: Signal<Out, Bit>,
        pub piece: Signal<Out, Piece<MRS>>,
        pub hit: Signal<Out, Bit>,
        pub entry: Signal<Out, Bits<64>>,
        pub go: Signal<In, Bit>,
        pub moves: Signal<Out, Bit>,
        pub follower: Signal<Out, Piece<MRS>>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<MRS>>,
        pub write_row: Signal<In, RegionRow>,
        pub fill: Signal<In, Bit>,
        pub fill_region: Signal<In, Bits<MRS>>,
        pub fill_line: Signal<In, Bits<LINE_BITS>>,
        pub fill_data: Signal<In, Bits<512>>,
        pub forget: Signal<In, Bit>,
        pub forget_region: Signal<In, Bits<MRS>>,
        pub forgetting: Signal<Out, Bit>,
        keys: MemoryKeys<MRS>,
        access: Access,
        pages: Pages,
        tlb: Tlb<MRS, SETS>,
        spare: Reg<XlatRequest>,
        spare_valid: Reg<Bit>,
        spare_colour: Reg<Bit>,
        asked: Reg<XlatRequest>,
        asked_valid: Reg<Bit>,
        asked_colour: Reg<Bit>,
        judged: Reg<Piece<MRS>>,
        judged_valid: Reg<Bit>,
        /// The first piece of `judged` has gone.
        is_second: Reg<Bit>,
        sought: Reg<Piece<MRS>>,
        sought_valid: Reg<Bit>,
        found: Reg<Piece<MRS>>,
        found_valid: Reg<Bit>,
        found_hit: Reg<Bit>,
        found_entry: Reg<Bits<64>>,
        to_found: Signal<Local, Bit>,
        to_sought: Signal<Local, Bit>,
        to_judged: Signal<Local, Bit>,
        to_asked: Signal<Local, Bit>,
        due: Signal<Local, XlatRequest>,
        due_valid: Signal<Local, Bit>,
        due_colour: Signal<Local, Bit>,
        accepts: Signal<Local, Bit>,
        comes: Signal<Local, Bit>,
        is_good: Signal<Local, Bit>,
        translates: Signal<Local, Bit>,
        cut: Signal<Local, Piece<MRS>>,
        is_last: Signal<Local, Bit>,
        seeks: Signal<Local, Bit>,
    }
}

impl<const MRS: usize, const SETS: usize> Logic for Lookup<MRS, SETS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "five stages, one line a field of what moves on")]
    fn update(&mut self) {
        clock!(self, clock, keys, tlb);
        dff_setup!(self, clock, spare, spare_valid, spare_colour);
        dff_setup!(self, clock, asked, asked_valid, asked_colour, judged, judged_valid, is_second);
        dff_setup!(self, clock, sought, sought_valid, found, found_valid, found_hit, found_entry);
        self.keys.write_enable.next = self.write.val();
        self.keys.write_index.next = self.write_index.val();
        self.keys.write_row.next = self.write_row.val();
        self.tlb.reset.next = self.reset.val();
        self.tlb.fill.next = self.fill.val();
        self.tlb.fill_region.next = self.fill_region.val();
        self.tlb.fill_line.next = self.fill_line.val();
        self.tlb.fill_data.next = self.fill_data.val();
        self.tlb.forget.next = self.forget.val();
        self.tlb.forget_region.next = self.forget_region.val();
        self.forgetting.next = self.tlb.forgetting.val();

        // A stage takes when it is empty or gives.
        self.is_last.next = !self.judged.q.val().rest.any() | self.is_second.q.val();
        self.to_found.next = !self.found_valid.q.val() | self.go.val();
        self.to_sought.next = !self.sought_valid.q.val() | self.to_found.val();
        self.to_judged.next = !self.judged_valid.q.val() | (self.to_sought.val() & self.is_last.val());
        self.to_asked.next = !self.asked_valid.q.val() | self.to_judged.val();

        self.accepts.next = self.open.val()
            & !self.spare_valid.q.val()
            & self.room.val().get_bit(self.request.payload.val().client.index());
        self.comes.next = self.accepts.val() & self.request.valid.val();
        self.request.ready.next = self.accepts.val();
        self.enters.next = self.comes.val();
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.request.payload.val();
            self.spare_colour.d.next = self.colour.val();
        }
        self.due_valid.next = self.comes.val() | self.spare_valid.q.val();
        self.spare_valid.d.next = self.due_valid.val() & !self.to_asked.val();
        self.due.next = self.request.payload.val();
        self.due_colour.next = self.colour.val();
        if self.spare_valid.q.val() {
            self.due.next = self.spare.q.val();
            self.due_colour.next = self.spare_colour.q.val();
        }
        self.keys.read_enable.next = self.to_asked.val();
        self.keys.index.next = bit_cast::<24, 32>(self.due.val().key >> 8);
        if self.to_asked.val() {
            self.asked.d.next = self.due.val();
            self.asked_colour.d.next = self.due_colour.val();
            self.asked_valid.d.next = self.due_valid.val();
        }

        // A refused request asks for no page, and neither does an empty one, which may lie behind the last page.
        self.access.request.next = self.asked.q.val();
        self.access.row.next = self.keys.row.val();
        self.pages.request.next = self.asked.q.val();
        self.pages.row.next = self.keys.row.val();
        self.is_good.next = !self.access.cause.val().any() & self.asked.q.val().len.any();
        self.translates.next = self.is_good.val() & !self.keys.row.val().direct;
        if self.to_judged.val() {
            self.judged_valid.d.next = self.asked_valid.q.val();
            self.judged.d.next.client = self.asked.q.val().client;
            self.judged.d.next.tag = self.asked.q.val().tag;
            self.judged.d.next.colour = self.asked_colour.q.val();
            self.judged.d.next.cause = self.access.cause.val();
            self.judged.d.next.translate = self.translates.val();
            self.judged.d.next.region = bit_cast::<MRS, 24>(self.keys.row.val().parent);
            self.judged.d.next.list = self.keys.row.val().list;
            self.judged.d.next.size = self.keys.row.val().page;
            self.judged.d.next.page = self.pages.place.val().page;
            self.judged.d.next.iova = 0.into();
            self.judged.d.next.len = 0.into();
            self.judged.d.next.rest = 0.into();
            if self.translates.val() {
                self.judged.d.next.iova = self.pages.place.val().offset;
                self.judged.d.next.len = self.pages.place.val().first;
                self.judged.d.next.rest = self.pages.place.val().rest;
            } else if self.is_good.val() {
                self.judged.d.next.iova = self.pages.place.val().direct;
                self.judged.d.next.len = self.asked.q.val().len;
            }
        }

        self.cut.next = self.judged.q.val();
        if self.is_second.q.val() {
            self.cut.next.page = self.judged.q.val().page + 1;
            self.cut.next.iova = 0.into();
            self.cut.next.len = self.judged.q.val().rest;
            self.cut.next.rest = 0.into();
        }
        self.seeks.next = self.judged_valid.q.val() & self.to_sought.val();
        if self.seeks.val() {
            self.is_second.d.next = !self.is_last.val();
        }
        self.tlb.read_enable.next = self.seeks.val();
        self.tlb.region.next = self.cut.val().region;
        self.tlb.line.next = bit_cast::<34, 37>(self.cut.val().page >> 3);
        if self.to_sought.val() {
            self.sought_valid.d.next = self.judged_valid.q.val();
            self.sought.d.next = self.cut.val();
        }

        self.tlb.at.next = bit_cast::<3, 37>(self.sought.q.val().page);
        if self.to_found.val() {
            self.found_valid.d.next = self.sought_valid.q.val();
            self.found.d.next = self.sought.q.val();
            self.found_hit.d.next = self.tlb.hit.val();
            self.found_entry.d.next = self.tlb.entry.val();
        }
        self.moves.next = self.to_found.val();
        self.follower.next = self.sought.q.val();
        self.valid.next = self.found_valid.q.val();
        self.piece.next = self.found.q.val();
        self.hit.next = self.found_hit.q.val();
        self.entry.next = self.found_entry.q.val();
        if self.reset.val() {
            self.spare_valid.d.next = false;
            self.asked_valid.d.next = false;
            self.judged_valid.d.next = false;
            self.is_second.d.next = false;
            self.sought_valid.d.next = false;
            self.found_valid.d.next = false;
        }
    }
}
