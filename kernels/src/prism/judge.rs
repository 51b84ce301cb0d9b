//! Judge: lines become operations, each of them within its limits or the whole chain refused.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{Kind, LENGTH_MAX, Operands, Operation, SWAP_MAX};
use stroma_hw::constant::number;
use stroma_hw::prim::ram::LutRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::LENGTH_BITS;
use stroma_hw::{block, record};

use super::parameters::{ROOM_BITS, Task};

/// Bits of a place in the payload, and behind it.
const END_BITS: usize = 15;

record! {
    /// An operation. As [`stroma_abi::kernel::prism::Operation`].
    pub struct Order {
        pub kind: Bits<2>,
        pub comparison: Bits<2>,
        pub forward_word: Bits<2>,
        pub indirect: Bit,
        pub bounded: Bit,
        pub data_indirect: Bit,
        pub conditional: Bit,
        pub redirect: Bit,
        pub forward: Bit,
        pub data_line: Bits<7>,
        pub len: Bits<LENGTH_BITS>,
        pub address: Bits<64>,
        pub key: Bits<32>,
        pub aside_key: Bits<32>,
        pub data_address: Bits<64>,
        pub redirect_address: Bits<64>,
    }
}

block! {
    /// Takes lines apart, judges and keeps them.
    ///
    /// - **Ports** `begins`: one cycle, a new chain; `request`: its command, which stays; `is_line`, `line`, `number`: from the intake; `ends`: the last of them was before or is now. `is_ready`: one cycle, all are
    ///   judged: `is_bad` and `lines`, the most lines of results, stay until the next chain. `index`, `order`: the operations.
    /// - **Latency** 2 cycles from `ends` to `is_ready`, none from `index` to `order`. **Rate** a line per cycle. **Backpressure** none.
    /// - **Reset** forgets the line under way.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub request: Signal<In, Task>,
        pub is_line: Signal<In, Bit>,
        pub line: Signal<In, Bits<512>>,
        pub number: Signal<In, Bits<2>>,
        pub ends: Signal<In, Bit>,
        pub is_ready: Signal<Out, Bit>,
        pub is_bad: Signal<Out, Bit>,
        pub lines: Signal<Out, Bits<ROOM_BITS>>,
        pub index: Signal<In, Bits<2>>,
        pub order: Signal<Out, Order>,
        table: LutRam<Order, 2>,
        held: Reg<Order>,
        is_held: Reg<Bit>,
        which: Reg<Bits<2>>,
        is_wrong: Reg<Bit>,
        has_data: Reg<Bit>,
        data_end: Reg<Bits<END_BITS>>,
        result_lines: Reg<Bits<7>>,
        has_ended: Reg<Bit>,
        is_judged: Reg<Bit>,
        refuses: Reg<Bit>,
        sum: Reg<Bits<ROOM_BITS>>,
        parsed: Signal<Local, Order>,
        len: Signal<Local, Bits<32>>,
        data_line: Signal<Local, Bits<8>>,
        is_read: Signal<Local, Bit>,
        is_write: Signal<Local, Bit>,
        is_swap: Signal<Local, Bit>,
        is_allocate: Signal<Local, Bit>,
        is_flag_bad: Signal<Local, Bit>,
        is_len_bad: Signal<Local, Bit>,
        data_len: Signal<Local, Bits<END_BITS>>,
        rounded: Signal<Local, Bits<LENGTH_BITS>>,
        is_counted: Signal<Local, Bit>,
        kind_at: Constant<Bits<9>> = number(Operation::KIND.offset()),
        comparison_at: Constant<Bits<9>> = number(Operation::COMPARISON.offset()),
        forward_word_at: Constant<Bits<9>> = number(Operation::FORWARD_WORD.offset()),
        indirect_at: Constant<Bits<9>> = number(Operation::INDIRECT.offset()),
        bounded_at: Constant<Bits<9>> = number(Operation::BOUNDED.offset()),
        data_indirect_at: Constant<Bits<9>> = number(Operation::DATA_INDIRECT.offset()),
        conditional_at: Constant<Bits<9>> = number(Operation::CONDITIONAL.offset()),
        redirect_at: Constant<Bits<9>> = number(Operation::REDIRECT.offset()),
        forward_at: Constant<Bits<9>> = number(Operation::FORWARD.offset()),
        data_line_at: Constant<Bits<9>> = number(Operation::DATA_LINE.offset()),
        len_at: Constant<Bits<9>> = number(Operation::LENGTH.offset()),
        address_at: Constant<Bits<9>> = number(Operation::ADDRESS.offset()),
        key_at: Constant<Bits<9>> = number(Operation::KEY.offset()),
        aside_key_at: Constant<Bits<9>> = number(Operation::ASIDE_KEY.offset()),
        data_address_at: Constant<Bits<9>> = number(Operation::DATA_ADDRESS.offset()),
        redirect_address_at: Constant<Bits<9>> = number(Operation::REDIRECT_ADDRESS.offset()),
        read: Constant<Bits<2>> = number(Kind::Read as u8),
        write: Constant<Bits<2>> = number(Kind::Write as u8),
        swap: Constant<Bits<2>> = number(Kind::CompareAndSwap as u8),
        allocate: Constant<Bits<2>> = number(Kind::Allocate as u8),
        len_max: Constant<Bits<32>> = number(LENGTH_MAX),
        swap_max: Constant<Bits<32>> = number(SWAP_MAX),
        operands_len: Constant<Bits<END_BITS>> = number(Operands::LEN),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table);
        dff_setup!(self, clock, held, is_held, which, is_wrong, has_data, data_end, result_lines);
        dff_setup!(self, clock, has_ended, is_judged, refuses, sum);
        self.parsed.next.kind = self.line.val().get_bits::<2>(self.kind_at.val().index());
        self.parsed.next.comparison = self.line.val().get_bits::<2>(self.comparison_at.val().index());
        self.parsed.next.forward_word = self.line.val().get_bits::<2>(self.forward_word_at.val().index());
        self.parsed.next.indirect = self.line.val().get_bit(self.indirect_at.val().index());
        self.parsed.next.bounded = self.line.val().get_bit(self.bounded_at.val().index());
        self.parsed.next.data_indirect = self.line.val().get_bit(self.data_indirect_at.val().index());
        self.parsed.next.conditional = self.line.val().get_bit(self.conditional_at.val().index());
        self.parsed.next.redirect = self.line.val().get_bit(self.redirect_at.val().index());
        self.parsed.next.forward = self.line.val().get_bit(self.forward_at.val().index());
        self.parsed.next.data_line = self.line.val().get_bits::<7>(self.data_line_at.val().index());
        self.parsed.next.len = self.line.val().get_bits::<LENGTH_BITS>(self.len_at.val().index());
        self.parsed.next.address = self.line.val().get_bits::<64>(self.address_at.val().index());
        self.parsed.next.key = self.line.val().get_bits::<32>(self.key_at.val().index());
        self.parsed.next.aside_key = self.line.val().get_bits::<32>(self.aside_key_at.val().index());
        self.parsed.next.data_address = self.line.val().get_bits::<64>(self.data_address_at.val().index());
        self.parsed.next.redirect_address =
            self.line.val().get_bits::<64>(self.redirect_address_at.val().index());
        self.len.next = self.line.val().get_bits::<32>(self.len_at.val().index());
        self.data_line.next = self.line.val().get_bits::<8>(self.data_line_at.val().index());

        self.is_read.next = self.parsed.val().kind == self.read.val();
        self.is_write.next = self.parsed.val().kind == self.write.val();
        self.is_swap.next = self.parsed.val().kind == self.swap.val();
        self.is_allocate.next = self.parsed.val().kind == self.allocate.val();
        self.is_flag_bad.next = (self.parsed.val().bounded
            & (self.is_swap.val() | self.is_allocate.val() | !self.parsed.val().indirect))
            | (self.parsed.val().indirect & self.is_allocate.val())
            | (self.parsed.val().data_indirect & self.is_read.val())
            | (self.parsed.val().redirect & self.is_write.val())
            | (self.parsed.val().forward & (!self.is_swap.val() | self.parsed.val().data_indirect));
        self.is_len_bad.next = !self.len.val().any() | (self.len.val() > self.len_max.val());
        if self.is_swap.val() {
            self.is_len_bad.next = !self.len.val().any()
                | (self.len.val() > self.swap_max.val())
                | self.len.val().get_bits::<3>(0).any();
        }
        self.data_len.next = bit_cast::<END_BITS, LENGTH_BITS>(self.parsed.val().len);
        if self.is_swap.val() {
            self.data_len.next = self.operands_len.val();
        }
        self.rounded.next = self.parsed.val().len + 63;
        if self.is_line.val() {
            self.held.d.next = self.parsed.val();
            self.which.d.next = self.number.val();
            self.is_wrong.d.next = self.is_flag_bad.val() | self.is_len_bad.val();
            self.has_data.d.next = self.is_swap.val()
                | ((self.is_write.val() | self.is_allocate.val()) & !self.parsed.val().data_indirect);
            self.data_end.d.next = (bit_cast::<END_BITS, 8>(self.data_line.val()) << 6) + self.data_len.val();
            self.result_lines.d.next = 0.into();
            if (self.is_read.val() | self.is_swap.val()) & !self.parsed.val().redirect {
                self.result_lines.d.next = self.rounded.val().get_bits::<7>(6);
            }
        }
        self.is_held.d.next = self.is_line.val();
        self.has_ended.d.next = self.ends.val();

        self.is_counted.next =
            self.is_held.q.val() & (bit_cast::<3, 2>(self.which.q.val()) < self.request.val().count);
        self.table.write_enable.next = self.is_counted.val();
        self.table.write_address.next = self.which.q.val();
        self.table.write_data.next = self.held.q.val();
        if self.is_counted.val() {
            self.sum.d.next = self.sum.q.val() + bit_cast::<ROOM_BITS, 7>(self.result_lines.q.val());
            self.refuses.d.next = self.refuses.q.val()
                | self.is_wrong.q.val()
                | (self.has_data.q.val()
                    & (self.data_end.q.val() > bit_cast::<END_BITS, 14>(self.request.val().payload_len)));
        }
        self.is_judged.d.next = self.has_ended.q.val();
        if self.begins.val() {
            self.sum.d.next = 0.into();
            self.refuses.d.next = false;
        }
        self.is_ready.next = self.is_judged.q.val();
        self.is_bad.next = self.refuses.q.val();
        self.lines.next = self.sum.q.val();
        self.table.read_address.next = self.index.val();
        self.order.next = self.table.read_data.val();
        if self.reset.val() {
            self.is_held.d.next = false;
            self.has_ended.d.next = false;
            self.is_judged.d.next = false;
        }
    }
}
