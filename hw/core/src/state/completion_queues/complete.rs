//! What a completion does to a CQ.

use rust_hdl::prelude::*;
use stroma_abi::desc::Cqe;

use super::table::QueueRow;
use crate::constant::number;
use crate::host::work::{Done, EntryWrite};

block! {
    /// Makes the entry of a completion, or finds that there is no room for it. Logic only.
    ///
    /// An entry that the queue is armed for is told at once if moderation has enough of them, or has to wait for others; the time
    /// of that begins with the first.
    ///
    /// - **Ports** `done`, `row`: a completion and its queue; `is_full`: it has no room; `is_enough`: with one more
    ///   entry as many are awaited as moderation asks for; `now`: the time stamp. `written`: `entry` is to be written; `lost`: it cannot be. `after`: the queue's row from now on, if it
    ///   exists. `fires`: a completion event is due; `overflows`: the first entry of this queue is lost.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Complete {
        pub done: Signal<In, Done>,
        pub row: Signal<In, QueueRow>,
        pub is_full: Signal<In, Bit>,
        pub is_enough: Signal<In, Bit>,
        pub now: Signal<In, Bits<64>>,
        pub written: Signal<Out, Bit>,
        pub lost: Signal<Out, Bit>,
        pub entry: Signal<Out, EntryWrite>,
        pub after: Signal<Out, QueueRow>,
        pub fires: Signal<Out, Bit>,
        pub overflows: Signal<Out, Bit>,
        entries: Signal<Local, Bits<24>>,
        has_room: Signal<Local, Bit>,
        is_awaited: Signal<Local, Bit>,
        slot: Signal<Local, Bits<24>>,
        lap: Signal<Local, Bits<24>>,
        stamp: Signal<Local, Bits<56>>,
        flags: Signal<Local, Bits<6>>,
        bytes: Signal<Local, Bits<256>>,
        one: Constant<Bits<24>> = number(1_u64),
        entry_log: Constant<Bits<4>> = number(Cqe::LEN.ilog2()),
        solicited_at: Constant<Bits<4>> = number(Cqe::SOLICITED.bit),
        detail_at: Constant<Bits<10>> = number(Cqe::DETAIL.offset()),
        length_at: Constant<Bits<10>> = number(Cqe::LENGTH.offset()),
        qpn_at: Constant<Bits<10>> = number(Cqe::QUEUE_PAIR.offset()),
        opcode_at: Constant<Bits<10>> = number(Cqe::OPCODE.offset()),
        index_at: Constant<Bits<10>> = number(Cqe::INDEX.offset()),
        status_at: Constant<Bits<10>> = number(Cqe::STATUS.offset()),
        vendor_at: Constant<Bits<10>> = number(Cqe::VENDOR.offset()),
        source_qp_at: Constant<Bits<10>> = number(Cqe::SOURCE_QP.offset()),
        flags_at: Constant<Bits<10>> = number(Cqe::HAS_IMMEDIATE.offset()),
        timestamp_at: Constant<Bits<10>> = number(Cqe::TIMESTAMP.offset()),
        phase_at: Constant<Bits<10>> = number(Cqe::PHASE.offset()),
    }
}

// The flags travel as one value: those with a name are the lowest of their byte.
const _: () = assert!(
    Cqe::HAS_IMMEDIATE.bit == 0
        && Cqe::RPC.offset() == Cqe::HAS_IMMEDIATE.offset() + 5
        && Cqe::SOLICITED.byte == Cqe::HAS_IMMEDIATE.byte
);

impl Logic for Complete {
    #[hdl_gen]
    fn update(&mut self) {
        self.entries.next = self.one.val() << self.row.val().log;
        self.has_room.next = self.row.val().exists & !self.is_full.val();
        self.written.next = self.has_room.val();
        self.lost.next = !self.has_room.val();
        self.overflows.next = self.row.val().exists & self.is_full.val() & !self.row.val().overflowed;

        self.flags.next = bit_cast::<6, 8>(self.done.val().flags);
        self.is_awaited.next = (self.row.val().armed == 1)
            | ((self.row.val().armed == 2)
                & (self.done.val().status.any()
                    | self.done.val().flags.get_bit(self.solicited_at.val().index())));
        self.fires.next = self.has_room.val() & self.is_awaited.val() & self.is_enough.val();
        self.after.next = self.row.val();
        if self.has_room.val() {
            self.after.next.producer = self.row.val().producer + 1;
            if self.is_awaited.val() & self.is_enough.val() {
                self.after.next.armed = 0.into();
                self.after.next.awaited = 0.into();
            } else if self.is_awaited.val() {
                self.after.next.awaited = self.row.val().awaited + 1;
                if !self.row.val().awaited.any() {
                    self.after.next.since = bit_cast::<32, 64>(self.now.val());
                }
                self.after.next.lined = self.row.val().lined | self.row.val().period.any();
            }
        } else {
            self.after.next.overflowed = true;
        }

        self.slot.next = self.row.val().producer & (self.entries.val() - 1);
        self.lap.next = self.row.val().producer >> self.row.val().log;
        self.stamp.next = bit_cast::<56, 64>(self.now.val());
        self.bytes.next = (bit_cast::<256, 32>(self.done.val().detail) << self.detail_at.val())
            | (bit_cast::<256, 32>(self.done.val().length) << self.length_at.val())
            | (bit_cast::<256, 24>(self.done.val().qpn) << self.qpn_at.val())
            | (bit_cast::<256, 8>(self.done.val().opcode) << self.opcode_at.val())
            | (bit_cast::<256, 16>(self.done.val().index) << self.index_at.val())
            | (bit_cast::<256, 8>(self.done.val().status) << self.status_at.val())
            | (bit_cast::<256, 8>(self.done.val().vendor) << self.vendor_at.val())
            | (bit_cast::<256, 24>(self.done.val().source_qp) << self.source_qp_at.val())
            | (bit_cast::<256, 6>(self.flags.val()) << self.flags_at.val())
            | (bit_cast::<256, 56>(self.stamp.val()) << self.timestamp_at.val());
        self.entry.next.iova = (bit_cast::<64, 52>(self.row.val().base) << 12)
            + (bit_cast::<64, 24>(self.slot.val()) << self.entry_log.val());
        self.entry.next.data =
            self.bytes.val().replace_bit(self.phase_at.val().index(), !self.lap.val().get_bit(0));
        self.entry.next.long = true;
    }
}
