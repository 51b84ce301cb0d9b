//! Read bursts become memory reads, and their completions read data.

pub mod deliver;
pub mod gather;
pub mod split;

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::host::axi::{ReadAddress, ReadBeat};
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::fields::{READ_SEQUENCE, RQ_DWORD_COUNT_AT, RQ_TAG_AT};
use super::{RcBeat, RqBeat};
use deliver::Deliver;
use gather::Gather;
use split::Split;

/// Tags without the extended field.
const FEW_TAGS: usize = 32;
/// Completions that the block has room for. PG213 lists 128 of them and 32 KiB; others have measured 256, and rely on it
/// (cocotbext-pcie, Corundum). A beat of a read comes in no more than one, for hosts cut at multiples of 64 bytes.
const COMPLETIONS: usize = 256;
/// Beats of the largest read.
const MOST_BEATS: usize = 8;

record! {
    /// A read that waits to be sent.
    pub struct Asked {
        /// Of its first byte.
        pub addr: Bits<64>,
        /// Beats of 64 bytes.
        pub beats: Bits<4>,
        /// Its tag.
        pub tag: Bits<8>,
        /// The burst's.
        pub stamp: Bits<32>,
    }
}

block! {
    /// Reads bursts of the card from the host, with up to `2^LOG` requests under way.
    ///
    /// ```text
    ///   ar ─ Split ─ a tag each ─ FIFO ─ rq
    ///    r ─ Deliver ─ memory ◀─ Gather ─ rc
    /// ```
    ///
    /// Tags are a ring, and each owns eight beats of memory: data may come in any order, and have their place; they leave in the order of `ar`.
    ///
    /// - **Ports** `ar`, `r`: the card's bursts; `stamp`: a note that a burst gets when it is taken; `rq`: memory reads, `rq_stamp` the note of the one on
    ///   offer; `rc`: completions. `max_read_log`: as [`Split`]; `extended_tags`: more than 32 tags may be used, looked at while no request is under way;
    ///   `stops`: no burst is taken. `unexpected`, `timeouts`, `failed`: completions that nobody waited for, requests that never had their last one, requests
    ///   answered with an error; they wrap. `is_drained`: every burst is answered.
    /// - **Responses** all beats of a request that failed, see [`Gather`], or whose last completion did not come within 2^24 cycles of its being
    ///   the oldest, are slave errors; those of the burst's other requests are good.
    /// - **Room** the block promises the host room for all completions and has it for 256. `rq_fits`: at most 240 beats are under way, from their request's leaving to
    ///   its last completion or to the end of its time; a request that leaves is not in it in the next cycle, so two of 8 beats may leave before it falls.
    /// - **Latency** 1 cycle from `ar` to `rq`, 4 from the last beat of `rc` to `r`. **Rate** 1 request per cycle, 1 beat of `rc` and of `r` per cycle.
    /// - **Backpressure** `ar` waits when all tags are in use or 16 requests are not sent; `rc` is always taken. `ar.ready` follows `stops` combinationally,
    ///   nothing else follows a port.
    /// - **Reset** forgets everything. Completions of before are dropped unless their tag is in use again: wait for `is_drained`.
    /// - **Lost tags**, whose time was over, are not used again before reset, for their completion might still come; when none is left, all are.
    /// - **Limits** as [`Gather`]'s and [`Deliver`]'s.
    pub struct Reader<const LOG: usize, const PLACES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub max_read_log: Signal<In, Bits<4>>,
        pub extended_tags: Signal<In, Bit>,
        pub stops: Signal<In, Bit>,
        pub ar: StreamSink<ReadAddress>,
        pub stamp: Signal<In, Bits<32>>,
        pub r: StreamSource<ReadBeat<512>>,
        pub rq: StreamSource<RqBeat>,
        pub rq_stamp: Signal<Out, Bits<32>>,
        pub rq_fits: Signal<Out, Bit>,
        pub rc: StreamSink<RcBeat>,
        pub unexpected: Signal<Out, Bits<32>>,
        pub timeouts: Signal<Out, Bits<32>>,
        pub failed: Signal<Out, Bits<32>>,
        pub is_drained: Signal<Out, Bit>,
        split: Split,
        asked: Fifo<Asked, 4>,
        gather: Gather<LOG>,
        deliver: Deliver<LOG, PLACES>,
        newest: Reg<Bits<LOG>>,
        /// Tags in use, and those of them whose request is not sent.
        used: Reg<Bits<8>>,
        unsent: Reg<Bits<8>>,
        is_wide: Reg<Bit>,
        /// Beats of the requests that are sent and wait, those that came in the cycle before, and whether the block has room for two requests more.
        owed: Reg<Bits<9>>,
        came: Reg<Bits<4>>,
        is_roomy: Reg<Bit>,
        /// Tags whose time was over.
        lost: Reg<Bits<128>>,
        lost_count: Reg<Bits<8>>,
        /// Bursts that are not answered.
        open: Reg<Bits<9>>,
        is_empty: Reg<Bit>,
        unexpected_count: Reg<Bits<32>>,
        timeout_count: Reg<Bits<32>>,
        failed_count: Reg<Bits<32>>,
        mask: Signal<Local, Bits<LOG>>,
        slot: Signal<Local, Bits<LOG>>,
        has_tag: Signal<Local, Bit>,
        room: Signal<Local, Bit>,
        limit: Signal<Local, Bits<8>>,
        owed_then: Signal<Local, Bits<9>>,
        is_lost: Signal<Local, Bit>,
        leaves_out: Signal<Local, Bit>,
        opens: Signal<Local, Bit>,
        uses: Signal<Local, Bit>,
        sends: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        tags: Constant<Bits<8>> = number(1_u64 << LOG),
        few_tags: Constant<Bits<8>> = number(FEW_TAGS.min(1 << LOG)),
        most_owed: Constant<Bits<9>> = number(COMPLETIONS - 2 * MOST_BEATS),
        every: Constant<Bits<LOG>> = number((1_u64 << LOG) - 1),
        few: Constant<Bits<LOG>> = number(FEW_TAGS.min(1 << LOG) - 1),
        dword_count_at: Constant<Bits<10>> = number(RQ_DWORD_COUNT_AT),
        tag_at: Constant<Bits<10>> = number(RQ_TAG_AT),
        sequence: Constant<Bits<6>> = number(READ_SEQUENCE),
    }
}

impl<const LOG: usize, const PLACES: usize> Reader<LOG, PLACES> {
    /// One that gives up after `patience` cycles; `default()` after 2^24.
    #[must_use]
    pub fn new(patience: u32) -> Self {
        Self { deliver: Deliver::new(patience), ..Self::default() }
    }
}

impl<const LOG: usize, const PLACES: usize> Logic for Reader<LOG, PLACES> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "most of it joins the parts")]
    fn update(&mut self) {
        clock!(self, clock, split, asked, gather, deliver);
        dff_setup!(
            self, clock, newest, used, unsent, is_wide, owed, came, is_roomy, lost, lost_count, open,
            is_empty
        );
        dff_setup!(self, clock, unexpected_count, timeout_count, failed_count);
        self.split.reset.next = self.reset.val();
        self.asked.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();

        // A piece gets a tag.
        self.split.max_read_log.next = self.max_read_log.val();
        self.split.stamp.next = self.stamp.val();
        self.split.ar.valid.next = self.ar.valid.val() & !self.stops.val();
        self.split.ar.payload.next = self.ar.payload.val();
        self.ar.ready.next = self.split.ar.ready.val() & !self.stops.val();
        self.begins.next = self.ar.valid.val() & self.split.ar.ready.val() & !self.stops.val();
        self.mask.next = self.few.val();
        self.limit.next = self.few_tags.val();
        if self.is_wide.q.val() {
            self.mask.next = self.every.val();
            self.limit.next = self.tags.val();
        }
        self.has_tag.next = self.used.q.val() < self.limit.val();
        self.slot.next = self.newest.q.val() & self.mask.val();
        self.is_lost.next = self.lost.q.val().get_bit(self.slot.val().index());
        // A slot without beats takes the place of one that is lost. Nothing unsent may be in front of it, see `is_sent`.
        self.leaves_out.next = self.is_lost.val() & self.has_tag.val() & !self.unsent.q.val().any();
        self.room.next = self.has_tag.val() & !self.is_lost.val() & self.asked.sink.ready.val();
        self.split.pieces.ready.next = self.room.val();
        self.opens.next = self.room.val() & self.split.pieces.valid.val();
        self.asked.sink.valid.next = self.opens.val();
        self.asked.sink.payload.next.addr = self.split.pieces.payload.val().addr;
        self.asked.sink.payload.next.beats = self.split.pieces.payload.val().beats;
        self.asked.sink.payload.next.tag = bit_cast::<8, LOG>(self.slot.val());
        self.asked.sink.payload.next.stamp = self.split.pieces.payload.val().stamp;
        self.uses.next = self.opens.val() | self.leaves_out.val();
        self.deliver.opens.next = self.uses.val();
        self.deliver.slot.next = self.slot.val();
        self.deliver.promise.next.beats = self.split.pieces.payload.val().beats;
        if self.is_lost.val() {
            self.deliver.promise.next.beats = 0.into();
        }
        self.deliver.promise.next.id = self.split.pieces.payload.val().id;
        self.deliver.promise.next.ends = self.split.pieces.payload.val().ends;

        // It is asked for.
        self.rq.valid.next = self.asked.source.valid.val();
        self.rq.payload.next.data = bit_cast::<512, 64>(self.asked.source.payload.val().addr)
            | (bit_cast::<512, 4>(self.asked.source.payload.val().beats) << (self.dword_count_at.val() + 4))
            | (bit_cast::<512, 8>(self.asked.source.payload.val().tag) << self.tag_at.val());
        self.rq.payload.next.keep = 15.into();
        self.rq.payload.next.first_be = 15.into();
        self.rq.payload.next.last_be = 15.into();
        self.rq.payload.next.sequence = self.sequence.val();
        self.rq.payload.next.last = true;
        self.rq_stamp.next = self.asked.source.payload.val().stamp;
        self.asked.source.ready.next = self.rq.ready.val();
        self.sends.next = self.asked.source.valid.val() & self.rq.ready.val();
        self.gather.opens.next = self.sends.val();
        self.gather.slot.next = bit_cast::<LOG, 8>(self.asked.source.payload.val().tag);
        self.gather.beats.next = self.asked.source.payload.val().beats;

        // It comes.
        StreamSink::<RcBeat>::link(&mut self.rc, &mut self.gather.rc);
        self.gather.gives_up.next = self.deliver.gives_up.val();
        self.gather.lost.next = self.deliver.head.val();
        self.gather.look.next = self.deliver.head.val();
        self.deliver.some.next = self.used.q.val().any();
        self.deliver.mask.next = self.mask.val();
        self.deliver.is_sent.next = self.used.q.val() != self.unsent.q.val();
        self.deliver.waiting.next = self.gather.waiting.val();
        self.deliver.failed.next = self.gather.failed.val();
        self.deliver.write.next = self.gather.write.val();
        self.deliver.write_slot.next = self.gather.write_slot.val();
        self.deliver.write_place.next = self.gather.write_place.val();
        self.deliver.write_data.next = self.gather.write_data.val();
        self.r.valid.next = self.deliver.r.valid.val();
        self.r.payload.next = self.deliver.r.payload.val();
        self.deliver.r.ready.next = self.r.ready.val();
        self.ends.next = self.deliver.r.valid.val() & self.r.ready.val() & self.deliver.r.payload.val().last;

        if self.uses.val() {
            self.newest.d.next = self.newest.q.val() + 1;
        }
        if self.uses.val() & !self.deliver.frees.val() {
            self.used.d.next = self.used.q.val() + 1;
        }
        if !self.uses.val() & self.deliver.frees.val() {
            self.used.d.next = self.used.q.val() - 1;
        }
        self.came.d.next = 0.into();
        if self.gather.ends.val() {
            self.came.d.next = self.gather.ended.val();
        }
        self.owed_then.next = self.owed.q.val() - bit_cast::<9, 4>(self.came.q.val());
        if self.sends.val() {
            self.owed_then.next =
                self.owed_then.val() + bit_cast::<9, 4>(self.asked.source.payload.val().beats);
        }
        if self.deliver.gives_up.val() {
            self.owed_then.next = self.owed_then.val() - bit_cast::<9, 4>(self.deliver.given_up.val());
        }
        self.owed.d.next = self.owed_then.val();
        self.is_roomy.d.next = self.owed.q.val() <= self.most_owed.val();
        self.rq_fits.next = self.is_roomy.q.val();
        if self.deliver.gives_up.val() {
            self.lost.d.next = self.lost.q.val().replace_bit(self.deliver.head.val().index(), true);
            self.lost_count.d.next = self.lost_count.q.val() + 1;
        }
        if self.lost_count.q.val() >= self.limit.val() {
            self.lost.d.next = 0.into();
            self.lost_count.d.next = 0.into();
        }
        if self.opens.val() & !self.sends.val() {
            self.unsent.d.next = self.unsent.q.val() + 1;
        }
        if !self.opens.val() & self.sends.val() {
            self.unsent.d.next = self.unsent.q.val() - 1;
        }
        if !self.used.q.val().any() & !self.uses.val() {
            self.is_wide.d.next = self.extended_tags.val();
        }
        if self.begins.val() & !self.ends.val() {
            self.open.d.next = self.open.q.val() + 1;
        }
        if !self.begins.val() & self.ends.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        self.is_empty.d.next = !self.open.q.val().any() & !self.begins.val();
        self.is_drained.next = self.is_empty.q.val();
        self.unexpected.next = self.unexpected_count.q.val();
        self.timeouts.next = self.timeout_count.q.val();
        self.failed.next = self.failed_count.q.val();
        if self.gather.is_unexpected.val() {
            self.unexpected_count.d.next = self.unexpected_count.q.val() + 1;
        }
        if self.deliver.gives_up.val() {
            self.timeout_count.d.next = self.timeout_count.q.val() + 1;
        }
        if self.deliver.fails.val() {
            self.failed_count.d.next = self.failed_count.q.val() + 1;
        }
        if self.reset.val() {
            self.newest.d.next = 0.into();
            self.used.d.next = 0.into();
            self.unsent.d.next = 0.into();
            self.is_wide.d.next = false;
            self.owed.d.next = 0.into();
            self.came.d.next = 0.into();
            self.is_roomy.d.next = false;
            self.lost.d.next = 0.into();
            self.lost_count.d.next = 0.into();
            self.open.d.next = 0.into();
            self.is_empty.d.next = false;
            self.unexpected_count.d.next = 0.into();
            self.timeout_count.d.next = 0.into();
            self.failed_count.d.next = 0.into();
        }
    }
}
