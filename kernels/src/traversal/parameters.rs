//! Parameters: what a request asks for, and whether it may.

use rust_hdl::prelude::*;
use stroma_abi::kernel::traversal::{ELEMENT_WORDS_MAX, Traversal, VALUE_MAX};
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotCommand, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

/// Words of an element, at most.
pub const WORDS: usize = ELEMENT_WORDS_MAX as usize;
/// Bits of the length of a value.
pub const VALUE_BITS: usize = 17;

const _: () = assert!(VALUE_MAX == 1 << (VALUE_BITS - 1) && WORDS == 8);

record! {
    /// A request, judged.
    pub struct Task {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// It is refused; nothing of it counts but the ticket.
        pub is_bad: Bit,
        /// The first element.
        pub root: Bits<64>,
        /// There is none.
        pub is_null: Bit,
        /// The key that is sought, masked.
        pub sought: Bits<64>,
        /// Bits of keys that count.
        pub mask: Bits<64>,
        /// Bytes of a value.
        pub value_len: Bits<VALUE_BITS>,
        /// Most elements.
        pub hop_limit: Bits<16>,
        /// Words that are keys.
        pub key_words: Bits<8>,
        /// The lowest of them.
        pub lowest: Bits<3>,
        /// Bytes of an element.
        pub element_len: Bits<7>,
        /// Word of the next element, or the left one.
        pub next_at: Bits<3>,
        /// Word of the right one.
        pub right_at: Bits<3>,
        /// Word of the value.
        pub value_at: Bits<3>,
        /// How keys are held against words.
        pub predicate: Bits<2>,
        /// `value_at` counts from the key that fits.
        pub relative: Bit,
        /// The value begins at its word.
        pub inline: Bit,
        /// Elements have two successors.
        pub tree: Bit,
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
        mask: Signal<Local, Bits<64>>,
        value_len: Signal<Local, Bits<32>>,
        hop_limit: Signal<Local, Bits<16>>,
        key_words: Signal<Local, Bits<8>>,
        element_words: Signal<Local, Bits<8>>,
        next_at: Signal<Local, Bits<8>>,
        right_at: Signal<Local, Bits<8>>,
        value_at: Signal<Local, Bits<8>>,
        relative: Signal<Local, Bit>,
        tree: Signal<Local, Bit>,
        lowest: Signal<Local, Bits<3>>,
        /// Words behind the element.
        beyond: Signal<Local, Bits<8>>,
        /// Key words, twice, each moved by `value_at`.
        turned: Signal<Local, Bits<16>>,
        is_element_bad: Signal<Local, Bit>,
        is_next_bad: Signal<Local, Bit>,
        is_value_bad: Signal<Local, Bit>,
        is_length_bad: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        root_at: Constant<Bits<9>> = number(Traversal::ROOT.offset()),
        sought_at: Constant<Bits<9>> = number(Traversal::SOUGHT.offset()),
        mask_at: Constant<Bits<9>> = number(Traversal::MASK.offset()),
        value_len_at: Constant<Bits<9>> = number(Traversal::VALUE_LENGTH.offset()),
        hop_limit_at: Constant<Bits<9>> = number(Traversal::HOP_LIMIT.offset()),
        key_words_at: Constant<Bits<9>> = number(Traversal::KEY_WORDS.offset()),
        element_words_at: Constant<Bits<9>> = number(Traversal::ELEMENT_WORDS.offset()),
        next_at_at: Constant<Bits<9>> = number(Traversal::NEXT_AT.offset()),
        right_at_at: Constant<Bits<9>> = number(Traversal::RIGHT_AT.offset()),
        value_at_at: Constant<Bits<9>> = number(Traversal::VALUE_AT.offset()),
        predicate_at: Constant<Bits<9>> = number(Traversal::PREDICATE.offset()),
        relative_at: Constant<Bits<9>> = number(Traversal::RELATIVE.offset()),
        inline_at: Constant<Bits<9>> = number(Traversal::INLINE.offset()),
        tree_at: Constant<Bits<9>> = number(Traversal::TREE.offset()),
        parameter_bytes: Constant<Bits<32>> = number(Traversal::LEN),
        parameter_words: Constant<Bits<8>> = number(Traversal::LEN / 4),
        value_max: Constant<Bits<32>> = number(VALUE_MAX),
        words_max: Constant<Bits<8>> = number(ELEMENT_WORDS_MAX),
        all: Constant<Bits<8>> = number(0xff_u8),
        word: [Constant<Bits<3>>; WORDS] = constants(|word| (word as u64).into()),
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
        self.mask.next = self.text.val().get_bits::<64>(self.mask_at.val().index());
        self.value_len.next = self.text.val().get_bits::<32>(self.value_len_at.val().index());
        self.hop_limit.next = self.text.val().get_bits::<16>(self.hop_limit_at.val().index());
        self.key_words.next = self.text.val().get_bits::<8>(self.key_words_at.val().index());
        self.element_words.next = self.text.val().get_bits::<8>(self.element_words_at.val().index());
        self.next_at.next = self.text.val().get_bits::<8>(self.next_at_at.val().index());
        self.right_at.next = self.text.val().get_bits::<8>(self.right_at_at.val().index());
        self.value_at.next = self.text.val().get_bits::<8>(self.value_at_at.val().index());
        self.relative.next = self.text.val().get_bit(self.relative_at.val().index());
        self.tree.next = self.text.val().get_bit(self.tree_at.val().index());
        self.lowest.next = 0.into();
        for i in 0..WORDS {
            if self.key_words.val().get_bit(7 - i) {
                self.lowest.next = self.word[7 - i].val();
            }
        }

        self.beyond.next = self.all.val() << self.element_words.val().get_bits::<4>(0);
        self.is_element_bad.next = !self.element_words.val().any()
            | (self.element_words.val() > self.words_max.val())
            | !self.key_words.val().any()
            | (self.key_words.val() & self.beyond.val()).any();
        self.is_next_bad.next = (self.next_at.val() >= self.element_words.val())
            | (self.tree.val() & (self.right_at.val() >= self.element_words.val()));
        // Each key's value has to lie within the element; behind word 7 comes word 0.
        self.turned.next = (bit_cast::<16, 8>(self.key_words.val())
            | (bit_cast::<16, 8>(self.key_words.val()) << 8))
            << self.value_at.val().get_bits::<3>(0);
        self.is_value_bad.next = self.value_at.val() >= self.element_words.val();
        if self.relative.val() {
            self.is_value_bad.next = (self.value_at.val() >= self.words_max.val())
                | (self.turned.val().get_bits::<8>(8) & self.beyond.val()).any();
        }
        self.is_length_bad.next = (self.value_len.val() > self.value_max.val())
            | (self.value_len.val() > self.command.val().response_max);
        self.is_bad.next = self.is_element_bad.val()
            | self.is_next_bad.val()
            | self.is_value_bad.val()
            | self.is_length_bad.val()
            | !self.hop_limit.val().any()
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
            self.held.d.next.root = self.text.val().get_bits::<64>(self.root_at.val().index());
            self.held.d.next.is_null = !self.text.val().get_bits::<64>(self.root_at.val().index()).any();
            self.held.d.next.sought =
                self.text.val().get_bits::<64>(self.sought_at.val().index()) & self.mask.val();
            self.held.d.next.mask = self.mask.val();
            self.held.d.next.value_len = self.value_len.val().get_bits::<VALUE_BITS>(0);
            self.held.d.next.hop_limit = self.hop_limit.val();
            self.held.d.next.key_words = self.key_words.val();
            self.held.d.next.lowest = self.lowest.val();
            self.held.d.next.element_len = bit_cast::<7, 4>(self.element_words.val().get_bits::<4>(0)) << 3;
            self.held.d.next.next_at = self.next_at.val().get_bits::<3>(0);
            self.held.d.next.right_at = self.right_at.val().get_bits::<3>(0);
            self.held.d.next.value_at = self.value_at.val().get_bits::<3>(0);
            self.held.d.next.predicate = self.text.val().get_bits::<2>(self.predicate_at.val().index());
            self.held.d.next.relative = self.relative.val();
            self.held.d.next.inline = self.text.val().get_bit(self.inline_at.val().index());
            self.held.d.next.tree = self.tree.val();
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
