//! Gives read data to the card, in the order in which they were asked for.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::host::axi::ReadBeat;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::ram::LutRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::stream_ram::ClockedStream;
use stroma_hw::stream::StreamSource;
use stroma_hw::{block, record};

/// AXI's answer to a read that could not be carried out.
const SLAVE_ERROR: u64 = 2;

record! {
    /// What a request will give.
    pub struct Promise {
        /// Beats, 1 to 8, or none: the slot is left out.
        pub beats: Bits<4>,
        /// Of its burst.
        pub id: Bits<6>,
        /// Last of its burst.
        pub ends: Bit,
    }
}

record! {
    /// What goes with a beat that is on its way out of the memory.
    pub struct Label {
        /// Of its burst.
        pub id: Bits<6>,
        /// AXI's.
        pub resp: Bits<2>,
        /// Last of its burst.
        pub last: Bit,
    }
}

block! {
    /// Empties a ring of `2^LOG` slots of eight beats, and gives up waiting for the oldest when its time is over.
    ///
    /// - **Ports** `opens`, `slot`, `promise`: the next slot is in use; `some`: any is; `mask`: bits of a slot that count; `head`: the oldest; `is_sent`: its
    ///   request has left; `waiting`: slots that are not whole; `failed`: the oldest has failed. `write`, `write_slot`, `write_place`, `write_data`:
    ///   payload. `r`: the beats, all of a slot with an error if it failed. `frees`: the oldest is free again; `fails`: and had failed;
    ///   `gives_up`, `given_up`: its time is over, and it had so many beats.
    /// - **Latency** 2 cycles from `waiting` to `r`. **Rate** 1 beat per cycle.
    /// - **Backpressure** `r.ready` stops it; `frees` and `fails` follow it combinationally.
    /// - **Reset** forgets all slots.
    /// - **Limits** `PLACES = LOG + 3`, otherwise building panics.
    pub struct Deliver<const LOG: usize, const PLACES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub opens: Signal<In, Bit>,
        pub slot: Signal<In, Bits<LOG>>,
        pub promise: Signal<In, Promise>,
        pub some: Signal<In, Bit>,
        pub mask: Signal<In, Bits<LOG>>,
        pub head: Signal<Out, Bits<LOG>>,
        pub is_sent: Signal<In, Bit>,
        pub waiting: Signal<In, Bits<128>>,
        pub failed: Signal<In, Bit>,
        pub write: Signal<In, Bit>,
        pub write_slot: Signal<In, Bits<LOG>>,
        pub write_place: Signal<In, Bits<3>>,
        pub write_data: Signal<In, Bits<512>>,
        pub r: StreamSource<ReadBeat<512>>,
        pub frees: Signal<Out, Bit>,
        pub fails: Signal<Out, Bit>,
        pub gives_up: Signal<Out, Bit>,
        pub given_up: Signal<Out, Bits<4>>,
        promises: LutRam<Promise, LOG>,
        memory: ClockedStream<Bits<512>, PLACES, true>,
        labels: Fifo<Label, 2>,
        oldest: Reg<Bits<LOG>>,
        /// Beats of the oldest that are out.
        given: Reg<Bits<4>>,
        timer: Reg<Bits<25>>,
        is_over: Reg<Bit>,
        at: Signal<Local, Bits<LOG>>,
        waits: Signal<Local, Bit>,
        is_left_out: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        expires: Signal<Local, Bit>,
        now: Signal<Local, Promise>,
        patience: Constant<Bits<25>> = number((1_u64 << 24) - 1),
        bad: Constant<Bits<2>> = number(SLAVE_ERROR),
        slot_log: Constant<Bits<4>> = places(LOG, PLACES),
    }
}

/// log2 of a slot's beats.
///
/// # Panics
/// When the memory has not 8 beats for each of the slots, or there are more slots than tags are looked after.
fn places(log: usize, places: usize) -> Constant<Bits<4>> {
    assert!(log <= 7, "2^{log} tags are more than 128");
    assert_eq!(places, log + 3, "2^{log} slots of 8 beats do not make 2^{places}");
    number(3_u64)
}

impl<const LOG: usize, const PLACES: usize> Deliver<LOG, PLACES> {
    /// One that waits for `patience` cycles; `default()` for 2^24.
    #[must_use]
    pub fn new(patience: u32) -> Self {
        Self { patience: number(patience - 1), ..Self::default() }
    }
}

impl<const LOG: usize, const PLACES: usize> Logic for Deliver<LOG, PLACES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, promises, memory, labels);
        dff_setup!(self, clock, oldest, given, timer, is_over);
        self.memory.reset.next = self.reset.val();
        self.labels.reset.next = self.reset.val();
        self.promises.write_enable.next = self.opens.val();
        self.promises.write_address.next = self.slot.val();
        self.promises.write_data.next = self.promise.val();
        self.memory.write_enable.next = self.write.val();
        self.memory.write_at.next = (bit_cast::<PLACES, LOG>(self.write_slot.val()) << self.slot_log.val())
            | bit_cast::<PLACES, 3>(self.write_place.val());
        self.memory.write_data.next = self.write_data.val();

        self.at.next = self.oldest.q.val() & self.mask.val();
        self.head.next = self.at.val();
        self.promises.read_address.next = self.at.val();
        self.now.next = self.promises.read_data.val();
        self.waits.next = self.waiting.val().get_bit(self.at.val().index());
        self.is_bad.next = self.failed.val() | self.is_over.q.val();
        self.is_last.next = (self.given.q.val() + 1) == self.now.val().beats;
        self.is_left_out.next = self.some.val() & !self.now.val().beats.any();
        self.memory.some.next =
            self.some.val() & self.is_sent.val() & !self.waits.val() & self.now.val().beats.any();
        self.memory.read_at.next = (bit_cast::<PLACES, LOG>(self.at.val()) << self.slot_log.val())
            | bit_cast::<PLACES, 4>(self.given.q.val());
        self.takes.next = self.memory.taken.val();
        self.labels.sink.valid.next = self.takes.val();
        self.labels.sink.payload.next.id = self.now.val().id;
        self.labels.sink.payload.next.resp = 0.into();
        if self.is_bad.val() {
            self.labels.sink.payload.next.resp = self.bad.val();
        }
        self.labels.sink.payload.next.last = self.is_last.val() & self.now.val().ends;

        self.r.valid.next = self.memory.source.valid.val();
        self.r.payload.next.data = self.memory.source.payload.val();
        self.r.payload.next.id = self.labels.source.payload.val().id;
        self.r.payload.next.resp = self.labels.source.payload.val().resp;
        self.r.payload.next.last = self.labels.source.payload.val().last;
        self.memory.source.ready.next = self.r.ready.val();
        self.labels.source.ready.next = self.r.ready.val() & self.memory.source.valid.val();

        self.frees.next = (self.takes.val() & self.is_last.val()) | self.is_left_out.val();
        self.fails.next = self.takes.val() & self.is_last.val() & self.is_bad.val();
        // Only what is sent waits.
        self.expires.next = self.some.val() & self.waits.val() & (self.timer.q.val() == self.patience.val());
        self.gives_up.next = self.expires.val();
        self.given_up.next = self.now.val().beats;
        self.timer.d.next = 0.into();
        if self.some.val() & self.waits.val() & !self.expires.val() {
            self.timer.d.next = self.timer.q.val() + 1;
        }
        if self.takes.val() {
            self.given.d.next = self.given.q.val() + 1;
            if self.is_last.val() {
                self.given.d.next = 0.into();
                self.oldest.d.next = self.oldest.q.val() + 1;
                self.is_over.d.next = false;
            }
        }
        if self.is_left_out.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
        }
        if self.expires.val() {
            self.is_over.d.next = true;
        }
        if self.reset.val() {
            self.oldest.d.next = 0.into();
            self.given.d.next = 0.into();
            self.is_over.d.next = false;
        }
    }
}
