//! What travels from a doorbell to a completion.
//!
//! ```text
//!   stores ─ Doorbells ─ SendDoorbell ─ Send ─ Job ─ Parse ─ Work, units ─ Check ─ Work, units ─ Admit ─┬─ Move ─ Done
//!                └──── pushed units ─────┘│ ▲ ▲────────────────── Progress ─────────────────────────┘    └─ packets
//!                              ReadCommand▼ └── a job is retired, a peer has answered
//!                                     host memory
//! ```

use rust_hdl::prelude::*;

use crate::record;

/// 64-byte units of the send queue that one job fetches at most.
pub const JOB_UNITS: usize = 32;
/// 64-byte units of a WQE that may be pushed.
pub const PUSH_UNITS: usize = 4;

record! {
    /// A store to a doorbell page.
    pub struct PageStore {
        /// The page.
        pub page: Bits<12>,
        /// Byte within the page, a multiple of eight.
        pub offset: Bits<12>,
        /// The bytes, lowest address lowest.
        pub data: Bits<64>,
        /// Which of them are stored.
        pub strb: Bits<8>,
    }
}

record! {
    /// A send doorbell, or the commit of a push.
    pub struct SendDoorbell {
        /// The queue pair it names.
        pub qpn: Bits<24>,
        /// The page it came through.
        pub page: Bits<12>,
        /// Index behind the last WQE.
        pub producer: Bits<16>,
        /// It is a commit; `producer` is behind the pushed WQE.
        pub commits: Bit,
        /// Units of the pushed WQE that wait to be taken: 0 when the window was incomplete.
        pub units: Bits<3>,
    }
}

record! {
    /// A store to a CQ's doorbell.
    pub struct CqDoorbell {
        /// The CQ it names.
        pub cq: Bits<24>,
        /// The page it came through.
        pub page: Bits<12>,
        /// Entries the driver has taken.
        pub consumer: Bits<24>,
        /// 0 none, 1 at the next entry, 2 at the next solicited or failed one.
        pub arm: Bits<2>,
    }
}

record! {
    /// What the sending side has to know of a queue pair.
    pub struct SendRow {
        /// The queue pair exists; of a row without it nothing else counts.
        pub exists: Bit,
        /// A `QueuePairState`.
        pub state: Bits<3>,
        /// A `QueuePairKind`.
        pub kind: Bits<3>,
        /// Protection domain.
        pub pd: Bits<16>,
        /// CQ of the send queue.
        pub cq: Bits<24>,
        /// Doorbell page.
        pub page: Bits<12>,
        /// log2 of the send queue's units.
        pub log: Bits<4>,
        /// DMA address of the send queue, without its low twelve bits, which are zero.
        pub base: Bits<52>,
        /// Cycles that a KiB takes at least, in 1/256; 0: no limit.
        pub pace: Bits<24>,
        /// Code of the path MTU: 1 to 5, `128 << code` bytes.
        pub path_mtu: Bits<3>,
        /// PSN of the first request ever sent.
        pub send_psn: Bits<24>,
        /// READs to have in flight.
        pub reads_out: Bits<5>,
        /// Code of the wait for an answer; 0: for ever.
        pub timeout: Bits<5>,
    }
}

record! {
    /// A queue pair's row has changed.
    pub struct QpChange {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its queues begin anew with index 0; otherwise work that waited may go on.
        pub resets: Bit,
        /// It sends and answers nothing from now on, until it resets.
        pub stops: Bit,
        /// With `stops`: nor does it finish what it owes its peer; it is about to reset, or to go.
        pub ends: Bit,
        /// It begins no request from now on, and has begun none since before: when those begun are over, that is told.
        pub drains: Bit,
    }
}

record! {
    /// Units of one send queue that are on their way to the card.
    pub struct Job {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Index of the first unit.
        pub index: Bits<16>,
        /// How many units, 1 to [`JOB_UNITS`].
        pub units: Bits<6>,
        /// They are exactly one WQE and come from a push, not from a fetch.
        pub pushed: Bit,
        /// Colour it was begun in; returned when it is retired.
        pub colour: Bit,
        /// The queue pair is in error: every WQE is flushed.
        pub flush: Bit,
        /// It is in Drained: of the WQEs, only those go on that had begun.
        pub drains: Bit,
        /// The queue pair's `QueuePairKind`.
        pub kind: Bits<3>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// CQ of its send queue.
        pub cq: Bits<24>,
        /// Code of the path MTU: 1 to 5, `128 << code` bytes.
        pub path_mtu: Bits<3>,
        /// PSN of the first request ever sent.
        pub send_psn: Bits<24>,
        /// READs to have in flight.
        pub reads_out: Bits<5>,
        /// Code of the wait for an answer; 0: for ever.
        pub timeout: Bits<5>,
    }
}

record! {
    /// 64 bytes read from host memory.
    pub struct Unit {
        /// The bytes, lowest address lowest.
        pub data: Bits<512>,
        /// Last of its read command.
        pub last: Bit,
        /// Some of the command's bytes could not be read; meaningful with `last`.
        pub err: Bit,
    }
}

record! {
    /// A WQE to be carried out or refused; or the end of a job.
    ///
    /// Behind a WQE with `status` 0 and an op-code other than NOP and `LOCAL_INV` its `units` units follow on a stream of their own.
    pub struct Work {
        /// No WQE: all WQEs of a job have gone before, and the job is retired when this arrives.
        pub ends: Bit,
        /// Colour of the job; meaningful with `ends`.
        pub colour: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// The WQE's index; with `ends`, the one behind the last WQE of the job that gave a work.
        pub index: Bits<16>,
        /// CQ for its completion.
        pub cq: Bits<24>,
        /// The queue pair's protection domain.
        pub pd: Bits<16>,
        /// 0: to be carried out; otherwise the `Status` it completes with.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
        /// Success gives a completion, too.
        pub signaled: Bit,
        /// It waits for the READs, atomics and RPCs before it.
        pub fence: Bit,
        /// The queue pair is in Drained: if it has not begun, it waits.
        pub drains: Bit,
        /// A `WorkOp`.
        pub opcode: Bits<8>,
        /// The data is in the WQE, from byte 32 on; the parameters of an RPC, from byte 48 on.
        pub inline: Bit,
        /// 64-byte units, 1 to 8.
        pub units: Bits<4>,
        /// Scatter/gather entries, 0 to 16.
        pub sge_count: Bits<5>,
        /// Bytes of the payload; with `ends`, those that the job's works without a status ask for, or all ones when there
        /// are more.
        pub length: Bits<32>,
        /// GATHER: where to; SCATTER: where from; WRITE, READ, atomics: where at the peer; RPCs: an `RpcTarget`.
        pub remote: Bits<64>,
        /// The `L_Key` of that place; WRITE, READ, atomics: its `R_Key`; RPCs: the key that the kernel acts under; work on a key: the
        /// key.
        pub key: Bits<32>,
        /// Code of the path MTU: 1 to 5, `128 << code` bytes.
        pub path_mtu: Bits<3>,
        /// PSN of the first request ever sent.
        pub send_psn: Bits<24>,
        /// READs to have in flight.
        pub reads_out: Bits<5>,
        /// Code of the wait for an answer; 0: for ever.
        pub timeout: Bits<5>,
    }
}

record! {
    /// A completion to be written.
    pub struct Done {
        /// The CQ.
        pub cq: Bits<24>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// The request's index.
        pub index: Bits<16>,
        /// A `WorkOp`.
        pub opcode: Bits<8>,
        /// A `Status`.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
        /// Bytes received, read, or copied.
        pub length: Bits<32>,
        /// Immediate data, invalidated key, or RPC status.
        pub detail: Bits<32>,
        /// UD: queue pair of the sender.
        pub source_qp: Bits<24>,
        /// The CQE's flags, as its byte 19.
        pub flags: Bits<8>,
    }
}

record! {
    /// A queue pair goes into error.
    pub struct QpError {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// A `Status`.
        pub status: Bits<8>,
        /// No completion tells it: an event has to.
        pub untold: Bit,
    }
}

record! {
    /// An entry for the event queue.
    pub struct EventRecord {
        /// What the kind says.
        pub data: Bits<64>,
        /// Queue pair or CQ.
        pub object: Bits<24>,
        /// An `Event`.
        pub kind: Bits<8>,
        /// Detail of the kind.
        pub subkind: Bits<8>,
    }
}

record! {
    /// Payload for host memory; a packet of `len` bytes goes with it.
    pub struct HostWrite {
        /// Of the first byte; any alignment.
        pub iova: Bits<64>,
        /// Bytes, 1 to 4096.
        pub len: Bits<13>,
        /// The queue pair it is for.
        pub qpn: Bits<24>,
    }
}

record! {
    /// A ring entry for host memory, 16 or 32 bytes, on a multiple of its size.
    pub struct EntryWrite {
        /// Where it goes.
        pub iova: Bits<64>,
        /// The bytes, lowest address lowest.
        pub data: Bits<256>,
        /// It has 32 bytes, not 16.
        pub long: Bit,
    }
}
