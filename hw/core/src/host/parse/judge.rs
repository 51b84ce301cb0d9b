//! What a WQE is worth.

use rust_hdl::prelude::*;
use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT, UNITS_MAX};
use stroma_abi::desc::{Sge, Status, WorkOp, WqeHead, sge::SGE_MAX};
use stroma_abi::wire::RpcTarget;

use super::Defect;
use super::known::Known;
use super::operations::{ATOMIC_LEN, ATOMICS, BARE, CALLS, INLINE, KEYS, RESPONSE_MAX, one_of};
use crate::constant::number;
use crate::host::work::{Job, Work};

const _: () = assert!(SECOND_AT + PARAMETERS_MAX <= 2 * UNIT, "two units hold all parameters");

block! {
    /// Judges one WQE by its head. Logic only.
    ///
    /// Defects are told in this order: index, because a stale slot says nothing else that is true; units; op-code; flags;
    /// inline length; entries; length of a frame; parameters and answer of an RPC.
    ///
    /// - **Ports** `job`: its job; `failed`: which could not be read; `is_first`: it is the job's first; `left`: units from
    ///   the WQE's first to the job's last; `index`: the index of its place; `head`: its first half unit; `room`: bytes of
    ///   the entry behind it. `stops`: it goes on
    ///   behind the job's end and has to wait, the other outputs do not count. `work`: what it gives; `is_bad`: the job
    ///   ends behind it; `sends`: its units go along; `count`: units it counts as, never more than `left`.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Judge {
        pub job: Signal<In, Job>,
        pub failed: Signal<In, Bit>,
        pub is_first: Signal<In, Bit>,
        pub left: Signal<In, Bits<6>>,
        pub index: Signal<In, Bits<16>>,
        pub head: Signal<In, Bits<256>>,
        pub room: Signal<In, Bits<32>>,
        pub stops: Signal<Out, Bit>,
        pub work: Signal<Out, Work>,
        pub is_bad: Signal<Out, Bit>,
        pub sends: Signal<Out, Bit>,
        pub count: Signal<Out, Bits<6>>,
        known: Known,
        text: Signal<Local, Bits<256>>,
        opcode: Signal<Local, Bits<8>>,
        inline: Signal<Local, Bit>,
        units: Signal<Local, Bits<4>>,
        entries: Signal<Local, Bits<5>>,
        length: Signal<Local, Bits<32>>,
        wide_units: Signal<Local, Bits<6>>,
        inline_room: Signal<Local, Bits<32>>,
        is_nop: Signal<Local, Bit>,
        is_key: Signal<Local, Bit>,
        is_rpc: Signal<Local, Bit>,
        is_call: Signal<Local, Bit>,
        remote: Signal<Local, Bits<64>>,
        words: Signal<Local, Bits<8>>,
        parameters: Signal<Local, Bits<32>>,
        response: Signal<Local, Bits<32>>,
        has_parameters: Signal<Local, Bit>,
        has_result: Signal<Local, Bit>,
        is_count: Signal<Local, Bit>,
        has_units: Signal<Local, Bit>,
        has_flags: Signal<Local, Bit>,
        has_data: Signal<Local, Bit>,
        has_entries: Signal<Local, Bit>,
        defect: Signal<Local, Bits<8>>,
        status: Signal<Local, Bits<8>>,
        vendor: Signal<Local, Bits<8>>,
        opcode_at: Constant<Bits<8>> = number(WqeHead::OPCODE.offset()),
        signaled_at: Constant<Bits<8>> = number(WqeHead::SIGNALED.offset()),
        fence_at: Constant<Bits<8>> = number(WqeHead::FENCE.offset()),
        inline_at: Constant<Bits<8>> = number(WqeHead::INLINE.offset()),
        local_at: Constant<Bits<8>> = number(WqeHead::LOCAL.offset()),
        tx_kernel_at: Constant<Bits<8>> = number(WqeHead::TX_KERNEL.offset()),
        units_at: Constant<Bits<8>> = number(WqeHead::UNITS.offset()),
        sge_count_at: Constant<Bits<8>> = number(WqeHead::SGE_COUNT.offset()),
        length_at: Constant<Bits<8>> = number(WqeHead::LENGTH.offset()),
        index_at: Constant<Bits<8>> = number(WqeHead::INDEX.offset()),
        remote_at: Constant<Bits<8>> = number(WqeHead::REMOTE.offset()),
        key_at: Constant<Bits<8>> = number(WqeHead::KEY.offset()),
        nop: Constant<Bits<8>> = number(WorkOp::Nop as u64),
        keys: Constant<Bits<256>> = one_of(KEYS),
        bare: Constant<Bits<256>> = one_of(BARE),
        may_inline: Constant<Bits<256>> = one_of(INLINE),
        atomics: Constant<Bits<256>> = one_of(ATOMICS),
        calls: Constant<Bits<256>> = one_of(CALLS),
        rpc: Constant<Bits<8>> = number(WorkOp::Rpc as u64),
        words_at: Constant<Bits<6>> = number(RpcTarget::PARAMETER_WORDS.low_bit(RpcTarget::LEN)),
        response_at: Constant<Bits<6>> = number(RpcTarget::RESPONSE_MAX.low_bit(RpcTarget::LEN)),
        most_words: Constant<Bits<8>> = number(PARAMETERS_MAX / 4),
        first_words: Constant<Bits<8>> = number((UNIT - SECOND_AT) / 4),
        most_response: Constant<Bits<32>> = number(RESPONSE_MAX),
        atomic_len: Constant<Bits<32>> = number(ATOMIC_LEN),
        most_units: Constant<Bits<4>> = number(UNITS_MAX),
        most_entries: Constant<Bits<5>> = number(SGE_MAX),
        unit_log: Constant<Bits<3>> = number(UNIT.ilog2()),
        body_at: Constant<Bits<32>> = number(BODY_AT),
        entries_log: Constant<Bits<3>> = number((UNIT / Sge::LEN).ilog2()),
        head_entries: Constant<Bits<6>> = number(BODY_AT / Sge::LEN),
        malformed: Constant<Bits<8>> = number(Status::LocalQueuePair as u64),
        wrong_length: Constant<Bits<8>> = number(Status::LocalLength as u64),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u64),
        general: Constant<Bits<8>> = number(Status::General as u64),
        bad_index: Constant<Bits<8>> = number(Defect::Index as u64),
        bad_units: Constant<Bits<8>> = number(Defect::Units as u64),
        bad_opcode: Constant<Bits<8>> = number(Defect::OpCode as u64),
        bad_flags: Constant<Bits<8>> = number(Defect::Flags as u64),
        bad_length: Constant<Bits<8>> = number(Defect::InlineLength as u64),
        bad_entries: Constant<Bits<8>> = number(Defect::SgeCount as u64),
        bad_frame: Constant<Bits<8>> = number(Defect::FrameLength as u64),
        bad_parameters: Constant<Bits<8>> = number(Defect::Parameters as u64),
        bad_response: Constant<Bits<8>> = number(Defect::Response as u64),
        unread: Constant<Bits<8>> = number(Defect::Fetch as u64),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each rule, and for each field of the work")]
    fn update(&mut self) {
        // What could not be read says nothing.
        self.text.next = self.head.val();
        if self.failed.val() {
            self.text.next = 0.into();
        }
        self.opcode.next = self.text.val().get_bits::<8>(self.opcode_at.val().index());
        self.inline.next = self.text.val().get_bit(self.inline_at.val().index());
        self.units.next = self.text.val().get_bits::<4>(self.units_at.val().index());
        self.is_nop.next = self.opcode.val() == self.nop.val();
        self.is_key.next = self.keys.val().get_bit(self.opcode.val().index());
        self.is_rpc.next = self.opcode.val() == self.rpc.val();
        self.is_call.next = self.calls.val().get_bit(self.opcode.val().index());
        self.length.next = self.text.val().get_bits::<32>(self.length_at.val().index());
        self.entries.next = bit_cast::<5, 4>(self.text.val().get_bits::<4>(self.sge_count_at.val().index()));
        if !self.entries.val().any() & self.length.val().any() {
            self.entries.next = self.most_entries.val();
        }
        if self.is_nop.val() {
            self.length.next = 0.into();
        }
        if self.is_nop.val() | self.inline.val() {
            self.entries.next = 0.into();
        }

        // How many units it has, says it has, and counts as.
        self.wide_units.next = bit_cast::<6, 4>(self.units.val());
        self.is_count.next = self.units.val().any() & (self.units.val() <= self.most_units.val());
        self.has_units.next = self.is_count.val() & (self.wide_units.val() <= self.left.val());
        self.stops.next =
            self.is_count.val() & !self.has_units.val() & !self.is_first.val() & !self.failed.val();
        self.count.next = self.left.val();
        if self.job.val().pushed {
            self.has_units.next = self.wide_units.val() == self.left.val();
        } else if !self.failed.val() & !self.is_count.val() {
            self.count.next = 1.into();
        } else if !self.failed.val() & self.has_units.val() {
            self.count.next = self.wide_units.val();
        }

        self.has_flags.next = !self.text.val().get_bit(self.local_at.val().index())
            & !self.text.val().get_bit(self.tx_kernel_at.val().index())
            & (!self.inline.val() | self.may_inline.val().get_bit(self.opcode.val().index()));
        self.inline_room.next =
            (bit_cast::<32, 4>(self.units.val()) << self.unit_log.val()) - self.body_at.val();
        self.has_data.next = !self.inline.val() | (self.length.val() <= self.inline_room.val());
        // The result's entry stands before those of an RPC's payload.
        self.has_entries.next = ((bit_cast::<6, 5>(self.entries.val()) + self.head_entries.val())
            + self.is_call.val())
            <= (self.wide_units.val() << self.entries_log.val());
        // Operands and result fill the first unit.
        if self.atomics.val().get_bit(self.opcode.val().index()) {
            self.has_entries.next = (self.entries.val() == 1) & (self.length.val() == self.atomic_len.val());
        }
        if self.is_key.val() {
            self.has_entries.next = !self.entries.val().any() & !self.length.val().any();
        }
        if self.is_rpc.val() {
            self.has_entries.next = self.entries.val() == 1;
        }
        self.remote.next = self.text.val().get_bits::<64>(self.remote_at.val().index());
        self.words.next = bit_cast::<8, 64>(self.remote.val() >> self.words_at.val());
        self.parameters.next = bit_cast::<32, 8>(self.words.val()) << 2;
        self.response.next = bit_cast::<32, 64>(self.remote.val() >> self.response_at.val());
        self.has_parameters.next = self.parameters.val() <= self.length.val();
        // Two units hold as many as there may be.
        if self.is_rpc.val() {
            self.has_parameters.next = (self.parameters.val() == self.length.val())
                & ((self.units.val() != 1) | (self.words.val() <= self.first_words.val()));
        }
        self.has_result.next =
            (self.response.val() <= self.most_response.val()) & (self.response.val() <= self.room.val());
        self.known.kind.next = self.job.val().kind;
        self.known.opcode.next = self.opcode.val();
        self.known.length.next = self.length.val();
        self.defect.next = 0.into();
        if self.text.val().get_bits::<16>(self.index_at.val().index()) != self.index.val() {
            self.defect.next = self.bad_index.val();
        } else if !self.has_units.val() {
            self.defect.next = self.bad_units.val();
        } else if !self.known.is_known.val() {
            self.defect.next = self.bad_opcode.val();
        } else if !self.has_flags.val() {
            self.defect.next = self.bad_flags.val();
        } else if !self.has_data.val() {
            self.defect.next = self.bad_length.val();
        } else if !self.has_entries.val() {
            self.defect.next = self.bad_entries.val();
        } else if !self.known.is_sized.val() {
            self.defect.next = self.bad_frame.val();
        } else if self.is_call.val()
            & (!self.has_parameters.val() | (self.words.val() > self.most_words.val()))
        {
            self.defect.next = self.bad_parameters.val();
        } else if self.is_call.val() & !self.has_result.val() {
            self.defect.next = self.bad_response.val();
        }

        self.status.next = 0.into();
        self.vendor.next = 0.into();
        self.is_bad.next = self.defect.val().any() & !self.failed.val() & !self.job.val().flush;
        if self.failed.val() {
            self.status.next = self.general.val();
            self.vendor.next = self.unread.val();
        } else if self.job.val().flush {
            self.status.next = self.flushed.val();
        } else if self.defect.val().any() {
            self.status.next = self.malformed.val();
            if (self.defect.val() == self.bad_frame.val()) | (self.defect.val() == self.bad_response.val()) {
                self.status.next = self.wrong_length.val();
            }
            self.vendor.next = self.defect.val();
        }
        self.sends.next = !self.status.val().any() & !self.bare.val().get_bit(self.opcode.val().index());

        self.work.next.ends = false;
        self.work.next.colour = false;
        self.work.next.qpn = self.job.val().qpn;
        self.work.next.index = self.index.val();
        self.work.next.cq = self.job.val().cq;
        self.work.next.pd = self.job.val().pd;
        self.work.next.status = self.status.val();
        self.work.next.vendor = self.vendor.val();
        self.work.next.signaled = self.text.val().get_bit(self.signaled_at.val().index());
        self.work.next.fence = self.text.val().get_bit(self.fence_at.val().index());
        self.work.next.drains = self.job.val().drains;
        self.work.next.opcode = self.opcode.val();
        self.work.next.inline = self.inline.val() | self.is_rpc.val();
        self.work.next.units = self.units.val();
        self.work.next.sge_count = self.entries.val();
        if self.is_rpc.val() {
            self.work.next.sge_count = 0.into();
        }
        self.work.next.length = self.length.val();
        self.work.next.remote = self.remote.val();
        self.work.next.key = self.text.val().get_bits::<32>(self.key_at.val().index());
        self.work.next.path_mtu = self.job.val().path_mtu;
        self.work.next.send_psn = self.job.val().send_psn;
        self.work.next.reads_out = self.job.val().reads_out;
        self.work.next.timeout = self.job.val().timeout;
    }
}
