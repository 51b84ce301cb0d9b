//! What a kernel writes, until it is whole.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::fabric::records::Access;
use crate::prim::fifo::Fifo;
use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::slot::TRANSFER_MAX;
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the writes that wait.
const WAITING_LOG: usize = 3;

block! {
    /// Keeps writes of one client, and offers each when all its bytes are here.
    ///
    /// Who has told the host of a write owes the bytes, and all others wait for them. So nothing is told of bytes that a kernel may
    /// never give; and a packet that is longer or shorter than its write, or has holes, is not written at all.
    ///
    /// - **Ports** `access`, `data`: writes, and a packet for each, either of them first; `offer`: a write whose packet is here, `refused` if it has
    ///   another length; `bytes`: the packets in the order of offers, at most 4096 bytes of each.
    /// - **Latency** 1 cycle from the last beat to `offer`, 3 to `bytes`. **Rate** 1 beat per cycle.
    /// - **Backpressure** 8 writes and `2^LOG` beats wait, then the sinks do. No combinational path from port to port.
    /// - **Reset** forgets everything; the next beat begins a packet.
    /// - **Limits** `2^LOG` beats hold 4 KiB and a beat more, otherwise building panics.
    pub struct Store<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub access: StreamSink<Access>,
        pub data: StreamSink<Beat<D>>,
        pub offer: StreamSource<Access>,
        pub bytes: StreamSource<Beat<D>>,
        accesses: Fifo<Access, WAITING_LOG>,
        lengths: Fifo<Bits<13>, WAITING_LOG>,
        packets: PacketFifo<D, LOG> = whole_writes(),
        /// Bytes and beats of the packet under way; it has more than may be, or a beat with a hole before its last.
        so_far: Reg<Bits<13>>,
        beats: Reg<Bits<10>>,
        is_over: Reg<Bit>,
        is_odd: Reg<Bit>,
        takes: Signal<Local, Bit>,
        total: Signal<Local, Bits<13>>,
        is_full: Signal<Local, Bit>,
        last_beat: Constant<Bits<10>> = number(TRANSFER_MAX / (D / 8) - 1),
        never: Constant<Bits<13>> = Constant::new(Bits::mask()),
        beat_bytes: Constant<Bits<7>> = number(D / 8),
    }
}

fn whole_writes<const D: usize, const LOG: usize>() -> PacketFifo<D, LOG> {
    let bytes = (D / 8) << LOG;
    assert!(bytes > TRANSFER_MAX, "2^{LOG} beats of {D} bits do not hold a write and a beat");
    PacketFifo::default()
}

impl<const D: usize, const LOG: usize> Logic for Store<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, accesses, lengths, packets);
        dff_setup!(self, clock, so_far, beats, is_over, is_odd);
        self.accesses.reset.next = self.reset.val();
        self.lengths.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();
        StreamSink::<Access>::link(&mut self.access, &mut self.accesses.sink);

        // A packet ends for the memory when it has all the bytes that a write may have; what comes behind them is thrown away.
        self.takes.next =
            self.data.valid.val() & self.lengths.sink.ready.val() & self.packets.sink.ready.val();
        self.data.ready.next = self.lengths.sink.ready.val() & self.packets.sink.ready.val();
        self.total.next = self.so_far.q.val() + bit_cast::<13, 7>(self.data.payload.val().nbytes);
        self.is_full.next = self.beats.q.val() == self.last_beat.val();
        self.packets.sink.payload.next = self.data.payload.val();
        self.packets.sink.payload.next.sop = !self.beats.q.val().any();
        self.packets.sink.payload.next.eop = self.data.payload.val().eop | self.is_full.val();
        self.packets.sink.payload.next.err = false;
        self.packets.sink.valid.next =
            self.data.valid.val() & self.lengths.sink.ready.val() & !self.is_over.q.val();
        self.lengths.sink.valid.next =
            self.data.valid.val() & self.data.payload.val().eop & self.packets.sink.ready.val();
        self.lengths.sink.payload.next = self.total.val();
        if self.is_over.q.val() | self.is_odd.q.val() {
            self.lengths.sink.payload.next = self.never.val();
        }
        if self.takes.val() {
            self.so_far.d.next = self.total.val();
            self.beats.d.next = self.beats.q.val() + 1;
            self.is_over.d.next = self.is_over.q.val() | self.is_full.val();
            self.is_odd.d.next =
                self.is_odd.q.val() | (self.data.payload.val().nbytes != self.beat_bytes.val());
            if self.data.payload.val().eop {
                self.so_far.d.next = 0.into();
                self.beats.d.next = 0.into();
                self.is_over.d.next = false;
                self.is_odd.d.next = false;
            }
        }

        self.offer.valid.next = self.accesses.source.valid.val() & self.lengths.source.valid.val();
        self.offer.payload.next = self.accesses.source.payload.val();
        self.offer.payload.next.refused = self.accesses.source.payload.val().refused
            | (self.accesses.source.payload.val().len != self.lengths.source.payload.val());
        self.accesses.source.ready.next = self.offer.ready.val() & self.lengths.source.valid.val();
        self.lengths.source.ready.next = self.offer.ready.val() & self.accesses.source.valid.val();
        StreamSource::<Beat<D>>::link(&mut self.bytes, &mut self.packets.source);
        if self.reset.val() {
            self.so_far.d.next = 0.into();
            self.beats.d.next = 0.into();
            self.is_over.d.next = false;
            self.is_odd.d.next = false;
        }
    }
}
