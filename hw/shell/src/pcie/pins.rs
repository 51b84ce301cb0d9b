//! The hard block's four streams as it has them, pin by pin, and as the blocks here have them.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::completer::fields::{Place, cc_user, cq_user};
use super::completer::{CcBeat, CqBeat};
use super::requester::fields::{
    RC_DISCONTINUE_AT, RC_USER_BITS, RQ_FIRST_BE_AT, RQ_LAST_BE_AT, RQ_SEQUENCE_AT, RQ_USER_BITS,
};
use super::requester::{RcBeat, RqBeat};

/// Bits of the sidebands of the host's requests, and of our completions.
const CQ_USER_BITS: usize = cq_user::WIDTH;
const CC_USER_BITS: usize = cc_user::WIDTH;

/// Where a field begins.
fn at(place: Place) -> Constant<Bits<8>> {
    number(place.at)
}

block! {
    /// Takes the sidebands apart and puts them together. Combinational.
    ///
    /// - **Ports** `m_axis_*`, `s_axis_*`: the hard block's, by its names; of its four equal bits of `tready` the lowest counts. `cq`, `cc`, `rq`, `rc`: the same
    ///   streams.
    pub struct Pins {
        pub m_axis_cq_tdata: Signal<In, Bits<512>>,
        pub m_axis_cq_tkeep: Signal<In, Bits<16>>,
        pub m_axis_cq_tuser: Signal<In, Bits<CQ_USER_BITS>>,
        pub m_axis_cq_tlast: Signal<In, Bit>,
        pub m_axis_cq_tvalid: Signal<In, Bit>,
        pub m_axis_cq_tready: Signal<Out, Bit>,
        pub s_axis_cc_tdata: Signal<Out, Bits<512>>,
        pub s_axis_cc_tkeep: Signal<Out, Bits<16>>,
        pub s_axis_cc_tuser: Signal<Out, Bits<CC_USER_BITS>>,
        pub s_axis_cc_tlast: Signal<Out, Bit>,
        pub s_axis_cc_tvalid: Signal<Out, Bit>,
        pub s_axis_cc_tready: Signal<In, Bits<4>>,
        pub s_axis_rq_tdata: Signal<Out, Bits<512>>,
        pub s_axis_rq_tkeep: Signal<Out, Bits<16>>,
        pub s_axis_rq_tuser: Signal<Out, Bits<RQ_USER_BITS>>,
        pub s_axis_rq_tlast: Signal<Out, Bit>,
        pub s_axis_rq_tvalid: Signal<Out, Bit>,
        pub s_axis_rq_tready: Signal<In, Bits<4>>,
        pub m_axis_rc_tdata: Signal<In, Bits<512>>,
        pub m_axis_rc_tkeep: Signal<In, Bits<16>>,
        pub m_axis_rc_tuser: Signal<In, Bits<RC_USER_BITS>>,
        pub m_axis_rc_tlast: Signal<In, Bit>,
        pub m_axis_rc_tvalid: Signal<In, Bit>,
        pub m_axis_rc_tready: Signal<Out, Bit>,
        pub cq: StreamSource<CqBeat>,
        pub cc: StreamSink<CcBeat>,
        pub rq: StreamSink<RqBeat>,
        pub rc: StreamSource<RcBeat>,
        cc_flags: Signal<Local, Bits<CC_USER_BITS>>,
        cq_first_be: Constant<Bits<8>> = at(cq_user::FIRST_BE),
        cq_last_be: Constant<Bits<8>> = at(cq_user::LAST_BE),
        cq_discontinue: Constant<Bits<8>> = at(cq_user::DISCONTINUE),
        cc_is_first: Constant<Bits<8>> = at(cc_user::IS_FIRST),
        cc_is_last: Constant<Bits<8>> = at(cc_user::IS_LAST),
        cc_end_at: Constant<Bits<8>> = at(cc_user::END_AT),
        rq_first_be: Constant<Bits<8>> = number(RQ_FIRST_BE_AT),
        rq_last_be: Constant<Bits<8>> = number(RQ_LAST_BE_AT),
        rq_sequence: Constant<Bits<8>> = number(RQ_SEQUENCE_AT),
        rc_discontinue: Constant<Bits<8>> = number(RC_DISCONTINUE_AT),
    }
}

impl Logic for Pins {
    #[hdl_gen]
    fn update(&mut self) {
        self.cq.payload.next.data = self.m_axis_cq_tdata.val();
        self.cq.payload.next.keep = self.m_axis_cq_tkeep.val();
        self.cq.payload.next.first_be =
            bit_cast::<4, CQ_USER_BITS>(self.m_axis_cq_tuser.val() >> self.cq_first_be.val());
        self.cq.payload.next.last_be =
            bit_cast::<4, CQ_USER_BITS>(self.m_axis_cq_tuser.val() >> self.cq_last_be.val());
        self.cq.payload.next.discontinue =
            self.m_axis_cq_tuser.val().get_bit(self.cq_discontinue.val().index());
        self.cq.payload.next.last = self.m_axis_cq_tlast.val();
        self.cq.valid.next = self.m_axis_cq_tvalid.val();
        self.m_axis_cq_tready.next = self.cq.ready.val();

        self.s_axis_cc_tdata.next = self.cc.payload.val().data;
        self.s_axis_cc_tkeep.next = self.cc.payload.val().keep;
        self.cc_flags.next =
            bit_cast::<CC_USER_BITS, 4>(self.cc.payload.val().end_at) << self.cc_end_at.val();
        self.s_axis_cc_tuser.next = self
            .cc_flags
            .val()
            .replace_bit(self.cc_is_first.val().index(), self.cc.payload.val().is_first)
            .replace_bit(self.cc_is_last.val().index(), self.cc.payload.val().last);
        self.s_axis_cc_tlast.next = self.cc.payload.val().last;
        self.s_axis_cc_tvalid.next = self.cc.valid.val();
        self.cc.ready.next = self.s_axis_cc_tready.val().get_bit(0);

        self.s_axis_rq_tdata.next = self.rq.payload.val().data;
        self.s_axis_rq_tkeep.next = self.rq.payload.val().keep;
        self.s_axis_rq_tuser.next = (bit_cast::<RQ_USER_BITS, 4>(self.rq.payload.val().first_be)
            << self.rq_first_be.val())
            | (bit_cast::<RQ_USER_BITS, 4>(self.rq.payload.val().last_be) << self.rq_last_be.val())
            | (bit_cast::<RQ_USER_BITS, 6>(self.rq.payload.val().sequence) << self.rq_sequence.val());
        self.s_axis_rq_tlast.next = self.rq.payload.val().last;
        self.s_axis_rq_tvalid.next = self.rq.valid.val();
        self.rq.ready.next = self.s_axis_rq_tready.val().get_bit(0);

        self.rc.payload.next.data = self.m_axis_rc_tdata.val();
        self.rc.payload.next.keep = self.m_axis_rc_tkeep.val();
        self.rc.payload.next.discontinue =
            self.m_axis_rc_tuser.val().get_bit(self.rc_discontinue.val().index());
        self.rc.payload.next.last = self.m_axis_rc_tlast.val();
        self.rc.valid.next = self.m_axis_rc_tvalid.val();
        self.m_axis_rc_tready.next = self.rc.ready.val();
    }
}
