//! What travels between transport, ports and memory on behalf of kernels.

use rust_hdl::prelude::*;

use crate::record;

/// Bits of a kernel's number.
pub const KERNEL_BITS: usize = 4;
/// The number that no kernel has: nobody has the op-code, or nothing is to run.
pub const NO_KERNEL: u8 = 15;
/// log2 of the RPCs of a queue pair whose answers are kept.
pub const PLACES_LOG: usize = 4;
/// log2 of the packets in the staging.
pub const STAGES_LOG: usize = 5;

/// What a packet of an RPC, or an [`Errand`](crate::transport::records::Errand), has to do with kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Nothing.
    None = 0,
    /// It begins a request: `RPC_PARAMS`, `RPC_WRITE_FIRST`, `RPC_WRITE_ONLY`.
    Begins = 1,
    /// It goes on with one: `RPC_WRITE_MIDDLE`, `RPC_WRITE_LAST`.
    GoesOn = 2,
    /// The last packet of one came again, or its answer is asked for again.
    Again = 3,
}

record! {
    /// A packet of an RPC that was accepted; its payload has gone to the port before. Or one that came again.
    pub struct Call {
        /// A [`Calling`], not `None`.
        pub calling: Bits<2>,
        /// It completes its request.
        pub ends: Bit,
        /// Its queue pair has failed since it was accepted: its payload was thrown away, and nothing comes of it but the return of what was reserved.
        pub gives_up: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// The kernel, or [`NO_KERNEL`].
        pub kernel: Bits<KERNEL_BITS>,
        /// Without a kernel: the `RpcStatus` that is the answer.
        pub refusal: Bits<3>,
        /// Place among the queue pair's RPCs; `Again`: that of the next.
        pub place: Bits<PLACES_LOG>,
        /// `Begins`: an `RpcTarget`, as the RETH's address has it: `response_max` highest.
        pub target: Bits<64>,
        /// `Begins`: key that the kernel acts under.
        pub key: Bits<32>,
        /// `Begins`: what of the `rights` of regions the queue pair lets its peer use. Its kernel may do no more.
        pub rights: Bits<5>,
        /// `Begins`: bytes of the whole request's payload.
        pub length: Bits<32>,
        /// Its PSN. With `ends` the first of the answer.
        pub psn: Bits<24>,
        /// With `ends`: PSNs reserved for the answer, 1 to 256.
        pub reserved: Bits<9>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// `Begins`: writes to host memory that have to be visible before a kernel reads any.
        pub ticket: Bits<16>,
    }
}

record! {
    /// What comes with the beats of a packet's payload on their way to a port.
    pub struct Passage {
        /// The kernel.
        pub kernel: Bits<KERNEL_BITS>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// The packet begins a request.
        pub begins: Bit,
    }
}

record! {
    /// A read or write of a kernel, with what the caller may do.
    pub struct Access {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// First byte.
        pub va: Bits<64>,
        /// Key.
        pub key: Bits<32>,
        /// Bytes, 1 to 4096.
        pub len: Bits<13>,
        /// Rights it takes.
        pub need: Bits<5>,
        /// It is refused without a question: its caller is gone, or it has no bytes, or too many.
        pub refused: Bit,
    }
}

record! {
    /// Some of an answer, whole, or its end. The bytes come as a packet of their own.
    pub struct Chunk {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// Bytes of the answer before these, a multiple of the path MTU.
        pub offset: Bits<17>,
        /// Bytes, at most the path MTU. None only with `ends`: then no packet comes.
        pub len: Bits<13>,
        /// The answer ends with them.
        pub ends: Bit,
        /// With `ends`: its status.
        pub status: Bits<32>,
        /// The caller is gone: the bytes are thrown away.
        pub is_orphan: Bit,
    }
}

record! {
    /// Where the results of a queue pair are kept.
    pub struct ResultRow {
        /// There is an area.
        pub exists: Bit,
        /// Its virtual address, without its low twelve bits, which are zero; a multiple of all its bytes.
        pub base: Bits<52>,
        /// log2 of the bytes of one of its 16 places: 12 to 16.
        pub log: Bits<5>,
        /// Its `L_Key`.
        pub key: Bits<32>,
    }
}

record! {
    /// An answer is complete.
    pub struct Ended {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// Its status.
        pub status: Bits<32>,
        /// Its bytes, at most 64 KiB.
        pub length: Bits<17>,
        /// All of it is in the result area, and visible there; otherwise it is in the staging alone, and this comes once more.
        pub is_kept: Bit,
        /// Place in the staging.
        pub stage: Bits<STAGES_LOG>,
        /// The area could not be written.
        pub is_lost: Bit,
    }
}

record! {
    /// News of an RPC, for whoever answers the peer.
    pub struct News {
        /// An [`Answer`](crate::transport::records::Answer) of three bits: `Finished`, `Replay` or `Pending`.
        pub answer: Bits<3>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// `Replay`, `Pending`: its protection domain.
        pub pd: Bits<16>,
        /// `Replay`, `Pending`: code of its path MTU.
        pub path_mtu: Bits<3>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// `Replay`, `Pending`: PSN that was asked for.
        pub psn: Bits<24>,
        /// `Replay`, `Pending`: messages completed.
        pub msn: Bits<24>,
        /// `Replay`, `Pending`: bytes of the answer before that packet.
        pub before: Bits<17>,
        /// `Finished`, `Replay`: bytes of the answer.
        pub length: Bits<17>,
        /// `Finished`, `Replay`: its status.
        pub status: Bits<32>,
        /// `Finished`: it is in the staging alone.
        pub staged: Bit,
        /// With `staged`: its place there.
        pub stage: Bits<STAGES_LOG>,
    }
}
