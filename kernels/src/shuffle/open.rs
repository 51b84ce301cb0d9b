//! Open: what an entry of the table says of its buffer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::shuffle::Buffer;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::{block, record};

use super::parameters::PARTITION_BITS;

record! {
    /// A buffer as it is at the beginning.
    pub struct Opened {
        /// Its number within the bank.
        pub index: Bits<PARTITION_BITS>,
        /// Where the next word goes.
        pub va: Bits<64>,
        /// Bytes in use.
        pub used: Bits<32>,
        /// Bytes in use when no tuple fits any more.
        pub limit: Bits<32>,
    }
}

block! {
    /// Computes where a buffer goes on and where it ends.
    ///
    /// - **Ports** `is_there`: one cycle, an `entry` and its `index` within the bank; `wide`: tuples have 16 bytes; `is_open`: one cycle, what it says.
    /// - **Latency** 2 cycles. **Rate** 1 entry per cycle. **Backpressure** none.
    /// - **Reset** forgets the entries.
    pub struct Open {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bit>,
        pub entry: Signal<In, Bits<128>>,
        pub index: Signal<In, Bits<PARTITION_BITS>>,
        pub wide: Signal<In, Bit>,
        pub is_open: Signal<Out, Bit>,
        pub opened: Signal<Out, Opened>,
        read: Reg<Opened>,
        room: Reg<Bits<32>>,
        is_read: Reg<Bit>,
        held: Reg<Opened>,
        is_held: Reg<Bit>,
        address: Signal<Local, Bits<64>>,
        capacity: Signal<Local, Bits<32>>,
        used: Signal<Local, Bits<32>>,
        address_at: Constant<Bits<7>> = number(Buffer::ADDRESS.offset()),
        capacity_at: Constant<Bits<7>> = number(Buffer::CAPACITY.offset()),
        used_at: Constant<Bits<7>> = number(Buffer::USED.offset()),
        whole: Constant<Bits<32>> = number(!7_u32),
        whole_wide: Constant<Bits<32>> = number(!15_u32),
    }
}

impl Logic for Open {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, read, room, is_read, held, is_held);
        self.address.next = self.entry.val().get_bits::<64>(self.address_at.val().index());
        self.capacity.next = self.entry.val().get_bits::<32>(self.capacity_at.val().index());
        self.used.next = self.entry.val().get_bits::<32>(self.used_at.val().index());
        self.read.d.next.index = self.index.val();
        self.read.d.next.va = self.address.val() + bit_cast::<64, 32>(self.used.val());
        self.read.d.next.used = self.used.val();
        self.read.d.next.limit = 0.into();
        self.room.d.next = 0.into();
        if self.capacity.val() > self.used.val() {
            self.room.d.next = self.capacity.val() - self.used.val();
        }
        self.is_read.d.next = self.is_there.val();

        self.held.d.next = self.read.q.val();
        self.held.d.next.limit = self.read.q.val().used + (self.room.q.val() & self.whole.val());
        if self.wide.val() {
            self.held.d.next.limit = self.read.q.val().used + (self.room.q.val() & self.whole_wide.val());
        }
        self.is_held.d.next = self.is_read.q.val();
        self.is_open.next = self.is_held.q.val();
        self.opened.next = self.held.q.val();
        if self.reset.val() {
            self.is_read.d.next = false;
            self.is_held.d.next = false;
        }
    }
}
