//! Skid buffer, FIFOs and arbiter: what goes in comes out once, in order.
//!
//! The checker counts beats and watches one of them, chosen by the solver: it notes how many are ahead of it, counts them
//! out, and asserts that the next beat is the one it saw. As any beat may be the watched one, none is lost, doubled or
//! overtaken. For induction it also asserts what the block holds inside: `contents`, oldest beat lowest.

use rust_hdl::prelude::*;

use super::Proof;
use super::harness::{Peek, checker, with_peek};
use crate::prim::arbiter::Arbiter;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::fifo::Fifo;
use crate::prim::skid::Skid;
use crate::verilog::emit;

/// Bits of a beat: enough to tell beats apart.
const WIDTH: usize = 4;
type Word = Bits<WIDTH>;

/// What the caller adds: `push`, `pushed`, `contents`, `inside` (how many), `shown` (is the oldest on offer), `places`
/// (fewer beats never stall the sink), `delay` (cycles a beat may stay hidden), `sound` (what holds between registers).
const QUEUE: &str = "
    logic [7:0] count, ahead, hidden;
    logic tracking, watched_left;
    logic [3:0] watched;
    wire pop = source$valid & source$ready;
    wire [3:0] at_ahead = 4'(contents >> {ahead, 2'd0});
    always_ff @(posedge clock) begin
        count <= count + {7'd0, push} - {7'd0, pop};
        hidden <= (count != 0 && !source$valid) ? hidden + 8'd1 : 8'd0;
        if (!tracking) begin
            if (mark & push) begin
                tracking <= 1'b1;
                watched <= pushed;
                ahead <= count - {7'd0, pop};
            end
        end else if (pop) begin
            ahead <= ahead - 8'd1;
            if (ahead == 0) begin
                tracking <= 1'b0;
                watched_left <= 1'b1;
            end
        end
        if (reset) begin
            count <= 8'd0;
            hidden <= 8'd0;
            tracking <= 1'b0;
            watched_left <= 1'b0;
        end
    end
    always_ff @(posedge clock) if (started) begin
        // Exactly once: the block holds what went in and has not come out.
        assert(count == inside);
        // In order: the watched beat comes when those ahead of it have gone.
        if (tracking & pop & ahead == 0) assert(source$payload == watched);
        if (tracking) assert(ahead < count && at_ahead == watched);
        // Offers follow from registers alone, so valid and payload never wait for ready.
        assert(source$valid == shown);
        if (source$valid) assert(count != 0 && source$payload == contents[3:0]);
        // Nothing is kept for ever, and room is room.
        assert(hidden <= delay);
        assert(has_room || inside >= places);
        assert(sound);
        cover(watched_left && $past(!has_room, 2));
    end
";

const SKID_BUGS: [(&str, &str, &str); 2] = [
    ("forgets_the_spare_beat", "head$d = spare$q;", "head$d = sink$payload;"),
    (
        "valid_waits_for_ready",
        "assign source$valid = head_valid$q;",
        "assign source$valid = (head_valid$q & source$ready);",
    ),
];
const FIFO_BUGS: [(&str, &str, &str); 1] =
    [("never_full", "is_full$d = ((2'(write_pointer$q + 2'h1)) == read_pointer$q);", "is_full$d = 1'h0;")];
const BLOCK_FIFO_BUGS: [(&str, &str, &str); 1] = [(
    "fetches_over_a_waiting_beat",
    "assign fetch = (some & (advance | (!fetched$q)));",
    "assign fetch = some;",
)];
const ARBITER_BUGS: [(&str, &str, &str); 2] = [
    (
        "takes_without_room",
        "assign sinks$1$ready = (turn$grant[1] & cut$sink$ready);",
        "assign sinks$1$ready = turn$grant[1];",
    ),
    ("is_unfair", "behind$d = (3'(~(chosen | (3'(chosen - 3'h1)))));", "behind$d = behind$q;"),
];

/// Pointers of the ring, as [`RING`] calls them.
const RING_PEEKS: [Peek; 5] = [
    ("words", "memory.peek", 4 * WIDTH),
    ("write_at", "ring.write_pointer$q", 2),
    ("read_at", "ring.read_pointer$q", 2),
    ("some", "ring.is_some$q", 1),
    ("full", "ring.is_full$q", 1),
];
const RING: &str = "
    wire push = sink$valid & sink$ready;
    wire [3:0] pushed = sink$payload;
    wire has_room = sink$ready;
    wire [2:0] stored = full ? 3'd4 : {1'b0, 2'(write_at - read_at)};
    wire [15:0] in_order = 16'({words, words} >> {read_at, 2'd0});
    wire sound = (!full || write_at == read_at) && some == (full || write_at != read_at) && level == {8'd0, inside};
    wire [7:0] places = 8'd4;
";

pub(super) fn proofs() -> [Proof; 4] {
    [skid(), fifo(), block_fifo(), arbiter()]
}

fn skid() -> Proof {
    let rtl = emit("skid", Skid::<Word>::default).unwrap_or_else(|error| panic!("{error}"));
    let peeks = skid_peeks("");
    let body = "
    wire push = sink$valid & sink$ready;
    wire [3:0] pushed = sink$payload;
    wire has_room = sink$ready;
    wire [7:0] contents = {spare, head};
    wire [7:0] inside = {7'd0, head_valid} + {7'd0, spare_valid};
    wire shown = head_valid;
    wire [7:0] places = 8'd2, delay = 8'd0;
    wire sound = head_valid | !spare_valid;
";
    let checker = checker(&rtl, &["sink"], &["source"], &borrowed(&peeks), &[body, QUEUE].concat());
    Proof { name: "skid", block: rtl.text, checker, bugs: &SKID_BUGS }
}

fn fifo() -> Proof {
    let rtl = emit("fifo", Fifo::<Word, 2>::default).unwrap_or_else(|error| panic!("{error}"));
    let body = "
    wire [15:0] contents = in_order;
    wire [7:0] inside = {5'd0, stored};
    wire shown = some;
    wire [7:0] delay = 8'd0;
";
    let checker = checker(&rtl, &["sink"], &["source"], &RING_PEEKS, &[body, RING, QUEUE].concat());
    Proof { name: "fifo", block: with_peek(&rtl, WIDTH), checker, bugs: &FIFO_BUGS }
}

fn block_fifo() -> Proof {
    let rtl = emit("block_fifo", BlockFifo::<Word, 2>::default).unwrap_or_else(|error| panic!("{error}"));
    let mut peeks = RING_PEEKS.to_vec();
    peeks[0].1 = "memory.memory.peek";
    peeks.extend([
        ("read_data", "memory.memory$read_data", WIDTH),
        ("fetched", "memory.fetched$q", 1),
        ("head", "memory.head$q", WIDTH),
        ("head_valid", "memory.head_valid$q", 1),
    ]);
    let body = "
    wire [23:0] behind_head = fetched ? {4'd0, in_order, read_data} : {8'd0, in_order};
    wire [23:0] contents = head_valid ? {behind_head[19:0], head} : behind_head;
    wire [7:0] inside = {5'd0, stored} + {7'd0, fetched} + {7'd0, head_valid};
    wire shown = head_valid;
    wire [7:0] delay = 8'd2;
";
    let checker = checker(&rtl, &["sink"], &["source"], &peeks, &[body, RING, QUEUE].concat());
    Proof { name: "block_fifo", block: with_peek(&rtl, WIDTH), checker, bugs: &BLOCK_FIFO_BUGS }
}

fn arbiter() -> Proof {
    let rtl = emit("arbiter", Arbiter::<Word, 3>::default).unwrap_or_else(|error| panic!("{error}"));
    let mut peeks = skid_peeks("cut.");
    peeks.push(("behind", "turn.behind$q".to_string(), 3));
    let body = "
    wire [2:0] offered = {sinks$2$valid, sinks$1$valid, sinks$0$valid};
    wire [2:0] moved = offered & {sinks$2$ready, sinks$1$ready, sinks$0$ready};
    wire push = |moved;
    wire [3:0] pushed = moved[0] ? sinks$0$payload : moved[1] ? sinks$1$payload : sinks$2$payload;
    wire has_room = !spare_valid;
    wire [7:0] contents = {spare, head};
    wire [7:0] inside = {7'd0, head_valid} + {7'd0, spare_valid};
    wire shown = head_valid;
    wire [7:0] places = 8'd2, delay = 8'd0;
    // Any sink: how many others come before it, and how many went before it since it made its offer.
    (* anyconst *) logic [1:0] who;
    always_comb assume(who < 2'd3);
    wire [7:0] before = behind[who]
        ? {7'd0, behind[0] & who > 0} + {7'd0, behind[1] & who > 1}
        : {7'd0, behind[1]} + {7'd0, behind[2]} + {6'd0, who};
    logic [7:0] waited;
    always_ff @(posedge clock) begin
        if (push) waited <= waited + 8'd1;
        if (reset | moved[who] | !offered[who]) waited <= 8'd0;
    end
    always_ff @(posedge clock) if (started) begin
        // One at a time, in turn, and whenever there is something to do.
        assert((moved & (moved - 3'd1)) == 0);
        assert(push == (has_room & |offered));
        assert(waited <= 8'd2 && waited + before <= 8'd2);
        assert(behind == 3'b000 || behind == 3'b100 || behind == 3'b110);
        cover(waited == 2 && moved[who]);
    end
    wire sound = head_valid | !spare_valid;
";
    let sinks = ["sinks$0", "sinks$1", "sinks$2"];
    let checker = checker(&rtl, &sinks, &["source"], &borrowed(&peeks), &[body, QUEUE].concat());
    Proof { name: "arbiter", block: rtl.text, checker, bugs: &ARBITER_BUGS }
}

fn skid_peeks(at: &str) -> Vec<(&'static str, String, usize)> {
    [("head", WIDTH), ("head_valid", 1), ("spare", WIDTH), ("spare_valid", 1)]
        .map(|(name, width)| (name, format!("{at}{name}$q"), width))
        .to_vec()
}

fn borrowed<'a>(peeks: &'a [(&'static str, String, usize)]) -> Vec<Peek<'a>> {
    peeks.iter().map(|(name, path, width)| (*name, path.as_str(), *width)).collect()
}
