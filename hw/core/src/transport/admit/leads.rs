//! Leads: how units begin, to be read before the units themselves have their turn.

use rust_hdl::prelude::*;

use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;

/// log2 of the units that are held: those of two of the longest WQEs.
pub const HELD_LOG: usize = 4;

record! {
    /// What the first unit of a WQE says.
    pub struct Lead {
        /// The receiver is to be woken.
        pub solicited: Bit,
        /// Immediate data, or the key to invalidate.
        pub imm: Bits<32>,
        /// All behind the head.
        pub body: Bits<256>,
    }
}

block! {
    /// Keeps the lead of each unit, and shows that of the next work's first one.
    ///
    /// Which unit is a first one is known when the work before it is taken: as many are passed over then, even if
    /// they have not come yet.
    ///
    /// - **Ports** `enters`, `lead`: a unit comes; `takes`, `units`: a work with so many units is taken; `front`: the lead of the first unit
    ///   behind those; `some`: it is here; `is_next`: it is the next to come; `owed`: units of works that were taken have to come.
    /// - **Latency** 1 cycle. **Rate** a unit and a work per cycle.
    /// - **Backpressure** none: at most `2^HELD_LOG` units may be held that no work has taken.
    /// - **Reset** empties it.
    pub struct Leads {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub enters: Signal<In, Bit>,
        pub lead: Signal<In, Lead>,
        pub takes: Signal<In, Bit>,
        pub units: Signal<In, Bits<4>>,
        pub front: Signal<Out, Lead>,
        pub some: Signal<Out, Bit>,
        pub is_next: Signal<Out, Bit>,
        pub owed: Signal<Out, Bit>,
        memory: LutRam<Lead, HELD_LOG>,
        write_at: Reg<Bits<HELD_LOG>>,
        read_at: Reg<Bits<HELD_LOG>>,
        /// Units that have come less those that were taken, in two's complement.
        surplus: Reg<Bits<6>>,
        taken: Signal<Local, Bits<6>>,
    }
}

impl Logic for Leads {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, write_at, read_at, surplus);
        self.memory.write_enable.next = self.enters.val();
        self.memory.write_address.next = self.write_at.q.val();
        self.memory.write_data.next = self.lead.val();
        self.memory.read_address.next = self.read_at.q.val();
        self.front.next = self.memory.read_data.val();
        self.owed.next = self.surplus.q.val().get_bit(5);
        self.is_next.next = !self.surplus.q.val().any();
        self.some.next = self.surplus.q.val().any() & !self.surplus.q.val().get_bit(5);

        self.taken.next = 0.into();
        if self.takes.val() {
            self.taken.next = bit_cast::<6, 4>(self.units.val());
        }
        self.write_at.d.next = self.write_at.q.val() + self.enters.val();
        self.read_at.d.next = self.read_at.q.val() + bit_cast::<4, 6>(self.taken.val());
        self.surplus.d.next = (self.surplus.q.val() + self.enters.val()) - self.taken.val();
        if self.reset.val() {
            self.write_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.surplus.d.next = 0.into();
        }
    }
}
