//! The table of vectors, as the host sees it.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::ram::LutRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};

use crate::pcie::completer::{RegAnswer, RegRequest};

/// Where the pending bits begin; the table begins at 0.
pub const PENDING_AT: usize = 0x800;
/// log2 of the words of the table: two of eight bytes a vector.
const LOG: usize = 6;

block! {
    /// Keeps address, data and mask of every vector.
    ///
    /// A vector has two words: its address; then its data, with the mask in bit 32. All other bits of the second half read zero.
    ///
    /// - **Ports** `requests`, `answers`: the host's accesses; `pending`: shown in the eight bytes at 0x800, which nobody can store to. Everywhere else there is
    ///   nothing: stores change nothing, reads give zero. `row`: a word, and `word`: what is there in the same cycle; `masks`: of all vectors.
    /// - **Latency** 1 cycle to the answer and to `masks`, 2 to `word`. **Rate** an access every second cycle.
    /// - **Backpressure** stalls `requests`, which follows nothing but a register.
    /// - **Reset** sets every mask, and forgets an answer.
    pub struct Vectors {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub requests: StreamSink<RegRequest>,
        pub answers: StreamSource<RegAnswer>,
        pub pending: Signal<In, Bits<32>>,
        pub row: Signal<In, Bits<LOG>>,
        pub word: Signal<Out, Bits<64>>,
        pub masks: Signal<Out, Bits<32>>,
        /// The same words twice: for the host that changes some bytes, and for whoever sends.
        table: LutRam<Bits<64>, LOG>,
        copy: LutRam<Bits<64>, LOG>,
        held: Reg<Bits<32>>,
        /// What is stored, a cycle later: from a memory into itself there is no way without a register.
        writes: Reg<Bit>,
        write_at: Reg<Bits<LOG>>,
        write_word: Reg<Bits<64>>,
        answer: Reg<Bits<64>>,
        is_answered: Reg<Bit>,
        takes: Signal<Local, Bit>,
        place: Signal<Local, Bits<LOG>>,
        vector: Signal<Local, Bits<32>>,
        is_table: Signal<Local, Bit>,
        is_control: Signal<Local, Bit>,
        stores: Signal<Local, Bit>,
        chosen: [Signal<Local, Bits<64>>; 9] = std::array::from_fn(|_| Signal::default()),
        shown: Signal<Local, Bits<64>>,
        bytes: [Constant<Bits<64>>; 8] = constants(|byte| (0xff_u64 << (8 * byte)).into()),
        no_byte: Constant<Bits<64>> = number(0_u64),
        one: Constant<Bits<32>> = number(1_u64),
        mask_bit: Constant<Bits<64>> = number(1_u64 << 32),
        low_half: Constant<Bits<64>> = number(0xffff_ffff_u64),
        masked: Constant<Bits<32>> = Constant::new(Bits::mask()),
        pending_at: Constant<Bits<16>> = number(PENDING_AT >> 3),
    }
}

impl Logic for Vectors {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table, copy);
        dff_setup!(self, clock, held, writes, write_at, write_word, answer, is_answered);
        self.masks.next = self.held.q.val();
        self.requests.ready.next = !self.is_answered.q.val();
        self.takes.next = self.requests.valid.val() & !self.is_answered.q.val();
        self.answers.valid.next = self.is_answered.q.val();
        self.answers.payload.next.data = self.answer.q.val();

        self.place.next = self.requests.payload.val().addr.get_bits::<LOG>(3);
        self.vector.next = self.one.val() << self.requests.payload.val().addr.get_bits::<5>(4);
        self.is_table.next = !self.requests.payload.val().addr.get_bits::<7>(9).any();
        self.is_control.next = self.is_table.val() & self.requests.payload.val().addr.get_bit(3);
        self.stores.next = self.takes.val() & self.is_table.val() & self.requests.payload.val().is_write;

        self.chosen[0].next = self.no_byte.val();
        for i in 0..8 {
            self.chosen[i + 1].next = self.chosen[i].val();
            if self.requests.payload.val().strb.get_bit(i) {
                self.chosen[i + 1].next = self.chosen[i].val() | self.bytes[i].val();
            }
        }
        self.table.read_address.next = self.place.val();
        self.write_word.d.next = (self.requests.payload.val().data & self.chosen[8].val())
            | (self.table.read_data.val() & !self.chosen[8].val());
        self.write_at.d.next = self.place.val();
        self.writes.d.next = self.stores.val();
        self.table.write_address.next = self.write_at.q.val();
        self.table.write_enable.next = self.writes.q.val();
        self.table.write_data.next = self.write_word.q.val();
        self.copy.write_address.next = self.write_at.q.val();
        self.copy.write_enable.next = self.writes.q.val();
        self.copy.write_data.next = self.write_word.q.val();
        self.copy.read_address.next = self.row.val();
        self.word.next = self.copy.read_data.val();
        if self.stores.val() & self.is_control.val() & self.requests.payload.val().strb.get_bit(4) {
            self.held.d.next = self.held.q.val() & !self.vector.val();
            if self.requests.payload.val().data.get_bit(32) {
                self.held.d.next = self.held.q.val() | self.vector.val();
            }
        }

        self.shown.next = 0.into();
        if self.is_control.val() {
            self.shown.next = self.table.read_data.val() & self.low_half.val();
            if (self.held.q.val() & self.vector.val()).any() {
                self.shown.next = (self.table.read_data.val() & self.low_half.val()) | self.mask_bit.val();
            }
        } else if self.is_table.val() {
            self.shown.next = self.table.read_data.val();
        } else if (self.requests.payload.val().addr >> 3) == self.pending_at.val() {
            self.shown.next = bit_cast::<64, 32>(self.pending.val());
        }
        if self.takes.val() {
            self.answer.d.next = self.shown.val();
            self.is_answered.d.next = true;
        } else if self.answers.ready.val() {
            self.is_answered.d.next = false;
        }
        if self.reset.val() {
            self.held.d.next = self.masked.val();
            self.writes.d.next = false;
            self.is_answered.d.next = false;
        }
    }
}
