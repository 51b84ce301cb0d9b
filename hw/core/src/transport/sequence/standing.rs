//! What is kept of a queue pair's requests.

use rust_hdl::prelude::*;

use crate::record;

record! {
    /// What is known of the requests of a queue pair's peer.
    pub struct Standing {
        /// A request has come; otherwise nothing else counts.
        pub started: Bit,
        /// PSN of the next request.
        pub expected: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// A WRITE has begun and not ended.
        pub in_write: Bit,
        /// WRITE: where the rest of it goes.
        pub va: Bits<64>,
        /// WRITE: its key. With `parting`: the one that is to be ended.
        pub key: Bits<32>,
        /// WRITE, RPC: bytes of the rest.
        pub left: Bits<32>,
        /// A SEND has begun and not ended: its receive is taken, and not completed.
        pub in_send: Bit,
        /// A receive is taken for a message that was broken off: the next that needs one has it.
        pub holds: Bit,
        /// SEND, `holds`: index of that receive.
        pub receive: Bits<16>,
        /// Bytes that have come of the message under way.
        pub received: Bits<32>,
        /// The last SEND is all here, and its receive is completed when the key it names has ended.
        pub parting: Bit,
        /// With `parting`: that completion wakes its receiver.
        pub solicited: Bit,
        /// With `parting`: requests were thrown away since, and the peer has to send again from the next one on.
        pub owes: Bit,
        /// An RPC has begun and not ended.
        pub in_call: Bit,
        /// RPC: its kernel, or [`NO_KERNEL`](crate::fabric::records::NO_KERNEL).
        pub kernel: Bits<4>,
        /// RPC: without a kernel, the `RpcStatus` that is the answer.
        pub refusal: Bits<3>,
        /// RPC: PSNs that its answer takes.
        pub reserved: Bits<9>,
        /// RPCs begun, modulo 16: place of the next.
        pub calls: Bits<4>,
        /// An RPC was not answered when the last request came, that one included.
        pub calling: Bit,
        /// With `calling`: `resources` behind the last RPC that has ended.
        pub last_call: Bits<5>,
        /// READs, atomics and RPCs carried out, or begun, modulo 32.
        pub resources: Bits<5>,
        /// Atomics among them, modulo 32.
        pub atomics: Bits<5>,
        /// Requests that are deferred.
        pub deferred: Bits<7>,
        /// The next one is among them.
        pub waits: Bit,
        /// With `waits`: not for atomics alone, so that other queue pairs may be needed to end it.
        pub waits_long: Bit,
        /// The peer was told to send again from the next request on.
        pub gap_told: Bit,
        /// With `gap_told`: PSN of the last request that was thrown away since.
        pub last_early: Bits<24>,
        /// A request was refused, or receives were recalled: there is no next one.
        pub failed: Bit,
        /// It was told that no more receives of an SRQ come back.
        pub last_told: Bit,
    }
}
