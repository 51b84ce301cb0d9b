//! Keyed: has the last work on a key ended, and may another go?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::KeyedRow;

record! {
    /// How works on keys stand for a queue pair.
    pub struct KeyStanding {
        /// The last one has ended.
        pub ended: Bit,
        /// It has failed.
        pub failed: Bit,
        /// There is room for another.
        pub has_room: Bit,
    }
}

block! {
    /// Keeps how works on keys stand while a work is judged.
    ///
    /// Only one work on a key of a queue pair is under way, so one bit tells whether it has ended: the end of each turns it.
    ///
    /// - **Ports** `looks`: look at `turn`, of the queue pair's newest work on a key, at `keyed`, its row, and at `room`; `standing`: what
    ///   was found, from the next cycle on.
    /// - **Latency** 1 cycle. **Reset** none: `standing` counts behind a look alone.
    /// - **Limits** room that was found must stay until it is used: nobody else may fill it.
    pub struct Keyed {
        pub clock: Signal<In, Clock>,
        pub looks: Signal<In, Bit>,
        pub turn: Signal<In, Bit>,
        pub keyed: Signal<In, KeyedRow>,
        pub room: Signal<In, Bit>,
        pub standing: Signal<Out, KeyStanding>,
        found: Reg<KeyStanding>,
    }
}

impl Logic for Keyed {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, found);
        self.standing.next = self.found.q.val();
        if self.looks.val() {
            self.found.d.next.ended = self.turn.val() == self.keyed.val().turn;
            self.found.d.next.failed = self.keyed.val().failed;
            self.found.d.next.has_room = self.room.val();
        }
    }
}
