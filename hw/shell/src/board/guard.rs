//! Has the power cut before the chip is harmed.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

/// Measurements in a row that reach the limit before it counts: one alone may be noise.
const IN_A_ROW: u64 = 16;

block! {
    /// Trips when the temperature has reached its limit sixteen times in a row.
    ///
    /// - **Ports** `code`, `measured`: a measurement, in the cycle in which `measured` is high; `limit_in`, `stores`: a new limit, 0 for none; `limit`: the
    ///   one that counts; `tripped`: from a register, high until a limit is stored.
    /// - **Reset** no limit, not tripped.
    pub struct Guard {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub code: Signal<In, Bits<16>>,
        pub measured: Signal<In, Bit>,
        pub limit_in: Signal<In, Bits<16>>,
        pub stores: Signal<In, Bit>,
        pub limit: Signal<Out, Bits<16>>,
        pub tripped: Signal<Out, Bit>,
        most: Reg<Bits<16>>,
        row: Reg<Bits<5>>,
        has_tripped: Reg<Bit>,
        is_hot: Signal<Local, Bit>,
        enough: Constant<Bits<5>> = number(IN_A_ROW - 1),
    }
}

impl Logic for Guard {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, most, row, has_tripped);
        self.limit.next = self.most.q.val();
        self.tripped.next = self.has_tripped.q.val();
        self.is_hot.next = self.most.q.val().any() & (self.code.val() >= self.most.q.val());
        if self.measured.val() {
            self.row.d.next = 0.into();
            if self.is_hot.val() {
                self.row.d.next = self.row.q.val() + 1;
                if self.row.q.val() == self.enough.val() {
                    self.row.d.next = self.row.q.val();
                    self.has_tripped.d.next = true;
                }
            }
        }
        if self.stores.val() {
            self.most.d.next = self.limit_in.val();
            self.row.d.next = 0.into();
            self.has_tripped.d.next = false;
        }
        if self.reset.val() {
            self.most.d.next = 0.into();
            self.row.d.next = 0.into();
            self.has_tripped.d.next = false;
        }
    }
}
