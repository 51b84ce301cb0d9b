//! Calls that the peer's driver carries out: messages of SEND, in place of the op-codes that only cards understand.
//!
//! ```text
//!   request: ServiceRequest | parameters | payload       answer: ServiceAnswer | the answer's bytes
//! ```
//!
//! A message is one SEND each way. The request says what a RETH of an [RPC](super::rpc) says, so that a kernel in software
//! is told what one in hardware would be; the answer says what an [`RpcEth`](super::RpcEth) says.

use super::RpcTarget;
use crate::layout::layout;

layout! {
    /// In front of a request's parameters and payload.
    ServiceRequest: Little, 24 bytes;
    ID     id:     u64 =  0, 0, 64, "comes back with the answer";
    TARGET target: u64 =  8, 0, 64, "an `RpcTarget`, as in a WQE";
    KEY    key:    u32 = 16, 0, 32, "key the kernel acts under";
    LENGTH length: u32 = 20, 0, 32, "bytes that follow: parameters, then payload";
}

layout! {
    /// In front of an answer's bytes.
    ServiceAnswer: Little, 16 bytes;
    ID     id:     u64 =  0, 0, 64, "that of the request";
    STATUS status: u32 =  8, 0, 32, "an `RpcStatus`, or a kernel's own from 0x100 on";
    LENGTH length: u32 = 12, 0, 32, "bytes that follow";
}

impl ServiceRequest {
    /// What the request asks for.
    #[must_use]
    pub fn rpc_target(&self) -> RpcTarget {
        RpcTarget::from_address(self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_these_bytes() {
        let target = RpcTarget { response_max: 600, flags: 3, parameter_words: 5, operation: 7 };
        let request =
            ServiceRequest { id: 0x0102, target: target.to_address(), key: 0x1a2b_3c4d, length: 0x99 };
        let bytes =
            [0x02, 0x01, 0, 0, 0, 0, 0, 0, 7, 0, 5, 3, 0x58, 2, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 0x99, 0, 0, 0];
        assert_eq!(request.to_bytes(), bytes);
        assert_eq!(ServiceRequest::parse(&bytes), Some(request));
        assert_eq!(request.rpc_target(), target);
        let answer = ServiceAnswer { id: 9, status: 0x100, length: 5 };
        assert_eq!(answer.to_bytes(), [9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 0]);
    }
}
