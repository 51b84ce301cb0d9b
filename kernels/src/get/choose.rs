//! Choose: which objects of a bucket may be the key's?

use rust_hdl::prelude::*;
use stroma_abi::kernel::get::{BUCKET_ENTRIES, BucketEntry, BucketLink, LINK_AT, ObjectHead};
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::{block, record};

use super::parameters::Task;
use crate::ask::STRETCH_BITS;

record! {
    /// An entry that is worth a look.
    pub struct Candidate {
        /// Where its object is.
        pub address: Bits<64>,
        /// Bytes of that.
        pub length: Bits<32>,
        /// Those that are to be read.
        pub read_len: Bits<STRETCH_BITS>,
        /// The object has no room for a head, and is not read.
        pub is_too_short: Bit,
        /// Its value, if it is the key's, is longer than allowed: head and key are read, and no more.
        pub is_too_long: Bit,
    }
}

block! {
    /// Finds the entries of a bucket that have the fingerprint, and shows one after the other.
    ///
    /// - **Ports** `wanted`: the task, from the cycle of `is_there` on; `is_there`: one cycle, a `bucket`, which stays until the next. `is_known`: one cycle,
    ///   it is judged; from then on `is_some`: an entry has not been taken, `candidate`: the lowest of them, `successor`: the pointer of the chain. `takes`: on to the next entry.
    /// - **Latency** 1 cycle from `is_there` to `is_known`, 1 from `takes` to the next candidate. **Rate** one entry per cycle. **Backpressure** none.
    /// - **Reset** forgets the bucket.
    pub struct Choose {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub wanted: Signal<In, Task>,
        pub is_there: Signal<In, Bit>,
        pub bucket: Signal<In, Bits<512>>,
        pub takes: Signal<In, Bit>,
        pub is_known: Signal<Out, Bit>,
        pub is_some: Signal<Out, Bit>,
        pub candidate: Signal<Out, Candidate>,
        pub successor: Signal<Out, Bits<64>>,
        is_judged: Reg<Bit>,
        /// By entry: it has the fingerprint and was not taken; and how its length is.
        left: Reg<Bits<BUCKET_ENTRIES>>,
        short: Reg<Bits<BUCKET_ENTRIES>>,
        long: Reg<Bits<BUCKET_ENTRIES>>,
        fits: Signal<Local, Bits<BUCKET_ENTRIES>>,
        is_short: Signal<Local, Bits<BUCKET_ENTRIES>>,
        is_long: Signal<Local, Bits<BUCKET_ENTRIES>>,
        entry: [Signal<Local, Bits<128>>; BUCKET_ENTRIES] = std::array::from_fn(|_| Signal::default()),
        chosen: Signal<Local, Bits<128>>,
        chosen_length: Signal<Local, Bits<32>>,
        chosen_is_short: Signal<Local, Bit>,
        chosen_is_long: Signal<Local, Bit>,
        others: Signal<Local, Bits<BUCKET_ENTRIES>>,
        fingerprint_at: Constant<Bits<9>> = number(BucketEntry::FINGERPRINT.offset()),
        length_at: Constant<Bits<9>> = number(BucketEntry::LENGTH.offset()),
        address_at: Constant<Bits<9>> = number(BucketEntry::ADDRESS.offset()),
        next_at: Constant<Bits<9>> = number(BucketLink::NEXT.at(LINK_AT).offset()),
        head_len: Constant<Bits<32>> = number(ObjectHead::LEN),
    }
}

impl Logic for Choose {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_judged, left, short, long);
        self.fits.next = 0.into();
        self.is_short.next = 0.into();
        self.is_long.next = 0.into();
        for i in 0..BUCKET_ENTRIES {
            self.entry[i].next = self.bucket.val().get_bits::<128>(i * 128);
            self.fits.next = self.fits.val().replace_bit(
                i,
                (self.entry[i].val().get_bits::<32>(self.fingerprint_at.val().index())
                    == self.wanted.val().fingerprint)
                    & self.entry[i].val().get_bits::<64>(self.address_at.val().index()).any(),
            );
            self.is_short.next = self.is_short.val().replace_bit(
                i,
                self.entry[i].val().get_bits::<32>(self.length_at.val().index()) < self.head_len.val(),
            );
            self.is_long.next = self.is_long.val().replace_bit(
                i,
                self.entry[i].val().get_bits::<32>(self.length_at.val().index())
                    > bit_cast::<32, STRETCH_BITS>(self.wanted.val().most),
            );
        }

        self.chosen.next = self.entry[2].val();
        self.chosen_is_short.next = self.short.q.val().get_bit(2);
        self.chosen_is_long.next = self.long.q.val().get_bit(2);
        self.others.next = 0.into();
        for i in 0..2 {
            if self.left.q.val().get_bit(1 - i) {
                self.chosen.next = self.entry[1 - i].val();
                self.chosen_is_short.next = self.short.q.val().get_bit(1 - i);
                self.chosen_is_long.next = self.long.q.val().get_bit(1 - i);
                self.others.next = self.others.val().replace_bit(2, self.left.q.val().get_bit(2));
            }
        }
        // Behind the first that is left, the others are.
        if self.left.q.val().get_bit(0) {
            self.others.next = self.others.val().replace_bit(1, self.left.q.val().get_bit(1));
        }
        self.chosen_length.next = self.chosen.val().get_bits::<32>(self.length_at.val().index());
        self.is_some.next = self.left.q.val().any();
        self.candidate.next.address = self.chosen.val().get_bits::<64>(self.address_at.val().index());
        self.candidate.next.length = self.chosen_length.val();
        self.candidate.next.read_len = self.chosen_length.val().get_bits::<STRETCH_BITS>(0);
        if self.chosen_is_long.val() {
            self.candidate.next.read_len = bit_cast::<STRETCH_BITS, 3>(self.wanted.val().head_words) << 3;
        }
        self.candidate.next.is_too_short = self.chosen_is_short.val();
        self.candidate.next.is_too_long = self.chosen_is_long.val();
        self.successor.next = self.bucket.val().get_bits::<64>(self.next_at.val().index());

        if self.takes.val() {
            self.left.d.next = self.others.val();
        }
        self.is_known.next = self.is_judged.q.val();
        self.is_judged.d.next = self.is_there.val();
        if self.is_there.val() {
            self.left.d.next = self.fits.val();
            self.short.d.next = self.is_short.val();
            self.long.d.next = self.is_long.val();
        }
        if self.reset.val() {
            self.is_judged.d.next = false;
        }
    }
}
