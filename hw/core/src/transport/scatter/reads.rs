//! Reads: the commands that bring a list.

use rust_hdl::prelude::*;
use stroma_abi::desc::RING_ALIGN_LOG;
use stroma_abi::desc::wqe::UNIT;

use super::intake::WAITING_LOG;
use super::seek::Spot;
use crate::host::dma_read::ReadCommand;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

const _: () = assert!(UNIT == 1 << 6 && RING_ALIGN_LOG == 12, "units and pages as the shifts have them");

record! {
    /// How to read a list once it is here.
    pub struct Plan {
        /// There is no such ring: nothing was asked for.
        pub missing: Bit,
        /// A WQE, else a receive.
        pub is_send: Bit,
        /// It comes as the answers of two commands.
        pub splits: Bit,
        /// Place of its head in the first unit, in 16 bytes.
        pub first: Bits<2>,
        /// Units that come.
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
    /// Asks for the units of each list.
    ///
    /// A receive shorter than a unit lies within one, so all is read in whole units, on multiples of their size. A WQE may go
    /// on at the ring's start.
    ///
    /// - **Ports** `spot`: lists; `read`: one command for each, two where a WQE goes on at the ring's start, none where there is
    ///   no ring; `plan`: one for each list.
    /// - **Latency** 1 cycle. **Rate** 1 command per cycle, or list without one.
    /// - **Backpressure** 4 commands wait, and 32 plans, then `spot`. `spot.ready` is made of registers and of `spot.payload`.
    /// - **Reset** forgets all lists.
    /// - **Limits** send queues have as many units as are read of one, at least.
    pub struct Reads {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub spot: StreamSink<Spot>,
        pub read: StreamSource<ReadCommand>,
        pub plan: StreamSource<Plan>,
        commands: Fifo<ReadCommand, 2>,
        plans: Fifo<Plan, WAITING_LOG>,
        /// The first of two commands has gone.
        is_second: Reg<Bit>,
        spot_now: Signal<Local, Spot>,
        page: Signal<Local, Bits<52>>,
        left: Signal<Local, Bits<3>>,
        goes: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
    }
}

impl Logic for Reads {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, commands, plans);
        dff_setup!(self, clock, is_second);
        self.commands.reset.next = self.reset.val();
        self.plans.reset.next = self.reset.val();

        self.spot_now.next = self.spot.payload.val();
        // Units up to the ring's end, which is a multiple of 8.
        self.left.next = bit_cast::<3, 27>(!self.spot_now.val().at >> 6) + 1;
        self.has_room.next = self.commands.sink.ready.val() & self.plans.sink.ready.val();
        self.goes.next = self.spot.valid.val() & self.has_room.val();
        self.leaves.next = self.goes.val() & (!self.spot_now.val().splits | self.is_second.q.val());
        self.spot.ready.next = self.has_room.val() & (!self.spot_now.val().splits | self.is_second.q.val());
        if self.goes.val() {
            self.is_second.d.next = self.spot_now.val().splits & !self.is_second.q.val();
        }

        self.page.next = self.spot_now.val().base + bit_cast::<52, 27>(self.spot_now.val().at >> 12);
        self.commands.sink.valid.next = self.goes.val() & !self.spot_now.val().missing;
        self.commands.sink.payload.next.iova = (bit_cast::<64, 52>(self.page.val()) << 12)
            | (bit_cast::<64, 6>(bit_cast::<6, 27>(self.spot_now.val().at >> 6)) << 6);
        self.commands.sink.payload.next.len = bit_cast::<13, 3>(self.spot_now.val().units) << 6;
        self.commands.sink.payload.next.tag = 0.into();
        if self.is_second.q.val() {
            self.commands.sink.payload.next.iova = bit_cast::<64, 52>(self.spot_now.val().base) << 12;
            self.commands.sink.payload.next.len =
                bit_cast::<13, 3>(self.spot_now.val().units - self.left.val()) << 6;
        } else if self.spot_now.val().splits {
            self.commands.sink.payload.next.len = bit_cast::<13, 3>(self.left.val()) << 6;
        }

        self.plans.sink.valid.next = self.leaves.val();
        self.plans.sink.payload.next.missing = self.spot_now.val().missing;
        self.plans.sink.payload.next.is_send = self.spot_now.val().is_send;
        self.plans.sink.payload.next.splits = self.spot_now.val().splits;
        self.plans.sink.payload.next.first = bit_cast::<2, 27>(self.spot_now.val().at >> 4);
        self.plans.sink.payload.next.units = self.spot_now.val().units;
        self.plans.sink.payload.next.most = self.spot_now.val().most;
        self.plans.sink.payload.next.index = self.spot_now.val().index;
        self.plans.sink.payload.next.pd = self.spot_now.val().pd;
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.commands.source);
        StreamSource::<Plan>::link(&mut self.plan, &mut self.plans.source);
        if self.reset.val() {
            self.is_second.d.next = false;
        }
    }
}
