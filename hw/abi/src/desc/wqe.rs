//! Work requests, field by field: one to eight 64-byte units in the send queue.
//!
//! ```text
//!   byte  0       8       16        24    32                  48                  64 ..
//!         [ what  | how   | where to      | SGE 0             | SGE 1             | SGE 2 .. ]  gather, READ
//!                                         | data ....................................        ]  inline
//!                                         | swap/add, compare | result SGE        ]             atomics
//!                                         | result SGE        | parameters ............      ]  RPC
//!                                         | result SGE        | SGE 0             | SGE 1 .. ]  RPC WRITE
//!                                         | what the window stands for            ]             BIND_MW
//! ```

use super::Sge;
use crate::{Qpn, layout::layout};

/// Bytes of a unit; the send queue's index counts them.
pub const UNIT: usize = 64;
/// Most units of one request.
pub const UNITS_MAX: usize = 8;
/// Where scatter/gather entries, inline data or atomic operands begin.
pub const BODY_AT: usize = WqeHead::LEN;
/// Where an atomic's result entry, RPC parameters or RPC payload entries begin.
pub const SECOND_AT: usize = BODY_AT + Sge::LEN;
/// Bytes of inline data that fit the largest request.
pub const INLINE_MAX: usize = UNITS_MAX * UNIT - BODY_AT;

layout! {
    /// The half unit every request begins with.
    WqeHead: Little, 32 bytes;
    OPCODE      opcode:      u8   =  0, 0,  8, "a `WorkOp`";
    SIGNALED    signaled:    bool =  1, 0,  1, "success gives a completion, too";
    SOLICITED   solicited:   bool =  1, 1,  1, "wake a receiver that armed for solicited messages";
    FENCE       fence:       bool =  1, 2,  1, "wait for the READs, atomics and RPCs before";
    INLINE      inline:      bool =  1, 3,  1, "the payload is in the request itself";
    LOCAL       local:       bool =  1, 4,  1, "run the kernel of this card; nothing is sent";
    TX_KERNEL   tx_kernel:   bool =  1, 5,  1, "the payload passes a kernel before the wire";
    UNITS       units:       u8   =  2, 0,  4, "64-byte units of this request, 1 to 8";
    SGE_COUNT   sge_count:   u8   =  2, 4,  4, "scatter/gather entries; 0 means 16 when length is not 0";
    KERNEL_SLOT kernel_slot: u8   =  3, 0,  8, "slot of the kernel, with `tx_kernel`";
    IMMEDIATE   immediate:   u32  =  4, 0, 32, "immediate data, or the key to invalidate";
    LENGTH      length:      u32  =  8, 0, 32, "bytes of the payload";
    INDEX       index:       u16  = 12, 0, 16, "the request's own index: a stale slot does not match";
    REMOTE      remote:      u64  = 16, 0, 64, "remote address; the one place of a local copy; an `RpcTarget`; or a `UdTarget`";
    KEY         key:         u32  = 24, 0, 32, "`R_Key`, also the window's to be; `L_Key` of the one place of a local copy; for UD the `Q_Key`, or with its highest bit the queue pair's own";
}

layout! {
    /// What `remote` holds on a UD queue pair.
    UdTarget: Little, 8 bytes;
    ADDRESS_HANDLE address_handle: u32 = 0, 0, 24, "index of the address handle";
    DESTINATION_QP destination_qp: Qpn = 4, 0, 24, "queue pair at the receiver";
}

layout! {
    /// Operands of an atomic.
    AtomicOperands: Little, 16 bytes;
    SWAP_ADD swap_add: u64 = 0, 0, 64, "value to store, or to add";
    COMPARE  compare:  u64 = 8, 0, 64, "value expected by `CMP_SWAP`";
}

layout! {
    /// What a memory window is to stand for. Its key is the head's.
    WindowBind: Little, 32 bytes;
    BASE   base:   u64 =  0, 0, 64, "virtual address of the first byte";
    LENGTH length: u64 =  8, 0, 48, "bytes, at least one";
    RIGHTS rights: u8  = 14, 0,  5, "sum of the `rights` peers have";
    REGION region: u32 = 16, 0, 32, "`L_Key` of the region";
}

const _: () = assert!(BODY_AT + WindowBind::LEN == UNIT);
const _: () = assert!(BODY_AT + AtomicOperands::LEN == SECOND_AT && SECOND_AT + Sge::LEN == UNIT);

macro_rules! work_ops {
    ($($code:literal $variant:ident $name:literal $prose:literal;)*) => {
        /// What a request asks for. Zeroed memory asks for nothing legal, so a slot never written is noticed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum WorkOp {
            $(#[doc = $prose] $variant = $code,)*
        }

        impl WorkOp {
            /// Every operation, with name and meaning.
            pub const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $prose)),*];

            /// The operation of a code.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

work_ops! {
    0x01 Nop      "NOP"       "Completes without a packet.";
    0x02 Send     "SEND"      "Into the receiver's next receive buffer.";
    0x03 SendImm  "SEND_IMM"  "SEND with immediate data.";
    0x04 SendInv  "SEND_INV"  "SEND that ends a key of the receiver.";
    0x05 Write    "WRITE"     "Into remote memory.";
    0x06 WriteImm "WRITE_IMM" "WRITE that takes a receive buffer and gives it immediate data.";
    0x07 Read     "READ"      "From remote memory.";
    0x08 CmpSwap  "CMP_SWAP"  "Stores eight bytes if they are as expected.";
    0x09 FetchAdd "FETCH_ADD" "Adds to eight bytes.";
    0x0a Rpc      "RPC"       "Runs a remote kernel with parameters.";
    0x0b RpcWrite "RPC_WRITE" "Streams a payload through a remote kernel.";
    0x0c Gather   "GATHER"    "Copies pieces of local memory, or inline data, to one place of it.";
    0x0d Scatter  "SCATTER"   "Copies one place of local memory to pieces of it.";
    0x0e Bind     "BIND_MW"   "Gives a memory window a key, and a part of a region to stand for.";
    0x0f Invalidate "LOCAL_INV" "Ends the key of a memory window.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_the_card_reads() {
        let head = WqeHead {
            opcode: 0x05,
            signaled: true,
            inline: true,
            units: 2,
            sge_count: 3,
            kernel_slot: 7,
            immediate: 0x0b0a_0908,
            length: 64,
            index: 0x1234,
            remote: 0x1716_1514_1312_1110,
            key: 0x1b1a_1918,
            ..WqeHead::default()
        };
        let expected = [
            0x05, 0x09, 0x32, 7, 8, 9, 10, 11, 64, 0, 0, 0, 0x34, 0x12, 0, 0, 0x10, 0x11, 0x12, 0x13, 0x14,
            0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0, 0, 0, 0,
        ];
        assert_eq!(head.to_bytes(), expected);
    }

    #[test]
    fn zeroed_memory_is_no_request() {
        assert_eq!(WorkOp::from_code(0), None);
        for (op, name, _) in WorkOp::ALL {
            assert_eq!(WorkOp::from_code(*op as u8), Some(*op), "{name}");
        }
    }

    #[test]
    fn inline_data_has_the_room_promised() {
        let room = |units: usize| units * UNIT - BODY_AT;
        assert_eq!((room(1), room(2), room(4), INLINE_MAX), (32, 96, 224, 480));
    }
}
