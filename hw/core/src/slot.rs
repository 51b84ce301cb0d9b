//! The ports every kernel sees: invocations in, answers out, and DMA under the caller's rights in between.
//!
//! ```text
//!               command ──▶ ┌────────┐ ──▶ data_out       bytes of answers
//!   payload     data_in ──▶ │        │ ──▶ response       how each ended
//!                           │ kernel │
//!             read_data ──▶ │        │ ──▶ read
//!            write_done ──▶ └────────┘ ──▶ write, write_data
//! ```
//!
//! An invocation is open from its command to its response. Up to [`OPEN`] are, all of one queue pair, and a kernel may take the next command
//! before it has answered the last: that of another queue pair comes when all are answered, so that nobody's work is lost if a kernel has to be
//! reset for somebody else's. The ticket of the command names the invocation in all that the kernel asks for: the slot's other side knows the
//! caller's protection domain by it, so the kernel has none. A kernel leaves out the streams it has no use for, but takes
//! all of `data_in`, wanted or not. A kernel that never answers is ended by the watchdog of the other side, which resets it.
//!
//! | stream | payload | contract |
//! |---|---|---|
//! | `command` | [`SlotCommand`] | one an invocation |
//! | `data_in` | [`Beat`](crate::stream::Beat) | what follows the parameters: one packet for each invocation that has some, in the order of commands, perhaps before its command |
//! | `read` | [`SlotRead`] | any number, while its invocation is open |
//! | `read_data` | [`SlotData`] | one packet a read, in the order of reads |
//! | `write` | [`SlotWrite`] | any number, while its invocation is open |
//! | `write_data` | [`Beat`](crate::stream::Beat) | one packet a write, in the order of writes, of as many bytes |
//! | `write_done` | [`SlotDone`] | one a write, in the order of writes, when it is visible to the host |
//! | `data_out` | [`Beat`](crate::stream::Beat) | the answers' bytes: one packet for each invocation that answers with some, in the order of commands; `err` is low |
//! | `response` | [`SlotResponse`] | one an invocation, in the order of commands; offered when the last beat of its data has moved, and all its reads and writes have come back |
//!
//! Between calls a kernel stands still: what it does on its own accord behind its last response it has done 60 cycles later, or it takes no command
//! meanwhile. Whoever simulates or powers the card may hold its clock then.
//!
//! With any status but 0 the bytes of an answer mean nothing. No port is for registers: what a kernel is to do stands in its
//! parameters, and those that need more than that will bring it.

use rust_hdl::prelude::*;
use stroma_abi::desc::{self, Parameters, rpc::PARAMETERS_MAX};

use crate::record;

/// Bits of a ticket.
pub const TICKET_BITS: usize = desc::SlotCommand::TICKET.width;
/// Most open invocations.
pub const OPEN: usize = 1 << TICKET_BITS;
/// Most bytes of a read or write.
pub const TRANSFER_MAX: usize = 4096;
/// Bits of a length of a read or write.
pub const LENGTH_BITS: usize = 13;
/// Bits of parameters.
pub const PARAMETER_BITS: usize = 8 * PARAMETERS_MAX;

/// How a read or write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    Good = 0,
    /// Key, protection domain, bounds or rights forbade it.
    Refused = 1,
    /// The host could not serve it.
    Failed = 2,
}

record! {
    /// An invocation. The same as [`stroma_abi::desc::SlotCommand`] and its parameters.
    pub struct SlotCommand {
        /// Names it; not that of an open one.
        pub ticket: Bits<TICKET_BITS>,
        /// Queue pair that asks.
        pub qpn: Bits<24>,
        /// RPC op-code.
        pub op: Bits<16>,
        /// From the request, for the kernel.
        pub flags: Bits<8>,
        /// Parameters, in 4-byte units, at most 16.
        pub parameter_words: Bits<8>,
        /// Key the kernel acts under.
        pub key: Bits<32>,
        /// Bytes of the request's payload: those of the parameters, and those on `data_in`.
        pub request_len: Bits<32>,
        /// Most bytes of an answer.
        pub response_max: Bits<32>,
        /// Protection domain of the queue pair: who keeps something from one invocation to the next, keeps it for this one.
        pub pd: Bits<16>,
        /// First byte lowest, zero behind the last.
        pub parameters: Bits<PARAMETER_BITS>,
    }
}

record! {
    /// Bytes to be read from the caller's memory.
    pub struct SlotRead {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// Where, at any alignment.
        pub va: Bits<64>,
        /// Under which key.
        pub key: Bits<32>,
        /// How many: 1 to 4096.
        pub len: Bits<LENGTH_BITS>,
    }
}

record! {
    /// A beat of what was read. As [`Beat`](crate::stream::Beat), but for its `err`.
    pub struct SlotData<const D: usize> {
        /// The bytes, first byte lowest.
        pub data: Bits<D>,
        /// How many of them count: 1 to `D / 8`, and `D / 8` unless `eop`.
        pub nbytes: Bits<7>,
        /// First beat of its read.
        pub sop: Bit,
        /// Last beat of its read.
        pub eop: Bit,
        /// An [`Ending`]; meaningful with `eop`. If it is not good, the packet may be shorter than the read, and its bytes mean nothing.
        pub err: Bits<2>,
    }
}

record! {
    /// Bytes to be written to the caller's memory.
    pub struct SlotWrite {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// Where, at any alignment.
        pub va: Bits<64>,
        /// Under which key.
        pub key: Bits<32>,
        /// How many: 1 to 4096.
        pub len: Bits<LENGTH_BITS>,
    }
}

record! {
    /// What came of a write.
    pub struct SlotDone {
        /// An [`Ending`]. If it is not good, any part of the bytes may have been written.
        pub err: Bits<2>,
    }
}

record! {
    /// How an invocation ended.
    pub struct SlotResponse {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// [`RpcStatus`](stroma_abi::wire::RpcStatus), or a status of the kernel's own.
        pub status: Bits<32>,
        /// Its bytes on `data_out`.
        pub len: Bits<32>,
    }
}

impl SlotCommand {
    /// The command of this head and these parameters; the head says how many there are.
    #[must_use]
    pub fn new(head: &desc::SlotCommand, parameters: &Parameters) -> Self {
        Self {
            ticket: u64::from(head.ticket).into(),
            qpn: u64::from(head.queue_pair.value()).into(),
            op: u64::from(head.operation).into(),
            flags: u64::from(head.flags).into(),
            parameter_words: u64::from(head.parameter_words).into(),
            key: u64::from(head.key).into(),
            request_len: u64::from(head.request_length).into(),
            response_max: u64::from(head.response_max).into(),
            pd: u64::from(head.domain).into(),
            parameters: crate::pack::from_bytes(parameters.block()),
        }
    }
}

/// Cuts `bytes` into the beats of one read.
///
/// # Panics
/// If `bytes` is empty: a packet has at least one beat.
#[must_use]
pub fn slot_data<const D: usize>(bytes: &[u8], ending: Ending) -> Vec<SlotData<D>> {
    let of = |beat: &crate::stream::Beat<D>| SlotData {
        data: beat.data,
        nbytes: beat.nbytes,
        sop: beat.sop,
        eop: beat.eop,
        err: if beat.eop { (ending as u64).into() } else { 0.into() },
    };
    crate::stream::beats(bytes).iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_fields_and_widths_of_the_abi() {
        let widths = |name: &str| {
            let entry = desc::SlotCommand::TABLE.iter().find(|entry| entry.name == name);
            entry.unwrap_or_else(|| panic!("no field {name}")).field.width
        };
        let command = SlotCommand::default();
        let fields = [
            ("ticket", command.get_my_width_ticket()),
            ("queue_pair", command.get_my_width_qpn()),
            ("operation", command.get_my_width_op()),
            ("flags", command.get_my_width_flags()),
            ("parameter_words", command.get_my_width_parameter_words()),
            ("key", command.get_my_width_key()),
            ("request_length", command.get_my_width_request_len()),
            ("response_max", command.get_my_width_response_max()),
            ("domain", command.get_my_width_pd()),
        ];
        assert_eq!(fields.len(), desc::SlotCommand::TABLE.len());
        for (name, width) in fields {
            assert_eq!(width, widths(name), "{name}");
        }
    }

    #[test]
    fn a_command_keeps_what_head_and_parameters_say() {
        let bytes: [u8; desc::SlotCommand::LEN] =
            std::array::from_fn(|at| 0xf0 - u8::try_from(at).expect("few"));
        let head = desc::SlotCommand::parse(&bytes).expect("all of it");
        let parameters = Parameters::new(&[1, 2, 3, 4, 5, 6, 7, 8]).expect("two words");
        let command = SlotCommand::new(&head, &parameters);
        assert_eq!(command.qpn, 0xee_eff0_u64);
        assert_eq!((command.ticket, command.flags), (0xc.into(), 0xed.into()));
        assert_eq!((command.parameter_words, command.op), (0xeb.into(), 0xe9ea.into()));
        assert_eq!((command.key, command.request_len), (0xe5e6_e7e8_u64.into(), 0xe1e2_e3e4_u64.into()));
        assert_eq!((command.response_max, command.pd), (0xddde_dfe0_u64.into(), 0xdbdc.into()));
        assert_eq!(command.parameters.get_bits::<64>(0), 0x0807_0605_0403_0201_u64);
        assert!(!(command.parameters >> 64).any());
    }

    #[test]
    fn a_failed_read_says_so_on_its_last_beat() {
        let beats = slot_data::<64>(&[7; 17], Ending::Refused);
        let told: Vec<(u64, bool, bool, u64)> =
            beats.iter().map(|beat| (beat.nbytes.into(), beat.sop, beat.eop, beat.err.into())).collect();
        assert_eq!(told, [(8, true, false, 0), (8, false, false, 0), (1, false, true, 1)]);
    }
}
