//! What the host asks of the card: its loads and stores.
//!
//! ```text
//!   cq ─▶ gate ─▶ cut ─▶ requests ─▶ stores ─▶ ┐
//!                           │ heads            ├ bus ─▶ the card, the table of vectors, the board
//!   cc ◀──────────────── answers ──── loads ─▶ ┘
//! ```
//!
//! [`gate`] lets in what is whole, [`requests`] makes stores of writes and hands reads to [`answers`], and [`bus`] carries both out, in order. [`fields`] says
//! where everything lies in a transaction.

pub mod answers;
pub mod bus;
pub mod descriptor;
pub mod fields;
pub mod gate;
pub mod opening;
pub mod requests;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use answers::CcBeat;
pub use bus::{RegAnswer, RegRequest};
pub use gate::CqBeat;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::host::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{StreamSink, StreamSource};

use answers::Answers;
use bus::{Bus, Load, Store};
use gate::{Gate, Whole};
use requests::{Head, Requests};

block! {
    /// Carries out the host's reads and writes of the function's BARs, and answers reads.
    ///
    /// - **Ports** `cq`, `cc`: the hard block's requests and our completions, 512 bits, without straddling; `aw` to `r`: the card, with BAR0 at 0 and BAR2 behind it; `table`,
    ///   `table_answers`: BAR4; `board`, `board_answers`: offsets 0xf000 to 0xffff of BAR0. `stops`: no request is to begin; `is_idle`: none is under way, so that
    ///   with `stops` the card may be reset. `errors`: requests that were broken, and are dropped as if they had never come; `unsupported`: those that are refused,
    ///   or dropped because nobody waits for an answer.
    /// - **Order** of the host: a read is carried out when every write before it has been answered by the card, a write when the read before it has been.
    /// - **Latency** 9 cycles from the last beat of a write to its first store on `aw`, 11 from a read to its first load.
    ///   **Rate** a write of 64 bytes every 13 cycles.
    /// - **Backpressure** 128 beats wait in front, then `cq` stalls. A completion that cannot go holds up everything behind its request.
    /// - **Reset** forgets everything; the hard block and the card have to be reset with it. Counters wrap.
    /// - **Limits** locked reads, I/O, atomics, messages, expansion ROM and BARs other than 0, 2 and 4 are not supported.
    pub struct Completer {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub cq: StreamSink<CqBeat>,
        pub cc: StreamSource<CcBeat>,
        pub aw: StreamSource<LiteAddress>,
        pub w: StreamSource<LiteWrite>,
        pub b: StreamSink<LiteResponse>,
        pub ar: StreamSource<LiteAddress>,
        pub r: StreamSink<LiteRead>,
        pub table: StreamSource<RegRequest>,
        pub table_answers: StreamSink<RegAnswer>,
        pub board: StreamSource<RegRequest>,
        pub board_answers: StreamSink<RegAnswer>,
        pub stops: Signal<In, Bit>,
        pub is_idle: Signal<Out, Bit>,
        pub errors: Signal<Out, Bits<32>>,
        pub unsupported: Signal<Out, Bits<32>>,
        gate: Gate,
        /// What a request wants next follows from its bytes, and what the gate lets go from its counts: a cycle for each.
        cut: Skid<Whole>,
        requests: Requests,
        answers: Answers,
        bus: Bus,
    }
}

impl Logic for Completer {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, gate, cut, requests, answers, bus);
        self.gate.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.requests.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        self.bus.reset.next = self.reset.val();

        StreamSink::<CqBeat>::link(&mut self.cq, &mut self.gate.cq);
        StreamSource::<Whole>::join(&mut self.gate.source, &mut self.cut.sink);
        StreamSource::<Whole>::join(&mut self.cut.source, &mut self.requests.sink);
        StreamSource::<Head>::join(&mut self.requests.heads, &mut self.answers.heads);
        StreamSource::<Store>::join(&mut self.requests.stores, &mut self.bus.stores);
        StreamSource::<Load>::join(&mut self.answers.loads, &mut self.bus.loads);
        StreamSource::<RegAnswer>::join(&mut self.bus.loaded, &mut self.answers.loaded);
        StreamSource::<CcBeat>::link(&mut self.cc, &mut self.answers.cc);

        StreamSource::<LiteAddress>::link(&mut self.aw, &mut self.bus.aw);
        StreamSource::<LiteWrite>::link(&mut self.w, &mut self.bus.w);
        StreamSink::<LiteResponse>::link(&mut self.b, &mut self.bus.b);
        StreamSource::<LiteAddress>::link(&mut self.ar, &mut self.bus.ar);
        StreamSink::<LiteRead>::link(&mut self.r, &mut self.bus.r);
        StreamSource::<RegRequest>::link(&mut self.table, &mut self.bus.table);
        StreamSink::<RegAnswer>::link(&mut self.table_answers, &mut self.bus.table_answers);
        StreamSource::<RegRequest>::link(&mut self.board, &mut self.bus.board);
        StreamSink::<RegAnswer>::link(&mut self.board_answers, &mut self.bus.board_answers);

        self.requests.stops.next = self.stops.val();
        self.is_idle.next = self.requests.is_idle.val() & self.bus.is_idle.val();
        self.errors.next = self.gate.errors.val();
        self.unsupported.next = self.requests.unsupported.val();
    }
}
