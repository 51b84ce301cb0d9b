//! A step's verdict, put into records.

use rust_hdl::prelude::*;
use stroma_abi::desc::Cqe;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::RpcEth;

use super::judge::Verdict;
use super::kind::Kind;
use super::rows::Answered;
use crate::constant::number;
use crate::transport::records::{Alarm, Answer, Arrival, Atomic, Errand, List, Rewind, Sent};

block! {
    /// Fills in what a step tells others. Logic only.
    ///
    /// - **Ports** `arrival`, `kind`: what came; `continues`: another step follows; `entry`, `offset`: the message, and its bytes that were
    ///   answered before; `verdict`, `after`: of the step. `errand`; `rewind`, `alarm`: meant if the verdict says so.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Tell {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub entry: Signal<In, Sent>,
        pub offset: Signal<In, Bits<32>>,
        pub continues: Signal<In, Bit>,
        pub verdict: Signal<In, Verdict>,
        pub after: Signal<In, Answered>,
        pub errand: Signal<Out, Errand>,
        pub rewind: Signal<Out, Rewind>,
        pub alarm: Signal<Out, Alarm>,
        no_answer: Constant<Bits<3>> = number(Answer::None as u8),
        no_list: Constant<Bits<2>> = number(List::None as u8),
        send_list: Constant<Bits<2>> = number(List::Send as u8),
        no_atomic: Constant<Bits<2>> = number(Atomic::None as u8),
        value_bytes: Constant<Bits<32>> = number(u64::BITS / 8),
        status_at: Constant<Bits<6>> = number(RpcEth::STATUS.low_bit(RpcEth::LEN)),
        rpc_flag: Constant<Bits<8>> = number(1_u64 << Cqe::RPC.bit),
        write_right: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
    }
}

impl Logic for Tell {
    #[hdl_gen]
    fn update(&mut self) {
        self.errand.next.ends = !self.continues.val();
        // A frame that has departed comes like an answer, but nobody sent one.
        self.errand.next.is_awaited =
            self.kind.val().is_packet & !self.arrival.val().raw & !self.verdict.val().is_vain;
        self.errand.next.unreliable = false;
        self.errand.next.begins = false;
        self.errand.next.colour = self.arrival.val().colour;
        self.errand.next.qpn = self.arrival.val().qpn;
        self.errand.next.pd = self.arrival.val().pd;
        self.errand.next.path_mtu = self.arrival.val().path_mtu;
        self.errand.next.payload_len = 0.into();
        if !self.continues.val() {
            self.errand.next.payload_len = self.arrival.val().payload_len;
        }
        self.errand.next.stores = false;
        self.errand.next.loads = false;
        self.errand.next.slot = 0.into();
        self.errand.next.places = self.verdict.val().places;
        self.errand.next.has_value = self.verdict.val().places & self.kind.val().is_value;
        self.errand.next.value = self.arrival.val().a1;
        self.errand.next.list = self.no_list.val();
        if self.verdict.val().places & self.entry.val().scatters {
            self.errand.next.list = self.send_list.val();
        }
        self.errand.next.srq = 0.into();
        self.errand.next.offset = self.offset.val();
        self.errand.next.atomic = self.no_atomic.val();
        self.errand.next.compare = 0.into();
        self.errand.next.call = 0.into();
        self.errand.next.call_ends = false;
        self.errand.next.kernel = 0.into();
        self.errand.next.refusal = 0.into();
        self.errand.next.reserved = 0.into();
        self.errand.next.place = 0.into();
        self.errand.next.va = self.entry.val().address + bit_cast::<64, 32>(self.offset.val());
        self.errand.next.key = self.entry.val().key;
        self.errand.next.need = self.write_right.val();
        self.errand.next.span = 0.into();
        if self.verdict.val().places {
            self.errand.next.span = bit_cast::<32, 13>(self.arrival.val().payload_len);
            if self.kind.val().is_value {
                self.errand.next.span = self.value_bytes.val();
            }
        }
        self.errand.next.answer = self.no_answer.val();
        self.errand.next.psn = 0.into();
        self.errand.next.msn = 0.into();
        self.errand.next.counts = false;
        self.errand.next.syndrome = 0.into();
        self.errand.next.fresh = false;
        self.errand.next.completes = self.verdict.val().completes;
        self.errand.next.cq = self.arrival.val().cq;
        self.errand.next.index = self.entry.val().index;
        self.errand.next.opcode = self.entry.val().opcode;
        self.errand.next.detail = 0.into();
        self.errand.next.flags = 0.into();
        if self.verdict.val().concludes {
            self.errand.next.detail = bit_cast::<32, 64>(self.arrival.val().a1 >> self.status_at.val());
            self.errand.next.flags = self.rpc_flag.val();
        }
        self.errand.next.status = self.verdict.val().status;
        self.errand.next.vendor = self.verdict.val().vendor;
        self.errand.next.length = self.entry.val().length;
        if self.verdict.val().concludes {
            self.errand.next.length = bit_cast::<32, 64>(self.arrival.val().a1);
        }
        if self.verdict.val().status.any() {
            self.errand.next.length = 0.into();
        }
        self.errand.next.fails = self.verdict.val().fails;
        self.errand.next.retires = self.verdict.val().retires;
        self.errand.next.tail = self.after.val().tail;
        self.errand.next.reads = self.after.val().reads;
        self.errand.next.last_receive = false;

        self.rewind.next.qpn = self.arrival.val().qpn;
        self.rewind.next.index = self.entry.val().index;
        self.rewind.next.slot = self.verdict.val().slot;
        self.rewind.next.psn = self.verdict.val().psn;
        self.rewind.next.skips = self.verdict.val().skips;
        self.rewind.next.holds = self.verdict.val().holds;
        self.rewind.next.discards = self.kind.val().is_packet;
        self.alarm.next.qpn = self.arrival.val().qpn;
        self.alarm.next.timeout = self.arrival.val().timeout;
        self.alarm.next.rests = self.verdict.val().holds;
        if self.verdict.val().holds {
            self.alarm.next.timeout = self.kind.val().timer;
        }
    }
}
