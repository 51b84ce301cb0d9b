//! Seek: where a list is.

use rust_hdl::prelude::*;
use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::{BODY_AT, UNIT};
use stroma_abi::desc::{ReceiveHead, Sge};

use super::intake::Want;
use crate::constant::{constants, number};
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{List, RingRow, SharedRow};

/// Units that hold the longest list, with the head it has in either queue.
pub const UNITS_MOST: usize = (BODY_AT + SGE_MAX * Sge::LEN).div_ceil(UNIT);
/// log2 of the shortest stride.
const STRIDE_LOG: usize = 4;
/// Units of the shortest send queue.
const SEND_UNITS_LEAST: usize = 8;

const _: () =
    assert!(ReceiveHead::LEN == Sge::LEN && BODY_AT == 2 * Sge::LEN, "heads are one place, and two");
const _: () = assert!(Sge::LEN == 1 << STRIDE_LOG, "a place is the shortest stride");
const _: () = assert!(UNITS_MOST <= SEND_UNITS_LEAST, "a WQE goes over the ring's end once at most");

/// Units to read of an entry with `16 << stride` bytes.
fn units_of(stride: usize) -> Bits<3> {
    ((1_usize << (STRIDE_LOG + stride)).div_ceil(UNIT).min(UNITS_MOST) as u64).into()
}

/// Scatter entries that it holds.
fn most_of(stride: usize) -> Bits<5> {
    (((1_usize << stride) - 1).min(SGE_MAX) as u64).into()
}

record! {
    /// A list whose row was read.
    pub struct Spot {
        /// There is no such ring.
        pub missing: Bit,
        /// A WQE, else a receive.
        pub is_send: Bit,
        /// The ring's first page.
        pub base: Bits<52>,
        /// Bytes from there to the list.
        pub at: Bits<27>,
        /// It is a WQE that goes on at the ring's start.
        pub splits: Bit,
        /// Units to read.
        pub units: Bits<3>,
        /// Scatter entries that a receive's stride holds.
        pub most: Bits<5>,
        /// Index of the list.
        pub index: Bits<16>,
        /// SRQ: its protection domain.
        pub pd: Bits<16>,
    }
}

block! {
    /// Reads the row of each list.
    ///
    /// - **Ports** `want`: lists; `ring_*`, `shared_*`: as [`Scatter`](super::Scatter) has them; `spot`: one for each list.
    /// - **Latency** 0 cycles to `ring_enable` and `shared_enable`, 2 to `spot`. **Rate** 1 list per cycle.
    /// - **Backpressure** stalls `want`, whose `ready` and the enables follow `spot.ready` combinationally.
    /// - **Reset** forgets all lists.
    /// - **Limits** send queues have 8 units at least.
    pub struct Seek {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub want: StreamSink<Want>,
        pub ring_enable: Signal<Out, Bit>,
        pub ring_index: Signal<Out, Bits<24>>,
        pub ring: Signal<In, RingRow>,
        pub shared_enable: Signal<Out, Bit>,
        pub shared_index: Signal<Out, Bits<24>>,
        pub shared: Signal<In, SharedRow>,
        pub spot: StreamSource<Spot>,
        /// The row of this one shows.
        is_asked: Reg<Bit>,
        asked: Reg<Want>,
        is_found: Reg<Bit>,
        found: Reg<Spot>,
        moves: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        wants_shared: Signal<Local, Bit>,
        is_send: Signal<Local, Bit>,
        is_shared: Signal<Local, Bit>,
        missing: Signal<Local, Bit>,
        base: Signal<Local, Bits<52>>,
        log: Signal<Local, Bits<4>>,
        stride: Signal<Local, Bits<3>>,
        outside: Signal<Local, Bits<16>>,
        place: Signal<Local, Bits<27>>,
        from_end: Signal<Local, Bits<16>>,
        low: Signal<Local, Bits<3>>,
        is_near_end: Signal<Local, Bit>,
        send: Constant<Bits<2>> = number(List::Send as u8),
        shared_list: Constant<Bits<2>> = number(List::Shared as u8),
        ones: Constant<Bits<16>> = number(u16::MAX),
        last_whole: Constant<Bits<3>> = number(SEND_UNITS_LEAST - UNITS_MOST),
        unit_stride: Constant<Bits<3>> = number((UNIT / Sge::LEN).trailing_zeros()),
        wqe_units: Constant<Bits<3>> = number(UNITS_MOST),
        units_of: [Constant<Bits<3>>; 8] = constants(units_of),
        most_of: [Constant<Bits<5>>; 8] = constants(most_of),
        stride_log: Constant<Bits<3>> = number(STRIDE_LOG),
    }
}

impl Logic for Seek {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_asked, asked, is_found, found);
        self.spot.valid.next = self.is_found.q.val();
        self.spot.payload.next = self.found.q.val();
        self.moves.next = !self.is_found.q.val() | self.spot.ready.val();
        self.takes.next = !self.is_asked.q.val() | self.moves.val();

        self.want.ready.next = self.takes.val();
        self.wants_shared.next = self.want.payload.val().list == self.shared_list.val();
        self.ring_enable.next = self.want.valid.val() & self.takes.val() & !self.wants_shared.val();
        self.ring_index.next = self.want.payload.val().qpn;
        self.shared_enable.next = self.want.valid.val() & self.takes.val() & self.wants_shared.val();
        self.shared_index.next = self.want.payload.val().srq;
        if self.takes.val() {
            self.is_asked.d.next = self.want.valid.val();
            self.asked.d.next = self.want.payload.val();
        }

        self.is_send.next = self.asked.q.val().list == self.send.val();
        self.is_shared.next = self.asked.q.val().list == self.shared_list.val();
        self.missing.next = !self.ring.val().exists | !self.ring.val().receive_log.any();
        self.base.next = self.ring.val().receive_base;
        self.log.next = self.ring.val().receive_log;
        self.stride.next = self.ring.val().receive_stride;
        if self.is_send.val() {
            self.missing.next = !self.ring.val().exists;
            self.base.next = self.ring.val().send_base;
            self.log.next = self.ring.val().send_log;
            self.stride.next = self.unit_stride.val();
        } else if self.is_shared.val() {
            self.missing.next = !self.shared.val().exists;
            self.base.next = self.shared.val().base;
            self.log.next = self.shared.val().log;
            self.stride.next = self.shared.val().stride;
        }
        self.outside.next = self.ones.val() << self.log.val();
        self.place.next = bit_cast::<27, 16>(self.asked.q.val().index & !self.outside.val());
        // The last units of the shortest ring are the last of any: there all higher bits of the place are ones.
        self.from_end.next = self.asked.q.val().index | self.outside.val();
        self.is_near_end.next = bit_cast::<13, 16>(self.from_end.val() >> 3).all();
        self.low.next = bit_cast::<3, 16>(self.asked.q.val().index);
        if self.moves.val() {
            self.is_found.d.next = self.is_asked.q.val();
            self.found.d.next.missing = self.missing.val();
            self.found.d.next.is_send = self.is_send.val();
            self.found.d.next.base = self.base.val();
            self.found.d.next.at = (self.place.val() << self.stride_log.val()) << self.stride.val();
            self.found.d.next.splits = self.is_send.val()
                & !self.missing.val()
                & self.is_near_end.val()
                & (self.low.val() > self.last_whole.val());
            for i in 0..8 {
                if self.stride.val().index() == i {
                    self.found.d.next.units = self.units_of[i].val();
                    self.found.d.next.most = self.most_of[i].val();
                }
            }
            // How long a WQE is, only its head would say.
            if self.is_send.val() {
                self.found.d.next.units = self.wqe_units.val();
            }
            self.found.d.next.index = self.asked.q.val().index;
            self.found.d.next.pd = self.shared.val().pd;
        }
        if self.reset.val() {
            self.is_asked.d.next = false;
            self.is_found.d.next = false;
        }
    }
}
