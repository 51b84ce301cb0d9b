//! Measure: what limits the next chunk.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::axi::BOUNDARY_BYTES;

block! {
    /// Bytes up to the next end of 4 KiB, and bytes wanted, the lesser of two ends. Logic only.
    ///
    /// - **Ports** `remote`, `remote_rest`: address and bytes of one end; `local`, `local_rest`: of the other; `is_lone`: there is no
    ///   other. `room`: bytes to the nearer end of 4 KiB, 1 to 4096; `most`: the lesser rest, or 4096 if that is less.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Measure {
        pub remote: Signal<In, Bits<64>>,
        pub remote_rest: Signal<In, Bits<32>>,
        pub local: Signal<In, Bits<64>>,
        pub local_rest: Signal<In, Bits<32>>,
        pub is_lone: Signal<In, Bit>,
        pub room: Signal<Out, Bits<13>>,
        pub most: Signal<Out, Bits<13>>,
        remote_room: Signal<Local, Bits<13>>,
        local_room: Signal<Local, Bits<13>>,
        remote_most: Signal<Local, Bits<13>>,
        local_most: Signal<Local, Bits<13>>,
        page: Constant<Bits<13>> = number(BOUNDARY_BYTES),
        page_wide: Constant<Bits<32>> = number(BOUNDARY_BYTES),
        within: Constant<Bits<13>> = number(BOUNDARY_BYTES - 1),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        self.remote_room.next = self.page.val() - (bit_cast::<13, 64>(self.remote.val()) & self.within.val());
        self.local_room.next = self.page.val() - (bit_cast::<13, 64>(self.local.val()) & self.within.val());
        self.remote_most.next = self.page.val();
        if self.remote_rest.val() < self.page_wide.val() {
            self.remote_most.next = bit_cast::<13, 32>(self.remote_rest.val());
        }
        self.local_most.next = self.page.val();
        if self.local_rest.val() < self.page_wide.val() {
            self.local_most.next = bit_cast::<13, 32>(self.local_rest.val());
        }
        self.room.next = self.remote_room.val();
        self.most.next = self.remote_most.val();
        if !self.is_lone.val() & (self.local_room.val() < self.remote_room.val()) {
            self.room.next = self.local_room.val();
        }
        if !self.is_lone.val() & (self.local_most.val() < self.remote_most.val()) {
            self.most.next = self.local_most.val();
        }
    }
}
