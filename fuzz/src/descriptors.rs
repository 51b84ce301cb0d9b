//! What crosses PCI Express: descriptors that the card or a driver reads from memory.

use stroma_abi::desc::mailbox::{Command, Reply};
use stroma_abi::desc::{
    AddressHandle, AtomicOperands, Cqe, Eqe, QueuePair, Receive, ReceiveHead, Region, SharedQueue, SlotCommand,
    Statistics, UdTarget, WindowBind, Wqe, WqeHead, wqe,
};

/// Emits what bytes say, and reads it again.
macro_rules! survive {
    ($bytes:expr, $($kind:ty)*) => {
        $(if let Some(said) = <$kind>::parse($bytes) {
            assert_eq!(<$kind>::parse(&said.to_bytes()), Some(said));
        })*
    };
}

/// Any bytes decode to a descriptor or an error; what was decoded survives the way through memory.
pub fn descriptors(bytes: &[u8]) {
    survive!(bytes, AddressHandle AtomicOperands Command Cqe Eqe QueuePair ReceiveHead Region Reply);
    survive!(bytes, SharedQueue SlotCommand Statistics UdTarget WindowBind WqeHead);
    // Of a receive that makes sense all is known.
    let _ = Receive::decode(bytes);
    if let Ok(request) = Wqe::decode(bytes) {
        let mut again = [0; wqe::UNITS_MAX * wqe::UNIT];
        request.encode(&mut again).expect("a decoded request has at most eight units");
        assert_eq!(Wqe::decode(&again), Ok(request));
    }
}
