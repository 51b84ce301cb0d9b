//! The blocks of the completer mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::assert_agree;

use super::{answers, bus, descriptor, gate, opening, requests};

#[test]
fn rust_and_verilog_agree() {
    let descriptor = differential!("descriptor", descriptor::Descriptor::default, [bits]);
    let opening = differential!("opening", opening::Opening::default, [head, count, bytes, begins]);
    let gate = differential!("gate", gate::Gate::default, clock, [reset, cq.payload, cq.valid, source.ready]);
    let requests = differential!(
        "requests",
        requests::Requests::default,
        clock,
        [sink.payload, sink.valid, stores.ready, heads.ready, stops]
    );
    let answers = differential!(
        "answers",
        answers::Answers::default,
        clock,
        [heads.payload, heads.valid, loads.ready, loaded.payload, loaded.valid, cc.ready]
    );
    let bus = differential!(
        "bus",
        bus::Bus::default,
        clock,
        [
            stores.payload,
            stores.valid,
            loads.payload,
            loads.valid,
            loaded.ready,
            aw.ready,
            w.ready,
            b.payload,
            b.valid,
            ar.ready,
            r.payload,
            r.valid,
            table.ready,
            table_answers.payload,
            table_answers.valid,
            board.ready,
            board_answers.payload,
            board_answers.valid
        ]
    );
    for case in [descriptor, opening, gate, requests, answers, bus] {
        assert_agree([case], 300);
    }
}
