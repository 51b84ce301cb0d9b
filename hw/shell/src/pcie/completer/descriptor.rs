//! A request's descriptor, taken apart.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::BAR2_AT;
use stroma_hw::block;
use stroma_hw::constant::number;

use super::fields::{kind, request};

block! {
    /// Names what a descriptor holds, and says where in the card it points.
    ///
    /// - **Ports** `bits`: the descriptor; the rest follows from it in the same cycle. `place`: address of the first dword, BAR2 behind BAR0, or in
    ///   the table of vectors if `is_table`; `is_known`: the BAR is one of ours; `is_read`, `is_write`: of memory; `is_locked`: a read that locks;
    ///   `is_posted`: nobody waits for an answer.
    /// - **Latency** 0 cycles.
    pub struct Descriptor {
        pub bits: Signal<In, Bits<128>>,
        pub address_type: Signal<Out, Bits<2>>,
        pub place: Signal<Out, Bits<25>>,
        pub count: Signal<Out, Bits<11>>,
        pub requester: Signal<Out, Bits<16>>,
        pub tag: Signal<Out, Bits<8>>,
        pub asked_function: Signal<Out, Bits<8>>,
        pub traffic_class: Signal<Out, Bits<3>>,
        pub attributes: Signal<Out, Bits<3>>,
        pub is_table: Signal<Out, Bit>,
        pub is_known: Signal<Out, Bit>,
        pub is_read: Signal<Out, Bit>,
        pub is_write: Signal<Out, Bit>,
        pub is_locked: Signal<Out, Bit>,
        pub is_posted: Signal<Out, Bit>,
        bar: Signal<Local, Bits<3>>,
        asked: Signal<Local, Bits<4>>,
        writes: Signal<Local, Bit>,
        dword: Signal<Local, Bits<22>>,
        second: Constant<Bits<25>> = number(BAR2_AT),
        table: Constant<Bits<22>> = number((1_u64 << 14) - 1),
        read: Constant<Bits<4>> = number(kind::READ),
        write: Constant<Bits<4>> = number(kind::WRITE),
        locked_read: Constant<Bits<4>> = number(kind::LOCKED_READ),
        first_message: Constant<Bits<4>> = number(kind::FIRST_MESSAGE),
        address_type_at: Constant<Bits<7>> = number(request::ADDRESS_TYPE.at),
        address_at: Constant<Bits<7>> = number(request::ADDRESS.at),
        count_at: Constant<Bits<7>> = number(request::COUNT.at),
        kind_at: Constant<Bits<7>> = number(request::KIND.at),
        requester_at: Constant<Bits<7>> = number(request::REQUESTER.at),
        tag_at: Constant<Bits<7>> = number(request::TAG.at),
        asked_function_at: Constant<Bits<7>> = number(request::FUNCTION.at),
        bar_at: Constant<Bits<7>> = number(request::BAR.at),
        traffic_class_at: Constant<Bits<7>> = number(request::CLASS.at),
        attributes_at: Constant<Bits<7>> = number(request::ATTRIBUTES.at),
    }
}

impl Logic for Descriptor {
    #[hdl_gen]
    fn update(&mut self) {
        self.address_type.next = bit_cast::<2, 128>(self.bits.val() >> self.address_type_at.val());
        self.count.next = bit_cast::<11, 128>(self.bits.val() >> self.count_at.val());
        self.asked.next = bit_cast::<4, 128>(self.bits.val() >> self.kind_at.val());
        self.requester.next = bit_cast::<16, 128>(self.bits.val() >> self.requester_at.val());
        self.tag.next = bit_cast::<8, 128>(self.bits.val() >> self.tag_at.val());
        self.asked_function.next = bit_cast::<8, 128>(self.bits.val() >> self.asked_function_at.val());
        self.bar.next = bit_cast::<3, 128>(self.bits.val() >> self.bar_at.val());
        self.traffic_class.next = bit_cast::<3, 128>(self.bits.val() >> self.traffic_class_at.val());
        self.attributes.next = bit_cast::<3, 128>(self.bits.val() >> self.attributes_at.val());

        self.writes.next = self.asked.val() == self.write.val();
        self.is_read.next = self.asked.val() == self.read.val();
        self.is_write.next = self.writes.val();
        self.is_locked.next = self.asked.val() == self.locked_read.val();
        self.is_posted.next = self.writes.val() | (self.asked.val() >= self.first_message.val());

        // BARs lie at multiples of their length, so the lower bits of an address are the place in its BAR.
        self.is_known.next = (self.bar.val() != 6) & !self.bar.val().get_bit(0);
        self.is_table.next = self.bar.val().get_bit(2);
        self.dword.next = bit_cast::<22, 128>(self.bits.val() >> self.address_at.val());
        if self.bar.val().get_bit(2) {
            self.dword.next =
                bit_cast::<22, 128>(self.bits.val() >> self.address_at.val()) & self.table.val();
        }
        self.place.next = bit_cast::<25, 22>(self.dword.val()) << 2;
        if self.bar.val().get_bit(1) {
            self.place.next = (bit_cast::<25, 22>(self.dword.val()) << 2) | self.second.val();
        }
    }
}
