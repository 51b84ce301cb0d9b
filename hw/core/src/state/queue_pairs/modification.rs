//! What a queue pair may change into.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::attribute;
use stroma_abi::desc::{CommandStatus, QueuePair, QueuePairKind, QueuePairState};

use super::attributes::{ATTRIBUTES, ones, place, set_by, set_by_creation};
use super::transitions::Transitions;
use crate::constant::{constants, number};
use crate::prim::reg::Reg;

/// States there are.
const STATES: usize = QueuePairState::ALL.len();
/// Code of the longest path MTU.
pub(super) const PATH_MTU_MAX: usize = 5;
/// READs, atomics and RPCs in flight, either way.
pub(super) const READS_MAX: usize = 16;
/// log2 of the bytes of a place for results: at least, and at most.
pub(super) const RESULT_LOG: [usize; 2] = [12, 16];
/// log2 of the places.
pub(super) const RESULTS_LOG: usize = 4;

const _: () = {
    assert!(STATES == 7, "three bits hold a state, and not all of their codes");
    assert!(QueuePairState::Reset as u8 == 0, "a body that creation has made is in RESET");
};

block! {
    /// Judges a modify command and carries it out on a body.
    ///
    /// An attribute that does not exist is told first, then a state that does not, then what the table of states says,
    /// then the values of the fields in the order of their bytes. A raw queue pair has the longest path MTU: its packets
    /// are whole frames.
    ///
    /// - **Ports** `present`: the queue pair, which exists; `body`, `attributes`: of the command; `status`, `field`: for
    ///   the reply; `to`: the state afterwards; `merged`: the queue pair afterwards, if `status` is Done. On its way
    ///   to RESET it loses all that modify commands gave it; on its way to Drained it is draining.
    /// - **Latency** 1 cycle for `status` and `field`, in which the inputs stay as they are: what each cause says is registered
    ///   before the first is chosen. 0 for the rest. **Reset** none.
    pub struct Modification {
        pub clock: Signal<In, Clock>,
        pub present: Signal<In, Bits<896>>,
        pub body: Signal<In, Bits<896>>,
        pub attributes: Signal<In, Bits<64>>,
        pub status: Signal<Out, Bits<16>>,
        pub field: Signal<Out, Bits<16>>,
        pub to: Signal<Out, Bits<3>>,
        pub merged: Signal<Out, Bits<896>>,
        transitions: Transitions,
        from: Signal<Local, Bits<3>>,
        asked: Signal<Local, Bits<8>>,
        target: Signal<Local, Bits<3>>,
        is_no_state: Signal<Local, Bit>,
        path_mtu: Signal<Local, Bits<3>>,
        is_raw: Signal<Local, Bit>,
        reads_out: Signal<Local, Bits<5>>,
        reads_in: Signal<Local, Bits<5>>,
        result_base: Signal<Local, Bits<64>>,
        result_log: Signal<Local, Bits<5>>,
        has_results: Signal<Local, Bit>,
        is_askew: Signal<Local, Bit>,
        is_unknown: Reg<Bit>,
        is_nowhere: Reg<Bit>,
        transition: Reg<Bits<16>>,
        is_wrong: Reg<Bit>,
        wrong_field: Reg<Bits<16>>,
        mask: Signal<Local, Bits<896>>,
        mixed: Signal<Local, Bits<896>>,
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        path_mtu_at: Constant<Bits<10>> = number(QueuePair::PATH_MTU.offset()),
        reads_out_at: Constant<Bits<10>> = number(QueuePair::READS_OUT.offset()),
        reads_in_at: Constant<Bits<10>> = number(QueuePair::READS_IN.offset()),
        result_base_at: Constant<Bits<10>> = number(QueuePair::RESULT_BASE.offset()),
        result_log_at: Constant<Bits<10>> = number(QueuePair::RESULT_LOG.offset()),
        state_byte: Constant<Bits<16>> = number(QueuePair::STATE.byte),
        path_mtu_byte: Constant<Bits<16>> = number(QueuePair::PATH_MTU.byte),
        reads_out_byte: Constant<Bits<16>> = number(QueuePair::READS_OUT.byte),
        reads_in_byte: Constant<Bits<16>> = number(QueuePair::READS_IN.byte),
        result_base_byte: Constant<Bits<16>> = number(QueuePair::RESULT_BASE.byte),
        result_log_byte: Constant<Bits<16>> = number(QueuePair::RESULT_LOG.byte),
        state: Constant<Bits<5>> = number(place(attribute::STATE)),
        path_mtu_bit: Constant<Bits<5>> = number(place(attribute::PATH_MTU)),
        reads_out_bit: Constant<Bits<5>> = number(place(attribute::READS_OUT)),
        reads_in_bit: Constant<Bits<5>> = number(place(attribute::READS_IN)),
        result_bit: Constant<Bits<5>> = number(place(attribute::RESULT_AREA)),
        result_least: Constant<Bits<5>> = number(RESULT_LOG[0]),
        result_most: Constant<Bits<5>> = number(RESULT_LOG[1]),
        results_log: Constant<Bits<5>> = number(RESULTS_LOG),
        address_bits: Constant<Bits<64>> = Constant::new(Bits::mask()),
        path_mtu_max: Constant<Bits<3>> = number(PATH_MTU_MAX),
        raw: Constant<Bits<3>> = number(QueuePairKind::Raw as u64),
        reads_max: Constant<Bits<5>> = number(READS_MAX),
        states: [Constant<Bits<8>>; STATES] = std::array::from_fn(|state| number(QueuePairState::ALL[state].0 as u64)),
        reset_state: Constant<Bits<3>> = number(QueuePairState::Reset as u64),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u64),
        draining: Constant<Bits<896>> = Constant::new(ones([QueuePair::DRAINING])),
        set: [Constant<Bits<896>>; ATTRIBUTES] = constants(set_by),
        initial: Constant<Bits<896>> = Constant::new(set_by_creation()),
        attribute_count: Constant<Bits<5>> = number(ATTRIBUTES),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        bad_field: Constant<Bits<16>> = number(CommandStatus::BadField as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
    }
}

impl Logic for Modification {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_unknown, is_nowhere, transition, is_wrong, wrong_field);
        self.from.next = self.present.val().get_bits::<3>(self.state_at.val().index());
        self.asked.next = self.body.val().get_bits::<8>(self.state_at.val().index());
        self.target.next = self.from.val();
        self.is_no_state.next = false;
        if self.attributes.val().get_bit(self.state.val().index()) {
            self.target.next = bit_cast::<3, 8>(self.asked.val());
            self.is_no_state.next = true;
            for i in 0..STATES {
                if self.asked.val() == self.states[i].val() {
                    self.is_no_state.next = false;
                }
            }
        }
        self.to.next = self.target.val();
        self.transitions.kind.next = self.present.val().get_bits::<3>(self.kind_at.val().index());
        self.transitions.from.next = self.from.val();
        self.transitions.to.next = self.target.val();
        self.transitions.attributes.next = bit_cast::<ATTRIBUTES, 64>(self.attributes.val());

        self.path_mtu.next = self.body.val().get_bits::<3>(self.path_mtu_at.val().index());
        self.is_raw.next = self.present.val().get_bits::<3>(self.kind_at.val().index()) == self.raw.val();
        self.reads_out.next = self.body.val().get_bits::<5>(self.reads_out_at.val().index());
        self.reads_in.next = self.body.val().get_bits::<5>(self.reads_in_at.val().index());
        // All places together begin at a multiple of their bytes, so that the address of each is put together without a sum.
        self.result_base.next = self.body.val().get_bits::<64>(self.result_base_at.val().index());
        self.result_log.next = self.body.val().get_bits::<5>(self.result_log_at.val().index());
        self.has_results.next =
            self.attributes.val().get_bit(self.result_bit.val().index()) & self.result_log.val().any();
        self.is_askew.next = (self.result_base.val()
            & !((self.address_bits.val() << self.results_log.val()) << self.result_log.val()))
        .any();
        self.is_unknown.d.next = (self.attributes.val() >> self.attribute_count.val()).any();
        self.is_nowhere.d.next = self.is_no_state.val();
        self.transition.d.next = self.transitions.status.val();
        self.is_wrong.d.next = true;
        self.wrong_field.d.next = 0.into();
        if self.attributes.val().get_bit(self.path_mtu_bit.val().index())
            & (!self.path_mtu.val().any()
                | (self.path_mtu.val() > self.path_mtu_max.val())
                | (self.is_raw.val() & (self.path_mtu.val() != self.path_mtu_max.val())))
        {
            self.wrong_field.d.next = self.path_mtu_byte.val();
        } else if self.attributes.val().get_bit(self.reads_out_bit.val().index())
            & (self.reads_out.val() > self.reads_max.val())
        {
            self.wrong_field.d.next = self.reads_out_byte.val();
        } else if self.attributes.val().get_bit(self.reads_in_bit.val().index())
            & (self.reads_in.val() > self.reads_max.val())
        {
            self.wrong_field.d.next = self.reads_in_byte.val();
        } else if self.has_results.val() & self.is_askew.val() {
            self.wrong_field.d.next = self.result_base_byte.val();
        } else if self.has_results.val()
            & ((self.result_log.val() < self.result_least.val())
                | (self.result_log.val() > self.result_most.val()))
        {
            self.wrong_field.d.next = self.result_log_byte.val();
        } else {
            self.is_wrong.d.next = false;
        }

        self.status.next = self.bad_field.val();
        self.field.next = 0.into();
        if self.is_unknown.q.val() {
            self.status.next = self.bad_attribute.val();
        } else if self.is_nowhere.q.val() {
            self.field.next = self.state_byte.val();
        } else if self.transition.q.val() != self.done.val() {
            self.status.next = self.transition.q.val();
        } else if self.is_wrong.q.val() {
            self.field.next = self.wrong_field.q.val();
        } else {
            self.status.next = self.done.val();
        }

        self.mask.next = 0.into();
        for i in 0..ATTRIBUTES {
            if self.attributes.val().get_bit(i) {
                self.mask.next = self.mask.val() | self.set[i].val();
            }
        }
        self.mixed.next = (self.present.val() & !self.mask.val()) | (self.body.val() & self.mask.val());
        // Whether it is draining is not the command's to say.
        self.merged.next = self.mixed.val();
        if self.attributes.val().get_bit(self.state.val().index()) {
            self.merged.next = self.mixed.val() & !self.draining.val();
            if (self.target.val() == self.drained.val())
                & ((self.from.val() != self.drained.val()) | (self.present.val() & self.draining.val()).any())
            {
                self.merged.next = self.mixed.val() | self.draining.val();
            }
        }
        if self.target.val() == self.reset_state.val() {
            self.merged.next = self.present.val() & self.initial.val();
        }
    }
}
