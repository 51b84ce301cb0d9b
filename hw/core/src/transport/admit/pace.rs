//! Pace: when a work takes its steps over the desk.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Leads works over the desk: one looks at its rows, catches up, is judged, acts; the next follows two steps behind it.
    ///
    /// A work that catches up while the one before it acts does not find what that leaves behind in its row. If both are of
    /// one queue pair it goes straight on from the other's cursor where it can, or waits until the row is written. One that has
    /// caught up may be kept there.
    ///
    /// - **Ports** `coming`: a work can be taken from the next cycle on; `free`: it may begin; `room`: no output holds more than
    ///   one thing; `same`: it is of the queue pair of the work that was taken last. `onward`: the next work of the queue
    ///   pair of the work that acts can go straight on; `alone`: nobody can catch up beside the one that acts; `keeps`: the work that has
    ///   caught up stays, unless it goes straight on. `begins`: a work looks at its
    ///   rows, and is there in the next cycle; `catching`: it is there; `takes`: it has caught up; `straight`: it goes straight on; `judging`,
    ///   `acting`: the one before it; `idle`: no work is under way.
    /// - **Latency** 3 cycles from `begins` to `acting`, 4 if it waits for a row. **Rate** 2 cycles a work, 3 if it waits so.
    /// - **Backpressure** a work does not begin without room. Up to two before it may have things to put out that `room`
    ///   does not know of yet, so there must be four places.
    /// - **Reset** forgets the works under way.
    pub struct Pace {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub coming: Signal<In, Bit>,
        pub free: Signal<In, Bit>,
        pub room: Signal<In, Bit>,
        pub same: Signal<In, Bit>,
        pub onward: Signal<In, Bit>,
        pub alone: Signal<In, Bit>,
        pub keeps: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub catching: Signal<Out, Bit>,
        pub takes: Signal<Out, Bit>,
        pub straight: Signal<Out, Bit>,
        pub judging: Signal<Out, Bit>,
        pub acting: Signal<Out, Bit>,
        pub idle: Signal<Out, Bit>,
        has_room: Reg<Bit>,
        is_same: Reg<Bit>,
        is_catching: Reg<Bit>,
        is_judging: Reg<Bit>,
        is_acting: Reg<Bit>,
        enters: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
    }
}

impl Logic for Pace {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, has_room, is_same, is_catching, is_judging, is_acting);
        self.has_room.d.next = self.room.val();
        self.is_same.d.next = self.same.val();
        self.enters.next =
            !self.is_catching.q.val() & self.has_room.q.val() & self.free.val() & self.coming.val();
        self.begins.next = self.enters.val();
        self.goes.next = !self.keeps.val() & !(self.is_acting.q.val() & self.alone.val());
        if self.is_acting.q.val() & self.is_same.q.val() {
            self.goes.next = self.onward.val() & !self.alone.val();
        }
        self.catching.next = self.is_catching.q.val();
        self.takes.next = self.is_catching.q.val() & self.goes.val();
        self.straight.next = self.is_acting.q.val() & self.is_same.q.val();
        self.judging.next = self.is_judging.q.val();
        self.acting.next = self.is_acting.q.val();
        self.idle.next = !self.is_catching.q.val() & !self.is_judging.q.val() & !self.is_acting.q.val();
        self.is_catching.d.next = self.enters.val() | (self.is_catching.q.val() & !self.goes.val());
        self.is_judging.d.next = self.is_catching.q.val() & self.goes.val();
        self.is_acting.d.next = self.is_judging.q.val();
        if self.reset.val() {
            self.has_room.d.next = false;
            self.is_catching.d.next = false;
            self.is_judging.d.next = false;
            self.is_acting.d.next = false;
        }
    }
}
