//! Table: the buffers are read before the payload, kept, and written back behind it.

use rust_hdl::prelude::*;
use stroma_abi::kernel::shuffle::Buffer;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::stream_ram::StreamRam;
use stroma_hw::slot::{Ending, LENGTH_BITS, SlotData, SlotRead, TRANSFER_MAX};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::drain::Header;
use super::parameters::{PARTITION_BITS, Task};

/// Bits of the bytes of a table.
const BYTES_BITS: usize = 15;
/// Bits of a count of its beats.
const BEAT_BITS: usize = 11;

block! {
    /// Reads the table, shows its entries, keeps it, and writes it with new counts.
    ///
    /// The entries of two beats are those of one index, in 8 banks or in 1.
    ///
    /// - **Ports** `request`: stays from `begins`, one cycle, until all is done. `read`, `read_data`: its reads, in as few as possible. `is_there`: one cycle, `entries` of `index`; `is_odd`: those of the second beat; with
    ///   `D` = 64 the one entry comes with the second. `is_read`: all has come; `is_refused`, `has_failed`: one of the reads was. `saves`: one cycle, the table is to be written; `asked`, `used[i]`: bytes in use of the buffer of that index
    ///   in bank `i`, in the same cycle; `header`, `beats`: its writes; `is_saved`: all of them have gone.
    /// - **Latency** 1 cycle from `begins` to `read`, 1 from `read_data` to `is_there`, 3 from `saves` to `beats`. **Rate** 1 beat per cycle.
    /// - **Backpressure** takes `read_data` always.
    /// - **Reset** forgets how far it has come.
    /// - **Limits** `D` is 64 or 512, `L` is `D / 64`, `T` the bits that count the beats of 16 KiB.
    pub struct Table<const D: usize, const L: usize, const T: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: Signal<In, Task>,
        pub begins: Signal<In, Bit>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub is_there: Signal<Out, Bit>,
        pub is_odd: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<PARTITION_BITS>>,
        pub entries: Signal<Out, Bits<512>>,
        pub is_read: Signal<Out, Bit>,
        pub is_refused: Signal<Out, Bit>,
        pub has_failed: Signal<Out, Bit>,
        pub saves: Signal<In, Bit>,
        pub asked: Signal<Out, Bits<PARTITION_BITS>>,
        pub used: [Signal<In, Bits<D>>; L] = std::array::from_fn(|_| Signal::default()),
        pub header: StreamSource<Header>,
        pub beats: StreamSource<Beat<D>>,
        pub is_saved: Signal<Out, Bit>,
        kept: StreamRam<Bits<D>, T>,
        /// Bytes not asked for yet, to read or to write, and where they begin.
        left: Reg<Bits<BYTES_BITS>>,
        at: Reg<Bits<64>>,
        is_saving: Reg<Bit>,
        /// Reads whose data have not all come.
        open: Reg<Bits<3>>,
        /// Beats that have come, or were fetched, and that have gone.
        beat: Reg<Bits<BEAT_BITS>>,
        gone: Reg<Bits<BEAT_BITS>>,
        fetched_all: Reg<Bit>,
        gone_all: Reg<Bit>,
        words: Reg<Bits<512>>,
        is_shown: Reg<Bit>,
        shown: Reg<Bits<BEAT_BITS>>,
        refused: Reg<Bit>,
        failed: Reg<Bit>,
        bytes: Signal<Local, Bits<BYTES_BITS>>,
        last_beat: Signal<Local, Bits<BEAT_BITS>>,
        piece: Signal<Local, Bits<LENGTH_BITS>>,
        asks: Signal<Local, Bit>,
        opens: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        data: Signal<Local, Bits<D>>,
        whole: Constant<Bits<BYTES_BITS>> = number(TRANSFER_MAX),
        step: Constant<Bits<64>> = number(TRANSFER_MAX),
        entry: Constant<Bits<BYTES_BITS>> = number(Buffer::LEN),
        beat_log: Constant<Bits<4>> = number((D / 8).ilog2()),
        beat_bytes: Constant<Bits<BYTES_BITS>> = number(D / 8),
        packet_mask: Constant<Bits<BEAT_BITS>> = number(TRANSFER_MAX * 8 / D - 1),
        is_wide: Constant<Bit> = Constant::new(D == 512),
        keep: Constant<Bits<D>> = Constant::new(without_used()),
        place: [Constant<Bits<10>>; L] =
            constants(|bank| ((Buffer::USED.offset() % D.min(128) + bank % 4 * 128) as u64).into()),
        is_second: [Constant<Bit>; L] = constants(is_second::<L>),
        how_refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

/// Does the entry of a bank come in the second of two beats?
pub(super) fn is_second<const L: usize>(bank: usize) -> bool {
    L == 1 || bank >= 4
}

/// The bits of a beat that do not count bytes in use.
fn without_used<const D: usize>() -> Bits<D> {
    let field = num_bigint::BigUint::from(u32::MAX) << (Buffer::USED.offset() % D.min(128));
    let all = (num_bigint::BigUint::from(1_u8) << D) - 1_u8;
    (0..D).step_by(128).fold(all, |keep, at| keep ^ (field.clone() << at)).into()
}

impl<const D: usize, const L: usize, const T: usize> Logic for Table<D, L, T> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "reading and writing share their counters")]
    fn update(&mut self) {
        clock!(self, clock, kept);
        dff_setup!(
            self,
            clock,
            left,
            at,
            is_saving,
            open,
            beat,
            gone,
            fetched_all,
            gone_all,
            words,
            is_shown,
            shown,
            refused,
            failed
        );
        self.kept.reset.next = self.reset.val();
        self.bytes.next =
            (bit_cast::<BYTES_BITS, PARTITION_BITS>(self.request.val().last) << 4) + self.entry.val();
        self.last_beat.next =
            bit_cast::<BEAT_BITS, BYTES_BITS>((self.bytes.val() - 1) >> self.beat_log.val());

        // In pieces, both ways.
        self.piece.next = bit_cast::<LENGTH_BITS, BYTES_BITS>(self.left.q.val());
        if self.left.q.val() > self.whole.val() {
            self.piece.next = bit_cast::<LENGTH_BITS, BYTES_BITS>(self.whole.val());
        }
        self.read.valid.next = self.left.q.val().any() & !self.is_saving.q.val();
        self.read.payload.next.ticket = self.request.val().ticket;
        self.read.payload.next.va = self.at.q.val();
        self.read.payload.next.key = self.request.val().key;
        self.read.payload.next.len = self.piece.val();
        self.header.valid.next = self.left.q.val().any() & self.is_saving.q.val();
        self.header.payload.next.is_mark = false;
        self.header.payload.next.va = self.at.q.val();
        self.header.payload.next.len = self.piece.val();
        self.header.payload.next.bank = 0.into();
        self.opens.next = self.left.q.val().any() & !self.is_saving.q.val() & self.read.ready.val();
        self.asks.next =
            self.opens.val() | (self.left.q.val().any() & self.is_saving.q.val() & self.header.ready.val());
        if self.asks.val() {
            self.at.d.next = self.at.q.val() + self.step.val();
            self.left.d.next = self.left.q.val() - bit_cast::<BYTES_BITS, LENGTH_BITS>(self.piece.val());
        }

        self.read_data.ready.next = true;
        self.closes.next = self.read_data.valid.val() & self.read_data.payload.val().eop;
        if self.opens.val() & !self.closes.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.closes.val() & !self.opens.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        if self.closes.val() & self.read_data.payload.val().err.any() {
            if self.read_data.payload.val().err == self.how_refused.val() {
                self.refused.d.next = true;
            } else {
                self.failed.d.next = true;
            }
        }
        self.is_shown.d.next = self.read_data.valid.val();
        self.shown.d.next = self.beat.q.val();
        self.kept.write_enable.next = self.read_data.valid.val();
        self.kept.write_at.next = bit_cast::<T, BEAT_BITS>(self.beat.q.val());
        self.kept.write_data.next = self.read_data.payload.val().data;
        if self.read_data.valid.val() {
            self.beat.d.next = self.beat.q.val() + 1;
            self.words.d.next = bit_cast::<512, D>(self.read_data.payload.val().data);
            if !self.is_wide.val() & self.beat.q.val().get_bit(0) {
                self.words.d.next = bit_cast::<512, 64>(self.words.q.val().get_bits::<64>(0))
                    | (bit_cast::<512, D>(self.read_data.payload.val().data) << 64);
            }
        }
        self.is_there.next = self.is_shown.q.val();
        self.is_odd.next = self.shown.q.val().get_bit(0);
        self.index.next = self.shown.q.val().get_bits::<PARTITION_BITS>(1);
        self.entries.next = self.words.q.val();
        self.is_read.next = !self.left.q.val().any() & !self.open.q.val().any() & !self.is_shown.q.val();
        self.is_refused.next = self.refused.q.val();
        self.has_failed.next = self.failed.q.val();

        self.kept.some.next = self.is_saving.q.val() & !self.fetched_all.q.val();
        self.kept.read_at.next = bit_cast::<T, BEAT_BITS>(self.beat.q.val());
        if self.kept.taken.val() {
            self.beat.d.next = self.beat.q.val() + 1;
            self.fetched_all.d.next = self.beat.q.val() == self.last_beat.val();
        }
        self.asked.next = self.gone.q.val().get_bits::<PARTITION_BITS>(1);
        self.data.next = self.kept.source.payload.val();
        if self.is_wide.val() | self.gone.q.val().get_bit(0) {
            self.data.next = self.kept.source.payload.val() & self.keep.val();
        }
        for i in 0..L {
            if self.gone.q.val().get_bit(0) == self.is_second[i].val() {
                self.data.next = self.data.val() | (self.used[i].val() << self.place[i].val());
            }
        }
        self.is_last.next = self.gone.q.val() == self.last_beat.val();
        self.beats.valid.next = self.kept.source.valid.val();
        self.beats.payload.next.data = self.data.val();
        self.beats.payload.next.nbytes = bit_cast::<7, BYTES_BITS>(self.beat_bytes.val());
        if self.bytes.val() < self.beat_bytes.val() {
            self.beats.payload.next.nbytes = bit_cast::<7, BYTES_BITS>(self.bytes.val());
        }
        self.beats.payload.next.sop = !(self.gone.q.val() & self.packet_mask.val()).any();
        self.beats.payload.next.eop =
            self.is_last.val() | ((self.gone.q.val() & self.packet_mask.val()) == self.packet_mask.val());
        self.beats.payload.next.err = false;
        self.kept.source.ready.next = self.beats.ready.val();
        self.goes.next = self.kept.source.valid.val() & self.beats.ready.val();
        if self.goes.val() {
            self.gone.d.next = self.gone.q.val() + 1;
            self.gone_all.d.next = self.is_last.val();
        }
        self.is_saved.next = self.gone_all.q.val() & !self.left.q.val().any();

        if self.begins.val() | self.saves.val() {
            self.left.d.next = self.bytes.val();
            self.at.d.next = self.request.val().buffers;
            self.is_saving.d.next = self.saves.val();
            self.beat.d.next = 0.into();
            self.gone.d.next = 0.into();
            self.fetched_all.d.next = false;
            self.gone_all.d.next = false;
        }
        if self.begins.val() {
            self.refused.d.next = false;
            self.failed.d.next = false;
            self.open.d.next = 0.into();
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
            self.is_saving.d.next = false;
            self.is_shown.d.next = false;
        }
    }
}
