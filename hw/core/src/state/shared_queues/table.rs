//! The shared receive queues as they were made, for their owner and for whoever takes receives.

use rust_hdl::prelude::*;
use stroma_abi::desc::SharedQueue;

use crate::constant::number;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::{LimitTold, SharedRow};

/// Bits of a queue's body.
pub const BODY_BITS: usize = SharedQueue::LEN * 8;

record! {
    /// A queue, or the place for one.
    pub struct Kept {
        /// There is one.
        pub exists: Bit,
        /// Its body.
        pub body: Bits<BODY_BITS>,
        /// Counts the limits that were set.
        pub round: Bits<8>,
    }
}

record! {
    /// What was told of a queue's limit.
    pub struct Told {
        /// An event was given.
        pub told: Bit,
        /// For the limit of this round.
        pub round: Bits<8>,
    }
}

block! {
    /// Holds `2^SRQS` queues.
    ///
    /// A limit that was told of counts no more. It stays in the row, where whoever tells of it knows that; the owner shows none.
    ///
    /// - **Ports** `read`, `index`: `kept` shows that queue from the next cycle on, until the next read, and `beyond` that there is no
    ///   such place, where none `exists`; `is_told`: an event has told of its limit; `limit_told`: one does. `row_enable`, `row_index`, `row`: likewise, for two others. `probe`, `exists`: is there such
    ///   a queue? `write`, `write_index`, `write_kept`: stores one at the clock edge. `ready`: the table is clean.
    /// - **Latency** 1 cycle, to `exists` 0. **Rate** a read of each kind and a write per cycle; a read during a write of the same place
    ///   gives the *old* content.
    /// - **Reset** clears all places, one a cycle; `ready` is low meanwhile, and writes are lost.
    /// - **Limits** `SRQS` from 1 to 24.
    pub struct Table<const SRQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub read: Signal<In, Bit>,
        pub index: Signal<In, Bits<32>>,
        pub kept: Signal<Out, Kept>,
        pub beyond: Signal<Out, Bit>,
        pub is_told: Signal<Out, Bit>,
        pub limit_told: Signal<In, LimitTold>,
        pub row_enable: [Signal<In, Bit>; 2],
        pub row_index: [Signal<In, Bits<24>>; 2],
        pub row: [Signal<Out, SharedRow>; 2],
        pub probe: Signal<In, Bits<24>>,
        pub exists: Signal<Out, Bit>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<SRQS>>,
        pub write_kept: Signal<In, Kept>,
        pub ready: Signal<Out, Bit>,
        queues: BlockRam<Kept, SRQS>,
        rows: [BlockRam<SharedRow, SRQS>; 2],
        existence: LutRam<Bit, SRQS>,
        told: BlockRam<Told, SRQS>,
        is_beyond: Reg<Bit>,
        is_row_beyond: [Reg<Bit>; 2],
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<SRQS>>,
        stores: Signal<Local, Bit>,
        at: Signal<Local, Bits<SRQS>>,
        stored: Signal<Local, Kept>,
        row_at: [Signal<Local, Bits<SRQS>>; 2],
        made: Signal<Local, SharedRow>,
        shown: Signal<Local, SharedRow>,
        nothing: Constant<Kept> = Constant::new(Kept::default()),
        log: Constant<Bits<5>> = number(SRQS),
        last: Constant<Bits<SRQS>> = Constant::new(Bits::mask()),
        /// Of the base without its low twelve bits.
        base_at: Constant<Bits<8>> = number(SharedQueue::BASE.offset() + 12),
        log_at: Constant<Bits<8>> = number(SharedQueue::LOG.offset()),
        stride_at: Constant<Bits<8>> = number(SharedQueue::STRIDE.offset()),
        page_at: Constant<Bits<8>> = number(SharedQueue::PAGE.offset()),
        pd_at: Constant<Bits<8>> = number(SharedQueue::PD.offset()),
        limit_at: Constant<Bits<8>> = number(SharedQueue::LIMIT.offset()),
    }
}

impl<const SRQS: usize> Logic for Table<SRQS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, queues, existence, told);
        dff_setup!(self, clock, is_beyond, scrubbing, scrubbed);
        self.queues.read_enable.next = self.read.val();
        self.queues.read_address.next = bit_cast::<SRQS, 32>(self.index.val());
        if self.read.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.beyond.next = self.is_beyond.q.val();
        self.kept.next = self.queues.read_data.val();
        if self.is_beyond.q.val() {
            self.kept.next.exists = false;
        }

        self.stores.next = self.write.val();
        self.at.next = self.write_index.val();
        self.stored.next = self.write_kept.val();
        if self.scrubbing.q.val() {
            self.stores.next = true;
            self.at.next = self.scrubbed.q.val();
            self.stored.next = self.nothing.val();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }
        self.told.read_enable.next = self.read.val();
        self.told.read_address.next = bit_cast::<SRQS, 32>(self.index.val());
        self.is_told.next = self.told.read_data.val().told
            & (self.told.read_data.val().round == self.queues.read_data.val().round);
        self.told.write_enable.next = self.limit_told.val().valid | self.scrubbing.q.val();
        self.told.write_address.next = bit_cast::<SRQS, 24>(self.limit_told.val().number);
        self.told.write_data.next.told = true;
        self.told.write_data.next.round = self.limit_told.val().round;
        if self.scrubbing.q.val() {
            self.told.write_address.next = self.scrubbed.q.val();
            self.told.write_data.next.told = false;
        }
        self.ready.next = !self.scrubbing.q.val();
        self.queues.write_enable.next = self.stores.val();
        self.queues.write_address.next = self.at.val();
        self.queues.write_data.next = self.stored.val();
        self.made.next.exists = self.stored.val().exists;
        self.made.next.page = self.stored.val().body.get_bits::<12>(self.page_at.val().index());
        self.made.next.pd = self.stored.val().body.get_bits::<16>(self.pd_at.val().index());
        self.made.next.base = self.stored.val().body.get_bits::<52>(self.base_at.val().index());
        self.made.next.log = self.stored.val().body.get_bits::<4>(self.log_at.val().index());
        self.made.next.stride = self.stored.val().body.get_bits::<3>(self.stride_at.val().index());
        self.made.next.limit = self.stored.val().body.get_bits::<16>(self.limit_at.val().index());
        self.made.next.round = self.stored.val().round;
        self.row_at[0].next = bit_cast::<SRQS, 24>(self.row_index[0].val());
        self.row_at[1].next = bit_cast::<SRQS, 24>(self.row_index[1].val());
        for i in 0..2 {
            self.is_row_beyond[i].clock.next = self.clock.val();
            self.is_row_beyond[i].d.next = self.is_row_beyond[i].q.val();
            if self.row_enable[i].val() {
                self.is_row_beyond[i].d.next = (self.row_index[i].val() >> self.log.val()).any();
            }
            self.rows[i].clock.next = self.clock.val();
            self.rows[i].read_enable.next = self.row_enable[i].val();
            self.rows[i].read_address.next = self.row_at[i].val();
            self.rows[i].write_enable.next = self.stores.val();
            self.rows[i].write_address.next = self.at.val();
            self.rows[i].write_data.next = self.made.val();
            self.shown.next = self.rows[i].read_data.val();
            if self.is_row_beyond[i].q.val() {
                self.shown.next.exists = false;
            }
            self.row[i].next = self.shown.val();
        }
        self.existence.write_enable.next = self.stores.val();
        self.existence.write_address.next = self.at.val();
        self.existence.write_data.next = self.stored.val().exists;
        self.existence.read_address.next = bit_cast::<SRQS, 24>(self.probe.val());
        self.exists.next = self.existence.read_data.val()
            & !(self.probe.val() >> self.log.val()).any()
            & !self.scrubbing.q.val();
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
