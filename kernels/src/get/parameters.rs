//! Parameters: what a request asks for, and whether it may.

use rust_hdl::prelude::*;
use stroma_abi::kernel::get::{Get, KEY_MAX, VALUE_MAX};
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use crate::ask::STRETCH_BITS;

/// Bytes of a key, at most.
const KEY_BYTES: usize = KEY_MAX as usize;
/// Bits of them.
pub const KEY_BITS: usize = 8 * KEY_BYTES;
/// Words of a key, at most.
pub const KEY_WORDS: usize = KEY_BYTES / 8;

const _: () = assert!(KEY_BITS == 256 && VALUE_MAX == 1 << (STRETCH_BITS - 1));

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused; nothing of it counts but the ticket.
        pub is_bad: Bit,
        /// The first bucket.
        pub bucket: Bits<64>,
        /// There is none.
        pub is_null: Bit,
        /// Of the key that is sought.
        pub fingerprint: Bits<32>,
        /// Most buckets.
        pub hop_limit: Bits<16>,
        /// The key that is sought, zeros behind it.
        pub sought: Bits<KEY_BITS>,
        /// Its bytes.
        pub key_len: Bits<6>,
        /// Its words, by bit.
        pub key_words: Bits<KEY_WORDS>,
        /// Words of an object before its value.
        pub head_words: Bits<3>,
        /// Most bytes of an object whose value may be answered.
        pub most: Bits<STRETCH_BITS>,
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
        bucket: Signal<Local, Bits<64>>,
        hop_limit: Signal<Local, Bits<16>>,
        key_len: Signal<Local, Bits<8>>,
        sought: Signal<Local, Bits<KEY_BITS>>,
        key_words: Signal<Local, Bits<KEY_WORDS>>,
        /// By byte: it lies behind the key, and is not zero.
        stray: Signal<Local, Bits<KEY_BYTES>>,
        head_words: Signal<Local, Bits<3>>,
        value_max: Signal<Local, Bits<STRETCH_BITS>>,
        is_bad: Signal<Local, Bit>,
        bucket_at: Constant<Bits<9>> = number(Get::BUCKET.offset()),
        fingerprint_at: Constant<Bits<9>> = number(Get::FINGERPRINT.offset()),
        hop_limit_at: Constant<Bits<9>> = number(Get::HOP_LIMIT.offset()),
        key_len_at: Constant<Bits<9>> = number(Get::KEY_LENGTH.offset()),
        // Both halves of the key lie side by side.
        sought_at: Constant<Bits<9>> = number(Get::KEY_LOW.offset()),
        parameter_words: Constant<Bits<8>> = number(Get::LEN / 4),
        parameter_bytes: Constant<Bits<32>> = number(Get::LEN),
        key_max: Constant<Bits<8>> = number(KEY_MAX),
        most_bytes: Constant<Bits<32>> = number(VALUE_MAX),
        byte: [Constant<Bits<8>>; KEY_BYTES] = constants(|byte| (byte as u64).into()),
        word: [Constant<Bits<8>>; KEY_WORDS] = constants(|word| (8 * word as u64).into()),
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
        self.bucket.next = self.text.val().get_bits::<64>(self.bucket_at.val().index());
        self.hop_limit.next = self.text.val().get_bits::<16>(self.hop_limit_at.val().index());
        self.key_len.next = self.text.val().get_bits::<8>(self.key_len_at.val().index());
        self.sought.next = self.text.val().get_bits::<KEY_BITS>(self.sought_at.val().index());
        self.stray.next = 0.into();
        for i in 0..KEY_BYTES {
            self.stray.next = self.stray.val().replace_bit(
                i,
                (self.key_len.val() <= self.byte[i].val()) & self.sought.val().get_bits::<8>(i * 8).any(),
            );
        }
        self.key_words.next = 0.into();
        self.head_words.next = 1.into();
        for i in 0..KEY_WORDS {
            if self.key_len.val() > self.word[i].val() {
                self.key_words.next = self.key_words.val().replace_bit(i, true);
                self.head_words.next = self.head_words.val() + 1;
            }
        }
        self.value_max.next = self.command.val().response_max.get_bits::<STRETCH_BITS>(0);
        if self.command.val().response_max > self.most_bytes.val() {
            self.value_max.next = self.most_bytes.val().get_bits::<STRETCH_BITS>(0);
        }
        self.is_bad.next = !self.hop_limit.val().any()
            | !self.key_len.val().any()
            | (self.key_len.val() > self.key_max.val())
            | self.stray.val().any()
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
            self.held.d.next.bucket = self.bucket.val();
            self.held.d.next.is_null = !self.bucket.val().any();
            self.held.d.next.fingerprint = self.text.val().get_bits::<32>(self.fingerprint_at.val().index());
            self.held.d.next.hop_limit = self.hop_limit.val();
            self.held.d.next.sought = self.sought.val();
            self.held.d.next.key_len = self.key_len.val().get_bits::<6>(0);
            self.held.d.next.key_words = self.key_words.val();
            self.held.d.next.head_words = self.head_words.val();
            self.held.d.next.most =
                self.value_max.val() + (bit_cast::<STRETCH_BITS, 3>(self.head_words.val()) << 3);
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
