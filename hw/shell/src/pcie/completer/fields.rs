//! Where the fields of requests and completions lie: the one place of these numbers.
//!
//! Bits of a descriptor are counted from the first bit of the first beat, bits of `tuser` from its lowest. All of it is for 512 bits, dword
//! alignment and no straddling: one transaction at a time, from byte 0 on, ended by `tlast`.
//!
//! | what | source |
//! |---|---|
//! | [`request`], [`kind`] | PG213 "Completer Request Descriptor Formats"; verilog-pcie@25156a9 `rtl/pcie_us_if_cq.v` |
//! | [`completion`], [`UNSUPPORTED_REQUEST`] | PG213 "Completer Completion Descriptor Format"; verilog-pcie@25156a9 `rtl/pcie_us_if_cc.v` |
//! | [`cq_user`] | PG213 "Completer Request Interface" (512 bits); verilog-pcie `rtl/pcie_us_if_cq.v`; cocotbext-pcie `xilinx/us/interface.py` for `DISCONTINUE` |
//! | [`cc_user`] | verilog-pcie@25156a9 `rtl/pcie_us_axil_master.v`, which sets them without straddling, too |
//! | [`refusal`] | PG213 "Completions with Error Status (UR and CA)": what follows the descriptor; the rest from AMD's own example for the block (`PIO_TX_ENGINE`, state of UR) |

/// A field: its lowest bit, and how many bits it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The lowest bit.
    pub at: usize,
    /// How many.
    pub width: usize,
}

const fn place(at: usize, width: usize) -> Place {
    Place { at, width }
}

/// Bits of the descriptor before a request's payload.
pub const REQUEST_BITS: usize = 128;
/// dwords of it.
pub const REQUEST_DWORDS: usize = REQUEST_BITS / 32;
/// Bits of the descriptor before a completion's payload.
pub const COMPLETION_BITS: usize = 96;
/// dwords of it.
pub const COMPLETION_DWORDS: usize = COMPLETION_BITS / 32;
/// dwords of a beat.
pub const BEAT_DWORDS: usize = 16;
/// The most dwords that a request has or asks for.
pub const MAX_DWORDS: usize = 1024;
/// Completions of an endpoint end at multiples of so many dwords, or with their request (PCIe Base Specification, 2.3.1.1: 128 bytes for all but
/// root complexes).
pub const BOUNDARY_DWORDS: usize = 32;

/// Of a request for memory or I/O; messages have `COUNT`, `KIND` and `REQUESTER` at the same places.
pub mod request {
    use super::{Place, place};

    /// Address type.
    pub const ADDRESS_TYPE: Place = place(0, 2);
    /// Address in dwords: as the host sees it, with the BAR in it.
    pub const ADDRESS: Place = place(2, 62);
    /// dwords of payload, or asked for.
    pub const COUNT: Place = place(64, 11);
    /// What is asked, see [`super::kind`].
    pub const KIND: Place = place(75, 4);
    /// Who asks.
    pub const REQUESTER: Place = place(80, 16);
    /// Tag of the request.
    pub const TAG: Place = place(96, 8);
    /// Function that is asked.
    pub const FUNCTION: Place = place(104, 8);
    /// BAR that was hit; of a pair that makes 64 bits, the lower.
    pub const BAR: Place = place(112, 3);
    /// log2 of the bytes of that BAR.
    pub const APERTURE: Place = place(115, 6);
    /// Traffic class.
    pub const CLASS: Place = place(121, 3);
    /// Attributes.
    pub const ATTRIBUTES: Place = place(124, 3);
}

/// What a request asks.
pub mod kind {
    /// Memory read.
    pub const READ: usize = 0b0000;
    /// Memory write.
    pub const WRITE: usize = 0b0001;
    /// Memory read that locks the bus.
    pub const LOCKED_READ: usize = 0b0111;
    /// This one and those above are messages, which nobody answers.
    pub const FIRST_MESSAGE: usize = 0b1100;
}

/// Of a completion.
pub mod completion {
    use super::{Place, place};

    /// The lowest bits of the address of the first byte.
    pub const LOWER_ADDRESS: Place = place(0, 7);
    /// As in the request.
    pub const ADDRESS_TYPE: Place = place(8, 2);
    /// Bytes of the request that are left, with those here.
    pub const BYTES: Place = place(16, 13);
    /// Answers a locked read.
    pub const IS_LOCKED: Place = place(29, 1);
    /// dwords that follow.
    pub const COUNT: Place = place(32, 11);
    /// 0 is good.
    pub const STATUS: Place = place(43, 3);
    /// As in the request.
    pub const REQUESTER: Place = place(48, 16);
    /// As in the request.
    pub const TAG: Place = place(64, 8);
    /// Who answers. The block knows its own bus and device, unless bit 88 says that bits 87 to 80 are to be taken.
    pub const FUNCTION: Place = place(72, 8);
    /// As in the request.
    pub const CLASS: Place = place(89, 3);
    /// As in the request.
    pub const ATTRIBUTES: Place = place(92, 3);
}

/// Status of a completion: no such request is supported.
pub const UNSUPPORTED_REQUEST: usize = 0b001;

/// What follows the descriptor of a completion that refuses: a dword with the byte enables and hints of the request, and its descriptor. The
/// block makes its log of errors from it, and sends none of it.
pub mod refusal {
    use super::{Place, place};

    /// Byte enables of the first dword of the request.
    pub const FIRST_BE: Place = place(96, 4);
    /// Of the last.
    pub const LAST_BE: Place = place(100, 4);
    /// The request's descriptor. Between the two would be hints for caches, which the function does not announce to understand.
    pub const REQUEST: Place = place(128, 128);
    /// What such a completion says of its own length.
    pub const DWORDS: usize = 5;
    /// The same in bytes.
    pub const BYTES: usize = 20;
}

/// `m_axis_cq_tuser`.
pub mod cq_user {
    use super::{Place, place};

    /// Its width.
    pub const WIDTH: usize = 183;
    /// Byte enables of the first dword; of the first beat.
    pub const FIRST_BE: Place = place(0, 4);
    /// Of the last dword, zero when there is only one; of the first beat.
    pub const LAST_BE: Place = place(8, 4);
    /// The block could not read the payload: all of the transaction is to be thrown away; of the last beat.
    pub const DISCONTINUE: Place = place(96, 1);
}

/// `s_axis_cc_tuser`; all other bits are 0.
pub mod cc_user {
    use super::{Place, place};

    /// Its width.
    pub const WIDTH: usize = 81;
    /// A completion begins in this beat.
    pub const IS_FIRST: Place = place(0, 1);
    /// A completion ends in it.
    pub const IS_LAST: Place = place(6, 1);
    /// With which dword.
    pub const END_AT: Place = place(8, 4);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields one behind the other, with what is reserved between them; where they end.
    fn end(fields: &[Place], reserved: &[(usize, usize)]) -> usize {
        let mut all: Vec<(usize, usize)> = fields.iter().map(|field| (field.at, field.width)).collect();
        all.extend(reserved);
        all.sort_unstable();
        all.iter().fold(0, |end, &(at, width)| {
            assert_eq!(at, end, "a gap, or two fields at the same place");
            at + width
        })
    }

    #[test]
    fn fields_fill_their_descriptors() {
        use request::{
            ADDRESS, ADDRESS_TYPE, APERTURE, ATTRIBUTES, BAR, CLASS, COUNT, FUNCTION, KIND, REQUESTER, TAG,
        };
        let all =
            [ADDRESS, ADDRESS_TYPE, APERTURE, ATTRIBUTES, BAR, CLASS, COUNT, FUNCTION, KIND, REQUESTER, TAG];
        assert_eq!(end(&all, &[(79, 1), (127, 1)]), REQUEST_BITS);
    }

    #[test]
    fn fields_of_completions_fill_theirs() {
        use completion as to;
        let all = [
            to::LOWER_ADDRESS,
            to::ADDRESS_TYPE,
            to::BYTES,
            to::IS_LOCKED,
            to::COUNT,
            to::STATUS,
            to::REQUESTER,
            to::TAG,
            to::FUNCTION,
            to::CLASS,
            to::ATTRIBUTES,
        ];
        // Poison, bus number and its enable, and ECRC stay zero, as what is reserved does.
        let zero = [(7, 1), (10, 6), (30, 2), (46, 2), (80, 9), (95, 1)];
        assert_eq!(end(&all, &zero), COMPLETION_BITS);
    }
}
