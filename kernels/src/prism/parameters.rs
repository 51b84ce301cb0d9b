//! Parameters: how many operations a chain has, and whether its lengths allow for them.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{Chain, LINE, OPERATIONS_MAX, PAYLOAD_MAX};
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

/// Bits of the number of bytes behind the parameters.
pub const PAYLOAD_BITS: usize = 14;
/// Bits of the number of lines of an answer.
pub const ROOM_BITS: usize = 9;

const _: () = assert!(PAYLOAD_MAX < 1 << PAYLOAD_BITS && LINE == 64);

record! {
    /// A request, as far as its command tells.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// It is refused, whatever its payload says.
        pub is_bad: Bit,
        /// It has some.
        pub has_payload: Bit,
        /// Bytes of it.
        pub payload_len: Bits<PAYLOAD_BITS>,
        /// Operations of the chain.
        pub count: Bits<3>,
        /// Lines that the answer may have; if more, so many.
        pub room: Bits<ROOM_BITS>,
    }
}

block! {
    /// Takes commands apart and judges them, one by one.
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
        count: Signal<Local, Bits<8>>,
        least: Signal<Local, Bits<32>>,
        given: Signal<Local, Bits<32>>,
        response_max: Signal<Local, Bits<32>>,
        payload_len: Signal<Local, Bits<32>>,
        count_at: Constant<Bits<9>> = number(Chain::COUNT.offset()),
        count_max: Constant<Bits<8>> = number(OPERATIONS_MAX),
        parameter_words: Constant<Bits<8>> = number(Chain::LEN / 4),
        parameter_bytes: Constant<Bits<32>> = number(Chain::LEN),
        most: Constant<Bits<32>> = number(Chain::LEN + PAYLOAD_MAX),
        all_lines: Constant<Bits<ROOM_BITS>> = number((1 << ROOM_BITS) - 1),
    }
}

impl Logic for Decode {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, is_held);
        self.source.valid.next = self.is_held.q.val();
        self.source.payload.next = self.held.q.val();
        self.sink.ready.next = !self.is_held.q.val();

        self.command.next = self.sink.payload.val();
        self.text.next = self.command.val().parameters;
        self.count.next = self.text.val().get_bits::<8>(self.count_at.val().index());
        self.least.next = (bit_cast::<32, 8>(self.count.val()) << 6) + self.parameter_bytes.val();
        self.given.next = bit_cast::<32, 8>(self.command.val().parameter_words) << 2;
        self.response_max.next = self.command.val().response_max;
        self.payload_len.next = self.command.val().request_len - self.parameter_bytes.val();
        if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if !self.is_held.q.val() {
            self.is_held.d.next = self.sink.valid.val();
            self.held.d.next.ticket = self.command.val().ticket;
            self.held.d.next.is_bad = self.command.val().flags.any()
                | (self.command.val().parameter_words != self.parameter_words.val())
                | !self.count.val().any()
                | (self.count.val() > self.count_max.val())
                | (self.command.val().request_len < self.least.val())
                | (self.command.val().request_len > self.most.val());
            self.held.d.next.has_payload = self.command.val().request_len > self.given.val();
            self.held.d.next.payload_len = self.payload_len.val().get_bits::<PAYLOAD_BITS>(0);
            self.held.d.next.count = self.count.val().get_bits::<3>(0);
            self.held.d.next.room = self.response_max.val().get_bits::<ROOM_BITS>(6);
            if self.response_max.val().get_bits::<17>(15).any() {
                self.held.d.next.room = self.all_lines.val();
            }
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
