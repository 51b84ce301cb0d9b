//! Where PSNs lie in the answer under way.

use rust_hdl::prelude::*;

use super::rows::{AnswerRow, ReadEntry};
use crate::constant::number;
use crate::prim::reg::Reg;

block! {
    /// Finds two PSNs in the READ at the head: that of a packet that failed, and that from which a READ is asked for again.
    ///
    /// - **Ports** `row`, `entry`: of the queue pair, steady. `failed`: a PSN; `is_of_head`: the READ or atomic at the head has it, and `msn`
    ///   is that one's MSN. `again`, `path_mtu`: a PSN, and the code of the path MTU; `goes_back`: packets of the READ at the
    ///   head have gone, and the PSN lies behind the first of them, and not behind the one that comes next.
    /// - **Latency** 1 cycle from `entry` and `failed` to `is_of_head` and `msn`, 0 to `goes_back`.
    /// - **Reset** none: nothing is kept beyond a cycle.
    /// - **Limits** `path_mtu` is that of the READ at the head: it is the queue pair's, and stays until it is reset.
    pub struct Locate {
        pub clock: Signal<In, Clock>,
        pub row: Signal<In, AnswerRow>,
        pub entry: Signal<In, ReadEntry>,
        pub failed: Signal<In, Bits<24>>,
        pub is_of_head: Signal<Out, Bit>,
        pub msn: Signal<Out, Bits<24>>,
        pub again: Signal<In, Bits<24>>,
        pub path_mtu: Signal<In, Bits<3>>,
        pub goes_back: Signal<Out, Bit>,
        /// Packets from the first of the READ at the head to the one that failed.
        away: Reg<Bits<24>>,
        length: Reg<Bits<32>>,
        message: Reg<Bits<24>>,
        packet_code: Reg<Bits<3>>,
        bytes_before: Signal<Local, Bits<40>>,
        /// Packets from the one asked for to the next, and those of the READ at the head that have gone.
        back: Signal<Local, Bits<24>>,
        gone: Signal<Local, Bits<32>>,
        /// `128 << code` bytes a packet.
        unit_log: Constant<Bits<6>> = number(7),
    }
}

impl Logic for Locate {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, away, length, message, packet_code);
        self.away.d.next = self.failed.val() - self.entry.val().psn;
        self.length.d.next = self.entry.val().length;
        self.message.d.next = self.entry.val().msn;
        self.packet_code.d.next = self.entry.val().path_mtu;
        self.bytes_before.next = (bit_cast::<40, 24>(self.away.q.val()) << self.unit_log.val())
            << bit_cast::<6, 3>(self.packet_code.q.val());
        self.is_of_head.next = (self.row.val().head != self.row.val().tail)
            & (!self.away.q.val().any()
                | (self.bytes_before.val() < bit_cast::<40, 32>(self.length.q.val())));
        self.msn.next = self.message.q.val();

        // Counted from the next packet: the first one's PSN stands in the entry, which comes late in the cycle.
        self.back.next = self.row.val().next_psn - self.again.val();
        self.gone.next =
            (self.row.val().sent >> self.unit_log.val()) >> bit_cast::<6, 3>(self.path_mtu.val());
        self.goes_back.next = bit_cast::<32, 24>(self.back.val()) < self.gone.val();
    }
}
