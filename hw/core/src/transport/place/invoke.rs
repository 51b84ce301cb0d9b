//! Invoke: a packet of an RPC is told to who keeps them.

use rust_hdl::prelude::*;

use crate::fabric::records::Call;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::StreamSource;
use crate::transport::records::Errand;

block! {
    /// Makes the call of the oldest errand, and offers it.
    ///
    /// - **Ports** `errand`: the oldest one; `issued`: writes to host memory that go before it; `is_due`: it has a call that is not given; `gives`: it is, only with both that and `room`;
    ///   `goes`: the errand does; `call`: calls. `busy`: one is on offer.
    /// - **Latency** 1 cycle. **Rate** 1 call per cycle.
    /// - **Backpressure** 2 calls wait, then there is no `room`. `is_due` follows `errand`; no other path runs from port to port.
    /// - **Reset** forgets them.
    pub struct Invoke {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: Signal<In, Errand>,
        pub issued: Signal<In, Bits<16>>,
        pub gives: Signal<In, Bit>,
        pub goes: Signal<In, Bit>,
        pub is_due: Signal<Out, Bit>,
        pub room: Signal<Out, Bit>,
        pub call: StreamSource<Call>,
        pub busy: Signal<Out, Bit>,
        calls: Skid<Call>,
        is_given: Reg<Bit>,
    }
}

impl Logic for Invoke {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, calls);
        dff_setup!(self, clock, is_given);
        self.calls.reset.next = self.reset.val();
        self.is_due.next = self.errand.val().call.any() & !self.is_given.q.val();
        self.room.next = self.calls.sink.ready.val();
        self.busy.next = self.calls.source.valid.val();
        self.calls.sink.valid.next = self.gives.val();
        self.calls.sink.payload.next.calling = self.errand.val().call;
        self.calls.sink.payload.next.ends = self.errand.val().call_ends;
        // A packet of an RPC has a status of its own only if its queue pair has failed.
        self.calls.sink.payload.next.gives_up = self.errand.val().status.any();
        self.calls.sink.payload.next.qpn = self.errand.val().qpn;
        self.calls.sink.payload.next.pd = self.errand.val().pd;
        self.calls.sink.payload.next.path_mtu = self.errand.val().path_mtu;
        self.calls.sink.payload.next.kernel = self.errand.val().kernel;
        self.calls.sink.payload.next.refusal = self.errand.val().refusal;
        self.calls.sink.payload.next.place = self.errand.val().place;
        self.calls.sink.payload.next.target = self.errand.val().va;
        self.calls.sink.payload.next.key = self.errand.val().key;
        self.calls.sink.payload.next.rights = self.errand.val().need;
        self.calls.sink.payload.next.length = self.errand.val().length;
        self.calls.sink.payload.next.psn = self.errand.val().psn;
        self.calls.sink.payload.next.reserved = self.errand.val().reserved;
        self.calls.sink.payload.next.msn = self.errand.val().msn;
        self.calls.sink.payload.next.ticket = self.issued.val();
        StreamSource::<Call>::link(&mut self.call, &mut self.calls.source);

        if self.gives.val() {
            self.is_given.d.next = true;
        }
        if self.goes.val() | self.reset.val() {
            self.is_given.d.next = false;
        }
    }
}
