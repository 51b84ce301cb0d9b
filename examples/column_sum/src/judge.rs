//! Judge: what a request asks for, and whether it may.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{PARAMETER_BITS, SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use crate::call::{ColumnSum, Comparison, STRIDE_MAX, STRIDE_MIN, Totals, WORD_LEN};

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused; nothing of it counts but the ticket.
        pub is_bad: Bit,
        /// As the parameters say.
        pub address: Bits<64>,
        pub operand: Bits<64>,
        pub rows: Bits<32>,
        pub stride: Bits<16>,
        pub column_at: Bits<16>,
        pub filter_at: Bits<16>,
        /// Rows count whose word is below the operand, equal to it, above it.
        pub comparison: Bits<3>,
    }
}

block! {
    /// Takes requests apart and judges them, one by one.
    ///
    /// - **Ports** `sink`: commands; `source`: their tasks, in the same order.
    /// - **Latency** 1 cycle. **Rate** a command every 2 cycles.
    /// - **Backpressure** holds one task, and takes no command meanwhile: no combinational path from port to port.
    /// - **Reset** forgets the task.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<SlotCommand>,
        pub source: StreamSource<Task>,
        held: Reg<Task>,
        is_held: Reg<Bit>,
        asked: Signal<Local, SlotCommand>,
        text: Signal<Local, Bits<PARAMETER_BITS>>,
        stride: Signal<Local, Bits<16>>,
        column_at: Signal<Local, Bits<16>>,
        filter_at: Signal<Local, Bits<16>>,
        comparison: Signal<Local, Bits<8>>,
        is_bad: Signal<Local, Bit>,
        address_at: Constant<Bits<9>> = number(ColumnSum::ADDRESS.offset()),
        operand_at: Constant<Bits<9>> = number(ColumnSum::OPERAND.offset()),
        rows_at: Constant<Bits<9>> = number(ColumnSum::ROWS.offset()),
        stride_at: Constant<Bits<9>> = number(ColumnSum::STRIDE.offset()),
        column_at_at: Constant<Bits<9>> = number(ColumnSum::COLUMN_AT.offset()),
        filter_at_at: Constant<Bits<9>> = number(ColumnSum::FILTER_AT.offset()),
        comparison_at: Constant<Bits<9>> = number(ColumnSum::COMPARISON.offset()),
        parameter_words: Constant<Bits<8>> = number(ColumnSum::LEN / 4),
        parameter_bytes: Constant<Bits<32>> = number(ColumnSum::LEN),
        least_room: Constant<Bits<32>> = number(Totals::LEN),
        least: Constant<Bits<16>> = number(STRIDE_MIN),
        most: Constant<Bits<16>> = number(STRIDE_MAX),
        word: Constant<Bits<17>> = number(WORD_LEN),
        last: Constant<Bits<8>> = number(Comparison::Always as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, is_held);
        self.sink.ready.next = !self.is_held.q.val();
        self.source.valid.next = self.is_held.q.val();
        self.source.payload.next = self.held.q.val();

        self.asked.next = self.sink.payload.val();
        self.text.next = self.asked.val().parameters;
        self.stride.next = self.text.val().get_bits::<16>(self.stride_at.val().index());
        self.column_at.next = self.text.val().get_bits::<16>(self.column_at_at.val().index());
        self.filter_at.next = self.text.val().get_bits::<16>(self.filter_at_at.val().index());
        self.comparison.next = self.text.val().get_bits::<8>(self.comparison_at.val().index());
        self.is_bad.next = (self.stride.val() < self.least.val())
            | (self.stride.val() > self.most.val())
            | ((bit_cast::<17, 16>(self.column_at.val()) + self.word.val())
                > bit_cast::<17, 16>(self.stride.val()))
            | ((bit_cast::<17, 16>(self.filter_at.val()) + self.word.val())
                > bit_cast::<17, 16>(self.stride.val()))
            | !self.comparison.val().any()
            | (self.comparison.val() > self.last.val())
            | (self.asked.val().response_max < self.least_room.val())
            | self.asked.val().flags.any()
            | (self.asked.val().parameter_words != self.parameter_words.val())
            | (self.asked.val().request_len != self.parameter_bytes.val());

        if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if !self.is_held.q.val() {
            self.is_held.d.next = self.sink.valid.val();
            self.held.d.next.ticket = self.asked.val().ticket;
            self.held.d.next.key = self.asked.val().key;
            self.held.d.next.is_bad = self.is_bad.val();
            self.held.d.next.address = self.text.val().get_bits::<64>(self.address_at.val().index());
            self.held.d.next.operand = self.text.val().get_bits::<64>(self.operand_at.val().index());
            self.held.d.next.rows = self.text.val().get_bits::<32>(self.rows_at.val().index());
            self.held.d.next.stride = self.stride.val();
            self.held.d.next.column_at = self.column_at.val();
            self.held.d.next.filter_at = self.filter_at.val();
            self.held.d.next.comparison = self.comparison.val().get_bits::<3>(0);
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
