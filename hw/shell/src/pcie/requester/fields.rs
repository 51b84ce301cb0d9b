//! Where the hard block keeps what: the places of all fields in descriptors and sidebands of its two requester streams.
//!
//! 512 bits, aligned to dwords, no straddling: a transaction begins at byte 0 of a beat with its descriptor, its payload
//! follows at once, and `tlast` ends it. Sources: **PG213**, "Requester Request Interface" (tables of the 512-bit interface),
//! "Requester Completion Interface", "Requester Completion Descriptor Format", "Handling of Completion Errors", "Avoiding
//! Head-of-Line Blocking", "Maintaining Transaction Order"; **PG156**, its elder, where a page of PG213 shows less; **VP**,
//! verilog-pcie at 25156a9, `rtl/pcie_us_if_rq.v`, `rtl/pcie_us_if_rc.v`, `rtl/dma_if_pcie_us_rd.v`.

/// Bits of a dword, the unit of everything here.
pub const DWORD_BITS: usize = 32;

// The descriptor of a request, in `s_axis_rq_tdata` of its first beat [VP pcie_us_if_rq.v:654-679; PG156 for bits 79 and 127].

/// Dwords of the descriptor [PG156, Requester Request Descriptor Formats].
pub const RQ_DESCRIPTOR_DWORDS: usize = 4;
/// The address without its two low bits, which are those of the address type: 0, not translated.
pub const RQ_ADDRESS_AT: usize = 2;
/// Dwords that are read or written, 11 bits.
pub const RQ_DWORD_COUNT_AT: usize = 64;
/// What is asked for, 4 bits.
pub const RQ_REQUEST_TYPE_AT: usize = 75;
/// The tag, 8 bits; ours because the block is built for client tags. Everything else in the descriptor is zero: not poisoned, the block's own
/// requester ID, traffic class 0, no attributes, no ECRC.
pub const RQ_TAG_AT: usize = 96;
/// Request type of a read of memory.
pub const MEMORY_READ: u64 = 0;
/// Request type of a write to memory.
pub const MEMORY_WRITE: u64 = 1;

// The sideband of a request, `s_axis_rq_tuser` [VP pcie_us_if_rq.v:756-851]. What has no name here is zero without straddling:
// is_sop, is_eop and their places, TPH, the second transaction of a beat, parity.

/// Bits of `s_axis_rq_tuser`.
pub const RQ_USER_BITS: usize = 137;
/// Byte enables of the first dword, 4 bits.
pub const RQ_FIRST_BE_AT: usize = 0;
/// Byte enables of the last dword, 4 bits; zero if there is one dword alone.
pub const RQ_LAST_BE_AT: usize = 8;
/// The block is to spoil the transaction. We never ask for it.
pub const RQ_DISCONTINUE_AT: usize = 36;
/// The sequence number, 6 bits.
pub const RQ_SEQUENCE_AT: usize = 61;

/// The sequence number of reads. VP counts them by their reports (`dma_if_pcie_us_rd.v`), PG213 speaks of posted requests alone: whether
/// reads are reported or not, nobody waits for this one.
pub const READ_SEQUENCE: u64 = 63;
/// Writes have those below it.
pub const WRITE_SEQUENCES: usize = 63;

// The descriptor of a completion, in `m_axis_rc_tdata` of its first beat [PG213; VP pcie_us_if_rc.v:345-378].

/// Dwords of the descriptor.
pub const RC_DESCRIPTOR_DWORDS: usize = 3;
/// What went wrong, 4 bits.
pub const RC_ERROR_AT: usize = 12;
/// Bytes of the request that are still to come, those of this completion included, 13 bits.
pub const RC_BYTE_COUNT_AT: usize = 16;
/// Nothing follows for this tag.
pub const RC_COMPLETED_AT: usize = 30;
/// Dwords of this completion, 11 bits.
pub const RC_DWORD_COUNT_AT: usize = 32;
/// The completer's status, 3 bits: 0 is success.
pub const RC_STATUS_AT: usize = 43;
/// The data are known to be bad.
pub const RC_POISONED_AT: usize = 46;
/// The tag, 8 bits.
pub const RC_TAG_AT: usize = 64;

// Error codes [PG156, Encoding of Error Codes; PG346 and VP pcie_us_if_rc.v:133-141 agree].

/// The completion is good.
pub const ERROR_NONE: u64 = 0;
/// Its data are poisoned; others of the same tag may follow.
pub const ERROR_POISONED: u64 = 1;
/// The request ended with a status other than success.
pub const ERROR_STATUS: u64 = 2;
/// The request ended with a wrong byte count.
pub const ERROR_LENGTH: u64 = 3;
/// Requester, traffic class or attributes are not those of the request.
pub const ERROR_MISMATCH: u64 = 4;
/// The low address bits are not those that were due.
pub const ERROR_ADDRESS: u64 = 5;
/// No request with this tag is under way.
pub const ERROR_TAG: u64 = 6;
/// The function was reset before the request was answered.
pub const ERROR_FUNCTION_RESET: u64 = 8;
/// The block has waited for too long.
pub const ERROR_TIMEOUT: u64 = 9;

// The sideband of a completion, `m_axis_rc_tuser`. Enables of bytes, bounds of straddled packets and parity are not looked at.

/// Bits of `m_axis_rc_tuser`.
pub const RC_USER_BITS: usize = 161;
/// The block could not read its own memory: the packet is worthless. It stands behind the enables of 64 bytes and 32 bits of
/// starts and ends [VP pcie_us_if_rc.v:300-305 for those; this one by PG213's table].
pub const RC_DISCONTINUE_AT: usize = 96;
