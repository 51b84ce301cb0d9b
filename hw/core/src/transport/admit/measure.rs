//! Measure: how many packets a message has.

use rust_hdl::prelude::*;

use crate::constant::number;

block! {
    /// Packets of a message: as many as its bytes fill, and one if it has none. Logic only.
    ///
    /// - **Ports** `length`: bytes, up to `2^31`; `path_mtu`: its code, 1 to 5; `packets`: the packets.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Measure {
        pub length: Signal<In, Bits<32>>,
        pub path_mtu: Signal<In, Bits<3>>,
        pub packets: Signal<Out, Bits<24>>,
        rounded: Signal<Local, Bits<32>>,
        /// Code 0 would be of 128 bytes.
        smallest: Constant<Bits<32>> = number(128),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        self.rounded.next = self.length.val() + ((self.smallest.val() << self.path_mtu.val()) - 1);
        self.packets.next = 1.into();
        if self.length.val().any() {
            self.packets.next = bit_cast::<24, 32>((self.rounded.val() >> 7) >> self.path_mtu.val());
        }
    }
}
