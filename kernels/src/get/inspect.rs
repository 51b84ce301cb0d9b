//! Inspect: is an object the key's, and as long as its entry says?

use rust_hdl::prelude::*;
use stroma_abi::kernel::get::ObjectHead;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;

use super::parameters::{KEY_WORDS, Task};

block! {
    /// Watches the first words of an object as they come: the head, then the key.
    ///
    /// - **Ports** `begins`: one cycle, before the first beat of an object of `length` bytes; `wanted`: the task; both stay. `takes`: one cycle, `data` are the object's next beat.
    ///   `passes`: of all beats taken before, nothing speaks against the object. `is_malformed`, `is_other`: a cycle later, what does.
    /// - **Latency** 1 cycle from a beat to `passes`, 2 to the others, which stay until the next object begins. **Rate** 1 beat per cycle.
    ///   **Backpressure** none.
    /// - **Reset** none is needed: all is forgotten when an object begins.
    /// - **Limits** `D` is 64 or 512: then all of this lies in the first beat.
    pub struct Inspect<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub length: Signal<In, Bits<32>>,
        pub wanted: Signal<In, Task>,
        pub takes: Signal<In, Bit>,
        pub data: Signal<In, Bits<D>>,
        pub passes: Signal<Out, Bit>,
        pub is_malformed: Signal<Out, Bit>,
        pub is_other: Signal<Out, Bit>,
        /// Beats of the object that were taken, up to 7.
        place: Reg<Bits<3>>,
        /// The head is known: what of the object's length its value leaves, and what head and key take.
        is_begun: Reg<Bit>,
        remains: Reg<Bits<33>>,
        filled: Reg<Bits<17>>,
        has_flags: Reg<Bit>,
        differs: Reg<Bit>,
        malformed: Reg<Bit>,
        other: Reg<Bit>,
        /// Words of the beat, by their place in the object if it is the first.
        wide: Signal<Local, Bits<512>>,
        head: Signal<Local, Bits<64>>,
        word: [Signal<Local, Bits<64>>; KEY_WORDS] = std::array::from_fn(|_| Signal::default()),
        comes: [Signal<Local, Bit>; KEY_WORDS] = std::array::from_fn(|_| Signal::default()),
        unlike: Signal<Local, Bits<KEY_WORDS>>,
        key_len: Signal<Local, Bits<16>>,
        disagrees: Signal<Local, Bit>,
        is_whole: Constant<Bit> = Constant::new(D == 512),
        place_of: [Constant<Bits<3>>; KEY_WORDS] = constants(|word| (word as u64 + 1).into()),
        last_place: Constant<Bits<3>> = number(7),
        value_len_at: Constant<Bits<6>> = number(ObjectHead::VALUE_LENGTH.offset()),
        key_len_at: Constant<Bits<6>> = number(ObjectHead::KEY_LENGTH.offset()),
        flags_at: Constant<Bits<6>> = number(ObjectHead::FLAGS.offset()),
        // The head, and what rounds up to words.
        around: Constant<Bits<17>> = number(ObjectHead::LEN + 7),
        words: Constant<Bits<17>> = number((1 << 17) - 8),
    }
}

impl<const D: usize> Logic for Inspect<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, place, is_begun, remains, filled, has_flags, differs, malformed, other);
        self.wide.next = bit_cast::<512, D>(self.data.val());
        self.head.next = self.wide.val().get_bits::<64>(0);
        self.key_len.next = self.head.val().get_bits::<16>(self.key_len_at.val().index());
        self.unlike.next = 0.into();
        for i in 0..KEY_WORDS {
            if self.is_whole.val() {
                self.word[i].next = self.wide.val().get_bits::<64>(i * 64 + 64);
                self.comes[i].next = !self.place.q.val().any();
            } else {
                self.word[i].next = self.wide.val().get_bits::<64>(0);
                self.comes[i].next = self.place.q.val() == self.place_of[i].val();
            }
            self.unlike.next = self.unlike.val().replace_bit(
                i,
                self.comes[i].val()
                    & self.wanted.val().key_words.get_bit(i)
                    & (self.word[i].val() != self.wanted.val().sought.get_bits::<64>(i * 64)),
            );
        }
        if self.takes.val() {
            if self.place.q.val() != self.last_place.val() {
                self.place.d.next = self.place.q.val() + 1;
            }
            self.differs.d.next = self.differs.q.val() | self.unlike.val().any();
            if !self.place.q.val().any() {
                self.is_begun.d.next = true;
                self.remains.d.next = bit_cast::<33, 32>(self.length.val())
                    - bit_cast::<33, 32>(self.head.val().get_bits::<32>(self.value_len_at.val().index()));
                self.filled.d.next = bit_cast::<17, 16>(self.key_len.val()) + self.around.val();
                self.has_flags.d.next = self.head.val().get_bits::<16>(self.flags_at.val().index()).any();
                self.differs.d.next = self.unlike.val().any()
                    | (self.key_len.val() != bit_cast::<16, 6>(self.wanted.val().key_len));
            }
        }
        self.disagrees.next = self.is_begun.q.val()
            & (self.has_flags.q.val()
                | (self.remains.q.val() != bit_cast::<33, 17>(self.filled.q.val() & self.words.val())));
        self.passes.next = !self.disagrees.val() & !self.differs.q.val();
        self.malformed.d.next = self.disagrees.val();
        self.other.d.next = self.differs.q.val();
        self.is_malformed.next = self.malformed.q.val();
        self.is_other.next = self.other.q.val();
        if self.begins.val() {
            self.place.d.next = 0.into();
            self.is_begun.d.next = false;
            self.differs.d.next = false;
            self.malformed.d.next = false;
            self.other.d.next = false;
        }
    }
}
