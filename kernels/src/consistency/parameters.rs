//! Parameters: what a request asks for, and whether it may.

use rust_hdl::prelude::*;
use stroma_abi::kernel::consistency::{Consistency, OBJECT_MAX, OBJECT_MIN, TRAILER_LEN};
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

/// Bits of the length of an object.
pub const OBJECT_BITS: usize = 15;

const _: () = assert!(OBJECT_MAX == 1 << (OBJECT_BITS - 1));

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused; nothing of it counts but the ticket.
        pub is_bad: Bit,
        /// The object.
        pub address: Bits<64>,
        /// Bytes of it, and those without its CRC.
        pub length: Bits<OBJECT_BITS>,
        pub answer_len: Bits<OBJECT_BITS>,
        /// Cycles between two attempts.
        pub pause: Bits<16>,
        /// Most of them.
        pub attempts: Bits<16>,
    }
}

block! {
    /// Takes requests apart and judges them, one by one.
    ///
    /// - **Ports** `sink`: commands; `source`: their tasks, in the same order.
    /// - **Latency** 1 cycle. **Rate** a command every 2 cycles.
    /// - **Backpressure** holds one task, and takes no command meanwhile: no combinational path from port to port.
    /// - **Reset** forgets the task.
    pub struct Decode {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<SlotCommand>,
        pub source: StreamSource<Task>,
        held: Reg<Task>,
        is_held: Reg<Bit>,
        command: Signal<Local, SlotCommand>,
        text: Signal<Local, Bits<512>>,
        length: Signal<Local, Bits<32>>,
        attempts: Signal<Local, Bits<16>>,
        is_bad: Signal<Local, Bit>,
        address_at: Constant<Bits<9>> = number(Consistency::ADDRESS.offset()),
        length_at: Constant<Bits<9>> = number(Consistency::LENGTH.offset()),
        pause_at: Constant<Bits<9>> = number(Consistency::PAUSE.offset()),
        attempts_at: Constant<Bits<9>> = number(Consistency::ATTEMPTS.offset()),
        parameter_words: Constant<Bits<8>> = number(Consistency::LEN / 4),
        parameter_bytes: Constant<Bits<32>> = number(Consistency::LEN),
        least: Constant<Bits<32>> = number(OBJECT_MIN),
        most: Constant<Bits<32>> = number(OBJECT_MAX),
        trailer: Constant<Bits<33>> = number(TRAILER_LEN),
        short_trailer: Constant<Bits<OBJECT_BITS>> = number(TRAILER_LEN),
    }
}

impl Logic for Decode {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, is_held);
        self.sink.ready.next = !self.is_held.q.val();
        self.source.valid.next = self.is_held.q.val();
        self.source.payload.next = self.held.q.val();

        self.command.next = self.sink.payload.val();
        self.text.next = self.command.val().parameters;
        self.length.next = self.text.val().get_bits::<32>(self.length_at.val().index());
        self.attempts.next = self.text.val().get_bits::<16>(self.attempts_at.val().index());
        self.is_bad.next = (self.length.val() < self.least.val())
            | (self.length.val() > self.most.val())
            | (bit_cast::<33, 32>(self.length.val())
                > (bit_cast::<33, 32>(self.command.val().response_max) + self.trailer.val()))
            | !self.attempts.val().any()
            | self.command.val().flags.any()
            | (self.command.val().parameter_words != self.parameter_words.val())
            | (self.command.val().request_len != self.parameter_bytes.val());

        if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if !self.is_held.q.val() {
            self.is_held.d.next = self.sink.valid.val();
            self.held.d.next.ticket = self.command.val().ticket;
            self.held.d.next.key = self.command.val().key;
            self.held.d.next.is_bad = self.is_bad.val();
            self.held.d.next.address = self.text.val().get_bits::<64>(self.address_at.val().index());
            self.held.d.next.length = self.length.val().get_bits::<OBJECT_BITS>(0);
            self.held.d.next.answer_len =
                self.length.val().get_bits::<OBJECT_BITS>(0) - self.short_trailer.val();
            self.held.d.next.pause = self.text.val().get_bits::<16>(self.pause_at.val().index());
            self.held.d.next.attempts = self.attempts.val();
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
