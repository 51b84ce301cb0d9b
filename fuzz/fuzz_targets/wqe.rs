//! Any bytes decode to a request or an error; a request survives the way through memory. `cargo +nightly fuzz run wqe`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stroma_abi::desc::{Wqe, wqe};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = Wqe::decode(bytes) {
        let mut again = [0; wqe::UNITS_MAX * wqe::UNIT];
        request.encode(&mut again).expect("a decoded request has at most eight units");
        assert_eq!(Wqe::decode(&again), Ok(request));
    }
});
