//! What the card asks of the host: its reads and writes of memory.

pub mod fields;
#[cfg(test)]
mod host;
pub mod merge;
pub mod model;
pub mod reader;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
pub mod writer;

use rust_hdl::prelude::*;
use stroma_hw::host::axi::{ReadAddress, ReadBeat, WriteAddress, WriteBeat, WriteResponse};
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use merge::Merge;
use reader::Reader;
use writer::Writer;
use writer::answers::Report;

/// Dwords of a beat.
pub const BEAT_DWORDS: usize = 16;

record! {
    /// A beat towards the block, `s_axis_rq_*`. What the sideband has besides is zero.
    pub struct RqBeat {
        /// `tdata`.
        pub data: Bits<512>,
        /// `tkeep`: dwords that count, all but in the last beat.
        pub keep: Bits<16>,
        /// Byte enables of the first dword; the same in all beats of a transaction, as the next two.
        pub first_be: Bits<4>,
        /// Byte enables of the last dword, none if it is the first.
        pub last_be: Bits<4>,
        /// The block reports this number when nothing can overtake the transaction any more.
        pub sequence: Bits<6>,
        /// `tlast`.
        pub last: Bit,
    }
}

record! {
    /// A beat from the block, `m_axis_rc_*`.
    pub struct RcBeat {
        /// `tdata`.
        pub data: Bits<512>,
        /// `tkeep`: dwords that count.
        pub keep: Bits<16>,
        /// The packet is worthless.
        pub discontinue: Bit,
        /// `tlast`.
        pub last: Bit,
    }
}

block! {
    /// Carries out the card's reads and writes of host memory, with up to `2^LOG` read requests under way.
    ///
    /// ```text
    ///   aw, w, b ─ Writer ─┐
    ///                      ├─ Merge ─ rq
    ///   ar, r ─── Reader ──┘
    ///               └────────────────── rc
    /// ```
    ///
    /// - **Ports** `aw`, `w`, `b`, `ar`, `r`: the card's AXI4 manager; `rq`, `rc`, `reports`, `pcie_tfc_nph_av`: the hard block, whose pins they are.
    ///   `max_payload_log`, `max_read_log`: of the host's largest payload and read request in bytes, from 7 on; more than 1024 bytes
    ///   of payload or 512 of a request are not used. `extended_tags`: the host takes more than 32 tags. `is_master`: requests may be sent, others
    ///   wait. `stops`: no burst is taken any more; `is_drained`: every burst that was taken is answered; `is_between`: no transaction is half sent or
    ///   on offer, so that a reset cuts none. `writes_sent`, `reads_sent`: transactions
    ///   that the block has taken; `unexpected`, `timeouts`, `failed`: as [`Reader`]'s.
    /// - **Order** writes are sent in order, and answered when nothing can overtake them any more. A read never overtakes a write whose
    ///   last beat was taken before its address was; a write may overtake reads. Reads are answered in order.
    /// - **Latency** 7 cycles from the last beat of a transaction on `w` to `rq`, 3 from `ar`; 2 from a report to `b`, 4 from the last beat of a request on `rc` to `r`. **Rate** 1 beat of `rq` and of `rc` per
    ///   cycle: 4 KiB are written in 80 cycles with payloads of 256 bytes, and read in 72 with completions of 512.
    /// - **Backpressure** as [`Writer`]'s and [`Reader`]'s; `aw.ready` and `ar.ready` follow `stops`, no other port follows another.
    /// - **Reset** forgets everything; the block has to be idle, or reset with it.
    /// - **Limits** `PLACES = LOG + 3`, `LOG` at most 7, otherwise building panics. With `stops` and without `is_master` it does not drain: what waits
    ///   has nowhere to go, and reset is the way out.
    pub struct Requester<const LOG: usize, const PLACES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub max_payload_log: Signal<In, Bits<4>>,
        pub max_read_log: Signal<In, Bits<4>>,
        pub extended_tags: Signal<In, Bit>,
        pub is_master: Signal<In, Bit>,
        pub stops: Signal<In, Bit>,
        pub is_drained: Signal<Out, Bit>,
        pub is_between: Signal<Out, Bit>,
        pub aw: StreamSink<WriteAddress>,
        pub w: StreamSink<WriteBeat<512, 64>>,
        pub b: StreamSource<WriteResponse>,
        pub ar: StreamSink<ReadAddress>,
        pub r: StreamSource<ReadBeat<512>>,
        pub rq: StreamSource<RqBeat>,
        pub rc: StreamSink<RcBeat>,
        pub reports: [Signal<In, Report>; 2],
        pub pcie_tfc_nph_av: Signal<In, Bits<4>>,
        pub writes_sent: Signal<Out, Bits<32>>,
        pub reads_sent: Signal<Out, Bits<32>>,
        pub unexpected: Signal<Out, Bits<32>>,
        pub timeouts: Signal<Out, Bits<32>>,
        pub failed: Signal<Out, Bits<32>>,
        writer: Writer,
        reader: Reader<LOG, PLACES>,
        merge: Merge,
        write_count: Reg<Bits<32>>,
        read_count: Reg<Bits<32>>,
    }
}

impl<const LOG: usize, const PLACES: usize> Requester<LOG, PLACES> {
    /// One that gives up on a read after `patience` cycles; `default()` after 2^24.
    #[must_use]
    pub fn new(patience: u32) -> Self {
        Self { reader: Reader::new(patience), ..Self::default() }
    }
}

impl<const LOG: usize, const PLACES: usize> Logic for Requester<LOG, PLACES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, writer, reader, merge);
        dff_setup!(self, clock, write_count, read_count);
        self.writer.reset.next = self.reset.val();
        self.reader.reset.next = self.reset.val();
        self.merge.reset.next = self.reset.val();

        self.writer.max_payload_log.next = self.max_payload_log.val();
        self.writer.stops.next = self.stops.val();
        StreamSink::<WriteAddress>::link(&mut self.aw, &mut self.writer.aw);
        StreamSink::<WriteBeat<512, 64>>::link(&mut self.w, &mut self.writer.w);
        StreamSource::<WriteResponse>::link(&mut self.b, &mut self.writer.b);
        for i in 0..2 {
            self.writer.reports[i].next = self.reports[i].val();
        }
        self.reader.max_read_log.next = self.max_read_log.val();
        self.reader.extended_tags.next = self.extended_tags.val();
        self.reader.stops.next = self.stops.val();
        self.reader.stamp.next = self.writer.accepted.val();
        StreamSink::<ReadAddress>::link(&mut self.ar, &mut self.reader.ar);
        StreamSource::<ReadBeat<512>>::link(&mut self.r, &mut self.reader.r);
        StreamSink::<RcBeat>::link(&mut self.rc, &mut self.reader.rc);

        StreamSource::<RqBeat>::join(&mut self.writer.rq, &mut self.merge.writes);
        StreamSource::<RqBeat>::join(&mut self.reader.rq, &mut self.merge.reads);
        self.merge.stamp.next = self.reader.rq_stamp.val();
        self.merge.fits.next = self.reader.rq_fits.val();
        self.merge.left.next = self.writer.left.val();
        self.merge.is_master.next = self.is_master.val();
        self.merge.credits.next = self.pcie_tfc_nph_av.val();
        StreamSource::<RqBeat>::link(&mut self.rq, &mut self.merge.rq);

        self.is_between.next = self.merge.is_between.val();
        self.is_drained.next = self.writer.is_drained.val() & self.reader.is_drained.val();
        self.writes_sent.next = self.write_count.q.val();
        self.reads_sent.next = self.read_count.q.val();
        self.unexpected.next = self.reader.unexpected.val();
        self.timeouts.next = self.reader.timeouts.val();
        self.failed.next = self.reader.failed.val();
        if self.merge.sends_write.val() {
            self.write_count.d.next = self.write_count.q.val() + 1;
        }
        if self.merge.sends_read.val() {
            self.read_count.d.next = self.read_count.q.val() + 1;
        }
        if self.reset.val() {
            self.write_count.d.next = 0.into();
            self.read_count.d.next = 0.into();
        }
    }
}
