//! Intake: a work is shown together with what its first unit says.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT};
use stroma_abi::desc::{AtomicOperands, Sge, WindowBind, WorkOp, WqeHead};

use crate::constant::number;
use crate::host::parse::operations::{KEYS, one_of};
use crate::host::work::Work;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` units are held: those of two of the longest WQEs.
const HELD_LOG: usize = 4;

const _: () = assert!(
    WorkOp::Send as u8 + 7 == WorkOp::FetchAdd as u8
        && WorkOp::Read as u8 + 1 == WorkOp::CmpSwap as u8
        && WorkOp::CmpSwap as u8 + 1 == WorkOp::FetchAdd as u8,
    "requests are the codes from SEND to FETCH_ADD, and those that ask for data are the last"
);

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
        /// It is a request to the peer, without a status: SEND, WRITE, READ or an atomic.
        pub is_request: Bit,
        /// It is work on a key, without a status.
        pub is_key: Bit,
        /// Its op-code asks for data: READ or an atomic.
        pub asks: Bit,
        /// Its op-code is an atomic's.
        pub is_atomic: Bit,
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
        /// Virtual address of its first scatter/gather entry, of an atomic the entry of its result.
        pub address: Bits<64>,
        /// `L_Key` of that.
        pub key: Bits<32>,
    }
}

block! {
    /// Takes works and their units, and shows each work with what its first unit says before its units go on.
    ///
    /// - **Ports** `work`, `units`: works, and the units of those that have some; `shown`, `opening`: a work and how its
    ///   units begin, always offered and taken together; `held`: the units, in their order; `busy`: something is inside.
    /// - **Latency** 2 cycles. **Rate** a cycle for each unit, or one for a work without.
    /// - **Backpressure** stalls `work` at 4 works, `units` at 16. `work.ready` is a register; `units.ready` is made of them.
    /// - **Reset** empties it.
    /// - **Limits** a work with units has 1 to 8.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub shown: StreamSource<Work>,
        pub opening: StreamSource<Opening>,
        pub held: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        cut: Skid<Work>,
        works: Fifo<Work, 2>,
        openings: Fifo<Opening, 2>,
        queue: Fifo<Bits<512>, HELD_LOG>,
        /// Units of the last work that have not come.
        rest: Reg<Bits<4>>,
        is_bare: Signal<Local, Bit>,
        is_request: Signal<Local, Bit>,
        is_key: Signal<Local, Bit>,
        is_atomic: Signal<Local, Bit>,
        has_units: Signal<Local, Bit>,
        may_enter: Signal<Local, Bit>,
        takes_unit: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        entry: Signal<Local, Bits<128>>,
        gather: Constant<Bits<8>> = number(WorkOp::Gather as u64),
        scatter: Constant<Bits<8>> = number(WorkOp::Scatter as u64),
        bind: Constant<Bits<8>> = number(WorkOp::Bind as u64),
        keys: Constant<Bits<256>> = one_of(KEYS),
        send: Constant<Bits<8>> = number(WorkOp::Send as u64),
        read: Constant<Bits<8>> = number(WorkOp::Read as u64),
        fetch_add: Constant<Bits<8>> = number(WorkOp::FetchAdd as u64),
        solicited_at: Constant<Bits<10>> = number(WqeHead::SOLICITED.offset()),
        imm_at: Constant<Bits<10>> = number(WqeHead::IMMEDIATE.offset()),
        a1_at: Constant<Bits<10>> = number(BODY_AT * 8 + AtomicOperands::SWAP_ADD.offset()),
        a2_at: Constant<Bits<10>> = number(BODY_AT * 8 + AtomicOperands::COMPARE.offset()),
        region_at: Constant<Bits<10>> = number(BODY_AT * 8 + WindowBind::REGION.offset()),
        entry_at: Constant<Bits<10>> = number(BODY_AT * 8),
        result_at: Constant<Bits<10>> = number(SECOND_AT * 8),
        address_at: Constant<Bits<8>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<8>> = number(Sge::LOCAL_KEY.offset()),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut, works, openings, queue);
        dff_setup!(self, clock, rest);
        self.cut.reset.next = self.reset.val();
        self.works.reset.next = self.reset.val();
        self.openings.reset.next = self.reset.val();
        self.queue.reset.next = self.reset.val();
        StreamSink::<Work>::link(&mut self.work, &mut self.cut.sink);

        self.is_bare.next = self.cut.source.payload.val().ends | self.cut.source.payload.val().status.any();
        self.is_request.next = !self.is_bare.val()
            & (self.cut.source.payload.val().opcode >= self.send.val())
            & (self.cut.source.payload.val().opcode <= self.fetch_add.val());
        self.is_key.next =
            !self.is_bare.val() & self.keys.val().get_bit(self.cut.source.payload.val().opcode.index());
        self.is_atomic.next = (self.cut.source.payload.val().opcode > self.read.val())
            & (self.cut.source.payload.val().opcode <= self.fetch_add.val());
        self.has_units.next = self.is_request.val()
            | (!self.is_bare.val()
                & ((self.cut.source.payload.val().opcode == self.bind.val())
                    | (self.cut.source.payload.val().opcode == self.gather.val())
                    | (self.cut.source.payload.val().opcode == self.scatter.val())));
        self.may_enter.next =
            self.cut.source.valid.val() & self.works.sink.ready.val() & !self.rest.q.val().any();
        self.takes_unit.next = self.queue.sink.ready.val()
            & (self.rest.q.val().any() | (self.may_enter.val() & self.has_units.val()));
        self.enters.next =
            self.may_enter.val() & (!self.has_units.val() | (self.takes_unit.val() & self.units.valid.val()));

        self.cut.source.ready.next = self.enters.val();
        self.units.ready.next = self.takes_unit.val();
        self.works.sink.valid.next = self.enters.val();
        self.works.sink.payload.next = self.cut.source.payload.val();
        self.entry.next = bit_cast::<128, 512>(self.units.payload.val() >> self.entry_at.val());
        if self.is_atomic.val() {
            self.entry.next = bit_cast::<128, 512>(self.units.payload.val() >> self.result_at.val());
        }
        self.openings.sink.valid.next = self.enters.val();
        self.openings.sink.payload.next.has_units = self.has_units.val();
        self.openings.sink.payload.next.is_request = self.is_request.val();
        self.openings.sink.payload.next.is_key = self.is_key.val();
        self.openings.sink.payload.next.asks =
            self.is_atomic.val() | (self.cut.source.payload.val().opcode == self.read.val());
        self.openings.sink.payload.next.is_atomic = self.is_atomic.val();
        self.openings.sink.payload.next.solicited =
            bit_cast::<1, 512>(self.units.payload.val() >> self.solicited_at.val()).any();
        self.openings.sink.payload.next.imm =
            bit_cast::<32, 512>(self.units.payload.val() >> self.imm_at.val());
        self.openings.sink.payload.next.a1 =
            bit_cast::<64, 512>(self.units.payload.val() >> self.a1_at.val());
        self.openings.sink.payload.next.a2 =
            bit_cast::<64, 512>(self.units.payload.val() >> self.a2_at.val());
        self.openings.sink.payload.next.region =
            bit_cast::<32, 512>(self.units.payload.val() >> self.region_at.val());
        self.openings.sink.payload.next.address =
            bit_cast::<64, 128>(self.entry.val() >> self.address_at.val());
        self.openings.sink.payload.next.key = bit_cast::<32, 128>(self.entry.val() >> self.key_at.val());
        self.queue.sink.valid.next = self.takes_unit.val() & self.units.valid.val();
        self.queue.sink.payload.next = self.units.payload.val();
        if self.takes_unit.val() & self.units.valid.val() {
            self.rest.d.next = self.rest.q.val() - 1;
        }
        if self.enters.val() & self.has_units.val() {
            self.rest.d.next = self.cut.source.payload.val().units - 1;
        }
        StreamSource::<Work>::link(&mut self.shown, &mut self.works.source);
        StreamSource::<Opening>::link(&mut self.opening, &mut self.openings.source);
        StreamSource::<Bits<512>>::link(&mut self.held, &mut self.queue.source);
        self.busy.next = self.cut.source.valid.val()
            | self.works.source.valid.val()
            | self.queue.source.valid.val()
            | self.rest.q.val().any();
        if self.reset.val() {
            self.rest.d.next = 0.into();
        }
    }
}
