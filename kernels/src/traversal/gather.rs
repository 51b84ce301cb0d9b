//! Gather: the beats of an element become its words.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::SlotData;
use stroma_hw::stream::StreamSink;

block! {
    /// Puts the beats of a read together, each in its place.
    ///
    /// - **Ports** `sink`: reads of up to 64 bytes; `is_there`: one cycle, `element` and `ending` are the last read's; they stay until the
    ///   next one's first beat.
    /// - **Latency** 1 cycle from the last beat. **Rate** 1 beat per cycle. **Backpressure** none.
    /// - **Reset** forgets the read under way; the next beat begins one.
    /// - **Limits** `D` is 64 or 512. Words that the read does not have mean nothing, but the first beat of `D` = 64 clears those behind it.
    pub struct Gather<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<SlotData<D>>,
        pub is_there: Signal<Out, Bit>,
        pub element: Signal<Out, Bits<512>>,
        pub ending: Signal<Out, Bits<2>>,
        words: Reg<Bits<512>>,
        has_ended: Reg<Bit>,
        how: Reg<Bits<2>>,
        /// Beats of the read that are there.
        have: Reg<Bits<3>>,
        place: Signal<Local, Bits<9>>,
        is_whole: Constant<Bit> = Constant::new(D == 512),
    }
}

impl<const D: usize> Logic for Gather<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, words, has_ended, how, have);
        self.sink.ready.next = true;
        self.is_there.next = self.has_ended.q.val();
        self.element.next = self.words.q.val();
        self.ending.next = self.how.q.val();
        self.place.next = bit_cast::<9, 3>(self.have.q.val()) << 6;
        self.has_ended.d.next = self.sink.valid.val() & self.sink.payload.val().eop;
        if self.sink.valid.val() {
            self.how.d.next = self.sink.payload.val().err;
            if self.is_whole.val() {
                self.words.d.next = bit_cast::<512, D>(self.sink.payload.val().data);
            } else if self.have.q.val().any() {
                self.words.d.next = self.words.q.val()
                    | (bit_cast::<512, D>(self.sink.payload.val().data) << self.place.val());
            } else {
                self.words.d.next = bit_cast::<512, D>(self.sink.payload.val().data);
            }
            self.have.d.next = self.have.q.val() + 1;
            if self.sink.payload.val().eop {
                self.have.d.next = 0.into();
            }
        }
        if self.reset.val() {
            self.has_ended.d.next = false;
            self.have.d.next = 0.into();
        }
    }
}
