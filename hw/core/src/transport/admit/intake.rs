//! Intake: a work is shown together with what its first unit says.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT};
use stroma_abi::desc::{AtomicOperands, Sge, WindowBind, WqeHead};

use super::kind::{Kind, Sort};
use super::leads::{HELD_LOG, Leads};
use crate::constant::number;
use crate::host::work::Work;
use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

const _: () = assert!(
    WindowBind::BASE.offset() == AtomicOperands::SWAP_ADD.offset()
        && WindowBind::LENGTH.offset() == AtomicOperands::COMPARE.offset()
        && WindowBind::RIGHTS.offset() < AtomicOperands::COMPARE.offset() + 64,
    "what a window is to stand for begins where an atomic has its operands"
);

record! {
    /// What a work is, and how its units begin.
    pub struct Opening {
        /// It has units; of one without, all from `solicited` on means nothing, nor of one that has no such thing.
        pub has_units: Bit,
        /// It is a request to the peer, without a status: SEND, WRITE, READ, an atomic or an RPC.
        pub is_request: Bit,
        /// It is work on a key, without a status.
        pub is_key: Bit,
        /// Its op-code asks for data: READ, an atomic or an RPC.
        pub asks: Bit,
        /// Its op-code is an atomic's.
        pub is_atomic: Bit,
        /// Its op-code is an RPC's.
        pub is_call: Bit,
        /// Packets that its bytes fill, whatever it has.
        pub packets: Bits<24>,
        /// Packets that the longest answer of an RPC fills.
        pub answers: Bits<9>,
        /// The receiver is to be woken.
        pub solicited: Bit,
        /// Immediate data, or the key to invalidate.
        pub imm: Bits<32>,
        /// Atomic: what to add or to swap in. Bind: first byte.
        pub a1: Bits<64>,
        /// Atomic: what to compare. Bind: how many bytes, and rights, as the WQE has them.
        pub a2: Bits<64>,
        /// Bind: `L_Key` of the region.
        pub region: Bits<32>,
        /// Virtual address of its first scatter/gather entry, of an atomic or an RPC the entry of its result.
        pub address: Bits<64>,
        /// `L_Key` of that.
        pub key: Bits<32>,
    }
}

block! {
    /// Takes works and their units, and shows each work with what its first unit says before its units go on.
    ///
    /// Whose unit comes, is found out behind the queue: so neither stream waits for the other, and what is looked up for
    /// a work can be looked up in the cycle in which it comes.
    ///
    /// - **Ports** `work`, `units`: works, and the units of those that have some; `coming`: in the next cycle a work of
    ///   `coming_qpn` is shown, with its first unit if it has any; `work_shown`, `opening`: that work, and how its units begin, until
    ///   `takes`; `held`: the units, in their order; `busy`: something is inside.
    /// - **Latency** 0 cycles to `coming`, 1 to all else. **Rate** 1 work and 1 unit per cycle.
    /// - **Backpressure** stalls `work` at 4 works, `units` at 16. Each `ready` is a register.
    /// - **Reset** empties it.
    /// - **Limits** a work with units has 1 to 8. `coming` speaks of the work that is shown, if there is one.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub coming: Signal<Out, Bit>,
        pub coming_qpn: Signal<Out, Bits<24>>,
        pub work_shown: Signal<Out, Work>,
        pub opening: Signal<Out, Opening>,
        pub takes: Signal<In, Bit>,
        pub held: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        sort: Sort,
        works: Fifo<Work, 2>,
        kinds: Fifo<Kind, 2>,
        queue: Fifo<Bits<512>, HELD_LOG>,
        leads: Leads,
        arrives: Signal<Local, Bit>,
        is_there: Signal<Local, Bit>,
        needs: Signal<Local, Bit>,
        entry: Signal<Local, Bits<128>>,
        solicited_at: Constant<Bits<10>> = number(WqeHead::SOLICITED.offset()),
        imm_at: Constant<Bits<10>> = number(WqeHead::IMMEDIATE.offset()),
        body_at: Constant<Bits<10>> = number(BODY_AT * 8),
        a1_at: Constant<Bits<9>> = number(AtomicOperands::SWAP_ADD.offset()),
        a2_at: Constant<Bits<9>> = number(AtomicOperands::COMPARE.offset()),
        region_at: Constant<Bits<9>> = number(WindowBind::REGION.offset()),
        result_at: Constant<Bits<9>> = number((SECOND_AT - BODY_AT) * 8),
        address_at: Constant<Bits<8>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<8>> = number(Sge::LOCAL_KEY.offset()),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, works, kinds, queue, leads);
        self.works.reset.next = self.reset.val();
        self.kinds.reset.next = self.reset.val();
        self.queue.reset.next = self.reset.val();
        self.leads.reset.next = self.reset.val();

        self.sort.work.next = self.work.payload.val();
        self.kinds.sink.valid.next = self.work.valid.val();
        self.kinds.sink.payload.next = self.sort.kind.val();
        StreamSink::<Work>::link(&mut self.work, &mut self.works.sink);
        self.arrives.next = self.units.valid.val() & self.queue.sink.ready.val();
        self.leads.enters.next = self.arrives.val();
        self.leads.lead.next.solicited =
            bit_cast::<1, 512>(self.units.payload.val() >> self.solicited_at.val()).any();
        self.leads.lead.next.imm = bit_cast::<32, 512>(self.units.payload.val() >> self.imm_at.val());
        self.leads.lead.next.body = bit_cast::<256, 512>(self.units.payload.val() >> self.body_at.val());
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.queue.sink);

        self.is_there.next = self.work.valid.val();
        self.needs.next = self.sort.kind.val().has_units;
        self.coming_qpn.next = self.work.payload.val().qpn;
        if self.works.source.valid.val() {
            self.is_there.next = true;
            self.needs.next = self.kinds.source.payload.val().has_units;
            self.coming_qpn.next = self.works.source.payload.val().qpn;
        }
        self.coming.next = self.is_there.val()
            & (!self.needs.val() | self.leads.some.val() | (self.leads.is_next.val() & self.arrives.val()));

        self.works.source.ready.next = self.takes.val();
        self.kinds.source.ready.next = self.takes.val();
        self.leads.takes.next = self.takes.val() & self.kinds.source.payload.val().has_units;
        self.leads.units.next = self.works.source.payload.val().units;
        self.work_shown.next = self.works.source.payload.val();
        self.entry.next = bit_cast::<128, 256>(self.leads.front.val().body);
        if self.kinds.source.payload.val().is_atomic {
            self.entry.next = bit_cast::<128, 256>(self.leads.front.val().body >> self.result_at.val());
        }
        self.opening.next.has_units = self.kinds.source.payload.val().has_units;
        self.opening.next.is_request = self.kinds.source.payload.val().is_request;
        self.opening.next.is_key = self.kinds.source.payload.val().is_key;
        self.opening.next.asks = self.kinds.source.payload.val().asks;
        self.opening.next.is_atomic = self.kinds.source.payload.val().is_atomic;
        self.opening.next.is_call = self.kinds.source.payload.val().is_call;
        self.opening.next.packets = self.kinds.source.payload.val().packets;
        self.opening.next.answers = self.kinds.source.payload.val().answers;
        self.opening.next.solicited = self.leads.front.val().solicited;
        self.opening.next.imm = self.leads.front.val().imm;
        self.opening.next.a1 = bit_cast::<64, 256>(self.leads.front.val().body >> self.a1_at.val());
        self.opening.next.a2 = bit_cast::<64, 256>(self.leads.front.val().body >> self.a2_at.val());
        self.opening.next.region = bit_cast::<32, 256>(self.leads.front.val().body >> self.region_at.val());
        self.opening.next.address = bit_cast::<64, 128>(self.entry.val() >> self.address_at.val());
        self.opening.next.key = bit_cast::<32, 128>(self.entry.val() >> self.key_at.val());
        StreamSource::<Bits<512>>::link(&mut self.held, &mut self.queue.source);
        self.busy.next =
            self.works.source.valid.val() | self.queue.source.valid.val() | self.leads.owed.val();
    }
}
