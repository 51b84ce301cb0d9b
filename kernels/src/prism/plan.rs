//! Plan: which DMA of an operation is next?

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{FreeList, Kind};
use stroma_hw::constant::number;
use stroma_hw::slot::{LENGTH_BITS, SlotRead, TICKET_BITS};
use stroma_hw::{block, record};

use super::judge::Order;
use super::store::{ASIDE_LINE, LINE_BITS, SCRATCH_LINE};

record! {
    /// What is read: the target if nothing else.
    pub struct Purpose {
        /// The pointer to the target.
        pub pointer: Bit,
        /// Data that lie in memory.
        pub data: Bit,
        /// A list of free buffers.
        pub list: Bit,
        /// A buffer's address, in the list's ring.
        pub ring: Bit,
    }
}

record! {
    /// What was read so far.
    pub struct Known {
        /// The pointer to the target.
        pub pointer: Bit,
        /// Data that lie in memory.
        pub data: Bit,
        /// A list of free buffers.
        pub list: Bit,
    }
}

block! {
    /// Says what follows what is known.
    ///
    /// - **Ports** `ticket`; `order`: the operation; `known`: what of it was read; `len`, `target`: as far as that says; `ring`, `place`: of a list that is known; `result_line`: where a result is kept. `reads`: a read follows:
    ///   `ask`, for `purpose`, to be kept at `line`; `writes`: the data are to be written. If neither, the bound left no bytes.
    /// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
    pub struct Plan {
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub order: Signal<In, Order>,
        pub known: Signal<In, Known>,
        pub len: Signal<In, Bits<LENGTH_BITS>>,
        pub target: Signal<In, Bits<64>>,
        pub ring: Signal<In, Bits<64>>,
        pub place: Signal<In, Bits<64>>,
        pub result_line: Signal<In, Bits<LINE_BITS>>,
        pub reads: Signal<Out, Bit>,
        pub writes: Signal<Out, Bit>,
        pub purpose: Signal<Out, Purpose>,
        pub ask: Signal<Out, SlotRead>,
        pub line: Signal<Out, Bits<LINE_BITS>>,
        write: Constant<Bits<2>> = number(Kind::Write as u8),
        allocate: Constant<Bits<2>> = number(Kind::Allocate as u8),
        word: Constant<Bits<LENGTH_BITS>> = number(8),
        two_words: Constant<Bits<LENGTH_BITS>> = number(16),
        list_len: Constant<Bits<LENGTH_BITS>> = number(FreeList::LEN),
        aside_line: Constant<Bits<LINE_BITS>> = number(ASIDE_LINE),
        scratch_line: Constant<Bits<LINE_BITS>> = number(SCRATCH_LINE),
    }
}

impl Logic for Plan {
    #[hdl_gen]
    fn update(&mut self) {
        self.reads.next = true;
        self.writes.next = false;
        self.purpose.next.pointer = false;
        self.purpose.next.data = false;
        self.purpose.next.list = false;
        self.purpose.next.ring = false;
        self.ask.next.ticket = self.ticket.val();
        self.ask.next.va = self.order.val().address;
        self.ask.next.key = self.order.val().key;
        self.ask.next.len = self.len.val();
        self.line.next = self.scratch_line.val();
        if self.known.val().list {
            self.purpose.next.ring = true;
            self.ask.next.va = self.ring.val() + self.place.val();
            self.ask.next.len = self.word.val();
        } else if self.order.val().indirect & !self.known.val().pointer {
            self.purpose.next.pointer = true;
            self.ask.next.len = self.word.val();
            if self.order.val().bounded {
                self.ask.next.len = self.two_words.val();
            }
        } else if !self.len.val().any() {
            self.reads.next = false;
        } else if self.order.val().data_indirect & !self.known.val().data {
            self.purpose.next.data = true;
            self.ask.next.va = self.order.val().data_address;
            self.ask.next.key = self.order.val().aside_key;
            self.line.next = self.aside_line.val();
        } else if self.order.val().kind == self.allocate.val() {
            self.purpose.next.list = true;
            self.ask.next.len = self.list_len.val();
        } else if self.order.val().kind == self.write.val() {
            self.reads.next = false;
            self.writes.next = true;
        } else {
            self.ask.next.va = self.target.val();
            self.line.next = self.result_line.val();
            if self.order.val().redirect {
                self.line.next = self.aside_line.val();
            }
        }
    }
}
