//! The part of BAR0 that the card itself changes: status, time and counters; and the store that starts it afresh.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{counters, identity, rx_classes};
use stroma_abi::wire::Class;

use super::place::{PLACE_BITS, RegisterStore, bit, flag, part, place};
use crate::prim::reg::Reg;

/// Classes of received frames.
pub const CLASSES: usize = Class::COUNT;
/// Registers in front of a block's own: type, version, next.
pub const HEAD: usize = 3;
/// Counters of the block `counters`, in its order.
pub const COUNTS: usize = counters::BLOCK.regs.len() - HEAD;

block! {
    /// Shows what the card is doing at a place.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: what is there of status, time and counters, 0 elsewhere;
    ///   `store`: stores to BAR0; `restart`: one cycle for each store of 1 to `control.reset`. The rest is shown.
    /// - **Latency** 1 cycle, to `word` and to `restart`; a word is of one cycle. **Rate** a place per cycle.
    /// - **Reset** takes `restart` back.
    pub struct Live {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub restart: Signal<Out, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub ready: Signal<In, Bit>,
        pub link: Signal<In, Bit>,
        pub class_counts: [Signal<In, Bits<32>>; CLASSES],
        pub counts: [Signal<In, Bits<64>>; COUNTS],
        found: Reg<Bits<64>>,
        restarts: Reg<Bit>,
        status: Signal<Local, Bits<64>>,
        class_count: Signal<Local, Bits<32>>,
        wanted: Signal<Local, Bits<64>>,
        status_place: Constant<Bits<PLACE_BITS>> = place(&identity::BLOCK, &identity::STATUS, 0),
        ready_flag: Constant<Bits<64>> = flag(part(&identity::BLOCK, &identity::STATUS, "ready")),
        link_flag: Constant<Bits<64>> = flag(part(&identity::BLOCK, &identity::STATUS, "link")),
        time_place: Constant<Bits<PLACE_BITS>> = place(&identity::BLOCK, &identity::TIME, 0),
        control_place: Constant<Bits<PLACE_BITS>> = place(&identity::BLOCK, &identity::CONTROL, 0),
        reset_flag: Constant<Bits<64>> = flag(part(&identity::BLOCK, &identity::CONTROL, "reset")),
        class_places: [Constant<Bits<PLACE_BITS>>; CLASSES] =
            std::array::from_fn(|class| place(&rx_classes::BLOCK, &rx_classes::FRAMES, class)),
        count_places: [Constant<Bits<PLACE_BITS>>; COUNTS] =
            std::array::from_fn(|count| place(&counters::BLOCK, &counters::BLOCK.regs[HEAD + count], 0)),
    }
}

// A counter fills its eight bytes.
const _: () = assert!(bit(&rx_classes::BLOCK, &rx_classes::FRAMES) == 0);

impl Logic for Live {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, found, restarts);
        self.status.next = 0.into();
        if self.ready.val() {
            self.status.next = self.ready_flag.val();
        }
        if self.link.val() {
            self.status.next = self.status.val() | self.link_flag.val();
        }
        self.class_count.next = 0.into();
        for i in 0..CLASSES {
            if self.place.val() == self.class_places[i].val() {
                self.class_count.next = self.class_counts[i].val();
            }
        }
        self.found.d.next = bit_cast::<64, 32>(self.class_count.val());
        for i in 0..COUNTS {
            if self.place.val() == self.count_places[i].val() {
                self.found.d.next = self.counts[i].val();
            }
        }
        if self.place.val() == self.status_place.val() {
            self.found.d.next = self.status.val();
        }
        if self.place.val() == self.time_place.val() {
            self.found.d.next = self.time.val();
        }
        self.word.next = self.found.q.val();

        self.wanted.next = self.store.val().data & self.store.val().mask & self.reset_flag.val();
        self.restarts.d.next = self.store.val().valid
            & (self.store.val().place == self.control_place.val())
            & self.wanted.val().any();
        self.restart.next = self.restarts.q.val();
        if self.reset.val() {
            self.restarts.d.next = false;
        }
    }
}
