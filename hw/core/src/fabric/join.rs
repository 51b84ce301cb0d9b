//! The fabric, joined: from packets of RPCs to kernels, and from their answers to the peers.

use rust_hdl::prelude::*;

use super::calls::Calls;
use super::deliver::Deliver;
use super::dma::Dma;
use super::port::Port;
use super::records::{Access, Call, Chunk, Ended, KERNEL_BITS, News, Passage, ResultRow, STAGES_LOG};
use crate::constant::number;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{HostWrite, QpChange};
use crate::prim::reg::Reg;
use crate::slot::{SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::records::TxFailure;

/// Cycles by which ports hear of changes behind Calls, and by which Dma hears of a drain.
const CHANGE_DELAY: usize = 4;
const DRAIN_DELAY: usize = 8;

block! {
    /// `KERNELS` slots, and what stands between them, the transport and host memory. `WRITERS` is `KERNELS + 1`, `RING` is `QPS + 4`.
    /// A port holds `2^PORT` beats of payload, Dma `2^LOG` for each of its clients, and `2^STAGE` hold 32 packets.
    ///
    /// - **Ports** `asks_qpn`, `refused*`, `room`, `room_more`, `reserves*`: of all ports, by kernel, for [`Sequence`](crate::transport::sequence::Sequence). `call_data`, `call_passage`,
    ///   `call`: from [`Place`](crate::transport::place::Place), always taken. `news`, `failure`: for [`Respond`](crate::transport::respond::Respond), from which come `stage_sends`,
    ///   `stage_frees` and `stage_number`; `results`: for [`Fetch`](crate::transport::fetch::Fetch). `area_*`: where results are kept. `change`: queue pairs that change.
    ///   `read_xlat`, `write_xlat`, `answer`: the MMU, as clients 5 and 6. `read*`, `write*`, `issued`, `visible`: host memory. `drain`, `drained`, `reads_*`, `writes_*`: as of [`Dma`].
    ///   `limit`, `patience`: as of [`Port`]. `kernel_*`: the slots, as [`slot`](crate::slot) says. Pulses for counters, by kernel. `ready`, `busy`.
    /// - **Order** what Calls hands on is at its port within 2 cycles; a change that Calls has taken comes to the ports 4 cycles later, behind all that
    ///   was handed on before it. So nothing that a queue pair has asked for before it stopped escapes; and a drain looks 8 cycles later, when the ports have heard.
    /// - **Latency, rate, back-pressure** those of the parts.
    /// - **Reset** forgets everything; the transport has to be reset with it.
    pub struct Fabric<const D: usize, const KERNELS: usize, const WRITERS: usize, const QPS: usize, const RING: usize, const PORT: usize, const LOG: usize, const STAGE: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub asks_qpn: Signal<In, Bits<24>>,
        pub refused: Signal<In, Bit>,
        pub refused_qpn: Signal<In, Bits<24>>,
        pub room: Signal<Out, Bits<16>>,
        pub room_more: Signal<Out, Bits<16>>,
        pub reserves: Signal<In, Bit>,
        pub reserves_kernel: Signal<In, Bits<KERNEL_BITS>>,
        pub reserves_begins: Signal<In, Bit>,
        pub reserves_ends: Signal<In, Bit>,
        pub reserves_qpn: Signal<In, Bits<24>>,
        pub call_data: StreamSink<Beat<D>>,
        pub call_passage: Signal<In, Passage>,
        pub call: StreamSink<Call>,
        pub news: StreamSource<News>,
        pub failure: StreamSource<TxFailure>,
        pub stage_sends: Signal<In, Bit>,
        pub stage_frees: Signal<In, Bit>,
        pub stage_number: Signal<In, Bits<STAGES_LOG>>,
        pub results: StreamSource<Beat<D>>,
        pub area_enable: Signal<Out, Bit>,
        pub area_index: Signal<Out, Bits<24>>,
        pub area: Signal<In, ResultRow>,
        pub change: StreamSink<QpChange>,
        pub read_xlat: StreamSource<XlatRequest>,
        pub write_xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub reads_enter: Signal<Out, Bit>,
        pub reads_leave: Signal<Out, Bit>,
        pub writes_enter: Signal<Out, Bit>,
        pub writes_leave: Signal<Out, Bit>,
        pub limit: Signal<In, Bits<32>>,
        pub patience: Signal<In, Bits<32>>,
        pub kernel_reset: Signal<Out, Bits<KERNELS>>,
        pub kernel_command: [StreamSource<SlotCommand>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_data_in: [StreamSource<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_read: [StreamSink<SlotRead>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_read_data: [StreamSource<SlotData<D>>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_write: [StreamSink<SlotWrite>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_write_data: [StreamSink<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_write_done: [StreamSource<SlotDone>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_data_out: [StreamSink<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_response: [StreamSink<SlotResponse>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub invoked: Signal<Out, Bits<16>>,
        pub answered_ok: Signal<Out, Bits<16>>,
        pub answered_failed: Signal<Out, Bits<16>>,
        pub expired: Signal<Out, Bits<16>>,
        pub aborted: Signal<Out, Bits<16>>,
        pub asks: Signal<Out, Bit>,
        pub drops: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        ports: [Port<D, PORT>; KERNELS] = std::array::from_fn(|_| Port::default()),
        calls: Calls<QPS, RING>,
        deliver: Deliver<D, KERNELS, STAGE>,
        dma: Dma<D, KERNELS, WRITERS, LOG>,
        rooms: Signal<Local, Bits<16>>,
        rooms_more: Signal<Local, Bits<16>>,
        is_reserved: Signal<Local, Bit>,
        is_passage: Signal<Local, Bit>,
        is_given: Signal<Local, Bit>,
        /// Changes on their way to the ports, and drains on theirs.
        changes: [Reg<QpChange>; CHANGE_DELAY] = std::array::from_fn(|_| Reg::default()),
        changing: Reg<Bits<CHANGE_DELAY>>,
        draining: Reg<Bits<DRAIN_DELAY>>,
        last_change: Signal<Local, QpChange>,
        is_changing: Signal<Local, Bit>,
        has_written: Signal<Local, Bit>,
        holds: Signal<Local, Bits<WRITERS>>,
        resets: Signal<Local, Bits<KERNELS>>,
        invocations: Signal<Local, Bits<16>>,
        successes: Signal<Local, Bits<16>>,
        failures: Signal<Local, Bits<16>>,
        expiries: Signal<Local, Bits<16>>,
        abortions: Signal<Local, Bits<16>>,
        is_busy: Signal<Local, Bit>,
        last_changing: Constant<Bits<4>> = number(CHANGE_DELAY - 1),
        last_draining: Constant<Bits<4>> = number(DRAIN_DELAY - 1),
    }
}

impl<
    const D: usize,
    const KERNELS: usize,
    const WRITERS: usize,
    const QPS: usize,
    const RING: usize,
    const PORT: usize,
    const LOG: usize,
    const STAGE: usize,
> Logic for Fabric<D, KERNELS, WRITERS, QPS, RING, PORT, LOG, STAGE>
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, calls, deliver, dma);
        self.calls.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();
        self.dma.reset.next = self.reset.val();

        // Packets of RPCs come in: their payload, and behind it what they are.
        self.call_data.ready.next = true;
        StreamSink::<Call>::link(&mut self.call, &mut self.calls.call);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.calls.change);
        dff_setup!(self, clock, changing, draining);
        self.is_changing.next = self.change.valid.val() & self.calls.change.ready.val();
        self.changing.d.next = (self.changing.q.val() << 1).replace_bit(0, self.is_changing.val());
        self.last_change.next = self.change.payload.val();
        for i in 0..CHANGE_DELAY {
            self.changes[i].clock.next = self.clock.val();
            self.changes[i].d.next = self.last_change.val();
            self.last_change.next = self.changes[i].q.val();
        }
        self.rooms.next = 0.into();
        self.rooms_more.next = 0.into();
        self.holds.next = 0.into();
        self.resets.next = 0.into();
        self.invocations.next = 0.into();
        self.successes.next = 0.into();
        self.failures.next = 0.into();
        self.expiries.next = 0.into();
        self.abortions.next = 0.into();
        self.is_busy.next = self.calls.busy.val() | self.deliver.busy.val() | self.dma.busy.val();
        for i in 0..KERNELS {
            self.ports[i].clock.next = self.clock.val();
            self.ports[i].reset.next = self.reset.val();
            self.rooms.next = self.rooms.val().replace_bit(i, self.ports[i].room.val());
            self.rooms_more.next = self.rooms_more.val().replace_bit(i, self.ports[i].room_more.val());
            self.ports[i].asks_qpn.next = self.asks_qpn.val();
            self.ports[i].refused.next = self.refused.val();
            self.ports[i].refused_qpn.next = self.refused_qpn.val();
            self.is_reserved.next = self.reserves.val() & (self.reserves_kernel.val().index() == i);
            self.ports[i].reserves.next = self.is_reserved.val();
            self.ports[i].reserves_begins.next = self.reserves_begins.val();
            self.ports[i].reserves_ends.next = self.reserves_ends.val();
            self.ports[i].reserves_qpn.next = self.reserves_qpn.val();
            self.is_passage.next = self.call_data.valid.val() & (self.call_passage.val().kernel.index() == i);
            self.ports[i].payload.valid.next = self.is_passage.val();
            self.ports[i].payload.payload.next = self.call_data.payload.val();
            self.is_given.next =
                self.calls.given.valid.val() & (self.calls.given.payload.val().kernel.index() == i);
            self.ports[i].call.valid.next = self.is_given.val();
            self.ports[i].call.payload.next = self.calls.given.payload.val();
            self.ports[i].change_valid.next = self.changing.q.val().get_bit(self.last_changing.val().index());
            self.ports[i].change.next = self.last_change.val();
            self.ports[i].visible.next = self.visible.val();
            self.ports[i].limit.next = self.limit.val();
            self.ports[i].patience.next = self.patience.val();

            // The kernel.
            self.resets.next = self.resets.val().replace_bit(i, self.ports[i].kernel_reset.val());
            StreamSource::<SlotCommand>::link(&mut self.kernel_command[i], &mut self.ports[i].command);
            StreamSource::<Beat<D>>::link(&mut self.kernel_data_in[i], &mut self.ports[i].data_in);
            StreamSink::<SlotRead>::link(&mut self.kernel_read[i], &mut self.ports[i].read);
            StreamSource::<Access>::join(&mut self.ports[i].read_access, &mut self.dma.read_access[i]);
            StreamSource::<SlotData<D>>::link(&mut self.kernel_read_data[i], &mut self.dma.read_data[i]);
            self.ports[i].read_ends.next = self.dma.read_ends.val().get_bit(i);
            StreamSink::<SlotWrite>::link(&mut self.kernel_write[i], &mut self.ports[i].write);
            StreamSource::<Access>::join(&mut self.ports[i].write_access, &mut self.dma.write_access[i + 1]);
            StreamSink::<Beat<D>>::link(&mut self.kernel_write_data[i], &mut self.dma.write_data[i + 1]);
            StreamSource::<SlotDone>::link(&mut self.kernel_write_done[i], &mut self.dma.write_done[i + 1]);
            self.has_written.next =
                self.dma.write_done[i + 1].valid.val() & self.kernel_write_done[i].ready.val();
            self.ports[i].write_ends.next = self.has_written.val();
            self.holds.next = self.holds.val().replace_bit(i + 1, self.ports[i].dma_reset.val());
            self.ports[i].dma_idle.next = self.dma.idle.val().get_bit(i + 1);
            StreamSink::<Beat<D>>::link(&mut self.kernel_data_out[i], &mut self.ports[i].data_out);
            StreamSink::<SlotResponse>::link(&mut self.kernel_response[i], &mut self.ports[i].response);

            // Its answers.
            StreamSource::<Chunk>::join(&mut self.ports[i].chunk, &mut self.deliver.chunk[i]);
            StreamSource::<Beat<D>>::join(&mut self.ports[i].chunk_data, &mut self.deliver.chunk_data[i]);

            self.invocations.next = self.invocations.val().replace_bit(i, self.ports[i].invoked.val());
            self.successes.next = self.successes.val().replace_bit(i, self.ports[i].answered_ok.val());
            self.failures.next = self.failures.val().replace_bit(i, self.ports[i].answered_failed.val());
            self.expiries.next = self.expiries.val().replace_bit(i, self.ports[i].expired.val());
            self.abortions.next = self.abortions.val().replace_bit(i, self.ports[i].aborted.val());
            self.is_busy.next = self.is_busy.val() | self.ports[i].busy.val();
        }
        self.room.next = self.rooms.val();
        self.room_more.next = self.rooms_more.val();
        self.kernel_reset.next = self.resets.val();
        self.calls.given.ready.next = true;

        // Answers go out.
        self.area_enable.next = self.deliver.area_enable.val();
        self.area_index.next = self.deliver.area_index.val();
        self.deliver.area.next = self.area.val();
        StreamSource::<Access>::join(&mut self.deliver.access, &mut self.dma.write_access[0]);
        StreamSource::<Beat<D>>::join(&mut self.deliver.data, &mut self.dma.write_data[0]);
        StreamSource::<SlotDone>::join(&mut self.dma.write_done[0], &mut self.deliver.done);
        StreamSource::<Ended>::join(&mut self.deliver.ended, &mut self.calls.ended);
        StreamSource::<News>::link(&mut self.news, &mut self.calls.news);
        StreamSource::<TxFailure>::link(&mut self.failure, &mut self.calls.failure);
        self.deliver.sends.next = self.stage_sends.val();
        self.deliver.frees.next = self.stage_frees.val();
        self.deliver.number.next = self.stage_number.val();
        StreamSource::<Beat<D>>::link(&mut self.results, &mut self.deliver.results);

        // Host memory.
        StreamSource::<XlatRequest>::link(&mut self.read_xlat, &mut self.dma.read_xlat);
        StreamSource::<XlatRequest>::link(&mut self.write_xlat, &mut self.dma.write_xlat);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.dma.answer);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.dma.read);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.dma.data);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.dma.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.dma.bytes);
        self.dma.issued.next = self.issued.val();
        self.dma.visible.next = self.visible.val();
        self.dma.hold.next = self.holds.val();
        self.draining.d.next = (self.draining.q.val() << 1).replace_bit(0, self.drain.val());
        self.dma.drain.next = self.draining.q.val().get_bit(self.last_draining.val().index());
        self.drained.next = self.dma.drained.val();
        self.reads_enter.next = self.dma.reads_enter.val();
        self.reads_leave.next = self.dma.reads_leave.val();
        self.writes_enter.next = self.dma.writes_enter.val();
        self.writes_leave.next = self.dma.writes_leave.val();

        self.invoked.next = self.invocations.val();
        self.answered_ok.next = self.successes.val();
        self.answered_failed.next = self.failures.val();
        self.expired.next = self.expiries.val();
        self.aborted.next = self.abortions.val();
        self.asks.next = self.calls.asks.val();
        self.drops.next = self.calls.drops.val();
        self.ready.next = self.calls.ready.val();
        if self.reset.val() {
            self.changing.d.next = 0.into();
            self.draining.d.next = 0.into();
        }
        self.busy.next = self.is_busy.val();
    }
}
