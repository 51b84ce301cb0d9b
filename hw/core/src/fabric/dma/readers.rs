//! What kernels read: asked for in turn, and brought to each at its own pace.

use rust_hdl::prelude::*;

use super::gather::{Gather, Reader};
use super::landing::Landing;
use crate::constant::number;
use crate::fabric::records::Access;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;
use crate::prim::skid::Skid;
use crate::slot::SlotData;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::fetch::ask::Waiting;
use crate::transport::fetch::resolve::{Part, Resolve};

/// The MMU's client for what kernels read.
pub const CLIENT: u8 = 5;
/// Reads of a kernel that are under way, or not taken by it.
pub const READS: usize = 8;

block! {
    /// Reads for `N` kernels, each with room for `2^LOG` beats.
    ///
    /// - **Ports** `access[i]`: what kernel `i` wants to read; `source[i]`: a packet for each, in order. `xlat`, `answer`: the MMU, as
    ///   client [`CLIENT`]. `read`, `read_data`: a packet for each command, in order. `colour`, `enters`: a read begins, in that colour;
    ///   `leaves`, `leaves_colour`: all of one has come. `hold`: a bit for each kernel: nothing of it begins, and what it has not
    ///   taken is forgotten; `idle`: nothing of it is under way. `ends`: a kernel has taken the last beat of a read.
    ///   `busy`: a read is not taken.
    /// - **Latency** 1 cycle from `access` to `xlat`, 2 from `answer` to `read`, 1 from `read_data` to `source`; 2 more if the read
    ///   crosses a page. **Rate** 1 read and 1 beat per cycle.
    /// - **Fairness** a read waits for at most one of each other kernel. **Backpressure** a kernel has at most 8 reads that it
    ///   has not taken, and there is room for them: whoever takes nothing stops nobody else. `access[i].ready` follows `access`
    ///   combinationally, and nothing else does.
    /// - **Reset** forgets everything; the MMU and the read engine have to be reset with it.
    /// - **Limits** `2^LOG` beats hold 8 reads of 4 KiB; anything less panics when the block is built. `hold` stays until `idle`.
    pub struct Readers<const D: usize, const N: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub access: [StreamSink<Access>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub source: [StreamSource<SlotData<D>>; N] = std::array::from_fn(|_| StreamSource::default()),
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub hold: Signal<In, Bits<N>>,
        pub idle: Signal<Out, Bits<N>>,
        pub ends: Signal<Out, Bits<N>>,
        pub busy: Signal<Out, Bit>,
        turn: RoundRobin<N>,
        cut: Skid<XlatRequest>,
        waits: Fifo<Waiting, 4>,
        owners: Fifo<Reader<N>, 6>,
        resolve: Resolve,
        gather: Gather<D, N>,
        landings: [Landing<D, LOG>; N] = landings(),
        /// Of each kernel: reads begun and not taken, and those of them that have not come.
        open: [Reg<Bits<4>>; N] = std::array::from_fn(|_| Reg::default()),
        inside: [Reg<Bits<4>>; N] = std::array::from_fn(|_| Reg::default()),
        request: Signal<Local, Bits<N>>,
        chosen: Signal<Local, Access>,
        goes: Signal<Local, Bit>,
        begins: Signal<Local, Bits<N>>,
        comes: Signal<Local, Bits<N>>,
        taken: Signal<Local, Bits<N>>,
        is_idle: Signal<Local, Bits<N>>,
        is_open: Signal<Local, Bit>,
        most: Constant<Bits<4>> = number(READS),
        client: Constant<Bits<3>> = number(CLIENT),
    }
}

fn landings<const D: usize, const N: usize, const LOG: usize>() -> [Landing<D, LOG>; N] {
    let bytes = (D / 8) << LOG;
    assert!(bytes >= READS * 4096, "2^{LOG} beats of {D} bits do not hold {READS} reads");
    std::array::from_fn(|_| Landing::default())
}

impl<const D: usize, const N: usize, const LOG: usize> Logic for Readers<D, N, LOG> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "the choice, and a line a wire of four blocks")]
    fn update(&mut self) {
        clock!(self, clock, turn, cut, waits, owners, resolve, gather);
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.waits.reset.next = self.reset.val();
        self.owners.reset.next = self.reset.val();
        self.resolve.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();

        // Whose turn it is.
        self.request.next = 0.into();
        for i in 0..N {
            self.open[i].clock.next = self.clock.val();
            self.inside[i].clock.next = self.clock.val();
            self.landings[i].clock.next = self.clock.val();
            self.request.next = self.request.val().replace_bit(
                i,
                self.access[i].valid.val()
                    & (self.open[i].q.val() != self.most.val())
                    & !self.hold.val().get_bit(i),
            );
        }
        self.turn.request.next = self.request.val();
        self.goes.next = self.request.val().any()
            & self.cut.sink.ready.val()
            & self.waits.sink.ready.val()
            & self.owners.sink.ready.val();
        self.chosen.next = self.access[0].payload.val();
        for i in 0..N {
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.access[i].payload.val();
            }
        }
        self.turn.taken.next = self.goes.val();
        self.begins.next = 0.into();
        if self.goes.val() {
            self.begins.next = self.turn.grant.val();
        }

        self.cut.sink.valid.next = self.goes.val() & !self.chosen.val().refused;
        self.cut.sink.payload.next.client = self.client.val();
        self.cut.sink.payload.next.tag = 0.into();
        self.cut.sink.payload.next.key = self.chosen.val().key;
        self.cut.sink.payload.next.pd = self.chosen.val().pd;
        self.cut.sink.payload.next.qpn = self.chosen.val().qpn;
        self.cut.sink.payload.next.va = self.chosen.val().va;
        self.cut.sink.payload.next.len = self.chosen.val().len;
        self.cut.sink.payload.next.need = self.chosen.val().need;
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.cut.source);
        self.waits.sink.valid.next = self.goes.val();
        self.waits.sink.payload.next.is_asked = !self.chosen.val().refused;
        self.waits.sink.payload.next.is_inline = false;
        self.waits.sink.payload.next.is_result = false;
        self.waits.sink.payload.next.last = true;
        self.owners.sink.valid.next = self.goes.val();
        self.owners.sink.payload.next.to = self.turn.grant.val();
        self.owners.sink.payload.next.colour = self.colour.val();
        self.enters.next = self.goes.val();

        // Where the bytes are, and the bytes.
        StreamSource::<Waiting>::join(&mut self.waits.source, &mut self.resolve.waiting);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.resolve.answer);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.resolve.read);
        StreamSource::<Part>::join(&mut self.resolve.parts, &mut self.gather.part);
        StreamSource::<Reader<N>>::join(&mut self.owners.source, &mut self.gather.reader);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.gather.read_data);
        self.leaves.next = self.gather.leaves.val();
        self.leaves_colour.next = self.gather.leaves_colour.val();

        // They come to each kernel, and are taken.
        self.comes.next = 0.into();
        if self.gather.beat.val().eop {
            self.comes.next = self.gather.to.val();
        }
        self.taken.next = 0.into();
        self.is_idle.next = 0.into();
        self.is_open.next = false;
        for i in 0..N {
            self.access[i].ready.next = self.begins.val().get_bit(i);
            self.landings[i].reset.next = self.reset.val() | self.hold.val().get_bit(i);
            self.landings[i].comes.next = self.gather.to.val().get_bit(i);
            self.landings[i].beat.next = self.gather.beat.val();
            StreamSource::<SlotData<D>>::link(&mut self.source[i], &mut self.landings[i].source);
            self.taken.next = self.taken.val().replace_bit(i, self.landings[i].ends.val());
            self.is_idle.next = self.is_idle.val().replace_bit(i, !self.inside[i].q.val().any());
            self.is_open.next = self.is_open.val() | self.open[i].q.val().any();

            self.inside[i].d.next = self.inside[i].q.val();
            if self.begins.val().get_bit(i) & !self.comes.val().get_bit(i) {
                self.inside[i].d.next = self.inside[i].q.val() + 1;
            }
            if !self.begins.val().get_bit(i) & self.comes.val().get_bit(i) {
                self.inside[i].d.next = self.inside[i].q.val() - 1;
            }
            self.open[i].d.next = self.open[i].q.val();
            if self.begins.val().get_bit(i) & !self.landings[i].ends.val() {
                self.open[i].d.next = self.open[i].q.val() + 1;
            }
            if !self.begins.val().get_bit(i) & self.landings[i].ends.val() {
                self.open[i].d.next = self.open[i].q.val() - 1;
            }
            if self.hold.val().get_bit(i) {
                self.open[i].d.next = self.inside[i].q.val();
            }
            if self.reset.val() {
                self.inside[i].d.next = 0.into();
                self.open[i].d.next = 0.into();
            }
        }
        self.ends.next = self.taken.val();
        self.idle.next = self.is_idle.val();
        self.busy.next = self.is_open.val();
    }
}
