//! Parameters: what a request asks for, whether it may, and whose sketch it is.

use rust_hdl::prelude::*;
use stroma_abi::kernel::hyperloglog::{Action, HyperLogLog, ITEMS, REGISTERS};
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

// The answer is as large as the upper half of `response_max` says, and the place of a size in the list is its code.
const _: () = assert!(REGISTERS == 1 << 16 && ITEMS[0] == 4 && ITEMS[1] == 8 && ITEMS[2] == 16);

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused; nothing of it counts but ticket and payload.
        pub is_bad: Bit,
        /// It is for another sketch; as before.
        pub is_other: Bit,
        /// With `is_other`: the sketch is another domain's, and was to be cleared.
        pub is_taken: Bit,
        /// Where the payload goes.
        pub address: Bits<64>,
        /// Bytes of the payload.
        pub len: Bits<32>,
        /// There are some.
        pub has_payload: Bit,
        /// They are stored.
        pub stores: Bit,
        /// Its items are counted.
        pub counts: Bit,
        /// Their size: `4 << item` bytes.
        pub item: Bits<2>,
        /// The registers are the answer.
        pub reads: Bit,
        /// They are set to 0.
        pub wipes: Bit,
    }
}

block! {
    /// Takes requests apart and judges them, one by one, and keeps the name of the sketch and the domain whose it is.
    ///
    /// - **Ports** `sink`: commands; `source`: their tasks, in the same order. `is_wiped`: all registers were set to 0. `restart`: tasks are forgotten, and the
    ///   name if registers have not been wiped for it.
    /// - **Latency** 1 cycle. **Rate** a command every 2 cycles.
    /// - **Backpressure** holds one task, and takes no command meanwhile: no combinational path from port to port.
    /// - **Reset** forgets the task and the name.
    pub struct Decode {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub restart: Signal<In, Bit>,
        pub is_wiped: Signal<In, Bit>,
        pub sink: StreamSink<SlotCommand>,
        pub source: StreamSource<Task>,
        held: Reg<Task>,
        is_held: Reg<Bit>,
        name: Reg<Bits<64>>,
        is_named: Reg<Bit>,
        /// Whose the sketch is, if it has a name.
        owner: Reg<Bits<16>>,
        /// The name is given, and what registers hold may still be another's.
        is_clearing: Reg<Bit>,
        command: Signal<Local, SlotCommand>,
        text: Signal<Local, Bits<512>>,
        sketch: Signal<Local, Bits<64>>,
        size: Signal<Local, Bits<8>>,
        action: Signal<Local, Bits<2>>,
        discard: Signal<Local, Bit>,
        release: Signal<Local, Bit>,
        parameter_len: Signal<Local, Bits<32>>,
        len: Signal<Local, Bits<32>>,
        has_payload: Signal<Local, Bit>,
        item: Signal<Local, Bits<2>>,
        is_size_known: Signal<Local, Bit>,
        is_broken: Signal<Local, Bit>,
        is_head_bad: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        is_other: Signal<Local, Bit>,
        is_foreign: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        is_count: Signal<Local, Bit>,
        is_clear: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        address_at: Constant<Bits<9>> = number(HyperLogLog::ADDRESS.offset()),
        sketch_at: Constant<Bits<9>> = number(HyperLogLog::SKETCH.offset()),
        item_at: Constant<Bits<9>> = number(HyperLogLog::ITEM.offset()),
        action_at: Constant<Bits<9>> = number(HyperLogLog::ACTION.offset()),
        discard_at: Constant<Bits<9>> = number(HyperLogLog::DISCARD.offset()),
        release_at: Constant<Bits<9>> = number(HyperLogLog::RELEASE.offset()),
        parameter_words: Constant<Bits<8>> = number(HyperLogLog::LEN / 4),
        count: Constant<Bits<2>> = number(Action::Count as u8),
        read: Constant<Bits<2>> = number(Action::Read as u8),
        clear: Constant<Bits<2>> = number(Action::Clear as u8),
        take: Constant<Bits<2>> = number(Action::Take as u8),
        sizes: [Constant<Bits<8>>; 3] = constants(|code| u64::from(ITEMS[code]).into()),
        code: [Constant<Bits<2>>; 3] = constants(|code| (code as u64).into()),
    }
}

impl Logic for Decode {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, is_held, name, is_named, owner, is_clearing);
        self.source.valid.next = self.is_held.q.val();
        self.source.payload.next = self.held.q.val();
        self.sink.ready.next = !self.is_held.q.val();
        self.takes.next = self.sink.valid.val() & !self.is_held.q.val();

        self.command.next = self.sink.payload.val();
        self.text.next = self.command.val().parameters;
        self.sketch.next = self.text.val().get_bits::<64>(self.sketch_at.val().index());
        self.size.next = self.text.val().get_bits::<8>(self.item_at.val().index());
        self.action.next = self.text.val().get_bits::<2>(self.action_at.val().index());
        self.discard.next = self.text.val().get_bit(self.discard_at.val().index());
        self.release.next = self.text.val().get_bit(self.release_at.val().index());
        self.is_count.next = self.action.val() == self.count.val();
        self.is_clear.next = self.action.val() == self.clear.val();
        self.gives.next = (self.action.val() == self.read.val()) | (self.action.val() == self.take.val());

        self.parameter_len.next = bit_cast::<32, 8>(self.command.val().parameter_words) << 2;
        self.len.next = self.command.val().request_len - self.parameter_len.val();
        self.has_payload.next = self.command.val().request_len > self.parameter_len.val();
        self.item.next = 0.into();
        self.is_size_known.next = false;
        for i in 0..3 {
            if self.size.val() == self.sizes[i].val() {
                self.item.next = self.code[i].val();
                self.is_size_known.next = true;
            }
        }
        // Is the payload no whole number of items?
        self.is_broken.next = self.len.val().get_bits::<2>(0).any()
            | (self.size.val().get_bit(3) & self.len.val().get_bit(2))
            | (self.size.val().get_bit(4) & self.len.val().get_bits::<2>(2).any());
        self.is_head_bad.next = self.command.val().flags.any()
            | (self.command.val().parameter_words != self.parameter_words.val())
            | (self.command.val().request_len < self.parameter_len.val());
        self.is_bad.next = self.is_head_bad.val() | self.has_payload.val();
        if self.is_count.val() {
            self.is_bad.next = self.is_head_bad.val() | !self.is_size_known.val() | self.is_broken.val();
        } else if self.gives.val() {
            self.is_bad.next = self.is_head_bad.val()
                | self.has_payload.val()
                | !self.command.val().response_max.get_bits::<16>(16).any();
        }
        self.is_foreign.next = self.is_named.q.val() & (self.owner.q.val() != self.command.val().pd);
        self.is_other.next = self.is_foreign.val()
            | (!self.is_clear.val() & (!self.is_named.q.val() | (self.name.q.val() != self.sketch.val())));

        if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if !self.is_held.q.val() {
            self.is_held.d.next = self.sink.valid.val();
            self.held.d.next.ticket = self.command.val().ticket;
            self.held.d.next.key = self.command.val().key;
            self.held.d.next.is_bad = self.is_bad.val();
            self.held.d.next.is_other = self.is_other.val();
            self.held.d.next.is_taken = self.is_clear.val();
            self.held.d.next.address = self.text.val().get_bits::<64>(self.address_at.val().index());
            self.held.d.next.len = self.len.val();
            self.held.d.next.has_payload = self.has_payload.val();
            self.held.d.next.counts = self.is_count.val() & !self.is_bad.val() & !self.is_other.val();
            self.held.d.next.stores = self.is_count.val()
                & !self.discard.val()
                & self.has_payload.val()
                & !self.is_bad.val()
                & !self.is_other.val();
            self.held.d.next.item = self.item.val();
            self.held.d.next.reads = self.gives.val() & !self.is_bad.val() & !self.is_other.val();
            self.held.d.next.wipes = (self.is_clear.val() | (self.action.val() == self.take.val()))
                & !self.is_bad.val()
                & !self.is_other.val();
        }
        if self.is_wiped.val() {
            self.is_clearing.d.next = false;
        }
        if self.takes.val() & self.is_clear.val() & !self.is_bad.val() & !self.is_foreign.val() {
            self.is_clearing.d.next = true;
            self.name.d.next = self.sketch.val();
            self.owner.d.next = self.command.val().pd;
            self.is_named.d.next = !self.release.val();
        }
        if self.restart.val() {
            self.is_held.d.next = false;
            self.is_clearing.d.next = false;
            if self.is_clearing.q.val() {
                self.is_named.d.next = false;
            }
        }
        if self.reset.val() {
            self.is_held.d.next = false;
            self.is_clearing.d.next = false;
            self.is_named.d.next = false;
        }
    }
}
