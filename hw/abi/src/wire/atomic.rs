//! Atomic headers (IBTA 9.3).

use crate::layout::layout;

layout! {
    /// Operands of `CMP_SWAP` and `FETCH_ADD`.
    AtomicEth: Big, 28 bytes;
    ADDRESS    address:    u64 =  0, 0, 64, "virtual address of the eight bytes, a multiple of 8";
    REMOTE_KEY remote_key: u32 =  8, 0, 32, "`R_Key`";
    SWAP_ADD   swap_add:   u64 = 12, 0, 64, "value to store, or to add";
    COMPARE    compare:    u64 = 20, 0, 64, "value expected by `CMP_SWAP`";
}

layout! {
    /// The answer to an atomic.
    AtomicAckEth: Big, 8 bytes;
    ORIGINAL original: u64 = 0, 0, 64, "the eight bytes before the operation";
}
