//! Who the network port is: its MAC and IP addresses, stored by the driver.

use rust_hdl::prelude::*;
use stroma_abi::regs::Reg as Register;
use stroma_abi::regs::map::{PORT_ADDRESSES, port};

use super::place::{PLACE_BITS, RegisterStore, bit, part, place};
use super::stations::{HALF_BITS, HalfStore};
use crate::constant::number;
use crate::host::events::alarm::{CLOCK_KHZ, FRACTION, cycles_per_us};
use crate::prim::mul::Mul;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;

/// Bits that name one of the addresses.
pub const ADDRESS_BITS: usize = 4;
/// Halves of addresses.
const HALVES: usize = 2 * PORT_ADDRESSES;
/// Who looks an address up: the receiving side and the sending side.
pub const READERS: usize = 2;

const _: () = assert!(PORT_ADDRESSES == 1 << ADDRESS_BITS);

// Both lie in the same eight bytes.
const _: () =
    assert!(port::BLOCK.address(&port::RAW_QUEUE_PAIR) / 8 == port::BLOCK.address(&port::CNP_INTERVAL) / 8);

/// The bits of `raw_queue_pair` and `cnp_interval` that mean something, within their eight bytes.
fn choice_bits() -> Constant<Bits<64>> {
    let of = |register: &Register| {
        let parts = register.fields.iter().map(|entry| entry.field.max() << entry.field.offset());
        parts.fold(0, |bits, part| bits | part) << bit(&port::BLOCK, register)
    };
    number(of(&port::RAW_QUEUE_PAIR) | of(&port::CNP_INTERVAL))
}

/// What they hold after reset.
fn first_choice() -> Constant<Bits<64>> {
    let interval = port::CNP_INTERVAL.reset.expect("a number");
    number(interval << bit(&port::BLOCK, &port::CNP_INTERVAL))
}

block! {
    /// Keeps the registers of the block `port`.
    ///
    /// Each reader has a memory for either half of its own, and so has the host. A bit for each half says that it was stored
    /// since reset; without it the half counts as zero, so nothing has to be scrubbed.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: the register there, 0 elsewhere; `store`: stores to BAR0; `mac`:
    ///   the MAC address, first byte highest; `raw_queue_pair`, `raw_enable`: who gets raw frames, and whether they are wanted; `cnp_interval`: cycles from one congestion notification of a queue pair to the next,
    ///   never too few; `index[i]`, `address[i]`: an address, first byte highest; `stored`: a half of one that changes.
    /// - **Latency** 1 cycle from `place` to `word` and from `store` to all else, but 4 to `cnp_interval`; 0 from `index` to `address`.
    ///   **Rate** a place, a store and an index of each reader per cycle.
    /// - **Reset** clears all at once.
    pub struct PortTable {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub mac: Signal<Out, Bits<48>>,
        pub raw_queue_pair: Signal<Out, Bits<24>>,
        pub raw_enable: Signal<Out, Bit>,
        pub cnp_interval: Signal<Out, Bits<32>>,
        pub index: [Signal<In, Bits<ADDRESS_BITS>>; READERS],
        pub address: [Signal<Out, Bits<128>>; READERS],
        pub stored: Signal<Out, HalfStore>,
        found: Reg<Bits<64>>,
        half_store: Reg<HalfStore>,
        mac_bytes: Reg<Bits<48>>,
        choices: Reg<Bits<64>>,
        cycles: Mul<16, 16, 32>,
        is_stored: Reg<Bits<HALVES>>,
        lows: [LutRam<Bits<64>, ADDRESS_BITS>; READERS],
        highs: [LutRam<Bits<64>, ADDRESS_BITS>; READERS],
        shown: LutRam<Bits<64>, HALF_BITS>,
        kept: LutRam<Bits<64>, HALF_BITS>,
        forward_mac: Reverse<48>,
        forward: [Reverse<128>; READERS],
        half: Signal<Local, Bits<HALF_BITS>>,
        row: Signal<Local, Bits<ADDRESS_BITS>>,
        stores: Signal<Local, Bit>,
        old: Signal<Local, Bits<64>>,
        merged: Signal<Local, Bits<64>>,
        asked: Signal<Local, Bits<ADDRESS_BITS>>,
        low: Signal<Local, Bits<64>>,
        high: Signal<Local, Bits<64>>,
        low_half: Signal<Local, Bits<HALF_BITS>>,
        high_half: Signal<Local, Bits<HALF_BITS>>,
        joined: Signal<Local, Bits<128>>,
        look: Signal<Local, Bits<HALF_BITS>>,
        mac_place: Constant<Bits<PLACE_BITS>> = place(&port::BLOCK, &port::MAC, 0),
        choices_place: Constant<Bits<PLACE_BITS>> = place(&port::BLOCK, &port::RAW_QUEUE_PAIR, 0),
        raw_number_at: Constant<Bits<6>> = number(part(&port::BLOCK, &port::RAW_QUEUE_PAIR, "queue_pair")),
        raw_enable_at: Constant<Bits<6>> = number(part(&port::BLOCK, &port::RAW_QUEUE_PAIR, "enable")),
        interval_at: Constant<Bits<6>> = number(part(&port::BLOCK, &port::CNP_INTERVAL, "interval_us")),
        choice_bits: Constant<Bits<64>> = choice_bits(),
        first_choice: Constant<Bits<64>> = first_choice(),
        cycles_per_us: Constant<Bits<16>> = cycles_per_us(CLOCK_KHZ),
        fraction: Constant<Bits<4>> = number(FRACTION),
        first: Constant<Bits<PLACE_BITS>> = place(&port::BLOCK, &port::ADDRESS_LOW, 0),
        last: Constant<Bits<PLACE_BITS>> = place(&port::BLOCK, &port::ADDRESS_HIGH, PORT_ADDRESSES - 1),
        high_at: Constant<Bits<7>> = number(64),
    }
}

impl PortTable {
    /// The port of a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// If the clock is beyond 4 GHz.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { cycles_per_us: cycles_per_us(clock_khz), ..Self::default() }
    }
}

impl Logic for PortTable {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, shown, kept, cycles);
        dff_setup!(self, clock, found, mac_bytes, choices, is_stored, half_store);

        // A store goes over what was there.
        self.half.next = bit_cast::<5, 13>(self.store.val().place - self.first.val());
        self.row.next = bit_cast::<4, 5>(self.half.val() >> 1);
        self.stores.next = self.store.val().valid
            & (self.store.val().place >= self.first.val())
            & (self.store.val().place <= self.last.val());
        self.kept.read_address.next = self.half.val();
        self.old.next = 0.into();
        if self.is_stored.q.val().get_bit(self.half.val().index()) {
            self.old.next = self.kept.read_data.val();
        }
        self.merged.next =
            (self.old.val() & !self.store.val().mask) | (self.store.val().data & self.store.val().mask);
        self.kept.write_enable.next = self.stores.val();
        self.kept.write_address.next = self.half.val();
        self.kept.write_data.next = self.merged.val();
        self.shown.write_enable.next = self.stores.val();
        self.shown.write_address.next = self.half.val();
        self.shown.write_data.next = self.merged.val();
        if self.stores.val() {
            self.is_stored.d.next = self.is_stored.q.val().replace_bit(self.half.val().index(), true);
        }
        self.half_store.d.next.valid = self.stores.val();
        self.half_store.d.next.half = self.half.val();
        self.half_store.d.next.bytes = self.merged.val();
        self.stored.next = self.half_store.q.val();
        if self.store.val().valid & (self.store.val().place == self.mac_place.val()) {
            self.mac_bytes.d.next = (self.mac_bytes.q.val() & !bit_cast::<48, 64>(self.store.val().mask))
                | bit_cast::<48, 64>(self.store.val().data & self.store.val().mask);
        }
        if self.store.val().valid & (self.store.val().place == self.choices_place.val()) {
            self.choices.d.next = (self.choices.q.val() & !self.store.val().mask)
                | (self.store.val().data & self.store.val().mask & self.choice_bits.val());
        }
        self.raw_queue_pair.next = bit_cast::<24, 64>(self.choices.q.val() >> self.raw_number_at.val());
        self.raw_enable.next = self.choices.q.val().get_bit(self.raw_enable_at.val().index());
        self.cycles.enable.next = true;
        self.cycles.a.next = bit_cast::<16, 64>(self.choices.q.val() >> self.interval_at.val());
        self.cycles.b.next = self.cycles_per_us.val();
        self.cnp_interval.next = (self.cycles.p.val() >> self.fraction.val()) + 1;
        self.forward_mac.forward.next = self.mac_bytes.q.val();
        self.mac.next = self.forward_mac.reversed.val();

        for i in 0..READERS {
            self.lows[i].clock.next = self.clock.val();
            self.lows[i].write_enable.next = self.stores.val() & !self.half.val().get_bit(0);
            self.lows[i].write_address.next = self.row.val();
            self.lows[i].write_data.next = self.merged.val();
            self.lows[i].read_address.next = self.index[i].val();
            self.highs[i].clock.next = self.clock.val();
            self.highs[i].write_enable.next = self.stores.val() & self.half.val().get_bit(0);
            self.highs[i].write_address.next = self.row.val();
            self.highs[i].write_data.next = self.merged.val();
            self.highs[i].read_address.next = self.index[i].val();
            self.asked.next = self.index[i].val();
            self.low.next = self.lows[i].read_data.val();
            self.high.next = self.highs[i].read_data.val();
            self.low_half.next = bit_cast::<5, 4>(self.asked.val()) << 1;
            self.high_half.next = self.low_half.val() | 1;
            self.joined.next = 0.into();
            if self.is_stored.q.val().get_bit(self.low_half.val().index()) {
                self.joined.next = bit_cast::<128, 64>(self.low.val());
            }
            if self.is_stored.q.val().get_bit(self.high_half.val().index()) {
                self.joined.next =
                    self.joined.val() | (bit_cast::<128, 64>(self.high.val()) << self.high_at.val());
            }
            self.forward[i].forward.next = self.joined.val();
            self.address[i].next = self.forward[i].reversed.val();
        }

        self.look.next = bit_cast::<5, 13>(self.place.val() - self.first.val());
        self.shown.read_address.next = self.look.val();
        self.found.d.next = 0.into();
        if self.place.val() == self.mac_place.val() {
            self.found.d.next = bit_cast::<64, 48>(self.mac_bytes.q.val());
        }
        if self.place.val() == self.choices_place.val() {
            self.found.d.next = self.choices.q.val();
        }
        if (self.place.val() >= self.first.val())
            & (self.place.val() <= self.last.val())
            & self.is_stored.q.val().get_bit(self.look.val().index())
        {
            self.found.d.next = self.shown.read_data.val();
        }
        self.word.next = self.found.q.val();
        if self.reset.val() {
            self.is_stored.d.next = 0.into();
            self.mac_bytes.d.next = 0.into();
            self.choices.d.next = self.first_choice.val();
            self.half_store.d.next.valid = false;
        }
    }
}
