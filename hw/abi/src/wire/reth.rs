//! RDMA extended transport header (IBTA 9.3).

use crate::layout::layout;

layout! {
    /// Where a WRITE or READ goes. In RPC requests `address` holds an [`RpcTarget`](super::RpcTarget).
    Reth: Big, 16 bytes;
    ADDRESS    address:    u64 =  0, 0, 64, "virtual address in the remote region";
    REMOTE_KEY remote_key: u32 =  8, 0, 32, "`R_Key`";
    LENGTH     length:     u32 = 12, 0, 32, "bytes of the whole message";
}
