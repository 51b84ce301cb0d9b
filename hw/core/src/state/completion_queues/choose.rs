//! Whose turn it is at the table, and which row it needs.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;

block! {
    /// Chooses one of the operations on offer, and remembers its kind while it is under way.
    ///
    /// - **Ports** `is_open`: none is under way; `offers`: bit 0 a completion, 1 a doorbell, 2 a command, 3 a visit; `completed`,
    ///   `rung`, `object`, `head`: their queues. `begins`: one is chosen in this cycle; `choice`: its kind, one of the bits, and
    ///   `number`: its queue, both in this cycle alone. `kind`, `queue`: the same from the next cycle on, until the next one
    ///   begins; they are registers, so that what the operation does is not timed through the choice.
    /// - **Latency** 0 cycles, 1 to `kind` and `queue`. **Rate** as `is_open` allows.
    /// - **Fairness** an offer waits for at most one of each other kind.
    /// - **Reset** completions go first.
    pub struct Choose {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_open: Signal<In, Bit>,
        pub offers: Signal<In, Bits<4>>,
        pub completed: Signal<In, Bits<24>>,
        pub rung: Signal<In, Bits<24>>,
        pub object: Signal<In, Bits<32>>,
        pub head: Signal<In, Bits<24>>,
        pub begins: Signal<Out, Bit>,
        pub choice: Signal<Out, Bits<4>>,
        pub number: Signal<Out, Bits<32>>,
        pub kind: Signal<Out, Bits<4>>,
        pub queue: Signal<Out, Bits<32>>,
        turn: RoundRobin<4>,
        kept_kind: Reg<Bits<4>>,
        kept_queue: Reg<Bits<32>>,
        request: Signal<Local, Bits<4>>,
        chosen: Signal<Local, Bits<4>>,
        asked: Signal<Local, Bits<32>>,
    }
}

impl Logic for Choose {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn);
        dff_setup!(self, clock, kept_kind, kept_queue);
        self.turn.reset.next = self.reset.val();
        self.request.next = 0.into();
        if self.is_open.val() {
            self.request.next = self.offers.val();
        }
        // The turn does not wait for `is_open`: a choice that is not taken changes nothing.
        self.turn.request.next = self.offers.val();
        self.turn.taken.next = self.request.val().any();
        self.begins.next = self.request.val().any();
        self.chosen.next = self.turn.grant.val();
        self.choice.next = self.chosen.val();
        self.asked.next = bit_cast::<32, 24>(self.completed.val());
        if self.chosen.val().get_bit(1) {
            self.asked.next = bit_cast::<32, 24>(self.rung.val());
        }
        if self.chosen.val().get_bit(2) {
            self.asked.next = self.object.val();
        }
        if self.chosen.val().get_bit(3) {
            self.asked.next = bit_cast::<32, 24>(self.head.val());
        }
        self.number.next = self.asked.val();
        if self.is_open.val() {
            self.kept_kind.d.next = self.chosen.val();
            self.kept_queue.d.next = self.asked.val();
        }
        self.kind.next = self.kept_kind.q.val();
        self.queue.next = self.kept_queue.q.val();
    }
}
