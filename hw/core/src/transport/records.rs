//! What travels between the blocks of the transport.

use rust_hdl::prelude::*;

use crate::record;

/// log2 of the places for requests that are deferred, at most.
pub const DEFERRED_LOG: usize = 6;
/// log2 of the bytes of payload that such a place holds: the largest path MTU.
pub const PLACE_BYTES_LOG: usize = 12;
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
    /// The queue pair is in error: a receive that was posted to it is given up.
    Recall = 4,
    /// What nobody will answer has left: as if its peer had acknowledged it.
    Departed = 5,
    /// The key that a SEND was to end has been judged, and is over if it was good.
    Parted = 6,
    /// A datagram could not be sent, because its way is not known: a [`Failure`](Self::Failure) that leaves where departures do.
    Astray = 7,
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
    /// What an atomic found.
    Value = 3,
    /// What an RPC answers, when it is finished.
    Result = 4,
    /// Nothing yet: an RPC has its answer.
    Finished = 5,
    /// What an RPC has answered, once more.
    Replay = 6,
    /// That an RPC still runs.
    Pending = 7,
}

/// Where the list is that says where payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// There is none: the range itself is named.
    None = 0,
    /// An entry of the queue pair's receive queue.
    Receive = 1,
    /// An entry of a shared receive queue.
    Shared = 2,
    /// A WQE of the queue pair's send queue.
    Send = 3,
}

/// What an atomic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// There is none.
    None = 0,
    /// Adds.
    Add = 1,
    /// Swaps if it finds what it was given to compare.
    Swap = 2,
    /// Came again: what it found before is told once more.
    Replay = 3,
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
        /// Datagrams for it have this key.
        pub q_key: Bits<32>,
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
        /// As often after RNR NAKs; 7: for ever.
        pub rnr_retry: Bits<3>,
        /// Timer code sent with RNR NAKs.
        pub min_rnr: Bits<5>,
        /// READs, atomics and RPCs to take from the peer.
        pub reads_in: Bits<5>,
        /// CQ of its receives.
        pub receive_cq: Bits<24>,
        /// Receives come from `srq`.
        pub has_srq: Bit,
        /// Shared receive queue.
        pub srq: Bits<24>,
        /// log2 of the bytes of one place of its result area, 12 to 16; 0: it has none.
        pub result_log: Bits<5>,
    }
}

record! {
    /// Where the rings of a queue pair are.
    pub struct RingRow {
        /// The queue pair exists; of a row without it nothing else counts.
        pub exists: Bit,
        /// A `QueuePairState`.
        pub state: Bits<3>,
        /// Doorbell page.
        pub page: Bits<12>,
        /// Protection domain.
        pub pd: Bits<16>,
        /// DMA address of the send queue, without its low twelve bits, which are zero.
        pub send_base: Bits<52>,
        /// log2 of its 64-byte units.
        pub send_log: Bits<4>,
        /// DMA address of the receive queue, likewise.
        pub receive_base: Bits<52>,
        /// log2 of its entries; 0: there is none.
        pub receive_log: Bits<4>,
        /// Its entries have `16 << stride` bytes.
        pub receive_stride: Bits<3>,
        /// Receives come from an SRQ.
        pub has_srq: Bit,
    }
}

record! {
    /// A shared receive queue.
    pub struct SharedRow {
        /// It exists; of a row without it nothing else counts.
        pub exists: Bit,
        /// Doorbell page.
        pub page: Bits<12>,
        /// Protection domain: of its entries, whoever takes them.
        pub pd: Bits<16>,
        /// DMA address, without its low twelve bits, which are zero.
        pub base: Bits<52>,
        /// log2 of its entries.
        pub log: Bits<4>,
        /// Its entries have `16 << stride` bytes.
        pub stride: Bits<3>,
        /// An event tells when fewer entries are left, once for each new `round`; 0: none does.
        pub limit: Bits<16>,
        /// Counts the limits that were set.
        pub round: Bits<8>,
    }
}

record! {
    /// An event has told of an SRQ's limit.
    pub struct LimitTold {
        /// One does in this cycle.
        pub valid: Bit,
        /// Of which SRQ.
        pub number: Bits<24>,
        /// Of the limit of this round.
        pub round: Bits<8>,
    }
}

record! {
    /// A receive doorbell.
    pub struct ReceiveDoorbell {
        /// An SRQ's, else a queue pair's.
        pub shared: Bit,
        /// Which one.
        pub number: Bits<24>,
        /// The page it came through.
        pub page: Bits<12>,
        /// Index behind the last entry.
        pub producer: Bits<16>,
    }
}

record! {
    /// Receives that are posted and not taken.
    pub struct Stock {
        /// How many.
        pub count: Bits<16>,
        /// Index of the first.
        pub first: Bits<16>,
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
        /// Its packets are whole Ethernet frames, and nothing else here counts.
        pub raw: Bit,
        /// Its requests are those of an unreliable connection, or datagrams, and nobody answers them.
        pub unreliable: Bit,
        /// They are datagrams: each names its own way, and the queue pair at its end.
        pub datagram: Bit,
        /// Protection domain: of the ways that it may use.
        pub pd: Bits<16>,
        /// The key that it sends with datagrams which name none.
        pub q_key: Bits<32>,
    }
}

record! {
    /// An address handle: the way of a datagram.
    pub struct HandleRow {
        /// It exists; of a row without it nothing else counts.
        pub exists: Bit,
        /// Protection domain.
        pub pd: Bits<16>,
        /// Next hop, or the address of a group, first byte highest.
        pub peer_mac: Bits<48>,
        /// Where it leads to, first byte highest.
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
    /// Whose an IP address is.
    pub struct Station {
        /// The port has it.
        pub is_ours: Bit,
        /// It is that of a group that the port belongs to.
        pub is_group: Bit,
        /// The queue pair that gets what is for the group.
        pub member: Bits<24>,
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
    /// A request, or part of one, to be sent; the units of its WQE go with it.
    pub struct Message {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of the path MTU.
        pub path_mtu: Bits<3>,
        /// A `WorkOp`: SEND, WRITE, READ, an atomic or an RPC, with or without immediate data. Whatever it was, the answer of an
        /// RPC is asked for again by one without parameters.
        pub opcode: Bits<8>,
        /// The receiver is to be woken.
        pub solicited: Bit,
        /// Immediate data, or the key to invalidate.
        pub imm: Bits<32>,
        /// Atomic: what to add or to swap in.
        pub a1: Bits<64>,
        /// Atomic: what to compare.
        pub a2: Bits<64>,
        /// The data is in the WQE, from byte 32 on; the parameters of an RPC, from byte 48 on.
        pub inline: Bit,
        /// 64-byte units of the WQE, 1 to 8.
        pub units: Bits<4>,
        /// Scatter/gather entries, 0 to 16.
        pub sge_count: Bits<5>,
        /// Bytes of the whole message.
        pub length: Bits<32>,
        /// Bytes before the first packet that is to be sent, a multiple of the path MTU.
        pub skips: Bits<32>,
        /// Packets to send, at least one; a READ or an atomic has one.
        pub packets: Bits<24>,
        /// PSN of the first of them.
        pub psn: Bits<24>,
        /// Address at the peer of the message's first byte; of an RPC, its `RpcTarget`.
        pub remote: Bits<64>,
        /// `R_Key`; of an RPC, the key that the kernel acts under.
        pub key: Bits<32>,
        /// Place among the queue pair's unacknowledged messages.
        pub slot: Bits<6>,
        /// All of it was admitted before.
        pub again: Bit,
        /// Colour it was admitted in.
        pub colour: Bit,
        /// Epoch of its queue pair when it was admitted.
        pub epoch: Bits<4>,
    }
}

record! {
    /// One unacknowledged message, for whoever takes the answers.
    pub struct Sent {
        /// Its first PSN.
        pub psn: Bits<24>,
        /// PSNs it takes; a READ as many as its answer has; an RPC those of its request, the last of which is the first of its
        /// answer's.
        pub packets: Bits<24>,
        /// RPC: PSNs of its answer, the last of them all, 1 to 256; 0 of others.
        pub answers: Bits<9>,
        /// The WQE's index.
        pub index: Bits<16>,
        /// A `WorkOp`.
        pub opcode: Bits<8>,
        /// Success gives a completion.
        pub signaled: Bit,
        /// Bytes of the message; of an RPC, those of its longest answer.
        pub length: Bits<32>,
        /// READ of one entry, atomic, RPC: where the answer goes.
        pub address: Bits<64>,
        /// The `L_Key` of that place.
        pub key: Bits<32>,
        /// READ of more entries: the answer goes where its WQE says.
        pub scatters: Bit,
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
        /// READs, atomics and RPCs among them, modulo 32.
        pub reads: Bits<5>,
        /// The last of them did not succeed: nothing behind it is carried out, even before the queue pair is known to be in error.
        pub failed: Bit,
    }
}

record! {
    /// What a queue pair's requester is doing, for whoever shows it.
    pub struct RequesterRow {
        /// Something was admitted; before, there is no next PSN.
        pub started: Bit,
        /// Nothing is sent any more.
        pub stopped: Bit,
        /// The peer is not ready: nothing is sent for the moment.
        pub held: Bit,
        /// PSN behind the last packet that was sent, ever.
        pub frontier: Bits<24>,
        /// Messages, modulo 64.
        pub head: Bits<6>,
        /// READs and atomics among them, modulo 32.
        pub reads: Bits<5>,
    }
}

record! {
    /// What a queue pair's responder is doing, for whoever shows it.
    pub struct ResponderRow {
        /// A request has come; before, none is expected here.
        pub started: Bit,
        /// PSN of the next request.
        pub expected: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// The peer was told to send again from the next request on.
        pub gap_told: Bit,
        /// There is no next one.
        pub failed: Bit,
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
        /// PSNs of the message before that one: packets, and behind those of an RPC some of its answer.
        pub skips: Bits<24>,
        /// Not yet: the peer is not ready, and nothing is sent before the next rewind.
        pub holds: Bit,
        /// The peer itself has asked for it, and takes nothing of what was admitted before: a new epoch begins. Not so when
        /// time ran out, for what was admitted may not have had its turn on the wire.
        pub discards: Bit,
    }
}

record! {
    /// A work of this host that changes what a key stands for: a [`KeyWork`](crate::state::command::KeyWork), and how
    /// its end is told.
    pub struct KeyJob {
        /// A `KeyVerb`: `Bind` or `Invalidate`.
        pub verb: Bits<2>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// The window's key.
        pub key: Bits<32>,
        /// `Bind`: `L_Key` of the region; zero otherwise, as all up to `rights`.
        pub region: Bits<32>,
        /// `Bind`: virtual address of the first byte.
        pub base: Bits<64>,
        /// `Bind`: bytes.
        pub length: Bits<48>,
        /// `Bind`: what peers may do.
        pub rights: Bits<5>,
        /// CQ for its completion.
        pub cq: Bits<24>,
        /// The WQE's index.
        pub index: Bits<16>,
        /// Success gives a completion, too.
        pub signaled: Bit,
        /// The [`KeyedRow::turn`] that tells its end: another than that of the one before it.
        pub turn: Bit,
    }
}

record! {
    /// How far the key works of a queue pair have come. Written when all that the end of one brings has been handed over.
    pub struct KeyedRow {
        /// That of the last that has ended.
        pub turn: Bit,
        /// It has failed: what stands behind it is flushed.
        pub failed: Bit,
    }
}

record! {
    /// The timer of a queue pair begins anew.
    pub struct Alarm {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Code of the wait: 4.096 us << this; 0: for ever.
        pub timeout: Bits<5>,
        /// It is the code of an RNR timer instead.
        pub rests: Bit,
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
        /// BTH solicited event.
        pub solicited: Bit,
        /// RETH or AtomicETH virtual address; of a SEND in one packet what its WQE has there, which is the `UdTarget` of a datagram.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key; likewise, the `Q_Key` of a datagram.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data, or AtomicAckETH original data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// The payload comes as a packet on a stream of its own; the piece says nothing.
        pub inline: Bit,
        /// Request: its message's place.
        pub slot: Bits<6>,
        /// It was admitted before; behind the sieve: sent before.
        pub again: Bit,
        /// Colour it was admitted in; it counts with `frees`.
        pub colour: Bit,
        /// Last packet of what was admitted.
        pub frees: Bit,
        /// Request: epoch it was admitted in.
        pub epoch: Bits<4>,
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
        /// BTH solicited event.
        pub solicited: Bit,
        /// RETH or AtomicETH virtual address; of a SEND in one packet what its WQE has there, which is the `UdTarget` of a datagram.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key; likewise, the `Q_Key` of a datagram.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data, or AtomicAckETH original data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// Request: its message's place.
        pub slot: Bits<6>,
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
        pub occasion: Bits<3>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// It is no nudge of its own: a request that was deferred is looked at again, and `occasion` is `Packet`.
        pub again: Bit,
        /// `Failure`, `Astray`: the message's place. `again`: the request's place in the store.
        pub slot: Bits<6>,
        /// `Failure`, `Astray`: a `Status`. `Parted`: 0, or why the key could not be ended.
        pub status: Bits<8>,
        /// `Failure`: detail, for people.
        pub vendor: Bits<8>,
        /// `Departed`: PSN of the frame or packet.
        pub psn: Bits<24>,
    }
}

record! {
    /// A packet that is for this card, or a nudge, with what has to be known of its queue pair.
    pub struct Arrival {
        /// An [`Occasion`].
        pub occasion: Bits<3>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// It was deferred before, and is looked at again.
        pub again: Bit,
        /// `Failure`: the message's place. `again`: its place in the store.
        pub slot: Bits<6>,
        /// `Failure`: a `Status`.
        pub status: Bits<8>,
        /// `Failure`: detail, for people.
        pub vendor: Bits<8>,
        /// A whole Ethernet frame, which is its payload.
        pub raw: Bit,
        /// It came on an unreliable connection, or is a datagram: nothing is answered.
        pub unreliable: Bit,
        /// It is a datagram: its payload begins with 40 bytes that say where it comes from, and `a1` is the queue pair that has sent it.
        pub datagram: Bit,
        /// BTH op-code, that of a reliable connection for the same packet; all from here to `payload_len` is zero for a nudge.
        pub op: Bits<8>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// BTH solicited event.
        pub solicited: Bit,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// RETH or AtomicETH virtual address; of an RPC its `RpcTarget`, `response_max` highest.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data, or AtomicAckETH original data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// Bytes of payload, which wait on a stream of their own.
        pub payload_len: Bits<13>,
        /// Protection domain of the queue pair.
        pub pd: Bits<16>,
        /// What its peer may do.
        pub rights: Bits<5>,
        /// Code of its path MTU; of a datagram more than any payload has.
        pub path_mtu: Bits<3>,
        /// PSN of the first request it receives.
        pub receive_psn: Bits<24>,
        /// CQ of its send queue.
        pub cq: Bits<24>,
        /// Code of its wait for an answer.
        pub timeout: Bits<5>,
        /// Its requests are repeated as often.
        pub retry: Bits<3>,
        /// As often after RNR NAKs; 7: for ever.
        pub rnr_retry: Bits<3>,
        /// Timer code of its own RNR NAKs.
        pub min_rnr: Bits<5>,
        /// READs, atomics and RPCs it takes from the peer.
        pub reads_in: Bits<5>,
        /// CQ of its receives.
        pub receive_cq: Bits<24>,
        /// They come from `srq`.
        pub has_srq: Bit,
        /// Shared receive queue.
        pub srq: Bits<24>,
        /// log2 of the bytes of one place of its result area, 12 to 16; 0: it has none.
        pub result_log: Bits<5>,
        /// Colour in which its row was read.
        pub colour: Bit,
    }
}

record! {
    /// A request that is deferred, with all of its [`Arrival`] that the packet said. The rest is looked up again.
    pub struct Deferred {
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// BTH solicited event.
        pub solicited: Bit,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// RETH or AtomicETH virtual address.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
    }
}

record! {
    /// What became of a request, for the store of those that are deferred.
    pub struct Deferral {
        /// A request that came is deferred; it was shown in the cycle before.
        pub stored: Bit,
        /// One that was deferred before was looked at again.
        pub judged: Bit,
        /// With `judged`: it stays in the store.
        pub stays: Bit,
        /// It is deferred because another of its queue pair is, and can go after that one alone.
        pub follows: Bit,
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
        /// The arrival is a packet that was waited for: a request in its turn, or an answer of which something comes. All others are
        /// counted before.
        pub is_awaited: Bit,
        /// Its queue pair is an unreliable connection: nothing is answered, and a message whose range is refused is thrown away, all that
        /// follows of it included.
        pub unreliable: Bit,
        /// It begins a message; only of an unreliable connection.
        pub begins: Bit,
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
        /// The arrival is deferred: its payload goes to the place `slot` of the store, and nothing else happens.
        pub stores: Bit,
        /// It was deferred before: its payload comes from there.
        pub loads: Bit,
        /// That place.
        pub slot: Bits<6>,
        /// They go to `va`, or as `list` says; else they are thrown away.
        pub places: Bit,
        /// The payload is `value`, eight bytes, low byte first, and does not come on the stream.
        pub has_value: Bit,
        /// That payload; of an atomic what it adds or swaps in; of a datagram the queue pair that has sent it.
        pub value: Bits<64>,
        /// A [`List`]: that of the entry or WQE `index`. A range that is refused is then the fault of this side.
        pub list: Bits<2>,
        /// `Shared`: the SRQ.
        pub srq: Bits<24>,
        /// With a list: bytes of its message before this payload.
        pub offset: Bits<32>,
        /// An [`Atomic`], to be applied to the eight bytes of the range; the answer comes from there.
        pub atomic: Bits<2>,
        /// Swap: what it compares.
        pub compare: Bits<64>,
        /// A [`Calling`](crate::fabric::records::Calling): what it has to do with kernels.
        pub call: Bits<2>,
        /// With `call`: it completes its request.
        pub call_ends: Bit,
        /// With `call`: the kernel, or [`NO_KERNEL`](crate::fabric::records::NO_KERNEL); then its payload is thrown away.
        pub kernel: Bits<4>,
        /// Without a kernel: the `RpcStatus` that is the answer.
        pub refusal: Bits<3>,
        /// With `call_ends`: PSNs reserved for the answer, 1 to 256.
        pub reserved: Bits<9>,
        /// Its place among the queue pair's atomics, or RPCs; of an RPC that came again that of the next.
        pub place: Bits<4>,
        /// First byte of the range; of an RPC that begins its `RpcTarget`.
        pub va: Bits<64>,
        /// `R_Key` for a request, `L_Key` for an answer; of an RPC that begins the one its kernel acts under.
        pub key: Bits<32>,
        /// Rights the range takes.
        pub need: Bits<5>,
        /// Bytes of the range, all of which must be allowed, or nothing happens; with `places` as many as the payload at
        /// least. None: nothing is asked.
        pub span: Bits<32>,
        /// An [`Answer`].
        pub answer: Bits<3>,
        /// PSN of the answer, and of the refusal.
        pub psn: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// This one among them: a refusal does not count it.
        pub counts: Bit,
        /// AETH syndrome of an acknowledgement.
        pub syndrome: Bits<8>,
        /// READ, RPC: it is executed for the first time.
        pub fresh: Bit,
        /// A completion is given.
        pub completes: Bit,
        /// Its CQ.
        pub cq: Bits<24>,
        /// Index of its WQE, or of its receive.
        pub index: Bits<16>,
        /// Its `WorkOp`; of a receive, what the peer posted.
        pub opcode: Bits<8>,
        /// Immediate data, or an invalidated key.
        pub detail: Bits<32>,
        /// The CQE's flags, as its byte 19.
        pub flags: Bits<8>,
        /// Its `Status`; also of a message that `retires` and gets none.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
        /// Bytes read, written or received; of an RPC that begins those of the whole request.
        pub length: Bits<32>,
        /// The queue pair goes into error, with `status`; without `completes` an event tells it.
        pub fails: Bit,
        /// `tail` and `reads` are news.
        pub retires: Bit,
        /// Messages that are over, modulo 64.
        pub tail: Bits<6>,
        /// READs and atomics among them, modulo 32.
        pub reads: Bits<5>,
        /// It was the queue pair's last receive from an SRQ: an event tells it.
        pub last_receive: Bit,
    }
}

record! {
    /// An atomic that is allowed, or one that came again.
    pub struct Operation {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Code of its path MTU.
        pub path_mtu: Bits<3>,
        /// An [`Atomic`], not `None`.
        pub atomic: Bits<2>,
        /// DMA address of the eight bytes, a multiple of eight.
        pub iova: Bits<64>,
        /// What to add or to swap in.
        pub value: Bits<64>,
        /// Swap: what to compare.
        pub compare: Bits<64>,
        /// Its place among the queue pair's atomics.
        pub slot: Bits<4>,
        /// PSN of the answer.
        pub psn: Bits<24>,
        /// Messages completed, this one included.
        pub msn: Bits<24>,
        /// Colour it was allowed in.
        pub colour: Bit,
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
        pub answer: Bits<3>,
        /// Its first PSN; `Pending`: the one that came again.
        pub psn: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// `Acknowledge`: AETH syndrome.
        pub syndrome: Bits<8>,
        /// `Data`: first byte. `Replay`: bytes of the answer before the packet asked for.
        pub va: Bits<64>,
        /// `Data`: `R_Key`.
        pub key: Bits<32>,
        /// `Data`: bytes. `Finished`, `Replay`: those of the whole answer.
        pub length: Bits<32>,
        /// `Value`: what the atomic found.
        pub value: Bits<64>,
        /// `Data`, `Value`, `Result`: for the first time, so that it acknowledges all before it.
        pub fresh: Bit,
        /// `Data`: writes to host memory that have to be visible first.
        pub ticket: Bits<16>,
        /// From `Result` on: place among the queue pair's RPCs.
        pub place: Bits<4>,
        /// `Finished`, `Replay`: the RPC's status.
        pub status: Bits<32>,
        /// `Finished`, `staged`: where in the staging.
        pub stage: Bits<5>,
        /// `Finished`: the bytes are in the staging, and not yet in the result area.
        pub staged: Bit,
    }
}
