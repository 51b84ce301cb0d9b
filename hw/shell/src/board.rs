//! The registers of the board, and what they act on: the sensor in the chip, the cage, the wire that cuts the power.

pub mod guard;
#[cfg(test)]
mod tests;
pub mod thermometer;

use rust_hdl::prelude::*;
use stroma_abi::regs::Reg as Register;
use stroma_abi::regs::map::board;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{StreamSink, StreamSource};

use crate::pcie::completer::{RegAnswer, RegRequest};
use guard::Guard;
use thermometer::Thermometer;

/// Registers, in the order in which the block has their values.
const ROWS: [Register; 16] = [
    board::NAME,
    board::TEMPERATURE,
    board::HOT,
    board::CAGE,
    board::LINK,
    board::LINK_DOWNS,
    board::RX_OVERRUN,
    board::TX_OVERSIZED,
    board::PCIE,
    board::PCIE_ODD,
    board::PCIE_WRITES,
    board::PCIE_READS,
    board::PCIE_FAILED,
    board::PCIE_TIMEOUTS,
    board::PCIE_UNEXPECTED,
    board::INTERRUPTS_FAILED,
];

/// The lowest bit of a part of a register.
pub(crate) fn low<const N: usize>(reg: &Register, name: &str) -> Constant<Bits<N>> {
    let entry = reg.fields.iter().find(|entry| entry.name == name);
    number(entry.unwrap_or_else(|| panic!("register {} has no part {name}", reg.name)).field.offset())
}

block! {
    /// Answers for the registers of [`board`], and drives what they control.
    ///
    /// - **Ports** `request`, `answer`: accesses; `board_name`: the board's; `link`: as the register has it, and so on for the counters, all on `clock`;
    ///   `cage_absent`, `cage_interrupts`: levels on `clock`; `sysmon_*`: the sensor, as [`Thermometer`] says; `cage_reset`, `cage_low_power`, `too_hot`: to the
    ///   board, from registers.
    /// - **Latency** 2 cycles. **Rate** an access every other cycle. **Backpressure** one access waits, `request` does then.
    /// - **Reset** puts registers back; the temperature is measured anew.
    /// - **Limits** registers are stored by whole words of 32 bits; a narrower store changes nothing.
    pub struct Board {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: StreamSink<RegRequest>,
        pub answer: StreamSource<RegAnswer>,
        pub board_name: Signal<In, Bits<32>>,
        pub link: Signal<In, Bits<32>>,
        pub link_downs: Signal<In, Bits<32>>,
        pub rx_overrun: Signal<In, Bits<32>>,
        pub tx_oversized: Signal<In, Bits<32>>,
        pub pcie: Signal<In, Bits<32>>,
        pub pcie_odd: Signal<In, Bits<32>>,
        pub pcie_writes: Signal<In, Bits<32>>,
        pub pcie_reads: Signal<In, Bits<32>>,
        pub pcie_failed: Signal<In, Bits<32>>,
        pub pcie_timeouts: Signal<In, Bits<32>>,
        pub pcie_unexpected: Signal<In, Bits<32>>,
        pub interrupts_failed: Signal<In, Bits<32>>,
        pub cage_absent: Signal<In, Bit>,
        pub cage_interrupts: Signal<In, Bit>,
        pub cage_reset: Signal<Out, Bit>,
        pub cage_low_power: Signal<Out, Bit>,
        pub too_hot: Signal<Out, Bit>,
        pub sysmon_daddr: Signal<Out, Bits<8>>,
        pub sysmon_den: Signal<Out, Bit>,
        pub sysmon_do: Signal<In, Bits<16>>,
        pub sysmon_drdy: Signal<In, Bit>,
        thermometer: Thermometer,
        guard: Guard,
        given: Skid<RegAnswer>,
        held: Reg<RegRequest>,
        held_valid: Reg<Bit>,
        is_reset: Reg<Bit>,
        saves_power: Reg<Bit>,
        values: [Signal<Local, Bits<32>>; ROWS.len()],
        halves: [Signal<Local, Bits<32>>; 2],
        word: Signal<Local, Bits<10>>,
        moves: Signal<Local, Bit>,
        stores_low: Signal<Local, Bit>,
        stores_high: Signal<Local, Bit>,
        stored: Signal<Local, Bits<32>>,
        stores_hot: Signal<Local, Bit>,
        stores_cage: Signal<Local, Bit>,
        at: [Constant<Bits<10>>; ROWS.len()] = constants(|row| (ROWS[row].offset as u64 / 4).into()),
        hot: Constant<Bits<10>> = number(board::HOT.offset / 4),
        cage: Constant<Bits<10>> = number(board::CAGE.offset / 4),
        word_bits: Constant<Bits<7>> = number(32_u64),
        valid_at: Constant<Bits<5>> = low(&board::TEMPERATURE, "valid"),
        tripped_at: Constant<Bits<5>> = low(&board::HOT, "tripped"),
        reset_at: Constant<Bits<5>> = low(&board::CAGE, "reset"),
        low_power_at: Constant<Bits<5>> = low(&board::CAGE, "low_power"),
        absent_at: Constant<Bits<5>> = low(&board::CAGE, "absent"),
        interrupts_at: Constant<Bits<5>> = low(&board::CAGE, "interrupts"),
    }
}

impl Board {
    /// One that measures every `2^log` cycles.
    #[must_use]
    pub fn measuring_every(log: u32) -> Self {
        Self { thermometer: Thermometer::every(log), ..Self::default() }
    }
}

impl Logic for Board {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, thermometer, guard, given);
        dff_setup!(self, clock, held, held_valid, is_reset, saves_power);
        self.thermometer.reset.next = self.reset.val();
        self.guard.reset.next = self.reset.val();
        self.given.reset.next = self.reset.val();
        self.sysmon_daddr.next = self.thermometer.daddr.val();
        self.sysmon_den.next = self.thermometer.den.val();
        self.thermometer.drp_do.next = self.sysmon_do.val();
        self.thermometer.drdy.next = self.sysmon_drdy.val();
        self.guard.code.next = self.thermometer.code.val();
        self.guard.measured.next = self.thermometer.measured.val();
        self.too_hot.next = self.guard.tripped.val();
        self.cage_reset.next = self.is_reset.q.val();
        self.cage_low_power.next = self.saves_power.q.val();

        // What there is to be read.
        self.values[0].next = self.board_name.val();
        self.values[1].next = bit_cast::<32, 16>(self.thermometer.code.val())
            .replace_bit(self.valid_at.val().index(), self.thermometer.is_known.val());
        self.values[2].next = bit_cast::<32, 16>(self.guard.limit.val())
            .replace_bit(self.tripped_at.val().index(), self.guard.tripped.val());
        self.values[3].next = 0.into();
        self.values[3].next = self.values[3]
            .val()
            .replace_bit(self.reset_at.val().index(), self.is_reset.q.val())
            .replace_bit(self.low_power_at.val().index(), self.saves_power.q.val())
            .replace_bit(self.absent_at.val().index(), self.cage_absent.val())
            .replace_bit(self.interrupts_at.val().index(), self.cage_interrupts.val());
        self.values[4].next = self.link.val();
        self.values[5].next = self.link_downs.val();
        self.values[6].next = self.rx_overrun.val();
        self.values[7].next = self.tx_oversized.val();
        self.values[8].next = self.pcie.val();
        self.values[9].next = self.pcie_odd.val();
        self.values[10].next = self.pcie_writes.val();
        self.values[11].next = self.pcie_reads.val();
        self.values[12].next = self.pcie_failed.val();
        self.values[13].next = self.pcie_timeouts.val();
        self.values[14].next = self.pcie_unexpected.val();
        self.values[15].next = self.interrupts_failed.val();

        // One access is held while its answer is made.
        self.request.ready.next = !self.held_valid.q.val();
        if self.request.valid.val() & !self.held_valid.q.val() {
            self.held.d.next = self.request.payload.val();
            self.held_valid.d.next = true;
        }
        self.moves.next = self.held_valid.q.val() & self.given.sink.ready.val();
        if self.moves.val() {
            self.held_valid.d.next = false;
        }
        self.word.next = bit_cast::<10, 16>(self.held.q.val().addr >> 2) & 0x3fe;
        self.halves[0].next = 0.into();
        self.halves[1].next = 0.into();
        for i in 0..16 {
            if self.at[i].val() == self.word.val() {
                self.halves[0].next = self.values[i].val();
            }
            if self.at[i].val() == (self.word.val() | 1) {
                self.halves[1].next = self.values[i].val();
            }
        }
        self.given.sink.payload.next.data = bit_cast::<64, 32>(self.halves[0].val())
            | (bit_cast::<64, 32>(self.halves[1].val()) << self.word_bits.val());
        self.given.sink.valid.next = self.held_valid.q.val();
        StreamSource::<RegAnswer>::link(&mut self.answer, &mut self.given.source);

        // What is stored.
        self.stores_low.next =
            self.moves.val() & self.held.q.val().is_write & self.held.q.val().strb.get_bits::<4>(0).all();
        self.stores_high.next =
            self.moves.val() & self.held.q.val().is_write & self.held.q.val().strb.get_bits::<4>(4).all();
        self.stores_hot.next = self.stores_high.val() & ((self.word.val() | 1) == self.hot.val());
        self.stores_cage.next = self.stores_low.val() & (self.word.val() == self.cage.val());
        self.stored.next = self.held.q.val().data.get_bits::<32>(32);
        self.guard.limit_in.next = self.stored.val().get_bits::<16>(0);
        self.guard.stores.next = self.stores_hot.val();
        if self.stores_cage.val() {
            self.is_reset.d.next = self.held.q.val().data.get_bit(self.reset_at.val().index());
            self.saves_power.d.next = self.held.q.val().data.get_bit(self.low_power_at.val().index());
        }
        if self.reset.val() {
            self.held_valid.d.next = false;
            self.is_reset.d.next = false;
            self.saves_power.d.next = false;
        }
    }
}
