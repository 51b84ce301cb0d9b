//! Heading: what the head of a list says.

use rust_hdl::prelude::*;
use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::{ReceiveHead, Sge, WqeHead};

use super::reads::Plan;
use crate::constant::number;

block! {
    /// Reads the head of a list in its first unit, where the first entry is, too.
    ///
    /// - **Ports** `plan`, `row`: the list, and its first unit; `slot`: of the first entry, in 16 bytes; `count`: how many there
    ///   are; `is_single`: not more than one; `contradicts`: a receive has more than its stride holds, or the WQE is another
    ///   one: then neither counts.
    /// - **Latency** 0 cycles.
    pub struct Heading {
        pub plan: Signal<In, Plan>,
        pub row: Signal<In, Bits<512>>,
        pub slot: Signal<Out, Bits<2>>,
        pub count: Signal<Out, Bits<5>>,
        pub is_single: Signal<Out, Bit>,
        pub contradicts: Signal<Out, Bit>,
        first: Signal<Local, Bits<128>>,
        head: Signal<Local, Bits<128>>,
        wqe_count: Signal<Local, Bits<4>>,
        wqe_index: Signal<Local, Bits<16>>,
        receive_count: Signal<Local, Bits<8>>,
        wqe_count_at: Constant<Bits<7>> = number(WqeHead::SGE_COUNT.offset()),
        wqe_index_at: Constant<Bits<7>> = number(WqeHead::INDEX.offset()),
        receive_count_at: Constant<Bits<7>> = number(ReceiveHead::SGE_COUNT.offset()),
        wqe_places: Constant<Bits<2>> = number(WqeHead::LEN / Sge::LEN),
        receive_places: Constant<Bits<2>> = number(ReceiveHead::LEN / Sge::LEN),
        most: Constant<Bits<5>> = number(SGE_MAX),
    }
}

impl Logic for Heading {
    #[hdl_gen]
    fn update(&mut self) {
        // A WQE begins with its unit, a receive at any place of it.
        self.first.next = self.row.val().get_bits::<128>(0);
        self.head.next = self.first.val();
        for i in 1..4 {
            if self.plan.val().first.index() == i {
                self.head.next = self.row.val().get_bits::<128>(i * 128);
            }
        }
        self.wqe_count.next = bit_cast::<4, 128>(self.first.val() >> self.wqe_count_at.val());
        self.wqe_index.next = bit_cast::<16, 128>(self.first.val() >> self.wqe_index_at.val());
        self.receive_count.next = bit_cast::<8, 128>(self.head.val() >> self.receive_count_at.val());
        if self.plan.val().is_send {
            self.slot.next = self.wqe_places.val();
            self.count.next = bit_cast::<5, 4>(self.wqe_count.val());
            // A READ that scatters has bytes, so that none means all.
            if !self.wqe_count.val().any() {
                self.count.next = self.most.val();
            }
            self.is_single.next = self.wqe_count.val() == 1;
            self.contradicts.next = self.wqe_index.val() != self.plan.val().index;
        } else {
            self.slot.next = self.plan.val().first + self.receive_places.val();
            self.count.next = bit_cast::<5, 8>(self.receive_count.val());
            self.is_single.next = !bit_cast::<7, 8>(self.receive_count.val() >> 1).any();
            self.contradicts.next = self.receive_count.val() > bit_cast::<8, 5>(self.plan.val().most);
        }
    }
}
