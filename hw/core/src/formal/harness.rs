//! The checker around a block: its ports left free, reset first, the stream law assumed of what comes in and asserted of
//! what goes out. What is special about a block is the caller's text.

use std::fmt::Write;

use crate::verilog::{Direction, Rtl};

/// A net inside the block that the checker looks at: the name it gets, its path, its width.
pub(super) type Peek<'a> = (&'a str, &'a str, usize);

/// Module `proof` around the block. Every input of the block is free; so is `mark`, by which the solver chooses the
/// beat to watch. `sinks` and `sources` name the block's streams.
pub(super) fn checker(rtl: &Rtl, sinks: &[&str], sources: &[&str], peeks: &[Peek], body: &str) -> String {
    let mut text = String::from("module proof (\n");
    for port in rtl.ports.iter().filter(|port| port.direction != Direction::Out) {
        writeln!(text, "    input logic [{}:0] {},", port.width - 1, port.name).expect("text grows");
    }
    text += "    input logic mark\n);\n";
    for port in rtl.ports.iter().filter(|port| port.direction == Direction::Out) {
        writeln!(text, "    logic [{}:0] {};", port.width - 1, port.name).expect("text grows");
    }
    let wires: Vec<String> = rtl.ports.iter().map(|port| format!(".{0}({0})", port.name)).collect();
    writeln!(text, "    {} dut ({});", rtl.top, wires.join(", ")).expect("text grows");
    for (name, path, width) in peeks {
        let top = width - 1;
        // When the design is flattened, yosys joins such a wire with the net of the same path.
        writeln!(text, "    (* hierconn *) wire [{top}:0] \\dut.{path} ;").expect("text grows");
        writeln!(text, "    wire [{top}:0] {name} = \\dut.{path} ;").expect("text grows");
    }
    text += "    logic started = 1'b0;\n    always_ff @(posedge clock) started <= 1'b1;\n";
    text += "    always_comb if (!started) assume(reset);\n";
    for (stream, verdict) in
        sinks.iter().map(|name| (name, "assume")).chain(sources.iter().map(|name| (name, "assert")))
    {
        writeln!(
            text,
            "    always_ff @(posedge clock)\n\
             \x20       if (started && !$past(reset) && $past({stream}$valid & !{stream}$ready))\n\
             \x20           {verdict}({stream}$valid && {stream}$payload == $past({stream}$payload));"
        )
        .expect("text grows");
    }
    text + body + "endmodule\n"
}

/// The block's text with the contents of its RAM of four words, the first lowest, on a net called `peek`.
pub(super) fn with_peek(rtl: &Rtl, width: usize) -> String {
    let declaration = "words [0:3];";
    assert_eq!(rtl.text.matches(declaration).count(), 1, "{} has one RAM of four words", rtl.top);
    let peek = format!(
        "{declaration}\n    logic [{}:0] peek;\n    assign peek = {{words[3], words[2], words[1], words[0]}};",
        4 * width - 1
    );
    rtl.text.replace(declaration, &peek)
}
