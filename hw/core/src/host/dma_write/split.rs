//! Cuts a command into bursts.

use rust_hdl::prelude::*;

use super::WriteCommand;
use crate::constant::number;
use crate::host::axi::burst_bytes;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// One burst, or a command without any.
    pub struct Burst {
        /// Of its first beat; a multiple of the beat's size.
        pub addr: Bits<64>,
        /// Beats, less one.
        pub len: Bits<8>,
        /// By how many bytes the command's data move up.
        pub shift: Bits<6>,
        /// Bytes of the last beat up to the last one written.
        pub until: Bits<7>,
        /// First of its command.
        pub starts: Bit,
        /// Last of its command.
        pub ends: Bit,
        /// The command has no bytes: there is no burst.
        pub is_empty: Bit,
    }
}

block! {
    /// Gives the bursts of each command, or one empty one.
    ///
    /// - **Ports** `command`: commands in; `source`: their bursts, in order.
    /// - **Latency** 0 cycles. **Rate** 1 burst per cycle.
    /// - **Backpressure** a command leaves `command` with its first burst; `command.ready` follows `source.ready`, and
    ///   `source.valid` follows `command.valid`, combinationally.
    /// - **Reset** forgets the command under way.
    pub struct Split<const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<WriteCommand>,
        pub source: StreamSource<Burst>,
        // What is left of the command under way.
        running: Reg<Bit>,
        rest_addr: Reg<Bits<64>>,
        rest_len: Reg<Bits<13>>,
        shift: Reg<Bits<6>>,
        // The same, or the next command while none is under way.
        addr: Signal<Local, Bits<64>>,
        len: Signal<Local, Bits<13>>,
        now_shift: Signal<Local, Bits<6>>,
        // Places, counted from the multiple of a burst below the first byte.
        from: Signal<Local, Bits<13>>,
        end: Signal<Local, Bits<13>>,
        stop: Signal<Local, Bits<13>>,
        last_at: Signal<Local, Bits<13>>,
        goes_on: Signal<Local, Bit>,
        log: Constant<Bits<4>> = number(K.ilog2()),
        within_beat: Constant<Bits<64>> = number(K - 1),
        within_burst: Constant<Bits<64>> = number(burst_bytes(K) - 1),
        burst: Constant<Bits<64>> = number(burst_bytes(K)),
        one: Constant<Bits<7>> = number(1_u64),
    }
}

impl<const K: usize> Logic for Split<K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, running, rest_addr, rest_len, shift);
        if self.running.q.val() {
            self.addr.next = self.rest_addr.q.val();
            self.len.next = self.rest_len.q.val();
            self.now_shift.next = self.shift.q.val();
        } else {
            self.addr.next = self.command.payload.val().iova;
            self.len.next = self.command.payload.val().len;
            self.now_shift.next = bit_cast::<6, 64>(self.command.payload.val().iova & self.within_beat.val());
        }
        self.source.valid.next = self.running.q.val() | self.command.valid.val();
        self.command.ready.next = self.source.ready.val() & !self.running.q.val();

        self.from.next = bit_cast::<13, 64>(self.addr.val() & self.within_burst.val());
        self.end.next = self.from.val() + self.len.val();
        self.goes_on.next = self.end.val() > bit_cast::<13, 64>(self.burst.val());
        self.stop.next = self.end.val();
        if self.goes_on.val() {
            self.stop.next = bit_cast::<13, 64>(self.burst.val());
        }
        self.last_at.next = self.stop.val() - 1;

        self.source.payload.next.addr = self.addr.val() & !self.within_beat.val();
        self.source.payload.next.len =
            bit_cast::<8, 13>((self.last_at.val() >> self.log.val()) - (self.from.val() >> self.log.val()));
        self.source.payload.next.shift = self.now_shift.val();
        self.source.payload.next.until =
            bit_cast::<7, 13>(self.last_at.val() & bit_cast::<13, 64>(self.within_beat.val()))
                + self.one.val();
        self.source.payload.next.starts = !self.running.q.val();
        self.source.payload.next.ends = !self.goes_on.val();
        self.source.payload.next.is_empty = !self.len.val().any();

        if self.source.ready.val() & (self.running.q.val() | self.command.valid.val()) {
            self.running.d.next = self.goes_on.val();
            self.rest_addr.d.next = (self.addr.val() & !self.within_burst.val()) + self.burst.val();
            self.rest_len.d.next = self.end.val() - bit_cast::<13, 64>(self.burst.val());
            self.shift.d.next = self.now_shift.val();
        }
        if self.reset.val() {
            self.running.d.next = false;
        }
    }
}
