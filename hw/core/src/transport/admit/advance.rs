//! What an admitted work leaves behind, and what it sends.

use rust_hdl::prelude::*;
use stroma_abi::desc::{AtomicOperands, WindowBind, WorkOp};
use stroma_abi::wire::RpcTarget;

use super::extent::Lengths;
use super::intake::Opening;
use super::judge::Verdict;
use super::route::Order;
use super::rows::CursorRow;
use crate::constant::number;
use crate::host::work::Work;
use crate::state::command::KeyVerb;
use crate::transport::records::{Alarm, KeyJob, Message, Nudge, Occasion, QUANTUM_BYTES, Sent};

block! {
    /// Moves the cursor on, as the verdict says. Logic only.
    ///
    /// - **Ports** `row`: with its cursor complete; `verdict`, `work`, `opening`, `lengths`: as in [`Judge`](super::judge::Judge);
    ///   `ahead`: PSNs from the cursor to the frontier; `skips`, `left`: bytes of the message before the cursor, and from there on; `ticket`: of this work, if it is local; `colour`: to put into the message. `after`: the row afterwards; `message`,
    ///   `alarm`, `entry`: with `verdict.message`, what is sent, and what is remembered of it if `begins`; `handed`: with
    ///   `verdict.local`, what goes to the mover; `job`: with `verdict.key`, what is asked of a key; `failure`: with `verdict.fails`, what is told; `order`: where the units go;
    ///   `bytes`: that the job has to account for.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Advance {
        pub row: Signal<In, CursorRow>,
        pub verdict: Signal<In, Verdict>,
        pub work: Signal<In, Work>,
        pub opening: Signal<In, Opening>,
        pub lengths: Signal<In, Lengths>,
        pub ahead: Signal<In, Bits<24>>,
        pub skips: Signal<In, Bits<32>>,
        pub left: Signal<In, Bits<32>>,
        pub ticket: Signal<In, Bits<48>>,
        pub colour: Signal<In, Bit>,
        pub after: Signal<Out, CursorRow>,
        pub message: Signal<Out, Message>,
        pub entry: Signal<Out, Sent>,
        pub begins: Signal<Out, Bit>,
        pub alarm: Signal<Out, Alarm>,
        pub handed: Signal<Out, Work>,
        pub job: Signal<Out, KeyJob>,
        pub order: Signal<Out, Order>,
        pub failure: Signal<Out, Nudge>,
        pub bytes: Signal<Out, Bits<32>>,
        is_read: Signal<Local, Bit>,
        is_new: Signal<Local, Bit>,
        behind: Signal<Local, Bits<16>>,
        end: Signal<Local, Bits<24>>,
        lead: Signal<Local, Bits<24>>,
        again: Signal<Local, Bit>,
        moved: Signal<Local, CursorRow>,
        asked: Signal<Local, KeyJob>,
        one: Constant<Bits<5>> = number(1),
        quantum: Constant<Bits<32>> = number(QUANTUM_BYTES),
        rpc: Constant<Bits<8>> = number(WorkOp::Rpc as u64),
        parameter_words: Constant<Bits<64>> =
            number(0xff_u64 << RpcTarget::PARAMETER_WORDS.low_bit(RpcTarget::LEN)),
        failed: Constant<Bits<3>> = number(Occasion::Failure as u64),
        bind_code: Constant<Bits<8>> = number(WorkOp::Bind as u64),
        bind: Constant<Bits<2>> = number(KeyVerb::Bind as u64),
        invalidate: Constant<Bits<2>> = number(KeyVerb::Invalidate as u64),
        length_at: Constant<Bits<6>> =
            number(WindowBind::LENGTH.offset() - AtomicOperands::COMPARE.offset()),
        rights_at: Constant<Bits<6>> =
            number(WindowBind::RIGHTS.offset() - AtomicOperands::COMPARE.offset()),
    }
}

impl Logic for Advance {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each field of what a work gives")]
    fn update(&mut self) {
        self.is_read.next =
            self.opening.val().asks & !self.opening.val().is_atomic & !self.opening.val().is_call;
        self.is_new.next = self.row.val().slot == self.row.val().head;
        self.begins.next = self.verdict.val().message & self.is_new.val();
        self.behind.next = self.row.val().index + bit_cast::<16, 4>(self.work.val().units);
        self.end.next = self.row.val().psn + self.verdict.val().covers;
        self.lead.next = self.ahead.val() - self.verdict.val().covers;
        self.again.next = !self.lead.val().get_bit(23);

        self.moved.next = self.row.val();
        self.bytes.next = 0.into();
        if self.verdict.val().message {
            // A part that is not the last is a whole quantum.
            self.bytes.next = self.quantum.val();
            self.moved.next.started = true;
            self.moved.next.psn = self.end.val();
            self.moved.next.sent = self.row.val().sent + self.verdict.val().covers;
            if self.verdict.val().finishes {
                self.bytes.next = self.left.val();
                if self.verdict.val().asks_again {
                    self.bytes.next = 0.into();
                }
                self.moved.next.index = self.behind.val();
                self.moved.next.sent = 0.into();
                self.moved.next.slot = self.row.val().slot + 1;
            }
            if !self.again.val() {
                self.moved.next.frontier = self.end.val();
            }
            if self.is_new.val() {
                self.moved.next.head = self.row.val().head + 1;
                self.moved.next.head_index = self.behind.val();
                self.moved.next.reads = self.row.val().reads + self.opening.val().asks;
            }
        }
        if self.verdict.val().local {
            self.moved.next.started = true;
            self.moved.next.index = self.behind.val();
            self.moved.next.head_index = self.behind.val();
            self.moved.next.local_ticket = self.ticket.val();
            if !self.verdict.val().status.any() {
                self.bytes.next = self.work.val().length;
            }
        }
        if self.verdict.val().key {
            self.moved.next.started = true;
            self.moved.next.index = self.behind.val();
            self.moved.next.head_index = self.behind.val();
            self.moved.next.key_turn = !self.row.val().key_turn;
        }
        if self.verdict.val().fails {
            self.moved.next.halted = true;
        }
        self.after.next = self.moved.val();

        self.message.next.qpn = self.work.val().qpn;
        self.message.next.pd = self.work.val().pd;
        self.message.next.path_mtu = self.work.val().path_mtu;
        self.message.next.opcode = self.work.val().opcode;
        self.message.next.solicited = self.opening.val().solicited;
        self.message.next.imm = self.opening.val().imm;
        self.message.next.a1 = self.opening.val().a1;
        self.message.next.a2 = self.opening.val().a2;
        self.message.next.inline = self.work.val().inline;
        self.message.next.units = self.work.val().units;
        self.message.next.sge_count = self.work.val().sge_count;
        self.message.next.length = self.work.val().length;
        self.message.next.skips = self.skips.val();
        self.message.next.packets = self.verdict.val().packets;
        self.message.next.psn = self.row.val().psn;
        self.message.next.remote = self.work.val().remote;
        // Parameters alone, of which there are none: so the payload need not be there any more.
        if self.verdict.val().asks_again {
            self.message.next.opcode = self.rpc.val();
            self.message.next.inline = false;
            self.message.next.length = 0.into();
            self.message.next.skips = 0.into();
            self.message.next.remote = self.work.val().remote & !self.parameter_words.val();
        }
        self.message.next.key = self.work.val().key;
        self.message.next.slot = self.row.val().slot;
        self.message.next.again = self.again.val();
        self.message.next.colour = self.colour.val();
        self.message.next.epoch = self.row.val().epoch;

        self.entry.next.psn = self.row.val().psn;
        self.entry.next.packets = self.lengths.val().psns;
        self.entry.next.answers = self.lengths.val().answers;
        self.entry.next.index = self.work.val().index;
        self.entry.next.opcode = self.work.val().opcode;
        self.entry.next.signaled = self.work.val().signaled;
        self.entry.next.length = self.lengths.val().bytes;
        self.entry.next.address = self.opening.val().address;
        self.entry.next.key = self.opening.val().key;
        self.entry.next.scatters = self.is_read.val() & (self.work.val().sge_count > self.one.val());
        self.alarm.next.qpn = self.work.val().qpn;
        self.alarm.next.timeout = self.work.val().timeout;
        self.alarm.next.rests = false;

        self.handed.next = self.work.val();
        self.handed.next.status = self.verdict.val().status;
        self.handed.next.vendor = self.verdict.val().vendor;
        self.asked.next.verb = self.invalidate.val();
        self.asked.next.qpn = self.work.val().qpn;
        self.asked.next.pd = self.work.val().pd;
        self.asked.next.key = self.work.val().key;
        self.asked.next.region = 0.into();
        self.asked.next.base = 0.into();
        self.asked.next.length = 0.into();
        self.asked.next.rights = 0.into();
        if self.work.val().opcode == self.bind_code.val() {
            self.asked.next.verb = self.bind.val();
            self.asked.next.region = self.opening.val().region;
            self.asked.next.base = self.opening.val().a1;
            self.asked.next.length = bit_cast::<48, 64>(self.opening.val().a2 >> self.length_at.val());
            self.asked.next.rights = bit_cast::<5, 64>(self.opening.val().a2 >> self.rights_at.val());
        }
        self.asked.next.cq = self.work.val().cq;
        self.asked.next.index = self.work.val().index;
        self.asked.next.signaled = self.work.val().signaled;
        self.asked.next.turn = !self.row.val().key_turn;
        self.job.next = self.asked.val();

        self.order.next.local = self.verdict.val().local & !self.verdict.val().status.any();
        self.order.next.message = self.verdict.val().message;
        self.order.next.units = self.work.val().units;
        self.failure.next.again = false;
        self.failure.next.occasion = self.failed.val();
        self.failure.next.qpn = self.work.val().qpn;
        self.failure.next.slot = self.row.val().slot;
        self.failure.next.status = self.verdict.val().status;
        self.failure.next.vendor = self.verdict.val().vendor;
        self.failure.next.psn = 0.into();
    }
}
