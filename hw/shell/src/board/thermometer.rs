//! Asks the chip's own sensor for the temperature, again and again.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

/// log2 of the cycles between two measurements: a quarter of a millisecond at 250 MHz.
const INTERVAL_LOG: u32 = 16;
/// The sensor's register of the temperature (UG580, status registers).
const TEMPERATURE: u64 = 0x00;

block! {
    /// Reads the temperature through the port by which SYSMONE4 is configured (its `DRP`).
    ///
    /// - **Ports** `daddr`, `den`, `drp_do`, `drdy`: as SYSMONE4 has them, with `clock` for its `DCLK`, never writing; `code`: what was read last;
    ///   `is_known`: something was; `measured`: high for a cycle behind each reading.
    /// - **Rate** one reading in `2^16` cycles. A sensor that does not answer is asked again behind the next interval; an answer that comes late counts
    ///   then.
    /// - **Reset** nothing is known.
    pub struct Thermometer {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub daddr: Signal<Out, Bits<8>>,
        pub den: Signal<Out, Bit>,
        pub drp_do: Signal<In, Bits<16>>,
        pub drdy: Signal<In, Bit>,
        pub code: Signal<Out, Bits<16>>,
        pub is_known: Signal<Out, Bit>,
        pub measured: Signal<Out, Bit>,
        time: Reg<Bits<24>>,
        asks: Reg<Bit>,
        was_measured: Reg<Bit>,
        found: Reg<Bits<16>>,
        has_found: Reg<Bit>,
        interval: Constant<Bits<24>> = number((1_u64 << INTERVAL_LOG) - 1),
        register: Constant<Bits<8>> = number(TEMPERATURE),
    }
}

impl Thermometer {
    /// One that asks every `2^log` cycles.
    #[must_use]
    pub fn every(log: u32) -> Self {
        Self { interval: number((1_u64 << log) - 1), ..Self::default() }
    }
}

impl Logic for Thermometer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, time, asks, was_measured, found, has_found);
        self.daddr.next = self.register.val();
        self.den.next = self.asks.q.val();
        self.code.next = self.found.q.val();
        self.is_known.next = self.has_found.q.val();
        self.measured.next = self.was_measured.q.val();
        self.time.d.next = self.time.q.val() + 1;
        self.asks.d.next = false;
        if self.time.q.val() == self.interval.val() {
            self.time.d.next = 0.into();
            self.asks.d.next = true;
        }
        self.was_measured.d.next = self.drdy.val();
        if self.drdy.val() {
            self.found.d.next = self.drp_do.val();
            self.has_found.d.next = true;
        }
        if self.reset.val() {
            self.time.d.next = 0.into();
            self.asks.d.next = false;
            self.was_measured.d.next = false;
            self.found.d.next = 0.into();
            self.has_found.d.next = false;
        }
    }
}
