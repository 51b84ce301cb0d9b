//! Extent: how many packets a work has, and how many PSNs it takes.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcTarget;

use super::intake::Opening;
use crate::constant::number;
use crate::host::work::Work;
use crate::record;

record! {
    /// How long a message is.
    pub struct Lengths {
        /// Packets that its bytes fill: those that are sent, or those of the answer to a READ.
        pub packets: Bits<24>,
        /// PSNs that it takes: as many, and of an RPC those of its answer, but for the first, which is that of its last packet.
        pub psns: Bits<24>,
        /// RPC: PSNs of its answer.
        pub answers: Bits<9>,
        /// Bytes that are remembered of it: its own, or those of an RPC's longest answer.
        pub bytes: Bits<32>,
    }
}

block! {
    /// Measures a work. Logic only.
    ///
    /// - **Ports** `work`, `opening`: the work, and what it is; `lengths`: how long it is.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Extent {
        pub work: Signal<In, Work>,
        pub opening: Signal<In, Opening>,
        pub lengths: Signal<Out, Lengths>,
        response_at: Constant<Bits<6>> = number(RpcTarget::RESPONSE_MAX.low_bit(RpcTarget::LEN)),
    }
}

impl Logic for Extent {
    #[hdl_gen]
    fn update(&mut self) {
        self.lengths.next.packets = self.opening.val().packets;
        self.lengths.next.psns = self.opening.val().packets;
        self.lengths.next.answers = 0.into();
        self.lengths.next.bytes = self.work.val().length;
        if self.opening.val().is_call {
            self.lengths.next.psns =
                self.opening.val().packets + bit_cast::<24, 9>(self.opening.val().answers - 1);
            self.lengths.next.answers = self.opening.val().answers;
            self.lengths.next.bytes = bit_cast::<32, 64>(self.work.val().remote >> self.response_at.val());
        }
    }
}
