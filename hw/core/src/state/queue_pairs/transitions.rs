//! The table of states in hardware: one comparison a row.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::{TRANSITIONS, attribute};
use stroma_abi::desc::{CommandStatus, QueuePairState};

use super::attributes::{ATTRIBUTES, place};
use crate::constant::number;

/// Rows of the table.
const ROWS: usize = TRANSITIONS.len();

block! {
    /// May a queue pair change so? As `stroma_abi::desc::queue_pair::transition` says. Logic only.
    ///
    /// - **Ports** `kind`, `from`: of the queue pair; `to`: its state afterwards, `from` itself unless the mask names
    ///   STATE; `attributes`: the mask; `status`: Done, `BadState` or `BadAttribute`.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Transitions {
        pub kind: Signal<In, Bits<3>>,
        pub from: Signal<In, Bits<3>>,
        pub to: Signal<In, Bits<3>>,
        pub attributes: Signal<In, Bits<ATTRIBUTES>>,
        pub status: Signal<Out, Bits<16>>,
        given: Signal<Local, Bits<ATTRIBUTES>>,
        is_free: Signal<Local, Bit>,
        is_meant: Signal<Local, Bit>,
        is_known: Signal<Local, Bit>,
        is_legal: Signal<Local, Bit>,
        row_from: [Constant<Bits<3>>; ROWS] = std::array::from_fn(|row| number(TRANSITIONS[row].from as u64)),
        row_to: [Constant<Bits<3>>; ROWS] = std::array::from_fn(|row| number(TRANSITIONS[row].to as u64)),
        row_kinds: [Constant<Bits<8>>; ROWS] = std::array::from_fn(|row| number(TRANSITIONS[row].kinds)),
        required: [Constant<Bits<ATTRIBUTES>>; ROWS] = std::array::from_fn(|row| number(TRANSITIONS[row].required)),
        allowed: [Constant<Bits<ATTRIBUTES>>; ROWS] =
            std::array::from_fn(|row| number(TRANSITIONS[row].required | TRANSITIONS[row].optional)),
        state: Constant<Bits<ATTRIBUTES>> = number(attribute::STATE),
        state_at: Constant<Bits<5>> = number(place(attribute::STATE)),
        reset_state: Constant<Bits<3>> = number(QueuePairState::Reset as u64),
        error_state: Constant<Bits<3>> = number(QueuePairState::Error as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        bad_state: Constant<Bits<16>> = number(CommandStatus::BadState as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
    }
}

impl Logic for Transitions {
    #[hdl_gen]
    fn update(&mut self) {
        self.given.next = self.attributes.val() & !self.state.val();
        // From anywhere to RESET and to Error, if that is what the command asks for.
        self.is_free.next = self.attributes.val().get_bit(self.state_at.val().index())
            & ((self.to.val() == self.reset_state.val()) | (self.to.val() == self.error_state.val()));
        self.is_known.next = self.is_free.val();
        self.is_legal.next = self.is_free.val() & !self.given.val().any();
        // A change has one row at most, so the order does not matter: whatever the rows say is or-ed.
        for i in 0..ROWS {
            self.is_meant.next = !self.is_free.val()
                & (self.from.val() == self.row_from[i].val())
                & (self.to.val() == self.row_to[i].val())
                & self.row_kinds[i].val().get_bit(self.kind.val().index());
            self.is_known.next = self.is_known.val() | self.is_meant.val();
            self.is_legal.next = self.is_legal.val()
                | (self.is_meant.val()
                    & !(self.required[i].val() & !self.given.val()).any()
                    & !(self.given.val() & !self.allowed[i].val()).any());
        }
        self.status.next = self.done.val();
        if !self.is_known.val() {
            self.status.next = self.bad_state.val();
        } else if !self.is_legal.val() {
            self.status.next = self.bad_attribute.val();
        }
    }
}
