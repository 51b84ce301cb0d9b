//! The two four-byte headers of messages that tell the receiver something (IBTA 9.3).

use crate::layout::layout;

layout! {
    /// Immediate data.
    ImmDt: Big, 4 bytes;
    DATA data: u32 = 0, 0, 32, "handed to the receiver's completion untouched";
}

layout! {
    /// Key to invalidate at the receiver.
    Ieth: Big, 4 bytes;
    REMOTE_KEY remote_key: u32 = 0, 0, 32, "`R_Key` that this message ends";
}
