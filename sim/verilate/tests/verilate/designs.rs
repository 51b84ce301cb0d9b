//! Small designs written by hand, so that these tests depend on no generator.

use stroma_verilate::Verilog;

/// Joins text and manifest, both known to be good.
pub(crate) fn design(text: &str, manifest: &str) -> Verilog {
    Verilog::new(text, manifest).expect("a manifest written in this file")
}

/// Counts rising edges of `clock` while `enable` is high; two clocks, one counter each.
pub(crate) fn counter() -> Verilog {
    design(
        "module counter (
    input wire clock, input wire other, input wire reset, input wire enable,
    output reg [15:0] count, output reg [7:0] others
);
    always @(posedge clock) if (reset) count <= 0; else if (enable) count <= count + 16'd1;
    always @(posedge other) others <= others + 8'd1;
endmodule",
        "top counter\nclock clock 1\nclock other 1\nin reset 1\nin enable 1\nout count 16\nout others 8",
    )
}

/// Counts cycles on one clock, and on another, which rests while `enable` is low.
pub(crate) fn resting() -> Verilog {
    design(
        "module resting (
    input wire clock, input wire other, input wire enable,
    output wire other_rests, output reg [15:0] count, output reg [15:0] others
);
    assign other_rests = ~enable;
    initial begin count = 0; others = 0; end
    always @(posedge clock) count <= count + 16'd1;
    always @(posedge other) others <= others + 16'd1;
endmodule",
        "top resting\nclock clock 1\nclock other 1\nin enable 1\nout other_rests 1\nout count 16\nout others 16",
    )
}

const STREAM_PORTS: &str = "
    input wire clock, input wire reset,
    input wire [W-1:0] sink$payload, input wire sink$valid, output wire sink$ready,
    output wire [W-1:0] source$payload, output wire source$valid, input wire source$ready";

fn stream_design(width: u32, body: &str) -> Verilog {
    let manifest = format!(
        "top block\nclock clock 1\nin reset 1\nin sink$payload {width}\nin sink$valid 1\nout sink$ready 1
out source$payload {width}\nout source$valid 1\nin source$ready 1"
    );
    let ports = STREAM_PORTS.replace("W-1", &(width - 1).to_string());
    let text =
        format!("module block ({ports}\n);\n{body}\nendmodule").replace("W-1", &(width - 1).to_string());
    design(&text, &manifest)
}

/// A correct skid buffer; `@VALID@`, `@PAYLOAD@` and `@SPILL@` mark the places where bugs are seeded.
const SKID: &str = "
    reg [W-1:0] main, spare;
    reg main_full, spare_full;
    assign sink$ready = ~spare_full;
    assign source$valid = @VALID@;
    assign source$payload = @PAYLOAD@;
    wire taken = sink$valid & sink$ready;
    wire given = main_full & source$ready;
    always @(posedge clock) begin
        if (given | ~main_full) begin
            main <= spare_full ? spare : sink$payload;
            main_full <= spare_full | taken;
            spare_full <= 1'b0;
        end else if (taken) begin
            spare <= sink$payload;
            spare_full <= @SPILL@;
        end
        if (reset) begin
            main_full <= 1'b0;
            spare_full <= 1'b0;
        end
    end";

fn skid_with(width: u32, valid: &str, payload: &str, spill: &str) -> Verilog {
    let body = SKID.replace("@VALID@", valid).replace("@PAYLOAD@", payload).replace("@SPILL@", spill);
    stream_design(width, &body)
}

/// A skid buffer that keeps the law.
pub(crate) fn skid(width: u32) -> Verilog {
    skid_with(width, "main_full", "main", "1'b1")
}

/// Shows the newest beat instead of the one it offered.
pub(crate) fn skid_that_changes_its_offer() -> Verilog {
    skid_with(8, "main_full", "spare_full ? spare : main", "1'b1")
}

/// Takes a beat that finds the buffer occupied, and forgets it.
pub(crate) fn skid_that_loses_a_beat() -> Verilog {
    skid_with(8, "main_full", "main", "1'b0")
}

/// Offers only to those who are ready.
pub(crate) fn skid_whose_valid_waits_for_ready() -> Verilog {
    skid_with(8, "main_full & source$ready", "main", "1'b1")
}
