//! The staging: answers of one packet that may go to the wire before they are visible in host memory.

use rust_hdl::prelude::*;

use crate::constant::{constants, number};
use crate::fabric::records::STAGES_LOG;
use crate::prim::fifo::Fifo;
use crate::prim::ram::UltraRam;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{Beat, StreamSource};

/// Packets.
const STAGES: usize = 1 << STAGES_LOG;
/// Bytes of the longest.
const PACKET_MAX: usize = 4096;

block! {
    /// Holds 32 packets, each at a place of its own, until they are sent or not needed.
    ///
    /// - **Ports** `has_room`: there is a free place; `stage`: the one that the packet on its way in has. `comes`, `beat`: a beat of it. `sends`, `frees`,
    ///   `number`: in this cycle, that packet is to be sent, or is forgotten. `source`: packets, in the order of `sends`. `busy`: some are to be sent.
    /// - **Latency** 3 cycles from `sends` to `source`. **Rate** 1 beat per cycle in, and out; a cycle between packets. A place is free a cycle behind its last beat.
    /// - **Backpressure** none: a packet comes when there was room before its first beat. `source` comes from registers.
    /// - **Reset** forgets all packets.
    /// - **Limits** `2^LOG` beats are 32 packets of 4 KiB; anything else panics when the block is built.
    pub struct Stages<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub has_room: Signal<Out, Bit>,
        pub stage: Signal<Out, Bits<STAGES_LOG>>,
        pub comes: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub sends: Signal<In, Bit>,
        pub frees: Signal<In, Bit>,
        pub number: Signal<In, Bits<STAGES_LOG>>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        memory: UltraRam<Beat<D>, LOG> = packets::<D, LOG>(),
        queue: Fifo<Bits<STAGES_LOG>, STAGES_LOG>,
        cut: Skid<Beat<D>>,
        free: Reg<Bits<STAGES>>,
        /// The place that the next packet has, and whether it is one.
        next_stage: Reg<Bits<STAGES_LOG>>,
        is_ready: Reg<Bit>,
        /// Beats of the packets on their way in and out.
        written: Reg<Bits<10>>,
        read: Reg<Bits<10>>,
        has_read: Reg<Bit>,
        lowest: Signal<Local, Bits<STAGES>>,
        lowest_at: Signal<Local, Bits<STAGES_LOG>>,
        is_taken: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        freed: Signal<Local, Bits<STAGES>>,
        beats_log: Constant<Bits<4>> = number(beats_log::<D>()),
        numbers: [Constant<Bits<STAGES_LOG>>; STAGES] = constants(|stage| (stage as u64).into()),
        one: Constant<Bits<STAGES>> = number(1_u64),
        all: Constant<Bits<STAGES>> = Constant::new(Bits::mask()),
    }
}

/// log2 of the beats of a place.
fn beats_log<const D: usize>() -> u64 {
    (PACKET_MAX / (D / 8)).ilog2().into()
}

fn packets<const D: usize, const LOG: usize>() -> UltraRam<Beat<D>, LOG> {
    assert_eq!((D / 8) << LOG, STAGES * PACKET_MAX, "2^{LOG} beats of {D} bits are not {STAGES} packets");
    UltraRam::default()
}

impl<const D: usize, const LOG: usize> Logic for Stages<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory, queue, cut);
        dff_setup!(self, clock, free, next_stage, is_ready, written, read, has_read);
        self.queue.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        // In: the lowest place that is free.
        self.lowest.next = self.free.q.val() & (!self.free.q.val() + 1);
        self.lowest_at.next = 0.into();
        for i in 0..STAGES {
            if self.lowest.val().get_bit(i) {
                self.lowest_at.next = self.numbers[i].val();
            }
        }
        self.has_room.next = self.is_ready.q.val();
        self.stage.next = self.next_stage.q.val();
        self.memory.write_enable.next = self.comes.val();
        self.memory.write_address.next = (bit_cast::<LOG, STAGES_LOG>(self.next_stage.q.val())
            << self.beats_log.val())
            | bit_cast::<LOG, 10>(self.written.q.val());
        self.memory.write_data.next = self.beat.val();
        if self.comes.val() {
            self.written.d.next = self.written.q.val() + 1;
            if self.beat.val().eop {
                self.written.d.next = 0.into();
            }
        }
        self.is_taken.next = self.comes.val() & self.beat.val().eop;

        // Out: one after the other.
        self.queue.sink.valid.next = self.sends.val();
        self.queue.sink.payload.next = self.number.val();
        self.passes.next = self.has_read.q.val() & self.cut.sink.ready.val();
        self.ends.next = self.passes.val() & self.memory.read_data.val().eop;
        self.memory.read_enable.next =
            self.queue.source.valid.val() & (!self.has_read.q.val() | self.passes.val());
        self.memory.read_address.next = (bit_cast::<LOG, STAGES_LOG>(self.queue.source.payload.val())
            << self.beats_log.val())
            | bit_cast::<LOG, 10>(self.read.q.val());
        if self.queue.source.valid.val() & (!self.has_read.q.val() | self.passes.val()) {
            self.read.d.next = self.read.q.val() + 1;
            self.has_read.d.next = true;
        }
        if self.ends.val() {
            self.read.d.next = 0.into();
            self.has_read.d.next = false;
        }
        self.cut.sink.valid.next = self.has_read.q.val();
        self.cut.sink.payload.next = self.memory.read_data.val();
        self.queue.source.ready.next = self.ends.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        self.busy.next = self.queue.source.valid.val() | self.cut.source.valid.val();

        // Which are free.
        self.freed.next = 0.into();
        if self.ends.val() {
            self.freed.next = self.one.val() << self.queue.source.payload.val();
        }
        if self.frees.val() {
            self.freed.next = self.freed.val() | (self.one.val() << self.number.val());
        }
        self.free.d.next = self.free.q.val() | self.freed.val();
        // The next place is found a cycle behind the one before it, and no longer counts among the free.
        if !self.is_ready.q.val() & self.free.q.val().any() {
            self.is_ready.d.next = true;
            self.next_stage.d.next = self.lowest_at.val();
            self.free.d.next = (self.free.q.val() & !self.lowest.val()) | self.freed.val();
        }
        if self.is_taken.val() {
            self.is_ready.d.next = false;
        }
        if self.reset.val() {
            self.free.d.next = self.all.val();
            self.is_ready.d.next = false;
            self.written.d.next = 0.into();
            self.read.d.next = 0.into();
            self.has_read.d.next = false;
        }
    }
}
