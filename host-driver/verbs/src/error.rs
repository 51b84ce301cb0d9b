//! What can go wrong, with the operation and its values.

use std::net::IpAddr;
use std::time::Duration;

use stroma_abi::desc::{CommandStatus, ObjectKind, QueuePairKind, QueuePairState, Status, Verb, WqeError};
use stroma_abi::wire::grh::GRH_LEN;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What happened below: registers, memory, interrupts.
    #[error(transparent)]
    Device(#[from] stroma_device::Error),
    /// The card refused a command.
    #[error("{verb:?} of {kind:?} {number}: the card says {status:?}{}", .field.map(|name| format!(" in field `{name}`")).unwrap_or_default())]
    CommandRefused {
        /// What was asked.
        verb: Verb,
        /// Of which kind of object.
        kind: ObjectKind,
        /// Of which one.
        number: u32,
        /// The card's answer.
        status: CommandStatus,
        /// The field it did not like, when it named one.
        field: Option<&'static str>,
    },
    /// The card did not answer a command.
    #[error("{verb:?} of {kind:?} {number}: no answer after {waited:?}")]
    CommandTimedOut {
        /// What was asked.
        verb: Verb,
        /// Of which kind of object.
        kind: ObjectKind,
        /// Of which one.
        number: u32,
        /// Time waited.
        waited: Duration,
    },
    /// An answer to another command, or with a status that does not exist.
    #[error(
        "{verb:?} of {kind:?} {number}: the answer has status {status}, token {token} instead of {expected}"
    )]
    BadReply {
        /// What was asked.
        verb: Verb,
        /// Of which kind of object.
        kind: ObjectKind,
        /// Of which one.
        number: u32,
        /// Code of the answer's status.
        status: u16,
        /// The answer's token.
        token: u16,
        /// The command's token.
        expected: u16,
    },
    /// The card has no more of these.
    #[error("all {capacity} {what} are in use")]
    NoneLeft {
        /// What was asked for.
        what: &'static str,
        /// How many there are.
        capacity: u32,
    },
    /// The port has no such place for an address.
    #[error("the port has {count} addresses, and none at place {index}")]
    NoAddress {
        /// The place that was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The port was not told who it is.
    #[error("the port has MAC {mac:02x?} and address {ip}: set both before the card talks to itself")]
    NoOwnAddress {
        /// Its MAC address.
        mac: [u8; 6],
        /// Its first address.
        ip: IpAddr,
    },
    /// The card has no such slot for a kernel.
    #[error("the card has {slots} kernels, and none in slot {slot}")]
    NoKernel {
        /// The slot that was asked for.
        slot: usize,
        /// How many there are.
        slots: usize,
    },
    /// A catalogue of more kernels than it has room for.
    #[error("the catalogue tells of {slots} kernels, and has room for {room}")]
    BadCatalogue {
        /// How many the card says it has.
        slots: u64,
        /// How many fit the catalogue.
        room: usize,
    },
    /// Nobody answers for an address.
    #[error("no neighbour has {address}: no answer to {} in {timeout:?}", match address {
        IpAddr::V4(_) => "ARP",
        IpAddr::V6(_) => "neighbour solicitation",
    })]
    NoNeighbour {
        /// The address that was asked for.
        address: IpAddr,
        /// How long.
        timeout: Duration,
    },
    /// The port has no address from which another could be spoken to.
    #[error("speaking to {address}: the port has no address of {}", match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    })]
    NoSource {
        /// Who was to be spoken to.
        address: IpAddr,
    },
    /// The card was built without something.
    #[error("{operation}: this card lacks the feature `{feature}`")]
    Lacks {
        /// What was to be done.
        operation: &'static str,
        /// What it lacks.
        feature: &'static str,
    },
    /// A queue pair that does not speak what is asked for.
    #[error("{operation}: queue pair {number} is {kind:?}")]
    WrongKind {
        /// What was to be done.
        operation: &'static str,
        /// The queue pair.
        number: u32,
        /// Its kind.
        kind: QueuePairKind,
    },
    /// A group that is none.
    #[error("{address} is not the address of a group")]
    NotMulticast {
        /// The address.
        address: IpAddr,
    },
    /// A group that has a member already.
    #[error("group {group}: queue pair {queue_pair} belongs to it, and there is one member a card")]
    GroupTaken {
        /// The group.
        group: IpAddr,
        /// Its member.
        queue_pair: u32,
    },
    /// A datagram to be answered that was for somebody else.
    #[error("a datagram for {address}, which is not an address of the port")]
    NotOurs {
        /// Whom it was for.
        address: IpAddr,
    },
    /// A received datagram that does not begin as it should.
    #[error("a datagram {}", no_grh(*.len, *.first))]
    BadGrh {
        /// Bytes there were.
        len: usize,
        /// The first of them.
        first: Option<u8>,
    },
    /// A datagram that names no address handle.
    #[error("request {position} of the batch: a datagram that does not say where it goes")]
    NoDestination {
        /// Its place in the batch, from 0 on.
        position: usize,
    },
    /// Nobody answers an echo.
    #[error("no answer from {address} to an echo of {bytes} bytes in {timeout:?}")]
    NoEcho {
        /// Who was asked.
        address: IpAddr,
        /// With how many bytes.
        bytes: usize,
        /// How long.
        timeout: Duration,
    },
    /// An echo that no frame has room for.
    #[error("an echo of {bytes} bytes: {limit} at most")]
    EchoTooLong {
        /// How many were asked for.
        bytes: usize,
        /// How many there can be.
        limit: usize,
    },
    /// The raw queue, over which neighbours are asked and answered, has failed.
    #[error("raw queue pair {number}: a frame ended as {status:?}")]
    RawQueue {
        /// The queue pair.
        number: u32,
        /// How its frame ended.
        status: Status,
    },
    /// No room in the card's address space.
    #[error("no {len:#x} free bytes in the card's address space")]
    NoAddresses {
        /// Bytes asked for.
        len: usize,
    },
    /// A queue larger than the card's.
    #[error("{what} of {asked}: at most {max} are possible")]
    TooLarge {
        /// What was asked for.
        what: &'static str,
        /// How many.
        asked: usize,
        /// How many can be had.
        max: usize,
    },
    /// Objects of two cards in one operation.
    #[error("{what} belongs to another device")]
    OtherDevice {
        /// The object.
        what: &'static str,
    },
    /// Rights that make no sense alone.
    #[error("access {access:#04x}: who lets peers write or apply atomics must allow local writes, too")]
    BadAccess {
        /// The rights asked for.
        access: u8,
    },
    /// A range behind the end of a region, or of the memory it is to be made of.
    #[error("{len:#x} bytes from {offset:#x} on of {of}, which has {size:#x}")]
    OutsideRange {
        /// First byte.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Of what.
        of: &'static str,
        /// Bytes it has.
        size: usize,
    },
    /// A region that is to have another address, at another place in a page.
    #[error(
        "a region at {address:#x} named {base:#x}: both need the same place in a page of {page:#x} bytes"
    )]
    BadBase {
        /// The name.
        base: u64,
        /// Where it is.
        address: u64,
        /// Bytes of a page.
        page: usize,
    },
    /// A change of state that does not exist, or lacks attributes, or has too many.
    #[error("queue pair {number} ({kind:?}): {from:?} to {to:?} {}", explain(*.is_known, .missing, .forbidden))]
    BadTransition {
        /// The queue pair.
        number: u32,
        /// Its kind.
        kind: QueuePairKind,
        /// Present state.
        from: QueuePairState,
        /// State asked for.
        to: QueuePairState,
        /// Does the table of states have this change?
        is_known: bool,
        /// Attributes that must be given and were not.
        missing: Vec<&'static str>,
        /// Attributes that were given and may not be.
        forbidden: Vec<&'static str>,
    },
    /// A value its field cannot hold.
    #[error("`{field}` of {value:#x}: the field has {bits} bits")]
    TooWide {
        /// The field.
        field: &'static str,
        /// The value.
        value: u128,
        /// Bits of the field.
        bits: usize,
    },
    /// Posting to a queue pair that takes no requests.
    #[error("post to queue pair {number}: in {state:?} it takes no requests")]
    WrongState {
        /// The queue pair.
        number: u32,
        /// Its state.
        state: QueuePairState,
    },
    /// The send queue is full. Slots are free again when a completion at or behind them was polled, so a request has to
    /// be signaled every so often.
    #[error("post to queue pair {number}: {wanted} units wanted, {room} of {size} are free")]
    QueueFull {
        /// The queue pair.
        number: u32,
        /// 64-byte units of the batch.
        wanted: usize,
        /// Units free.
        room: u16,
        /// Units of the send queue.
        size: u16,
    },
    /// The receive queue is full. Entries are free again when their completions were polled; a ring is filled in its order.
    #[error("receive on {queue}: {wanted} entries wanted, {room} of {size} are free")]
    ReceiveQueueFull {
        /// The queue pair or the shared receive queue.
        queue: String,
        /// Entries of the batch.
        wanted: usize,
        /// Entries free behind the last one.
        room: usize,
        /// Entries of the queue.
        size: usize,
    },
    /// A receive on a queue pair that has no receive queue of its own.
    #[error("receive on queue pair {number}: it has no receive queue of its own")]
    NoReceiveQueue {
        /// The queue pair.
        number: u32,
    },
    /// A request that cannot be written down.
    #[error("request {position} of the batch: {source}")]
    BadRequest {
        /// Its place in the batch, from 0 on.
        position: usize,
        /// Why.
        source: WqeError,
    },
    /// More scatter/gather entries than the card takes.
    #[error("request {position} of the batch: {count} pieces, the card takes {max}")]
    TooManyPieces {
        /// Its place in the batch, from 0 on.
        position: usize,
        /// Pieces given.
        count: usize,
        /// Pieces possible.
        max: usize,
    },
    /// A completion of something that was not posted: card and driver disagree.
    #[error(
        "completion queue {queue}: {reason} (queue pair {queue_pair}, index {index}, status {status}, op-code {opcode:#04x})"
    )]
    BadCompletion {
        /// The completion queue.
        queue: u32,
        /// What is wrong.
        reason: &'static str,
        /// The entry's queue pair.
        queue_pair: u32,
        /// The entry's index.
        index: u16,
        /// The entry's status.
        status: u8,
        /// The entry's op-code.
        opcode: u8,
    },
}

fn no_grh(len: usize, first: Option<u8>) -> String {
    match first {
        Some(first) if len >= GRH_LEN => {
            format!("that begins with {first:#04x}: its GRH is no IP header")
        }
        _ => format!("of {len} bytes: it has no GRH, which has {GRH_LEN}"),
    }
}

fn explain(is_known: bool, missing: &[&str], forbidden: &[&str]) -> String {
    if !is_known {
        return "is no change of state".into();
    }
    let part = |word: &str, names: &[&str]| {
        if names.is_empty() { String::new() } else { format!(" {word} {}", names.join(", ")) }
    };
    format!("refused:{}{}", part("lacks", missing), part("may not set", forbidden))
}
