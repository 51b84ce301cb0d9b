//! What travels between the blocks of the transport.

use rust_hdl::prelude::*;

use crate::record;

/// log2 of the messages of one queue pair that may be unacknowledged; one more waits.
pub const OUTSTANDING_LOG: usize = 5;
/// Bytes of one queue pair that are sent before another has its turn.
pub const QUANTUM_BYTES: usize = 1 << 16;

/// What an [`Arrival`] or a [`Nudge`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A packet came.
    Packet = 0,
    /// No answer came in time.
    Timeout = 1,
    /// The queue pair is in error: what was sent is given up.
    Flush = 2,
    /// A packet could not be sent.
    Failure = 3,
}

/// What a [`Task`] asks for, and an [`Errand`] once it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    None = 0,
    /// An acknowledgement, positive or negative.
    Acknowledge = 1,
    /// The data of a READ.
    Data = 2,
}

record! {
    /// What the receiving side has to know of a queue pair.
    pub struct PeerRow {
        /// The queue pair exists; of a row without it nothing else counts.
        pub exists: Bit,
        /// A `QueuePairState`.
        pub state: Bits<3>,
        /// A `QueuePairKind`.
        pub kind: Bits<3>,
        /// Protection domain.
        pub pd: Bits<16>,
        /// What of the `rights` of regions its peer may use.
        pub rights: Bits<5>,
        /// Code of the path MTU: 1 to 5, `128 << code` bytes.
        pub path_mtu: Bits<3>,
        /// Partition.
        pub p_key: Bits<16>,
        /// Address of the peer, first byte highest.
        pub peer_ip: Bits<128>,
        /// Which of the port's addresses it has.
        pub source_address: Bits<4>,
        /// PSN of the first request received.
        pub receive_psn: Bits<24>,
        /// CQ of the send queue.
        pub cq: Bits<24>,
        /// Code of the wait for an answer; 0: for ever.
        pub timeout: Bits<5>,
        /// Requests are repeated as often.
        pub retry: Bits<3>,
    }
}

record! {
    /// How packets of a queue pair reach its peer.
    pub struct PathRow {
        /// The queue pair exists, and its path is known.
        pub exists: Bit,
        /// Queue pair of the peer.
        pub peer: Bits<24>,
        /// Partition.
        pub p_key: Bits<16>,
        /// Next hop, first byte highest.
        pub peer_mac: Bits<48>,
        /// Address of the peer, first byte highest.
        pub peer_ip: Bits<128>,
        /// UDP port packets leave from.
        pub source_port: Bits<16>,
        /// Hops packets may take.
        pub hop_limit: Bits<8>,
        /// DSCP and ECN bits.
        pub traffic_class: Bits<8>,
        /// Packets carry `vlan`.
        pub has_vlan: Bit,
        /// Tag.
        pub vlan: Bits<16>,
        /// IPv6 flow label.
        pub flow_label: Bits<20>,
        /// Which of the port's addresses packets leave from.
        pub source_address: Bits<4>,
    }
}

record! {
    /// What became of a job's WQEs, or that a queue pair sends again: where its next job begins.
    pub struct Progress {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Index of the next unit to fetch.
        pub next_index: Bits<16>,
        /// No job has ended: the queue pair sends again from there.
        pub rewinds: Bit,
        /// The WQE there has to wait for an answer of the peer; a kick says when to try again.
        pub blocked: Bit,
        /// Bytes that the job's WQEs asked for, or all ones when there are more.
        pub bytes: Bits<32>,
    }
}

record! {
    /// Part of a WRITE, or a READ, to be sent; the units of its WQE go with it.
    pub struct Message {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of the path MTU.
        pub path_mtu: Bits<3>,
        /// A READ, else a WRITE.
        pub is_read: Bit,
        /// The data is in the WQE, from byte 32 on.
        pub inline: Bit,
        /// 64-byte units of the WQE, 1 to 8.
        pub units: Bits<4>,
        /// Scatter/gather entries, 0 to 16.
        pub sge_count: Bits<5>,
        /// Bytes of the whole message.
        pub length: Bits<32>,
        /// Bytes before the first packet that is to be sent, a multiple of the path MTU.
        pub skips: Bits<32>,
        /// Packets to send, at least one; a READ has one.
        pub packets: Bits<24>,
        /// PSN of the first of them.
        pub psn: Bits<24>,
        /// Address at the peer of the message's first byte.
        pub remote: Bits<64>,
        /// `R_Key`.
        pub key: Bits<32>,
        /// Place among the queue pair's unacknowledged messages.
        pub slot: Bits<6>,
        /// All of it was sent before.
        pub again: Bit,
        /// Colour it was admitted in.
        pub colour: Bit,
    }
}

record! {
    /// One unacknowledged message, for whoever takes the answers.
    pub struct Sent {
        /// Its first PSN.
        pub psn: Bits<24>,
        /// PSNs it takes; a READ as many as its answer has.
        pub packets: Bits<24>,
        /// The WQE's index.
        pub index: Bits<16>,
        /// A `WorkOp`.
        pub opcode: Bits<8>,
        /// Success gives a completion.
        pub signaled: Bit,
        /// Bytes of the message.
        pub length: Bits<32>,
        /// READ: where the answer goes.
        pub address: Bits<64>,
        /// READ: the `L_Key` of that place.
        pub key: Bits<32>,
    }
}

record! {
    /// How far a queue pair has sent. Written by the requester.
    pub struct SentRow {
        /// Messages, modulo 64; the low five bits are the place of the next.
        pub head: Bits<6>,
        /// PSN behind the last packet that was sent, ever.
        pub frontier: Bits<24>,
    }
}

record! {
    /// How far it was answered. Written when all that an answer brings has been handed over.
    pub struct AckedRow {
        /// Messages that are over, modulo 64.
        pub tail: Bits<6>,
        /// READs among them, modulo 32.
        pub reads: Bits<5>,
    }
}

record! {
    /// Send again, from the first message that is not over.
    pub struct Rewind {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Index of that message's WQE.
        pub index: Bits<16>,
        /// Its place.
        pub slot: Bits<6>,
        /// PSN to begin with.
        pub psn: Bits<24>,
        /// Packets of the message before that PSN.
        pub skips: Bits<24>,
    }
}

record! {
    /// The timer of a queue pair begins anew.
    pub struct Alarm {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Code of the wait: 4.096 us << this; 0: for ever.
        pub timeout: Bits<5>,
    }
}

record! {
    /// One step of a packet's way out: a piece of its payload, or none.
    ///
    /// All steps of a packet say the same of it, `pd` to `bytes` apart.
    pub struct TxStep {
        /// Last of its packet.
        pub last: Bit,
        /// An answer, else a request.
        pub is_response: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// RETH virtual address.
        pub va: Bits<64>,
        /// RETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// The payload comes as a packet on a stream of its own; the piece says nothing.
        pub inline: Bit,
        /// Request: its message's place.
        pub slot: Bits<6>,
        /// It was sent before.
        pub again: Bit,
        /// Colour it was admitted in; it counts with `frees`.
        pub colour: Bit,
        /// Last packet of what was admitted.
        pub frees: Bit,
        /// Protection domain.
        pub pd: Bits<16>,
        /// Virtual address of the piece.
        pub address: Bits<64>,
        /// Key of the piece.
        pub key: Bits<32>,
        /// Rights it takes.
        pub need: Bits<5>,
        /// Bytes of the piece, 0 to 4096.
        pub bytes: Bits<13>,
    }
}

record! {
    /// A packet whose payload, if it has any, is here as a whole.
    pub struct TxPacket {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// RETH virtual address.
        pub va: Bits<64>,
        /// RETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// It was sent before.
        pub again: Bit,
    }
}

record! {
    /// A packet that is not sent, because its payload could not be had.
    pub struct TxFailure {
        /// An answer, else a request.
        pub is_response: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// PSN of the packet.
        pub psn: Bits<24>,
        /// Request: its message's place.
        pub slot: Bits<6>,
        /// A `Status`.
        pub status: Bits<8>,
        /// Detail, for people.
        pub vendor: Bits<8>,
    }
}

record! {
    /// Something other than a packet that concerns a queue pair's unacknowledged messages.
    pub struct Nudge {
        /// An [`Occasion`], not `Packet`.
        pub occasion: Bits<2>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// `Failure`: the message's place.
        pub slot: Bits<6>,
        /// `Failure`: a `Status`.
        pub status: Bits<8>,
        /// `Failure`: detail, for people.
        pub vendor: Bits<8>,
    }
}

record! {
    /// A packet that is for this card, or a nudge, with what has to be known of its queue pair.
    pub struct Arrival {
        /// An [`Occasion`].
        pub occasion: Bits<2>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// `Failure`: the message's place.
        pub slot: Bits<6>,
        /// `Failure`: a `Status`.
        pub status: Bits<8>,
        /// `Failure`: detail, for people.
        pub vendor: Bits<8>,
        /// BTH op-code; all from here to `payload_len` is zero for a nudge.
        pub op: Bits<8>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// RETH virtual address.
        pub va: Bits<64>,
        /// RETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// Bytes of payload, which wait on a stream of their own.
        pub payload_len: Bits<13>,
        /// Protection domain of the queue pair.
        pub pd: Bits<16>,
        /// What its peer may do.
        pub rights: Bits<5>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// PSN of the first request it receives.
        pub receive_psn: Bits<24>,
        /// CQ of its send queue.
        pub cq: Bits<24>,
        /// Code of its wait for an answer.
        pub timeout: Bits<5>,
        /// Its requests are repeated as often.
        pub retry: Bits<3>,
        /// Colour in which its row was read.
        pub colour: Bit,
    }
}

record! {
    /// Who gives the next errands: those of one arrival.
    pub struct Order {
        /// The judge of requests, else the one of answers.
        pub is_request: Bit,
        /// Nobody: the packet is for no one, and its payload is thrown away.
        pub drops: Bit,
        /// With `drops`: bytes of that payload, at least one.
        pub payload_len: Bits<13>,
        /// With `drops`: colour of the arrival.
        pub colour: Bit,
    }
}

record! {
    /// What an arrival leads to: payload placed or thrown away, an answer, a completion.
    ///
    /// First the range is asked for, then the payload moves, then the rest happens. An arrival gives one errand or more.
    pub struct Errand {
        /// Last of its arrival.
        pub ends: Bit,
        /// Colour of the arrival.
        pub colour: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// Bytes on the payload stream that belong to this errand.
        pub payload_len: Bits<13>,
        /// They go to `va`; else they are thrown away.
        pub places: Bit,
        /// First byte of the range.
        pub va: Bits<64>,
        /// `R_Key` for a request, `L_Key` for an answer.
        pub key: Bits<32>,
        /// Rights the range takes.
        pub need: Bits<5>,
        /// Bytes of the range, all of which must be allowed, or nothing happens; with `places` as many as the payload at
        /// least. None: nothing is asked.
        pub span: Bits<32>,
        /// An [`Answer`].
        pub answer: Bits<2>,
        /// PSN of the answer, and of the refusal.
        pub psn: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// This one among them: a refusal does not count it.
        pub counts: Bit,
        /// AETH syndrome of an acknowledgement.
        pub syndrome: Bits<8>,
        /// READ: it is executed for the first time.
        pub fresh: Bit,
        /// A completion is given.
        pub completes: Bit,
        /// Its CQ.
        pub cq: Bits<24>,
        /// Index of its WQE.
        pub index: Bits<16>,
        /// Its `WorkOp`.
        pub opcode: Bits<8>,
        /// Its `Status`.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
        /// Bytes read or written.
        pub length: Bits<32>,
        /// The queue pair goes into error, with `status`; without `completes` an event tells it.
        pub fails: Bit,
        /// `tail` and `reads` are news.
        pub retires: Bit,
        /// Messages that are over, modulo 64.
        pub tail: Bits<6>,
        /// READs among them, modulo 32.
        pub reads: Bits<5>,
    }
}

record! {
    /// An answer to the peer.
    pub struct Task {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// An [`Answer`], not `None`.
        pub answer: Bits<2>,
        /// Its first PSN.
        pub psn: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// `Acknowledge`: AETH syndrome.
        pub syndrome: Bits<8>,
        /// `Data`: first byte.
        pub va: Bits<64>,
        /// `Data`: `R_Key`.
        pub key: Bits<32>,
        /// `Data`: bytes.
        pub length: Bits<32>,
        /// `Data`: for the first time, so that it acknowledges all before it.
        pub fresh: Bit,
        /// Writes to host memory that have to be visible first.
        pub ticket: Bits<16>,
    }
}
