//! What is known of the send queues, and what an operation sees of it.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::work::SendRow;
use crate::prim::mul::Mul;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// What is known of a send queue.
    pub struct SendState {
        /// Index behind the last WQE that may be fetched.
        pub producer: Bits<16>,
        /// Index of the next unit to fetch.
        pub next_index: Bits<16>,
        /// It stands in line.
        pub queued: Bit,
        /// A job has not ended.
        pub busy: Bit,
        /// Its next WQE waits for an answer of the peer: not in line, without a job, and with units that wait.
        pub blocked: Bit,
        /// With `busy`: something has happened that what the job finds blocked may have waited for.
        pub kicked: Bit,
        /// No job starts before this cycle; while `busy`, when the job started. All 64 bits: fewer would come round, and
        /// hold up a queue pair that had rested long.
        pub not_before: Bits<64>,
    }
}

block! {
    /// Keeps a [`SendState`] for each of `2^QPS` queue pairs, and holds the one in use, with its row, for the operation.
    ///
    /// - **Ports** `begins`, `index`: read; `looks`: a cycle later, with the queue pair's `row`, the doorbell's `producer`, the
    ///   progress's `bytes` and the cycle, `now`. `held_row`, `state`: both rows, from the next cycle on; `waiting`, `gap`: units
    ///   from the next to fetch to the known producer, and to the doorbell's; `capacity`: units of the ring; `is_due`: the
    ///   pace allowed a job at `looks`. `delay`: cycles that `bytes` take at the row's pace, 2 cycles after the others;
    ///   0 at once without a pace. `writes`, `changed`: the new state of `index`; `scrubs`: nothing is known of it.
    /// - **Latency** as said. **Rate** an operation every 3 cycles.
    /// - **Reset** none: the owner scrubs.
    /// - **Limits** the delay is rounded down to whole cycles.
    pub struct Rows<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub looks: Signal<In, Bit>,
        pub row: Signal<In, SendRow>,
        pub producer: Signal<In, Bits<16>>,
        pub bytes: Signal<In, Bits<32>>,
        pub now: Signal<In, Bits<64>>,
        pub held_row: Signal<Out, SendRow>,
        pub state: Signal<Out, SendState>,
        pub waiting: Signal<Out, Bits<16>>,
        pub gap: Signal<Out, Bits<16>>,
        pub capacity: Signal<Out, Bits<16>>,
        pub is_due: Signal<Out, Bit>,
        pub delay: Signal<Out, Bits<64>>,
        pub writes: Signal<In, Bit>,
        pub changed: Signal<In, SendState>,
        pub scrubs: Signal<In, Bit>,
        states: BlockRam<SendState, QPS>,
        weigh: Mul<32, 24, 56>,
        seen_row: Reg<SendRow>,
        seen_state: Reg<SendState>,
        seen_waiting: Reg<Bits<16>>,
        seen_gap: Reg<Bits<16>>,
        seen_capacity: Reg<Bits<16>>,
        was_due: Reg<Bit>,
        one: Constant<Bits<16>> = number(1),
        /// Bytes by cycles a KiB, in 1/256.
        pace_at: Constant<Bits<6>> = number(18),
        nothing: Constant<SendState> = Constant::new(SendState::default()),
    }
}

impl<const QPS: usize> Logic for Rows<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, states, weigh);
        dff_setup!(self, clock, seen_row, seen_state, seen_waiting, seen_gap, seen_capacity, was_due);
        self.states.read_enable.next = self.begins.val();
        self.states.read_address.next = self.index.val();
        if self.looks.val() {
            self.seen_row.d.next = self.row.val();
            self.seen_state.d.next = self.states.read_data.val();
            self.seen_waiting.d.next =
                self.states.read_data.val().producer - self.states.read_data.val().next_index;
            self.seen_gap.d.next = self.producer.val() - self.states.read_data.val().next_index;
            self.seen_capacity.d.next = self.one.val() << self.row.val().log;
            self.was_due.d.next = self.now.val() >= self.states.read_data.val().not_before;
        }
        self.weigh.enable.next = true;
        self.weigh.a.next = self.bytes.val();
        self.weigh.b.next = self.row.val().pace;

        self.held_row.next = self.seen_row.q.val();
        self.state.next = self.seen_state.q.val();
        self.waiting.next = self.seen_waiting.q.val();
        self.gap.next = self.seen_gap.q.val();
        self.capacity.next = self.seen_capacity.q.val();
        self.is_due.next = self.was_due.q.val();
        self.delay.next = 0.into();
        if self.seen_row.q.val().pace.any() {
            self.delay.next = bit_cast::<64, 56>(self.weigh.p.val() >> self.pace_at.val());
        }

        self.states.write_enable.next = self.writes.val() | self.scrubs.val();
        self.states.write_address.next = self.index.val();
        self.states.write_data.next = self.changed.val();
        if self.scrubs.val() {
            self.states.write_data.next = self.nothing.val();
        }
    }
}
