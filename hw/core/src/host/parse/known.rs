//! What queue pairs of a kind may ask for.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairKind;

use super::operations::{
    DATAGRAM_MAX, DATAGRAMS, FRAME_MAX, FRAME_MIN, FRAMES, KEYS, LOCAL, REQUESTS, UNANSWERED, one_of,
};
use crate::constant::number;

const _: () = assert!(FRAME_MAX == DATAGRAM_MAX, "one comparison tells what is too long");

block! {
    /// Holds an operation against the kind of its queue pair. Logic only.
    ///
    /// - **Ports** `kind`: of the queue pair; `opcode`, `length`: of the WQE. `is_known`: it is carried out on such a queue pair;
    ///   `is_sized`: it is neither a frame nor a datagram, or as long as one may be.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Known {
        pub kind: Signal<In, Bits<3>>,
        pub opcode: Signal<In, Bits<8>>,
        pub length: Signal<In, Bits<32>>,
        pub is_known: Signal<Out, Bit>,
        pub is_sized: Signal<Out, Bit>,
        is_frame: Signal<Local, Bit>,
        is_datagram: Signal<Local, Bit>,
        is_short: Signal<Local, Bit>,
        is_long: Signal<Local, Bit>,
        is_request: Signal<Local, Bit>,
        reliable: Constant<Bits<3>> = number(QueuePairKind::Reliable as u64),
        unreliable: Constant<Bits<3>> = number(QueuePairKind::Unreliable as u64),
        datagram: Constant<Bits<3>> = number(QueuePairKind::Datagram as u64),
        raw: Constant<Bits<3>> = number(QueuePairKind::Raw as u64),
        local: Constant<Bits<256>> = one_of(LOCAL),
        requests: Constant<Bits<256>> = one_of(&[REQUESTS, KEYS].concat()),
        unanswered: Constant<Bits<256>> = one_of(UNANSWERED),
        datagrams: Constant<Bits<256>> = one_of(DATAGRAMS),
        frames: Constant<Bits<256>> = one_of(FRAMES),
        shortest: Constant<Bits<32>> = number(FRAME_MIN),
        longest: Constant<Bits<32>> = number(FRAME_MAX),
    }
}

impl Logic for Known {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_request.next = ((self.kind.val() == self.reliable.val())
            & self.requests.val().get_bit(self.opcode.val().index()))
            | ((self.kind.val() == self.unreliable.val())
                & self.unanswered.val().get_bit(self.opcode.val().index()));
        self.is_frame.next =
            (self.kind.val() == self.raw.val()) & self.frames.val().get_bit(self.opcode.val().index());
        self.is_datagram.next = (self.kind.val() == self.datagram.val())
            & self.datagrams.val().get_bit(self.opcode.val().index());
        self.is_known.next = self.local.val().get_bit(self.opcode.val().index())
            | self.is_request.val()
            | self.is_datagram.val()
            | self.is_frame.val();
        self.is_short.next = self.length.val() < self.shortest.val();
        self.is_long.next = self.length.val() > self.longest.val();
        self.is_sized.next = !((self.is_frame.val() & (self.is_short.val() | self.is_long.val()))
            | (self.is_datagram.val() & self.is_long.val()));
    }
}
