//! The event queue's registers: the shape of its ring, how far the driver has read, and whether events were lost.

use rust_hdl::prelude::*;
use stroma_abi::desc::RING_ALIGN_LOG;
use stroma_abi::regs::map::{EVENT_LOG_MAX, EVENT_LOG_MIN, events};

use super::place::{PLACE_BITS, RegisterStore, bit, flag, part, place};
use crate::constant::number;
use crate::prim::reg::Reg;

block! {
    /// Keeps the registers of the block `events`.
    ///
    /// The ring keeps its shape while it is written: `log`, `vector` and `base` change only while `enable` is 0. The store
    /// that sets `enable` may set the others of its register; the one that clears it leaves them. A ring of a size there is
    /// not is not enabled.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: what these registers show there, 0 elsewhere; `store`:
    ///   stores to BAR0. `base` without its low twelve bits, `log`, `vector`, `enable`, `consumer`: as stored;
    ///   `consumer_stored`: one cycle, in which `consumer` shows what was stored. `producer`: shown; `overflows`: an
    ///   event was lost in this cycle.
    /// - **Latency** 1 cycle from `place` to `word`, and from `store` to everything. **Rate** a place and a store per cycle.
    /// - **Reset** clears all registers.
    /// - **Limits** an event lost in the cycle in which `overflow` is cleared sets it again.
    pub struct EventQueue {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub base: Signal<Out, Bits<52>>,
        pub log: Signal<Out, Bits<5>>,
        pub vector: Signal<Out, Bits<5>>,
        pub enable: Signal<Out, Bit>,
        pub consumer: Signal<Out, Bits<32>>,
        pub consumer_stored: Signal<Out, Bit>,
        pub producer: Signal<In, Bits<32>>,
        pub overflows: Signal<In, Bit>,
        found: Reg<Bits<64>>,
        ring_base: Reg<Bits<52>>,
        ring_log: Reg<Bits<5>>,
        ring_vector: Reg<Bits<5>>,
        is_enabled: Reg<Bit>,
        taken: Reg<Bits<32>>,
        is_stored: Reg<Bit>,
        is_lost: Reg<Bit>,
        shape: Signal<Local, Bits<64>>,
        base_word: Signal<Local, Bits<64>>,
        indices: Signal<Local, Bits<64>>,
        overflow: Signal<Local, Bits<64>>,
        kept: Signal<Local, Bits<64>>,
        merged: Signal<Local, Bits<64>>,
        log_stored: Signal<Local, Bits<5>>,
        enable_stored: Signal<Local, Bits<64>>,
        consumer_mask: Signal<Local, Bits<32>>,
        cleared: Signal<Local, Bits<64>>,
        config_place: Constant<Bits<PLACE_BITS>> = place(&events::BLOCK, &events::CONFIG, 0),
        log_at: Constant<Bits<6>> = number(part(&events::BLOCK, &events::CONFIG, "log")),
        vector_at: Constant<Bits<6>> = number(part(&events::BLOCK, &events::CONFIG, "vector")),
        enable_flag: Constant<Bits<64>> = flag(part(&events::BLOCK, &events::CONFIG, "enable")),
        base_place: Constant<Bits<PLACE_BITS>> = place(&events::BLOCK, &events::BASE, 0),
        base_at: Constant<Bits<6>> = number(RING_ALIGN_LOG),
        indices_place: Constant<Bits<PLACE_BITS>> = place(&events::BLOCK, &events::CONSUMER, 0),
        producer_at: Constant<Bits<6>> = number(bit(&events::BLOCK, &events::PRODUCER)),
        consumer_at: Constant<Bits<6>> = number(bit(&events::BLOCK, &events::CONSUMER)),
        overflow_place: Constant<Bits<PLACE_BITS>> = place(&events::BLOCK, &events::OVERFLOW, 0),
        overflow_flag: Constant<Bits<64>> = flag(bit(&events::BLOCK, &events::OVERFLOW)),
        log_min: Constant<Bits<5>> = number(EVENT_LOG_MIN),
        log_max: Constant<Bits<5>> = number(EVENT_LOG_MAX),
    }
}

const _: () = assert!(RING_ALIGN_LOG + 52 == 64, "the base is kept without its zeroes");
// Both indices are found at one place.
const _: () = assert!(events::PRODUCER.offset / 8 == events::CONSUMER.offset / 8);

impl Logic for EventQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            found,
            ring_base,
            ring_log,
            ring_vector,
            is_enabled,
            taken,
            is_stored,
            is_lost
        );
        // What the registers show.
        self.shape.next = (bit_cast::<64, 5>(self.ring_log.q.val()) << self.log_at.val())
            | (bit_cast::<64, 5>(self.ring_vector.q.val()) << self.vector_at.val());
        if self.is_enabled.q.val() {
            self.shape.next = self.shape.val() | self.enable_flag.val();
        }
        self.base_word.next = bit_cast::<64, 52>(self.ring_base.q.val()) << self.base_at.val();
        self.indices.next = (bit_cast::<64, 32>(self.producer.val()) << self.producer_at.val())
            | (bit_cast::<64, 32>(self.taken.q.val()) << self.consumer_at.val());
        self.overflow.next = 0.into();
        if self.is_lost.q.val() {
            self.overflow.next = self.overflow_flag.val();
        }
        self.found.d.next = 0.into();
        if self.place.val() == self.config_place.val() {
            self.found.d.next = self.shape.val();
        }
        if self.place.val() == self.base_place.val() {
            self.found.d.next = self.base_word.val();
        }
        if self.place.val() == self.indices_place.val() {
            self.found.d.next = self.indices.val();
        }
        if self.place.val() == self.overflow_place.val() {
            self.found.d.next = self.overflow.val();
        }

        // What is there after a store: bytes that are not stored stay.
        self.kept.next = self.indices.val();
        if self.store.val().place == self.config_place.val() {
            self.kept.next = self.shape.val();
        }
        if self.store.val().place == self.base_place.val() {
            self.kept.next = self.base_word.val();
        }
        self.merged.next =
            (self.kept.val() & !self.store.val().mask) | (self.store.val().data & self.store.val().mask);
        self.log_stored.next = bit_cast::<5, 64>(self.merged.val() >> self.log_at.val());
        self.enable_stored.next = self.merged.val() & self.enable_flag.val();
        self.consumer_mask.next = bit_cast::<32, 64>(self.store.val().mask >> self.consumer_at.val());
        self.cleared.next = self.store.val().data & self.store.val().mask & self.overflow_flag.val();
        self.is_stored.d.next = false;
        if self.store.val().valid & (self.store.val().place == self.config_place.val()) {
            if self.is_enabled.q.val() {
                self.is_enabled.d.next = self.enable_stored.val().any();
            } else {
                self.ring_log.d.next = self.log_stored.val();
                self.ring_vector.d.next = bit_cast::<5, 64>(self.merged.val() >> self.vector_at.val());
                self.is_enabled.d.next = self.enable_stored.val().any()
                    & (self.log_stored.val() >= self.log_min.val())
                    & (self.log_stored.val() <= self.log_max.val());
            }
        }
        if self.store.val().valid
            & (self.store.val().place == self.base_place.val())
            & !self.is_enabled.q.val()
        {
            self.ring_base.d.next = bit_cast::<52, 64>(self.merged.val() >> self.base_at.val());
        }
        if self.store.val().valid & (self.store.val().place == self.indices_place.val()) {
            self.taken.d.next = bit_cast::<32, 64>(self.merged.val() >> self.consumer_at.val());
            self.is_stored.d.next = self.consumer_mask.val().any();
        }
        if self.store.val().valid
            & (self.store.val().place == self.overflow_place.val())
            & self.cleared.val().any()
        {
            self.is_lost.d.next = false;
        }
        if self.overflows.val() {
            self.is_lost.d.next = true;
        }

        self.word.next = self.found.q.val();
        self.base.next = self.ring_base.q.val();
        self.log.next = self.ring_log.q.val();
        self.vector.next = self.ring_vector.q.val();
        self.enable.next = self.is_enabled.q.val();
        self.consumer.next = self.taken.q.val();
        self.consumer_stored.next = self.is_stored.q.val();

        if self.reset.val() {
            self.ring_base.d.next = 0.into();
            self.ring_log.d.next = 0.into();
            self.ring_vector.d.next = 0.into();
            self.is_enabled.d.next = false;
            self.taken.d.next = 0.into();
            self.is_stored.d.next = false;
            self.is_lost.d.next = false;
        }
    }
}
