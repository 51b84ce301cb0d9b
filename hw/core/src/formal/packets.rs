//! Packet FIFO: good packets that fit come out whole, once and in order; of others nothing is seen, and they are counted.
//!
//! The checker keeps two counts, beats that may be read (`whole`) and beats of the packet under way (`part`), and watches
//! one beat as the buffers' checker does. A watched beat of a packet that fails is forgotten.

use super::Proof;
use super::harness::{Peek, checker, with_peek};
use crate::prim::packet_fifo::PacketFifo;
use crate::verilog::emit;

/// A beat with eight bits of data: data, nbytes 7, sop, eop, err.
const WIDTH: usize = 18;

const PEEKS: [Peek; 13] = [
    ("words", "memory.memory.peek", 4 * WIDTH),
    ("read_data", "memory.memory$read_data", WIDTH),
    ("fetched", "memory.fetched$q", 1),
    ("head", "memory.head$q", WIDTH),
    ("head_valid", "memory.head_valid$q", 1),
    ("write_at", "write_at$q", 2),
    ("commit_at", "commit_at$q", 2),
    ("read_at", "read_at$q", 2),
    ("held", "held$q", 16),
    ("committed", "committed$q", 16),
    ("swallowing", "swallowing$q", 1),
    ("full", "full", 1),
    ("loses", "lost", 1),
];

/// A stalling FIFO loses a packet for one reason: it is longer than the memory.
const STALLING: &str = "
    wire lost = swallow | part == 4;
    always_ff @(posedge clock) if (started) begin
        // It waits only for what the reader can fetch, so it never waits for ever.
        assert(sink$ready || committed != 0);
        assert(sink$ready || full);
        if (push) assert(loses == lost);
    end
";

/// A dropping FIFO may also lose one that meets a full memory.
const DROPPING: &str = "
    wire lost = loses;
    always_ff @(posedge clock) if (started) begin
        assert(sink$ready);
        if (lost) assert(swallow || whole + part >= 4);
    end
";

const PACKETS: &str = "
    logic [7:0] whole, part, ahead, hidden;
    logic [31:0] bad_packets, lost_packets;
    logic swallow, tracking, is_open, watched_left;
    logic [17:0] watched;
    wire push = sink$valid & sink$ready;
    wire pop = source$valid & source$ready;
    wire eop = sink$payload[16];
    wire bad = eop & sink$payload[17];
    wire stored = push & !lost & !bad;
    wire [107:0] in_order = {36'd0, 72'({words, words} >> (7'd18 * {5'd0, read_at}))};
    wire [107:0] behind_head = fetched ? {in_order[89:0], read_data} : in_order;
    wire [107:0] contents = head_valid ? {behind_head[89:0], head} : behind_head;
    wire [17:0] at_ahead = 18'(contents >> (8'd18 * ahead));
    always_ff @(posedge clock) begin
        whole <= whole - {7'd0, pop} + ((stored & eop) ? part + 8'd1 : 8'd0);
        hidden <= (whole != 0 && !source$valid) ? hidden + 8'd1 : 8'd0;
        if (push) begin
            part <= (stored & !eop) ? part + 8'd1 : 8'd0;
            swallow <= lost & !eop;
            if (lost & eop) lost_packets <= lost_packets + 32'd1;
            if (!lost & bad) bad_packets <= bad_packets + 32'd1;
        end
        if (!tracking) begin
            if (mark & stored) begin
                tracking <= 1'b1;
                is_open <= !eop;
                watched <= sink$payload;
                ahead <= whole - {7'd0, pop} + part;
            end
        end else begin
            if (pop) ahead <= ahead - 8'd1;
            if (pop & ahead == 0) begin
                tracking <= 1'b0;
                watched_left <= 1'b1;
            end
            if (is_open & push) begin
                if (!stored) tracking <= 1'b0;
                is_open <= !eop;
            end
        end
        if (reset) begin
            whole <= 8'd0;
            part <= 8'd0;
            hidden <= 8'd0;
            swallow <= 1'b0;
            tracking <= 1'b0;
            watched_left <= 1'b0;
            bad_packets <= 32'd0;
            lost_packets <= 32'd0;
        end
    end
    always_ff @(posedge clock) if (started) begin
        // Exactly once and in order, and never with an error.
        if (tracking & pop & ahead == 0) assert(source$payload == watched);
        if (tracking) assert(ahead < whole + part && at_ahead == watched && !(watched[16] & watched[17]));
        // Nothing of a packet is seen before its end.
        if (source$valid) assert(whole != 0);
        if (tracking) assert(is_open == (ahead >= whole));
        // Offers follow from registers alone, so valid and payload never wait for ready.
        assert(source$valid == head_valid);
        if (source$valid) assert(source$payload == contents[17:0]);
        // Whatever is dropped is counted, and nothing readable is kept for ever.
        assert(dropped == bad_packets && overflowed == lost_packets);
        assert(hidden <= 8'd2);
        // What the registers hold.
        assert(committed + {15'd0, fetched} + {15'd0, head_valid} == {8'd0, whole});
        assert(held == committed + {8'd0, part} && held <= 16'd4 && committed <= 16'd4 && part <= 8'd4);
        assert(commit_at == read_at + committed[1:0] && write_at == commit_at + part[1:0]);
        assert(swallow == swallowing && !(swallow && part != 0));
        cover(watched_left && lost_packets != 0 && bad_packets != 0);
    end
";

const STALLING_BUGS: [(&str, &str, &str); 3] = [
    ("shows_unfinished_packets", "assign memory$some = (|committed$q);", "assign memory$some = (|held$q);"),
    ("keeps_bad_packets", "if ((lost | bad_end)) begin", "if (lost) begin"),
    ("waits_for_ever", "assign lost = (full | swallowing$q);", "assign lost = swallowing$q;"),
];
const DROPPING_BUGS: [(&str, &str, &str); 1] =
    [("forgets_to_swallow", "swallowing$d = (lost & (!eop));", "swallowing$d = 1'h0;")];

pub(super) fn proofs() -> [Proof; 2] {
    let proof = |name, drop_when_full, policy: &str, bugs| {
        let rtl =
            emit(name, || PacketFifo::<8, 2>::new(drop_when_full)).unwrap_or_else(|error| panic!("{error}"));
        let checker = checker(&rtl, &["sink"], &["source"], &PEEKS, &[PACKETS, policy].concat());
        Proof { name, block: with_peek(&rtl, WIDTH), checker, bugs }
    };
    [
        proof("packet_fifo", false, STALLING, &STALLING_BUGS),
        proof("packet_fifo_dropping", true, DROPPING, &DROPPING_BUGS),
    ]
}
