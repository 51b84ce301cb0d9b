//! Counts out a transaction: where its dwords go, and how many steps that takes.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::intake::Plan;
use crate::pcie::requester::fields::{MEMORY_WRITE, RQ_ADDRESS_AT, RQ_DWORD_COUNT_AT, RQ_REQUEST_TYPE_AT};

record! {
    /// A transaction, ready to be put together.
    pub struct Recipe {
        /// Its descriptor.
        pub descriptor: Bits<128>,
        /// By how many dwords its beats move up, round and round.
        pub turn: Bits<4>,
        /// They move down: the first step makes no beat.
        pub is_late: Bit,
        /// The last step.
        pub last_step: Bits<5>,
        /// Beats that hold it; each goes into a step.
        pub beats: Bits<5>,
        /// Dwords of its last beat.
        pub keep: Bits<16>,
        /// Bytes of its first dword.
        pub first_be: Bits<4>,
        /// Bytes of its last, none if that is the first.
        pub last_be: Bits<4>,
        /// Last of its burst.
        pub ends: Bit,
        /// There is nothing to write.
        pub is_empty: Bit,
    }
}

block! {
    /// Makes recipes of plans.
    ///
    /// The descriptor takes four dwords, so payload whose first dword is dword `f` of its beat moves up by `4 - f`. When `f` is larger than
    /// that, the first beat of the transaction has room for dwords of the second beat of the burst, which comes a step later.
    ///
    /// - **Ports** `plans`: plans; `recipes`: one each, in order.
    /// - **Latency** 1 cycle. **Rate** 1 plan per cycle.
    /// - **Backpressure** holds two recipes; no combinational path from port to port: whether a recipe is done with is known late.
    /// - **Reset** empties it.
    pub struct Prepare {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plans: StreamSink<Plan>,
        pub recipes: StreamSource<Recipe>,
        made: Skid<Recipe>,
        plan: Signal<Local, Plan>,
        first_at: Signal<Local, Bits<4>>,
        dwords: Signal<Local, Bits<11>>,
        with_descriptor: Signal<Local, Bits<11>>,
        is_late: Signal<Local, Bit>,
        steps: Signal<Local, Bits<11>>,
        four: Constant<Bits<4>> = number(4_u64),
        sixteen: Constant<Bits<11>> = number(16_u64),
        every: Constant<Bits<16>> = number(0xffff_u64),
        kind: Constant<Bits<128>> = Constant::new(Bits::<128>::from(MEMORY_WRITE) << Bits::<7>::from(RQ_REQUEST_TYPE_AT as u64)),
        address_at: Constant<Bits<7>> = number(RQ_ADDRESS_AT),
        dword_count_at: Constant<Bits<7>> = number(RQ_DWORD_COUNT_AT),
    }
}

impl Logic for Prepare {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, made);
        self.made.reset.next = self.reset.val();
        self.made.sink.valid.next = self.plans.valid.val();
        self.plans.ready.next = self.made.sink.ready.val();
        StreamSource::<Recipe>::link(&mut self.recipes, &mut self.made.source);

        self.plan.next = self.plans.payload.val();
        self.first_at.next = self.plan.val().start.get_bits::<4>(0);
        // From the first dword of the first beat to the last one of the last, less what is in front.
        self.dwords.next = (bit_cast::<11, 5>(self.plan.val().beats) << 4)
            + bit_cast::<11, 4>(self.plan.val().last_at)
            - bit_cast::<11, 4>(self.first_at.val())
            - 15;
        self.with_descriptor.next = self.dwords.val() + 4;
        self.is_late.next = self.first_at.val() > self.four.val();
        self.steps.next = (self.with_descriptor.val() + 15) >> 4;
        if self.is_late.val() {
            self.steps.next = ((self.with_descriptor.val() + 15) >> 4) + 1;
        }

        self.made.sink.payload.next.descriptor = self.kind.val()
            | (bit_cast::<128, 62>(self.plan.val().start) << self.address_at.val())
            | (bit_cast::<128, 11>(self.dwords.val()) << self.dword_count_at.val());
        self.made.sink.payload.next.turn = self.four.val() - self.first_at.val();
        self.made.sink.payload.next.is_late = self.is_late.val();
        self.made.sink.payload.next.last_step = bit_cast::<5, 11>(self.steps.val() - 1);
        self.made.sink.payload.next.beats = self.plan.val().beats;
        self.made.sink.payload.next.keep = self.every.val();
        if self.with_descriptor.val().get_bits::<4>(0).any() {
            self.made.sink.payload.next.keep = self.every.val()
                >> (self.sixteen.val() - bit_cast::<11, 4>(self.with_descriptor.val().get_bits::<4>(0)));
        }
        self.made.sink.payload.next.first_be = self.plan.val().first_be;
        self.made.sink.payload.next.last_be = self.plan.val().last_be;
        if self.dwords.val() == 1 {
            self.made.sink.payload.next.last_be = 0.into();
        }
        self.made.sink.payload.next.ends = self.plan.val().ends;
        self.made.sink.payload.next.is_empty = self.plan.val().is_empty;
    }
}
