//! How a completion opens.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;

use super::descriptor::Descriptor;
use super::fields::{UNSUPPORTED_REQUEST, completion, refusal};
use super::requests::Head;

block! {
    /// Makes the descriptor of a completion, and what follows it when the request is refused.
    ///
    /// - **Ports** `head`: the request; `count`, `bytes`, `begins`: dwords of this completion, bytes of the request from here on, and the lowest bits of the
    ///   address of the first, none of which counts for a request that is refused, but for the address if it is a read of memory; `bits`: the descriptor and the five
    ///   dwords behind it, which belong to it only then.
    /// - **Latency** 0 cycles.
    pub struct Opening {
        pub head: Signal<In, Head>,
        pub count: Signal<In, Bits<11>>,
        pub bytes: Signal<In, Bits<13>>,
        pub begins: Signal<In, Bits<7>>,
        pub bits: Signal<Out, Bits<256>>,
        descriptor: Descriptor,
        counts: Signal<Local, Bits<11>>,
        sum: Signal<Local, Bits<13>>,
        status: Signal<Local, Bits<3>>,
        from: Signal<Local, Bits<7>>,
        size: Signal<Local, Bits<256>>,
        who: Signal<Local, Bits<256>>,
        why: Signal<Local, Bits<256>>,
        unsupported: Constant<Bits<3>> = number(UNSUPPORTED_REQUEST),
        refused_count: Constant<Bits<11>> = number(refusal::DWORDS),
        refused_bytes: Constant<Bits<13>> = number(refusal::BYTES),
        lower_address_at: Constant<Bits<8>> = number(completion::LOWER_ADDRESS.at),
        address_type_at: Constant<Bits<8>> = number(completion::ADDRESS_TYPE.at),
        bytes_at: Constant<Bits<8>> = number(completion::BYTES.at),
        is_locked_at: Constant<Bits<8>> = number(completion::IS_LOCKED.at),
        count_at: Constant<Bits<8>> = number(completion::COUNT.at),
        status_at: Constant<Bits<8>> = number(completion::STATUS.at),
        requester_at: Constant<Bits<8>> = number(completion::REQUESTER.at),
        tag_at: Constant<Bits<8>> = number(completion::TAG.at),
        asked_function_at: Constant<Bits<8>> = number(completion::FUNCTION.at),
        traffic_class_at: Constant<Bits<8>> = number(completion::CLASS.at),
        attributes_at: Constant<Bits<8>> = number(completion::ATTRIBUTES.at),
        first_be_at: Constant<Bits<8>> = number(refusal::FIRST_BE.at),
        last_be_at: Constant<Bits<8>> = number(refusal::LAST_BE.at),
        request_at: Constant<Bits<8>> = number(refusal::REQUEST.at),
        locked_bit: Constant<Bits<256>> = number(1_u64),
        nothing: Constant<Bits<256>> = number(0_u64),
        locked: Signal<Local, Bits<256>>,
    }
}

impl Logic for Opening {
    #[hdl_gen]
    fn update(&mut self) {
        self.descriptor.bits.next = self.head.val().descriptor;
        self.counts.next = self.count.val();
        self.sum.next = self.bytes.val();
        self.status.next = 0.into();
        self.from.next = self.begins.val();
        if self.head.val().is_refused {
            self.counts.next = self.refused_count.val();
            self.sum.next = self.refused_bytes.val();
            self.status.next = self.unsupported.val();
            if !self.descriptor.is_read.val() & !self.descriptor.is_locked.val() {
                self.from.next = 0.into();
            }
        }
        self.locked.next = self.nothing.val();
        if self.descriptor.is_locked.val() {
            self.locked.next = self.locked_bit.val();
        }
        self.size.next = (bit_cast::<256, 7>(self.from.val()) << self.lower_address_at.val())
            | (bit_cast::<256, 13>(self.sum.val()) << self.bytes_at.val())
            | (bit_cast::<256, 11>(self.counts.val()) << self.count_at.val())
            | (bit_cast::<256, 3>(self.status.val()) << self.status_at.val())
            | (self.locked.val() << self.is_locked_at.val());
        self.who.next = (bit_cast::<256, 2>(self.descriptor.address_type.val())
            << self.address_type_at.val())
            | (bit_cast::<256, 16>(self.descriptor.requester.val()) << self.requester_at.val())
            | (bit_cast::<256, 8>(self.descriptor.tag.val()) << self.tag_at.val())
            | (bit_cast::<256, 8>(self.descriptor.asked_function.val()) << self.asked_function_at.val())
            | (bit_cast::<256, 3>(self.descriptor.traffic_class.val()) << self.traffic_class_at.val())
            | (bit_cast::<256, 3>(self.descriptor.attributes.val()) << self.attributes_at.val());
        self.why.next = (bit_cast::<256, 4>(self.head.val().first_be) << self.first_be_at.val())
            | (bit_cast::<256, 4>(self.head.val().last_be) << self.last_be_at.val())
            | (bit_cast::<256, 128>(self.head.val().descriptor) << self.request_at.val());
        self.bits.next = self.size.val() | self.who.val() | self.why.val();
    }
}
