//! Route: each word of the payload to the bank of its partition.

use rust_hdl::prelude::*;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{Beat, StreamSink};
use stroma_hw::{block, record};

use super::parameters::Task;
use super::replay::Replay;

record! {
    /// A beat, as a bank sees it.
    pub struct Slice<const D: usize> {
        /// The beat.
        pub data: Bits<D>,
        /// Its words that are the bank's; at least one.
        pub lanes: Bits<8>,
    }
}

block! {
    /// Gives each beat to those banks that have words in it. The bank is the lowest bits of the partition; a wide tuple's second word
    /// follows its first.
    ///
    /// - **Ports** `sink`: payload; `passes`: the next packet goes to the banks, as `request` says, `drops`: it goes nowhere, one of them until `ends`: one cycle, its last beat
    ///   has gone, and neither is high for a cycle behind it. `data`, `lanes[i]`, `valid[i]`, `ready[i]`: a stream of [`Slice`]s for bank `i`, all with the same data, in the order of the payload.
    ///   `keeps`: beats that go are kept; `rewinds`: one cycle, all is forgotten but what waits, before which those come once more.
    /// - **Latency** 5 cycles from `sink` to `data`. **Rate** 1 beat per cycle.
    /// - **Backpressure** 4096 beats wait or are kept before `sink` stalls; a bank that is not ready stalls all. No combinational path from port to port but from
    ///   `ready[i]` to `valid[j]`: in a bank they meet a FIFO whose `ready` is a register.
    /// - **Reset** forgets all beats.
    /// - **Limits** `D` is 64 or 512, `L` is `D / 64`. Packets are whole words.
    pub struct Route<const D: usize, const L: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub request: Signal<In, Task>,
        pub passes: Signal<In, Bit>,
        pub drops: Signal<In, Bit>,
        pub ends: Signal<Out, Bit>,
        pub keeps: Signal<In, Bit>,
        pub rewinds: Signal<In, Bit>,
        pub data: Signal<Out, Bits<D>>,
        pub valid: [Signal<Out, Bit>; L] = std::array::from_fn(|_| Signal::default()),
        pub lanes: [Signal<Out, Bits<8>>; L] = std::array::from_fn(|_| Signal::default()),
        pub ready: [Signal<In, Bit>; L] = std::array::from_fn(|_| Signal::default()),
        waiting: Replay<D>,
        /// The last beat of the packet has left the FIFO.
        has_ended: Reg<Bit>,
        held: Reg<Bits<D>>,
        is_held: Reg<Bit>,
        is_last: Reg<Bit>,
        held_lanes: Reg<Bits<8>>,
        banks: [Reg<Bits<3>>; L] = std::array::from_fn(|_| Reg::default()),
        beat: Signal<Local, Beat<D>>,
        takes: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        is_ready: Signal<Local, Bit>,
        firsts: Signal<Local, Bits<D>>,
        word: [Signal<Local, Bits<64>>; L] = std::array::from_fn(|_| Signal::default()),
        moved: [Signal<Local, Bits<64>>; L] = std::array::from_fn(|_| Signal::default()),
        bank_mask: Signal<Local, Bits<3>>,
        mine: [Signal<Local, Bits<8>>; L] = std::array::from_fn(|_| Signal::default()),
        even: Constant<Bits<D>> = Constant::new(even()),
        number: [Constant<Bits<3>>; L] = constants(|bank| (bank as u64).into()),
        bank_bits: Constant<Bits<3>> = number(L - 1),
        all: Constant<Bits<8>> = number(0xff_u8),
    }
}

/// The words of even lanes.
fn even<const D: usize>() -> Bits<D> {
    let word = num_bigint::BigUint::from(u64::MAX);
    (0..D)
        .step_by(128)
        .map(|at| word.clone() << at)
        .fold(num_bigint::BigUint::ZERO, |all, one| all | one)
        .into()
}

impl<const D: usize, const L: usize> Logic for Route<D, L> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waiting);
        dff_setup!(self, clock, has_ended, held, is_held, is_last, held_lanes);
        self.waiting.reset.next = self.reset.val();
        self.waiting.keeps.next = self.keeps.val();
        self.waiting.rewinds.next = self.rewinds.val();
        StreamSink::<Beat<D>>::link(&mut self.sink, &mut self.waiting.sink);

        self.is_ready.next = true;
        for i in 0..L {
            self.is_ready.next = self.is_ready.val() & self.ready[i].val();
        }
        self.goes.next = self.is_held.q.val() & self.is_ready.val();
        self.takes.next = self.waiting.source.valid.val()
            & !self.has_ended.q.val()
            & (self.drops.val() | (self.passes.val() & (!self.is_held.q.val() | self.goes.val())));
        self.waiting.source.ready.next = self.takes.val();
        self.beat.next = self.waiting.source.payload.val();
        if self.takes.val() {
            self.has_ended.d.next = self.beat.val().eop;
        }
        if !self.passes.val() & !self.drops.val() {
            self.has_ended.d.next = false;
        }
        self.ends.next = (self.goes.val() & self.is_last.q.val())
            | (self.drops.val() & self.takes.val() & self.beat.val().eop);

        if self.goes.val() {
            self.is_held.d.next = false;
        }
        if self.takes.val() & self.passes.val() {
            self.is_held.d.next = true;
            self.held.d.next = self.beat.val().data;
            self.is_last.d.next = self.beat.val().eop;
            self.held_lanes.d.next = !(self.all.val() << self.beat.val().nbytes.get_bits::<4>(3));
        }
        self.firsts.next = self.beat.val().data;
        if self.request.val().wide {
            self.firsts.next =
                (self.beat.val().data & self.even.val()) | ((self.beat.val().data & self.even.val()) << 64);
        }
        self.bank_mask.next = self.request.val().last.get_bits::<3>(0) & self.bank_bits.val();
        for i in 0..L {
            self.banks[i].clock.next = self.clock.val();
            self.word[i].next = self.firsts.val().get_bits::<64>(i * 64);
            self.moved[i].next = self.word[i].val() >> self.request.val().first_bit;
            self.banks[i].d.next = self.banks[i].q.val();
            if self.takes.val() {
                self.banks[i].d.next = self.moved[i].val().get_bits::<3>(0) & self.bank_mask.val();
            }
        }
        self.data.next = self.held.q.val();
        for j in 0..L {
            self.mine[j].next = 0.into();
            for i in 0..L {
                self.mine[j].next = self.mine[j].val().replace_bit(
                    i,
                    self.held_lanes.q.val().get_bit(i) & (self.banks[i].q.val() == self.number[j].val()),
                );
            }
            self.lanes[j].next = self.mine[j].val();
            self.valid[j].next = self.goes.val() & self.mine[j].val().any();
        }
        if self.reset.val() | self.rewinds.val() {
            self.is_held.d.next = false;
            self.has_ended.d.next = false;
        }
    }
}
