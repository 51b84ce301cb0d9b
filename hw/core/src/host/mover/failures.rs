//! Which queue pairs have failed here.

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::stream::StreamSink;

block! {
    /// A bit for each of `2^QPS` queue pairs: work that was on its way behind a failure must not run.
    ///
    /// - **Ports** `look`: the queue pair asked about; `failed`: it has; `mark`: from now on it has, only while `open` is high;
    ///   `change`: a queue pair that begins anew has not.
    /// - **Latency** 0 cycles from `look` to `failed`, 1 from `mark` and `change`.
    /// - **Backpressure** `change` is always taken; `open` is low meanwhile.
    /// - **Reset** clears all bits, one a cycle; `open` and `ready` are low meanwhile.
    /// - **Limits** numbers beyond `2^QPS` share the bits of those below.
    pub struct Failures<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub look: Signal<In, Bits<24>>,
        pub failed: Signal<Out, Bit>,
        pub mark: Signal<In, Bit>,
        pub open: Signal<Out, Bit>,
        pub change: StreamSink<QpChange>,
        pub ready: Signal<Out, Bit>,
        bits: LutRam<Bit, QPS>,
        scrubbing: Reg<Bit>,
        row: Reg<Bits<QPS>>,
        clears: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Failures<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, bits);
        dff_setup!(self, clock, scrubbing, row);
        self.change.ready.next = true;
        self.clears.next = self.change.valid.val() & self.change.payload.val().resets;
        self.ready.next = !self.scrubbing.q.val();
        self.open.next = !self.scrubbing.q.val() & !self.clears.val();
        self.bits.read_address.next = bit_cast::<QPS, 24>(self.look.val());
        self.failed.next = self.bits.read_data.val();

        self.bits.write_enable.next = self.mark.val();
        self.bits.write_address.next = bit_cast::<QPS, 24>(self.look.val());
        self.bits.write_data.next = true;
        if self.clears.val() {
            self.bits.write_enable.next = true;
            self.bits.write_address.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
            self.bits.write_data.next = false;
        }
        // A change meanwhile finds nothing to clear: no mark is made before the scrub is over.
        if self.scrubbing.q.val() {
            self.bits.write_enable.next = true;
            self.bits.write_address.next = self.row.q.val();
            self.bits.write_data.next = false;
            self.row.d.next = self.row.q.val() + 1;
            self.scrubbing.d.next = self.row.q.val() != self.last.val();
        }
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.row.d.next = 0.into();
        }
    }
}
