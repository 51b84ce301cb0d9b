//! Whose tickets are looked at while nobody can be served.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Goes over all queue pairs, one after the other, when no visit has begun for some cycles.
    ///
    /// While steps are taken slowly the line stands still, so that nobody loses a turn. But a ticket that is done looks like one to
    /// come when as many more are done as half of them, and so each queue pair has to be visited in time. These visits
    /// only note, and leave the line as it is.
    ///
    /// - **Ports** `begins`: a visit does, of the line or of `number`; with `notes` it is one of `number`. `due`: none
    ///   has begun in the three cycles before. `number`: the queue pair whose turn it is.
    /// - **Latency** 1 cycle from `begins` to the next `number`. **Rate** a queue pair every 4 cycles.
    /// - **Reset** none: whoever is first, all have their turn.
    pub struct Sweep<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub notes: Signal<In, Bit>,
        pub due: Signal<Out, Bit>,
        pub number: Signal<Out, Bits<QPS>>,
        /// Cycles without a visit, up to three.
        idle: Reg<Bits<2>>,
        queue_pair: Reg<Bits<QPS>>,
    }
}

impl<const QPS: usize> Logic for Sweep<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, idle, queue_pair);
        self.due.next = self.idle.q.val().all();
        self.number.next = self.queue_pair.q.val();
        if !self.idle.q.val().all() {
            self.idle.d.next = self.idle.q.val() + 1;
        }
        if self.begins.val() {
            self.idle.d.next = 0.into();
            if self.notes.val() {
                self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            }
        }
    }
}
