//! Parameters: what a request asks for, and whether it may.

use rust_hdl::prelude::*;
use stroma_abi::kernel::shuffle::{PARTITIONS_LOG_MAX, Shuffle};
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

/// Bits of a partition's number.
pub const PARTITION_BITS: usize = PARTITIONS_LOG_MAX as usize;

const _: () = assert!(PARTITION_BITS == 10);

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// Who asks.
        pub qpn: Bits<24>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused.
        pub is_bad: Bit,
        /// There is payload, wanted or not.
        pub has_payload: Bit,
        /// Where the table is.
        pub buffers: Bits<64>,
        /// The last partition; its bits are those that count.
        pub last: Bits<PARTITION_BITS>,
        /// The lowest bit of the first word that counts; 64 is 0, as nothing counts then.
        pub first_bit: Bits<6>,
        /// Tuples have two words.
        pub wide: Bit,
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
        log: Signal<Local, Bits<8>>,
        first_bit: Signal<Local, Bits<8>>,
        wide: Signal<Local, Bit>,
        payload: Signal<Local, Bits<32>>,
        parameter_bytes: Signal<Local, Bits<32>>,
        bits: Signal<Local, Bits<9>>,
        is_bad: Signal<Local, Bit>,
        beyond: Signal<Local, Bits<PARTITION_BITS>>,
        buffers_at: Constant<Bits<9>> = number(Shuffle::BUFFERS.offset()),
        log_at: Constant<Bits<9>> = number(Shuffle::PARTITIONS_LOG.offset()),
        first_bit_at: Constant<Bits<9>> = number(Shuffle::FIRST_BIT.offset()),
        wide_at: Constant<Bits<9>> = number(Shuffle::WIDE.offset()),
        bytes: Constant<Bits<32>> = number(Shuffle::LEN),
        words: Constant<Bits<8>> = number(Shuffle::LEN / 4),
        log_max: Constant<Bits<8>> = number(PARTITIONS_LOG_MAX),
        bits_max: Constant<Bits<9>> = number(64),
        all: Constant<Bits<PARTITION_BITS>> = Constant::new(Bits::mask()),
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
        self.log.next = self.text.val().get_bits::<8>(self.log_at.val().index());
        self.first_bit.next = self.text.val().get_bits::<8>(self.first_bit_at.val().index());
        self.wide.next = self.text.val().get_bit(self.wide_at.val().index());
        self.payload.next = self.command.val().request_len - self.bytes.val();
        self.parameter_bytes.next = bit_cast::<32, 8>(self.command.val().parameter_words) << 2;
        self.bits.next = bit_cast::<9, 8>(self.log.val()) + bit_cast::<9, 8>(self.first_bit.val());
        self.is_bad.next = self.command.val().flags.any()
            | (self.command.val().parameter_words != self.words.val())
            | (self.command.val().request_len < self.bytes.val())
            | self.payload.val().get_bits::<3>(0).any()
            | (self.wide.val() & self.payload.val().get_bit(3))
            | (self.log.val() > self.log_max.val())
            | (self.bits.val() > self.bits_max.val());

        self.beyond.next = self.all.val() << self.log.val().get_bits::<4>(0);
        if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if !self.is_held.q.val() {
            self.is_held.d.next = self.sink.valid.val();
            self.held.d.next.ticket = self.command.val().ticket;
            self.held.d.next.qpn = self.command.val().qpn;
            self.held.d.next.key = self.command.val().key;
            self.held.d.next.is_bad = self.is_bad.val();
            self.held.d.next.has_payload = self.command.val().request_len > self.parameter_bytes.val();
            self.held.d.next.buffers = self.text.val().get_bits::<64>(self.buffers_at.val().index());
            self.held.d.next.last = !self.beyond.val();
            self.held.d.next.first_bit = self.first_bit.val().get_bits::<6>(0);
            self.held.d.next.wide = self.wide.val();
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
