//! A block RAM, or an ultra RAM, that is read as a stream. Its data comes a cycle late, so two beats are always fetched ahead: one waits
//! in the RAM's own output, one in the register behind it, which a synthesiser merges into the RAM.

use rust_hdl::prelude::*;

use super::ram::ClockedRam;
use super::reg::Reg;
use crate::stream::StreamSource;

/// From block RAM.
pub type StreamRam<T, const LOG: usize> = ClockedStream<T, LOG, false>;

/// Fetches words in the order given by `read_at` and offers them on `source`.
///
/// - **Ports** `write_*`: as [`ClockedRam`]; `some`: the word at `read_at` may be fetched; `taken`: it was, and its
///   place is free; `source`: the words fetched; `ahead`: how many of them wait there, 0 to 2.
/// - **Latency** 2 cycles from `some` to `source.valid`. **Rate** 1 word per cycle.
/// - **Backpressure** stops fetching; `taken` follows `source.ready` combinationally. A word must not be written in the
///   cycle in which it is first fetched.
/// - **Reset** forgets the words fetched ahead.
#[derive(LogicBlock, Default)]
pub struct ClockedStream<T: Synth, const LOG: usize, const ULTRA: bool> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub write_enable: Signal<In, Bit>,
    pub write_at: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, T>,
    pub some: Signal<In, Bit>,
    pub read_at: Signal<In, Bits<LOG>>,
    pub taken: Signal<Out, Bit>,
    pub source: StreamSource<T>,
    pub ahead: Signal<Out, Bits<16>>,
    memory: ClockedRam<T, LOG, ULTRA>,
    fetched: Reg<Bit>,
    head: Reg<T>,
    head_valid: Reg<Bit>,
    advance: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
}

impl<T: Synth, const LOG: usize, const ULTRA: bool> Logic for ClockedStream<T, LOG, ULTRA> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, fetched, head, head_valid);
        self.memory.write_enable.next = self.write_enable.val();
        self.memory.write_address.next = self.write_at.val();
        self.memory.write_data.next = self.write_data.val();
        self.advance.next = self.source.ready.val() | !self.head_valid.q.val();
        self.fetch.next = self.some.val() & (self.advance.val() | !self.fetched.q.val());
        self.memory.read_enable.next = self.fetch.val();
        self.memory.read_address.next = self.read_at.val();
        self.taken.next = self.fetch.val();
        if self.advance.val() {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = self.fetched.q.val();
            self.fetched.d.next = false;
        }
        if self.fetch.val() {
            self.fetched.d.next = true;
        }
        self.source.valid.next = self.head_valid.q.val();
        self.source.payload.next = self.head.q.val();
        self.ahead.next = 0.into();
        if self.fetched.q.val() {
            self.ahead.next = 1.into();
        }
        if self.head_valid.q.val() {
            self.ahead.next = self.ahead.val() + 1;
        }
        if self.reset.val() {
            self.fetched.d.next = false;
            self.head_valid.d.next = false;
        }
    }
}
