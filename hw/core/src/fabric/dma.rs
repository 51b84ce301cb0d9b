//! What kernels do with the memory of their callers.

pub mod gather;
pub mod landing;
pub mod readers;
#[cfg(test)]
mod rig;
pub mod settle;
pub mod store;
#[cfg(test)]
mod tests;
pub mod writers;

use rust_hdl::prelude::*;

use readers::Readers;
use writers::Writers;

use super::records::Access;
use crate::constant::number;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::HostWrite;
use crate::prim::all::All;
use crate::prim::colours::Colours;
use crate::slot::{SlotData, SlotDone};
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Reads for `READERS` kernels, and writes for them and for one client before them, each byte of it allowed by the MMU.
    ///
    /// - **Ports** `read_access[i]`, `read_data[i]`: as [`Readers`] has them, `write_access[i]`, `write_data[i]`, `write_done[i]`: as [`Writers`].
    ///   `read_xlat`, `write_xlat`: questions of clients [`readers::CLIENT`] and [`writers::CLIENT`]; `answer`: to both. `read`, `data`: the read engine; `write`, `bytes`: the
    ///   writer, with its tickets `issued` and `visible`. `hold`, `idle`: by client, of which kernel `i` is number `i + 1`, as for writes: nothing begins, and what has not is forgotten; nothing is under way.
    ///   `read_ends`: by kernel, a read has been taken. `reads_enter`, `reads_leave`, `writes_enter`, `writes_leave`: a pulse for each read or write that
    ///   asks the MMU, and for each of which all bytes have come or were handed over, in the same order. `drain`, `drained`: what had begun by then, with addresses from before, has been read, and handed to the writer. `busy`: something is inside.
    /// - **Latency, rate, back-pressure** those of the parts. A client that takes or gives nothing stops nobody else.
    /// - **Reset** forgets everything; the MMU, the read engine and the writer have to be reset with it.
    /// - **Limits** `WRITERS` is `READERS + 1`, and at most 16.
    pub struct Dma<const D: usize, const READERS: usize, const WRITERS: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub read_access: [StreamSink<Access>; READERS] = std::array::from_fn(|_| StreamSink::default()),
        pub read_data: [StreamSource<SlotData<D>>; READERS] = std::array::from_fn(|_| StreamSource::default()),
        pub write_access: [StreamSink<Access>; WRITERS] = std::array::from_fn(|_| StreamSink::default()),
        pub write_data: [StreamSink<Beat<D>>; WRITERS] = std::array::from_fn(|_| StreamSink::default()),
        pub write_done: [StreamSource<SlotDone>; WRITERS] = std::array::from_fn(|_| StreamSource::default()),
        pub read_xlat: StreamSource<XlatRequest>,
        pub write_xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub bytes: StreamSource<Beat<D>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub hold: Signal<In, Bits<WRITERS>>,
        pub idle: Signal<Out, Bits<WRITERS>>,
        pub read_ends: Signal<Out, Bits<READERS>>,
        pub reads_enter: Signal<Out, Bit>,
        pub reads_leave: Signal<Out, Bit>,
        pub writes_enter: Signal<Out, Bit>,
        pub writes_leave: Signal<Out, Bit>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        readers: Readers<D, READERS, LOG>,
        writers: Writers<D, WRITERS, LOG>,
        read_colours: Colours<8>,
        write_colours: Colours<8>,
        drains: All<2>,
        is_read: Signal<Local, Bit>,
        reader: Constant<Bits<3>> = number(readers::CLIENT),
    }
}

impl<const D: usize, const READERS: usize, const WRITERS: usize, const LOG: usize> Logic
    for Dma<D, READERS, WRITERS, LOG>
{
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, readers, writers, read_colours, write_colours, drains);
        self.readers.reset.next = self.reset.val();
        self.writers.reset.next = self.reset.val();
        self.read_colours.reset.next = self.reset.val();
        self.write_colours.reset.next = self.reset.val();
        self.drains.reset.next = self.reset.val();

        for i in 0..READERS {
            StreamSink::<Access>::link(&mut self.read_access[i], &mut self.readers.access[i]);
            StreamSource::<SlotData<D>>::link(&mut self.read_data[i], &mut self.readers.source[i]);
        }
        for i in 0..WRITERS {
            StreamSink::<Access>::link(&mut self.write_access[i], &mut self.writers.access[i]);
            StreamSink::<Beat<D>>::link(&mut self.write_data[i], &mut self.writers.data[i]);
            StreamSource::<SlotDone>::link(&mut self.write_done[i], &mut self.writers.done[i]);
        }
        StreamSource::<XlatRequest>::link(&mut self.read_xlat, &mut self.readers.xlat);
        StreamSource::<XlatRequest>::link(&mut self.write_xlat, &mut self.writers.xlat);
        // Both always take their answers.
        self.is_read.next = self.answer.payload.val().client == self.reader.val();
        self.readers.answer.payload.next = self.answer.payload.val();
        self.readers.answer.valid.next = self.answer.valid.val() & self.is_read.val();
        self.writers.answer.payload.next = self.answer.payload.val();
        self.writers.answer.valid.next = self.answer.valid.val() & !self.is_read.val();
        self.answer.ready.next = self.readers.answer.ready.val() & self.writers.answer.ready.val();
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.readers.read);
        StreamSink::<ReadData<D>>::link(&mut self.data, &mut self.readers.read_data);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.writers.write);
        StreamSource::<Beat<D>>::link(&mut self.bytes, &mut self.writers.write_data);
        self.writers.issued.next = self.issued.val();
        self.writers.visible.next = self.visible.val();

        self.readers.hold.next = bit_cast::<READERS, WRITERS>(self.hold.val() >> 1);
        self.writers.hold.next = self.hold.val();
        // The first client does not read, and so is idle there.
        self.idle.next =
            self.writers.idle.val() & !(bit_cast::<WRITERS, READERS>(!self.readers.idle.val()) << 1);
        self.read_ends.next = self.readers.ends.val();
        self.reads_enter.next = self.readers.enters.val();
        self.reads_leave.next = self.readers.leaves.val();
        self.writes_enter.next = self.writers.enters.val();
        self.writes_leave.next = self.writers.leaves.val();

        self.readers.colour.next = self.read_colours.colour.val();
        self.read_colours.enters.next = self.readers.enters.val();
        self.read_colours.enters_colour.next = self.read_colours.colour.val();
        self.read_colours.pending.next = false;
        self.read_colours.leaves.next = self.readers.leaves.val();
        self.read_colours.leaves_colour.next = self.readers.leaves_colour.val();
        self.read_colours.drain.next = self.drain.val();
        self.writers.colour.next = self.write_colours.colour.val();
        self.write_colours.enters.next = self.writers.enters.val();
        self.write_colours.enters_colour.next = self.write_colours.colour.val();
        self.write_colours.pending.next = false;
        self.write_colours.leaves.next = self.writers.leaves.val();
        self.write_colours.leaves_colour.next = self.writers.leaves_colour.val();
        self.write_colours.drain.next = self.drain.val();
        self.drains.begins.next = self.drain.val();
        self.drains.ends[0].next = self.read_colours.drained.val();
        self.drains.ends[1].next = self.write_colours.drained.val();
        self.drained.next = self.drains.ended.val();
        self.busy.next = self.readers.busy.val() | self.writers.busy.val();
    }
}
