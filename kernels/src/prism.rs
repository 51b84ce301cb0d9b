//! `prism`: chains of reads, writes, compare-and-swaps and appends that find their own way in the caller's memory.

pub mod collect;
#[cfg(test)]
mod differential;
pub mod emit;
pub mod intake;
pub mod judge;
pub mod lead;
pub mod operands;
pub mod operate;
pub mod parameters;
pub mod plan;
pub mod put;
pub mod store;
pub mod swap;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::{LENGTH_BITS, SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use collect::Collect;
use emit::Emit;
use intake::Intake;
use judge::{Judge, Order};
use lead::Lead;
use operands::Operands;
use operate::Operate;
use parameters::{Decode, Task};
use put::Put;
use store::{LINE_BITS, RESULT_LINE, SIZE_BITS, Store};
use swap::Swap;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::prism`].
    ///
    /// ```text
    ///   command ── Decode ─────────────────── Lead ──────────────────────────────── response
    ///   data_in ── Intake ─┬─ Judge ─ order ─▶ │ reports ─────────────┐
    ///                      │                Operate ─────────────────┼─ cut ─ read
    ///                      ▼                ▲  ▲  └────▶ Put ─────────┼─ cut ─ write
    ///                    Store ─ Operands ─ Swap           └──────────▼
    ///                      ▲ │              ▲                       Emit ─┬─ write_data
    ///                      │ └──────────────┼───────────────────────▶     └─ data_out
    ///   read_data ────── Collect ── words ──┘
    /// ```
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says.
    /// - **Latency** 2 cycles from a command to its payload, 7 from the last beat of that to the first read or write. From the last beat of a pointer, of data or of a list to the next read
    ///   or write 4; from that of a ring to the write of the head 3, and 2 more to that of the buffer; from that of a target to the write of a swap 6. From the last beat of a read, or from the last `write_done`, to the read
    ///   of the next operation 6, and to the answer 7; 2 from its last beat to `response`. A refusal comes 4 cycles after the last beat of payload, or 2 after a command without any.
    ///   `write_data` begins 2 cycles behind `write` if it comes from registers, 4 if from the card's memory.
    /// - **Rate** one chain at a time: a command is taken the cycle after the response to the one before it at the earliest. Payload, results and data pass at a beat per cycle.
    /// - **Backpressure** a chain waits for every stream. No combinational path from port to port.
    /// - **Reset** forgets the chains; data of reads and ends of writes from before must not come any more.
    /// - **Limits** `D` is 512 and `LOG` 9, or 64 and 12. What is asked of a request is told there; it is judged before anything is read or written. There are no loops, so a chain ends when its DMA does.
    pub struct PrismKernel<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub write_done: StreamSink<SlotDone>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        decode: Decode,
        intake: Intake<D, LOG>,
        judge: Judge,
        lead: Lead,
        operate: Operate,
        put: Put,
        collect: Collect<D, LOG>,
        store: Store<D, LOG>,
        load: Operands<D>,
        swap: Swap,
        emit: Emit<D>,
        read_cut: Skid<SlotRead>,
        write_cut: Skid<SlotWrite>,
        task: Signal<Local, Task>,
        order: Signal<Local, Order>,
        now: Signal<Local, Order>,
        loads: Signal<Local, Bit>,
        operands_len: Constant<Bits<SIZE_BITS>> = number(stroma_abi::kernel::prism::Operands::LEN),
        reports_len: Constant<Bits<7>> = number(stroma_abi::kernel::prism::REPORTS_LEN),
        result_line: Constant<Bits<LINE_BITS>> = number(RESULT_LINE),
    }
}

impl<const D: usize, const LOG: usize> Logic for PrismKernel<D, LOG> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "wires between twelve blocks")]
    fn update(&mut self) {
        clock!(self, clock, decode, intake, judge, lead, operate, put, collect, store, load, swap, emit);
        clock!(self, clock, read_cut, write_cut);
        self.decode.reset.next = self.reset.val();
        self.intake.reset.next = self.reset.val();
        self.judge.reset.next = self.reset.val();
        self.lead.reset.next = self.reset.val();
        self.operate.reset.next = self.reset.val();
        self.put.reset.next = self.reset.val();
        self.collect.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.load.reset.next = self.reset.val();
        self.swap.reset.next = self.reset.val();
        self.emit.reset.next = self.reset.val();
        self.read_cut.reset.next = self.reset.val();
        self.write_cut.reset.next = self.reset.val();

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        self.task.next = self.decode.source.payload.val();
        self.lead.task.payload.next = self.task.val();
        self.lead.task.valid.next = self.decode.source.valid.val();
        self.decode.source.ready.next = self.lead.task.ready.val();

        self.intake.takes.next = self.lead.takes.val();
        StreamSink::<Beat<D>>::link(&mut self.data_in, &mut self.intake.sink);
        self.judge.begins.next = self.lead.begins.val();
        self.judge.request.next = self.task.val();
        self.judge.is_line.next = self.intake.is_line.val();
        self.judge.line.next = self.intake.line.val();
        self.judge.number.next = self.intake.number.val();
        self.judge.ends.next = self.intake.ends.val();
        self.judge.index.next = self.lead.index.val();
        self.order.next = self.judge.order.val();

        self.lead.is_ready.next = self.judge.is_ready.val();
        self.lead.is_bad.next = self.judge.is_bad.val();
        self.lead.lines.next = self.judge.lines.val();
        self.lead.is_conditional.next = self.order.val().conditional;
        self.lead.ends.next = self.operate.ends.val();
        self.lead.outcome.next = self.operate.outcome.val();
        self.lead.stage.next = self.operate.stage.val();
        self.lead.applied.next = self.operate.applied.val();
        self.lead.answered.next = self.operate.answered.val();
        self.lead.len.next = self.operate.len.val();
        self.lead.target.next = self.operate.target.val();
        self.lead.has_answered.next = self.emit.ends.val();
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.lead.response);

        self.operate.ticket.next = self.task.val().ticket;
        self.operate.begins.next = self.lead.begins.val();
        self.operate.starts.next = self.lead.starts.val();
        self.operate.order.next = self.order.val();
        self.operate.result_line.next = self.lead.result_line.val();
        self.operate.is_there.next = self.collect.is_there.val();
        self.operate.words.next = self.collect.words.val();
        self.operate.ending.next = self.collect.ending.val();
        self.operate.is_known.next = self.swap.is_known.val();
        self.operate.holds.next = self.swap.holds.val();
        self.operate.has_put.next = self.put.moves.val();
        self.operate.is_settled.next = self.put.is_settled.val();
        self.operate.how.next = self.put.how.val();
        self.now.next = self.operate.now.val();
        self.loads.next = self.load.loads.val();
        self.operate.loads.next = self.loads.val();
        StreamSource::<SlotRead>::join(&mut self.operate.read, &mut self.read_cut.sink);
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.read_cut.source);

        self.put.begins.next = self.lead.starts.val();
        self.put.ticket.next = self.task.val().ticket;
        self.put.order.next = self.now.val();
        self.put.len.next = self.operate.len.val();
        self.put.target.next = self.operate.target.val();
        self.put.head.next = self.operate.head.val();
        self.put.fresh.next = self.swap.fresh.val();
        self.put.wants.next = self.operate.puts.val();
        self.put.gift.next = self.operate.gift.val();
        self.put.is_free.next = self.emit.is_free.val();
        StreamSource::<SlotWrite>::join(&mut self.put.write, &mut self.write_cut.sink);
        StreamSource::<SlotWrite>::link(&mut self.write, &mut self.write_cut.source);
        StreamSink::<SlotDone>::link(&mut self.write_done, &mut self.put.write_done);

        self.collect.line.next = self.operate.line.val();
        StreamSink::<SlotData<D>>::link(&mut self.read_data, &mut self.collect.sink);

        // Payload comes before anything is read, so there is one writer at a time.
        self.store.write_enable.next = self.intake.write_enable.val() | self.collect.write_enable.val();
        self.store.write_at.next = self.collect.write_at.val();
        self.store.write_data.next = self.collect.write_data.val();
        if self.intake.write_enable.val() {
            self.store.write_at.next = self.intake.write_at.val();
            self.store.write_data.next = self.intake.write_data.val();
        }
        self.store.begins.next =
            self.put.fetches.val() | self.operate.fetches_operands.val() | self.lead.gathers.val();
        self.store.line.next = self.put.line.val();
        self.store.len.next = bit_cast::<SIZE_BITS, LENGTH_BITS>(self.put.put_len.val());
        if self.lead.gathers.val() {
            self.store.line.next = self.result_line.val();
            self.store.len.next = self.lead.result_len.val();
        } else if self.operate.fetches_operands.val() {
            self.store.line.next = bit_cast::<LINE_BITS, 7>(self.now.val().data_line);
            self.store.len.next = self.operands_len.val();
        }

        self.load.begins.next = self.operate.fetches_operands.val();
        self.load.sink.payload.next = self.store.source.payload.val();
        self.load.sink.valid.next = self.store.source.valid.val() & self.loads.val();
        self.swap.begins.next = self.operate.weighs.val();
        self.swap.order.next = self.now.val();
        self.swap.operands.next = self.load.operands.val();
        self.swap.there.next = self.collect.words.val();
        self.swap.fetched.next = self.operate.fetched.val();
        self.swap.allocated.next = self.operate.allocated.val();

        self.emit.sink.payload.next = self.store.source.payload.val();
        self.emit.sink.valid.next = self.store.source.valid.val() & !self.loads.val();
        self.store.source.ready.next = self.emit.sink.ready.val();
        if self.loads.val() {
            self.store.source.ready.next = self.load.sink.ready.val();
        }
        self.emit.begins.next = self.put.emits.val() | self.lead.answers.val();
        self.emit.is_answer.next = self.lead.answers.val();
        self.emit.head.next = bit_cast::<512, 256>(self.put.words.val());
        self.emit.head_len.next = self.put.word_len.val();
        self.emit.len.next = bit_cast::<SIZE_BITS, LENGTH_BITS>(self.put.put_len.val());
        if self.lead.answers.val() {
            self.emit.head.next = self.lead.reports.val();
            self.emit.head_len.next = self.reports_len.val();
            self.emit.len.next = self.lead.answer_len.val();
        }
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.emit.write_data);
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.emit.data_out);
    }
}
