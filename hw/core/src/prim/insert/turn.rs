//! A shifter that moves whole packets: payload meets header in one beat.

use rust_hdl::prelude::*;

use super::rotate::Rotate;
use crate::prim::reg::Reg;
use crate::stream::Beat;

block! {
    /// Moves each packet up by `shift` bytes and puts the header into what becomes free.
    ///
    /// - **Ports** `some`, `beat`, `header`, `shift`: a beat of payload, of header (one of them may be zero), and by how
    ///   many bytes all of this packet moves; `advance`: both stages move on; `joined`, `joined_beat`: the beat made of them.
    /// - **Latency** 2 cycles. **Rate** 1 beat per cycle.
    /// - **Backpressure** is `advance`. What has no room in a beat waits for the next of its packet.
    /// - **Reset** empties it.
    /// - **Limits** `D` from 8 to 512, a power of two.
    pub struct Turn<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub advance: Signal<In, Bit>,
        pub some: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub header: Signal<In, Bits<D>>,
        pub shift: Signal<In, Bits<6>>,
        pub joined: Signal<Out, Bit>,
        pub joined_beat: Signal<Out, Beat<D>>,
        turned: Reg<Bit>,
        turned_beat: Reg<Beat<D>>,
        turned_header: Reg<Bits<D>>,
        turned_shift: Reg<Bits<6>>,
        done: Reg<Bit>,
        done_beat: Reg<Beat<D>>,
        carry: Reg<Bits<D>>,
        carried: Signal<Local, Bits<D>>,
        room: Signal<Local, Bits<D>>,
        rotate: Rotate<D>,
        ones: Constant<Bits<D>> = Constant::new(Bits::mask()),
    }
}

impl<const D: usize> Logic for Turn<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, turned, turned_beat, turned_header, turned_shift, done, done_beat, carry);
        self.joined.next = self.done.q.val();
        self.joined_beat.next = self.done_beat.q.val();

        self.rotate.data.next = self.beat.val().data;
        self.rotate.shift.next = self.shift.val();
        self.room.next = self.ones.val() << (bit_cast::<10, 6>(self.turned_shift.q.val()) << 3);
        self.carried.next = self.carry.q.val();
        if self.turned_beat.q.val().sop {
            self.carried.next = 0.into();
        }
        if self.advance.val() {
            self.turned.d.next = self.some.val();
            self.turned_header.d.next = self.header.val();
            self.turned_shift.d.next = self.shift.val();
            self.turned_beat.d.next = self.beat.val();
            self.turned_beat.d.next.data = self.rotate.rotated.val();

            self.done.d.next = self.turned.q.val();
            self.done_beat.d.next = self.turned_beat.q.val();
            self.done_beat.d.next.data = self.turned_header.q.val()
                | self.carried.val()
                | (self.turned_beat.q.val().data & self.room.val());
            if self.turned.q.val() {
                self.carry.d.next = self.turned_beat.q.val().data & !self.room.val();
            }
        }
        if self.reset.val() {
            self.turned.d.next = false;
            self.done.d.next = false;
        }
    }
}
