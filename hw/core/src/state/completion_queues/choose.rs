//! Whose turn it is at the table, and which row it needs.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;

block! {
    /// Chooses one of the operations on offer, and remembers its kind while it is under way.
    ///
    /// - **Ports** `is_open`: none is under way; `offers`: bit 0 a completion, 1 a doorbell, 2 a command, 3 a visit; `completed`,
    ///   `rung`, `object`, `head`: their queues, which stay as long as they are on offer. `begins`: one is chosen in this cycle;
    ///   `choice`: its kind, one of the bits; `number`: its queue; both until the next one begins.
    /// - **Latency** 0 cycles. **Rate** as `is_open` allows.
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
        turn: RoundRobin<4>,
        chosen: Reg<Bits<4>>,
        request: Signal<Local, Bits<4>>,
        kind: Signal<Local, Bits<4>>,
    }
}

impl Logic for Choose {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn);
        dff_setup!(self, clock, chosen);
        self.turn.reset.next = self.reset.val();
        self.request.next = 0.into();
        if self.is_open.val() {
            self.request.next = self.offers.val();
        }
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.request.val().any();
        self.begins.next = self.request.val().any();
        self.kind.next = self.chosen.q.val();
        if self.is_open.val() {
            self.kind.next = self.turn.grant.val();
        }
        self.chosen.d.next = self.kind.val();
        self.choice.next = self.kind.val();
        self.number.next = bit_cast::<32, 24>(self.completed.val());
        if self.kind.val().get_bit(1) {
            self.number.next = bit_cast::<32, 24>(self.rung.val());
        }
        if self.kind.val().get_bit(2) {
            self.number.next = self.object.val();
        }
        if self.kind.val().get_bit(3) {
            self.number.next = bit_cast::<32, 24>(self.head.val());
        }
    }
}
