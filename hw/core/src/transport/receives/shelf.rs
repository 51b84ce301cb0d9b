//! Receives of many queues: how many are posted, how many are taken.

use rust_hdl::prelude::*;

use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::Stock;

record! {
    /// What is posted to a queue, on the scale of all that was ever taken from it.
    pub struct Posted {
        /// Where that count stood when the queue began: its index 0.
        pub base: Bits<16>,
        /// Where it will stand when all that is posted is taken.
        pub end: Bits<16>,
    }
}

block! {
    /// Keeps the two columns of `2^LOG` receive queues.
    ///
    /// What was taken of a queue is counted by the takes alone, for ever. What is posted is written by doorbells; a queue that
    /// begins anew writes there at which count it did so. So each column has one writer, no take ever waits, and both
    /// numbers of a [`Stock`] are one subtraction.
    ///
    /// - **Ports** `look_enable`, `look_index`: a queue's `stock`, from the next cycle on and until the next look; `take`: its
    ///   first receive is taken; `looked`: the queue of that look. `read_enable`, `read_index`: `posted` and `taken` of a
    ///   queue, likewise. `count_enable`, `count_index`: what is posted and not taken of a queue, its `count`, likewise. `write_enable`, `write_index`, `written`: what is posted from now on; with `scrubs` nothing is, and
    ///   nothing was ever taken.
    /// - **Latency** 1 cycle; a look or a read in the cycle of a write does not see it, nor does a read see a take; a look does. **Rate** one of each per
    ///   cycle. **Backpressure** none.
    /// - **Limits** of one look one receive can be taken: a second `take` takes none. Whoever takes has seen one.
    /// - **Reset** none: the owner scrubs.
    pub struct Shelf<const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub look_enable: Signal<In, Bit>,
        pub look_index: Signal<In, Bits<LOG>>,
        pub stock: Signal<Out, Stock>,
        pub take: Signal<In, Bit>,
        pub looked: Signal<Out, Bits<LOG>>,
        pub read_enable: Signal<In, Bit>,
        pub read_index: Signal<In, Bits<LOG>>,
        pub posted: Signal<Out, Posted>,
        pub taken: Signal<Out, Bits<16>>,
        pub count_enable: Signal<In, Bit>,
        pub count_index: Signal<In, Bits<LOG>>,
        pub count: Signal<Out, Bits<16>>,
        pub write_enable: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<LOG>>,
        pub written: Signal<In, Posted>,
        pub scrubs: Signal<In, Bit>,
        /// Each column three times: for looks, for reads, and to be counted.
        producers: [BlockRam<Posted, LOG>; 3] = std::array::from_fn(|_| BlockRam::default()),
        consumers: [BlockRam<Bits<16>, LOG>; 3] = std::array::from_fn(|_| BlockRam::default()),
        looked_index: Reg<Bits<LOG>>,
        /// The count of a take, and that the last look met it: what it read was older.
        newer: Reg<Bits<16>>,
        is_newer: Reg<Bit>,
        shown: Signal<Local, Posted>,
        counted: Signal<Local, Posted>,
        consumer: Signal<Local, Bits<16>>,
        nothing: Constant<Posted> = Constant::new(Posted::default()),
    }
}

impl<const LOG: usize> Logic for Shelf<LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, looked_index, newer, is_newer);
        for i in 0..3 {
            self.producers[i].clock.next = self.clock.val();
            self.consumers[i].clock.next = self.clock.val();
        }
        self.producers[0].read_enable.next = self.look_enable.val();
        self.producers[0].read_address.next = self.look_index.val();
        self.consumers[0].read_enable.next = self.look_enable.val();
        self.consumers[0].read_address.next = self.look_index.val();
        self.producers[1].read_enable.next = self.read_enable.val();
        self.producers[1].read_address.next = self.read_index.val();
        self.consumers[1].read_enable.next = self.read_enable.val();
        self.consumers[1].read_address.next = self.read_index.val();
        self.producers[2].read_enable.next = self.count_enable.val();
        self.producers[2].read_address.next = self.count_index.val();
        self.consumers[2].read_enable.next = self.count_enable.val();
        self.consumers[2].read_address.next = self.count_index.val();

        self.looked.next = self.looked_index.q.val();
        self.shown.next = self.producers[0].read_data.val();
        self.consumer.next = self.consumers[0].read_data.val();
        if self.is_newer.q.val() {
            self.consumer.next = self.newer.q.val();
        }
        if self.look_enable.val() {
            self.looked_index.d.next = self.look_index.val();
            self.is_newer.d.next = self.take.val() & (self.look_index.val() == self.looked_index.q.val());
            self.newer.d.next = self.consumer.val() + 1;
        }
        self.stock.next.count = self.shown.val().end - self.consumer.val();
        self.stock.next.first = self.consumer.val() - self.shown.val().base;
        self.posted.next = self.producers[1].read_data.val();
        self.taken.next = self.consumers[1].read_data.val();
        self.counted.next = self.producers[2].read_data.val();
        self.count.next = self.counted.val().end - self.consumers[2].read_data.val();

        for i in 0..3 {
            self.producers[i].write_enable.next = self.write_enable.val() | self.scrubs.val();
            self.producers[i].write_address.next = self.write_index.val();
            self.producers[i].write_data.next = self.written.val();
            self.consumers[i].write_enable.next = self.take.val() | self.scrubs.val();
            self.consumers[i].write_address.next = self.looked_index.q.val();
            self.consumers[i].write_data.next = self.consumer.val() + 1;
            if self.scrubs.val() {
                self.producers[i].write_data.next = self.nothing.val();
                self.consumers[i].write_address.next = self.write_index.val();
                self.consumers[i].write_data.next = 0.into();
            }
        }
    }
}
