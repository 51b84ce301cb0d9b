//! Remain: how much of a message has gone, and how much is left.

use rust_hdl::prelude::*;

block! {
    /// Bytes of a message before and from the next packet on. Logic only.
    ///
    /// - **Ports** `length`: bytes of the message; `sent`: packets of it that have gone; `path_mtu`: code of their size; `skips`: bytes of
    ///   those; `bytes`: of all others.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Remain {
        pub length: Signal<In, Bits<32>>,
        pub sent: Signal<In, Bits<24>>,
        pub path_mtu: Signal<In, Bits<3>>,
        pub skips: Signal<Out, Bits<32>>,
        pub bytes: Signal<Out, Bits<32>>,
        gone: Signal<Local, Bits<32>>,
    }
}

impl Logic for Remain {
    #[hdl_gen]
    fn update(&mut self) {
        self.gone.next = (bit_cast::<32, 24>(self.sent.val()) << 7) << self.path_mtu.val();
        self.skips.next = self.gone.val();
        self.bytes.next = self.length.val() - self.gone.val();
    }
}
