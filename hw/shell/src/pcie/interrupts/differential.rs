//! The blocks of the interrupts mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::assert_agree;

use super::{messages, vectors};

#[test]
fn rust_and_verilog_agree() {
    let vectors = differential!(
        "vectors",
        vectors::Vectors::default,
        clock,
        [reset, requests.payload, requests.valid, answers.ready, pending, row]
    );
    let messages = differential!(
        "messages",
        messages::Messages::default,
        clock,
        [irq.payload, irq.valid, masks, mask, enable, word, sent, fail]
    );
    for case in [vectors, messages] {
        assert_agree([case], 1000);
    }
}
