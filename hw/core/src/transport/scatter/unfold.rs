//! Unfold: the entries of a list, one by one.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::UNIT;

use super::heading::Heading;
use super::reads::Plan;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

const _: () = assert!(Sge::LEN * 8 == 128 && UNIT == 4 * Sge::LEN, "a unit has four places of 128 bits");

/// What is wrong with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None = 0,
    /// It could not be read.
    Unreadable = 1,
    /// It is not there, or contradicts itself.
    Wrong = 2,
}

record! {
    /// One entry of a list, or what is wrong with the list.
    pub struct Entry {
        /// Virtual address.
        pub address: Bits<64>,
        /// `L_Key`.
        pub key: Bits<32>,
        /// Bytes; none is legal.
        pub length: Bits<32>,
        /// Last of its list.
        pub last: Bit,
        /// A [`Fault`]: then it is the only one, and nothing else of it counts.
        pub fault: Bits<2>,
        /// SRQ: its protection domain.
        pub pd: Bits<16>,
    }
}

block! {
    /// Takes each list apart when all of it has come.
    ///
    /// - **Ports** `plan`, `verdict`: lists, and how their commands ended; `row`: a unit of the list: its first, and the next a cycle
    ///   after `turns`; `frees`: its `list_units` are done with; `entry`: the entries, at least one for each list: one without
    ///   bytes where there is none; `stops`: with an entry that is taken and is not the last, no more are wanted of this list.
    /// - **Latency** 1 cycle from `verdict`. **Rate** an entry per cycle, over the bounds of lists; 1 cycle more after `stops`, or if
    ///   the list came with two commands.
    /// - **Backpressure** stalls `plan`, whose `ready` follows `entry.ready` and `stops` combinationally, as `frees` does.
    /// - **Reset** forgets the list under way.
    pub struct Unfold {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plan: StreamSink<Plan>,
        pub verdict: StreamSink<Bit>,
        pub row: Signal<In, Bits<512>>,
        pub turns: Signal<Out, Bit>,
        pub frees: Signal<Out, Bit>,
        pub list_units: Signal<Out, Bits<3>>,
        pub entry: StreamSource<Entry>,
        pub stops: Signal<In, Bit>,
        is_held: Reg<Bit>,
        held: Reg<Entry>,
        /// The first of two commands has ended; `is_spoiled`: not all of it could be read.
        is_half: Reg<Bit>,
        is_spoiled: Reg<Bit>,
        /// An entry of the list was given: place of the next in its unit, how many are left, and whether it is the last.
        is_begun: Reg<Bit>,
        slot: Reg<Bits<2>>,
        left: Reg<Bits<5>>,
        is_last: Reg<Bit>,
        heading: Heading,
        sge: Signal<Local, Bits<128>>,
        slot_now: Signal<Local, Bits<2>>,
        left_now: Signal<Local, Bits<5>>,
        is_last_now: Signal<Local, Bit>,
        fault: Signal<Local, Bits<2>>,
        is_there: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        halves: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        address_at: Constant<Bits<7>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<7>> = number(Sge::LOCAL_KEY.offset()),
        length_at: Constant<Bits<7>> = number(Sge::LENGTH.offset()),
        unreadable: Constant<Bits<2>> = number(Fault::Unreadable as u8),
        wrong: Constant<Bits<2>> = number(Fault::Wrong as u8),
    }
}

impl Logic for Unfold {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_held, held, is_half, is_spoiled, is_begun, slot, left, is_last);
        self.entry.valid.next = self.is_held.q.val();
        self.entry.payload.next = self.held.q.val();

        self.heading.plan.next = self.plan.payload.val();
        self.heading.row.next = self.row.val();
        self.slot_now.next = self.heading.slot.val();
        self.left_now.next = self.heading.count.val();
        self.is_last_now.next = self.heading.is_single.val()
            | self.heading.contradicts.val()
            | self.plan.payload.val().missing
            | self.is_spoiled.q.val()
            | self.verdict.payload.val();
        self.fault.next = 0.into();
        if self.plan.payload.val().missing {
            self.fault.next = self.wrong.val();
        } else if self.is_spoiled.q.val() | self.verdict.payload.val() {
            self.fault.next = self.unreadable.val();
        } else if self.heading.contradicts.val() {
            self.fault.next = self.wrong.val();
        }
        if self.is_begun.q.val() {
            self.slot_now.next = self.slot.q.val();
            self.left_now.next = self.left.q.val();
            self.is_last_now.next = self.is_last.q.val();
            self.fault.next = 0.into();
        }

        self.sge.next = self.row.val().get_bits::<128>(0);
        for i in 1..4 {
            if self.slot_now.val().index() == i {
                self.sge.next = self.row.val().get_bits::<128>(i * 128);
            }
        }
        self.is_there.next = self.plan.valid.val()
            & (self.plan.payload.val().missing
                | (self.verdict.valid.val() & (self.is_half.q.val() | !self.plan.payload.val().splits)));
        self.gives.next =
            self.is_there.val() & !self.stops.val() & (!self.is_held.q.val() | self.entry.ready.val());
        if self.entry.ready.val() | !self.is_held.q.val() {
            self.is_held.d.next = self.gives.val();
            self.held.d.next.address = bit_cast::<64, 128>(self.sge.val() >> self.address_at.val());
            self.held.d.next.key = bit_cast::<32, 128>(self.sge.val() >> self.key_at.val());
            self.held.d.next.length = bit_cast::<32, 128>(self.sge.val() >> self.length_at.val());
            if !self.left_now.val().any() {
                self.held.d.next.length = 0.into();
            }
            self.held.d.next.last = self.is_last_now.val();
            self.held.d.next.fault = self.fault.val();
            self.held.d.next.pd = self.plan.payload.val().pd;
        }

        self.leaves.next = self.stops.val() | (self.gives.val() & self.is_last_now.val());
        self.halves.next = self.plan.valid.val()
            & self.plan.payload.val().splits
            & !self.is_half.q.val()
            & self.verdict.valid.val();
        self.plan.ready.next = self.leaves.val();
        self.verdict.ready.next = self.halves.val() | (self.leaves.val() & !self.plan.payload.val().missing);
        self.turns.next = self.gives.val() & self.slot_now.val().all() & !self.plan.payload.val().missing;
        self.frees.next = self.leaves.val() & !self.plan.payload.val().missing;
        self.list_units.next = self.plan.payload.val().units;
        if self.halves.val() {
            self.is_half.d.next = true;
            self.is_spoiled.d.next = self.verdict.payload.val();
        }
        if self.gives.val() {
            self.is_begun.d.next = true;
            self.slot.d.next = self.slot_now.val() + 1;
            self.left.d.next = self.left_now.val() - 1;
            self.is_last.d.next = self.left_now.val() == 2;
        }
        if self.leaves.val() | self.reset.val() {
            self.is_begun.d.next = false;
            self.is_half.d.next = false;
            self.is_spoiled.d.next = false;
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
