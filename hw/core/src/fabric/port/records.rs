//! What travels within a port.

use rust_hdl::prelude::*;

use crate::fabric::records::PLACES_LOG;
use crate::record;
use crate::slot::TICKET_BITS;

record! {
    /// A packet of a request, in the order of packets: what is left of a [`Call`](crate::fabric::records::Call).
    pub struct Item {
        /// It begins a request.
        pub begins: Bit,
        /// It completes one.
        pub ends: Bit,
        /// Its queue pair is that of the stream that began last before it.
        pub is_own: Bit,
        /// Nothing comes of it.
        pub gives_up: Bit,
        /// It has payload, which is among the beats.
        pub has_payload: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// `begins`: an `RpcTarget`.
        pub target: Bits<64>,
        /// `begins`: the key.
        pub key: Bits<32>,
        /// `begins`: the queue pair lets its peer read.
        pub may_read: Bit,
        /// `begins`: it lets its peer write.
        pub may_write: Bit,
        /// `begins`: bytes of the whole request's payload.
        pub length: Bits<32>,
        /// Writes to host memory that have to be visible before it begins.
        pub ticket: Bits<16>,
    }
}

record! {
    /// Who waits for an answer.
    pub struct Caller {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// Most bytes of the answer.
        pub response_max: Bits<17>,
        /// He may read over his connection, and so may the kernel for him.
        pub may_read: Bit,
        /// He may write, likewise.
        pub may_write: Bit,
    }
}

record! {
    /// What a kernel puts out in one cycle. The response belongs to the beats before, the beat to the next one.
    pub struct Output<const D: usize> {
        /// There is a beat.
        pub has_beat: Bit,
        /// Its bytes.
        pub data: Bits<D>,
        /// How many count.
        pub nbytes: Bits<7>,
        /// Last of its packet.
        pub eop: Bit,
        /// There is a response.
        pub has_response: Bit,
        /// Its ticket.
        pub ticket: Bits<TICKET_BITS>,
        /// Its status.
        pub status: Bits<32>,
    }
}
