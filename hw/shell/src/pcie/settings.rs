//! What the host has set up for the function.

pub mod restart;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

pub use restart::Restart;

/// Where the capability of PCI Express lies in the configuration space of the hard block: verilog-pcie@25156a9 `rtl/pcie_us_if.v`, for `UltraScale+`;
/// cocotbext-pcie `xilinx/us/usp_model.py` says the same.
const CAPABILITY_AT: usize = 0x70;
/// Device Control in it, with Device Status above (PCIe Base Specification, 7.5.3.4).
const CONTROL_AT: usize = CAPABILITY_AT + 8;
/// Its bit that allows tags of eight bits.
const EXTENDED_TAGS_BIT: usize = 8;
/// Bus master enable among the bits that `cfg_function_status` has of function 0 (PG213, "Configuration Status Interface").
const MASTER_BIT: usize = 2;
/// Cycles between two looks at Device Control, and cycles after which one counts as lost.
const INTERVAL: usize = 1023;
/// What code 0 means, for payload and for requests: 128 bytes.
const SMALLEST_LOG: usize = 7;
/// The last code for a length of requests that means something: 4096 bytes.
const LAST_CODE: usize = 5;

block! {
    /// Tells the rest of the shell how it may ask.
    ///
    /// The block shows the largest payload and request at its pins. Whether tags may have eight bits has to be read from its configuration space, again and again, because it
    /// does not tell of a change.
    ///
    /// - **Ports** `cfg_*`: the hard block. `max_payload_log`, `max_read_log`: log2 of the most bytes of a write, 7 to 10, and of the most a read may ask for, 7 to 12; codes
    ///   that mean nothing count as 128 bytes. `extended_tags`: tags of eight bits, not of five; `is_master`: the function may ask for memory, and send interrupts.
    /// - **Latency** 1 cycle from a pin. Tags: two intervals of 1024 cycles at most, if the block answers at once.
    /// - **Reset** 128 bytes, tags of five bits, no master. A read of the block that is under way is given up.
    /// - **Limits** a block that does not answer in 1024 cycles is asked again after as many; what it said before holds.
    pub struct Settings {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub cfg_max_payload: Signal<In, Bits<2>>,
        pub cfg_max_read_req: Signal<In, Bits<3>>,
        pub cfg_function_status: Signal<In, Bits<16>>,
        pub cfg_mgmt_addr: Signal<Out, Bits<10>>,
        pub cfg_mgmt_function_number: Signal<Out, Bits<8>>,
        pub cfg_mgmt_write: Signal<Out, Bit>,
        pub cfg_mgmt_write_data: Signal<Out, Bits<32>>,
        pub cfg_mgmt_byte_enable: Signal<Out, Bits<4>>,
        pub cfg_mgmt_read: Signal<Out, Bit>,
        pub cfg_mgmt_read_data: Signal<In, Bits<32>>,
        pub cfg_mgmt_read_write_done: Signal<In, Bit>,
        pub max_payload_log: Signal<Out, Bits<4>>,
        pub max_read_log: Signal<Out, Bits<4>>,
        pub extended_tags: Signal<Out, Bit>,
        pub is_master: Signal<Out, Bit>,
        payload: Reg<Bits<4>>,
        request: Reg<Bits<4>>,
        master: Reg<Bit>,
        tags: Reg<Bit>,
        asks: Reg<Bit>,
        left: Reg<Bits<10>>,
        control: Constant<Bits<10>> = number(CONTROL_AT / 4),
        interval: Constant<Bits<10>> = number(INTERVAL),
        smallest: Constant<Bits<4>> = number(SMALLEST_LOG),
        last_code: Constant<Bits<3>> = number(LAST_CODE),
        master_bit: Constant<Bits<4>> = number(MASTER_BIT),
        tags_bit: Constant<Bits<5>> = number(EXTENDED_TAGS_BIT),
    }
}

impl Logic for Settings {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, payload, request, master, tags, asks, left);
        self.max_payload_log.next = self.payload.q.val();
        self.max_read_log.next = self.request.q.val();
        self.is_master.next = self.master.q.val();
        self.extended_tags.next = self.tags.q.val();
        self.payload.d.next = bit_cast::<4, 2>(self.cfg_max_payload.val()) + self.smallest.val();
        self.request.d.next = self.smallest.val();
        if self.cfg_max_read_req.val() <= self.last_code.val() {
            self.request.d.next = bit_cast::<4, 3>(self.cfg_max_read_req.val()) + self.smallest.val();
        }
        self.master.d.next = (self.cfg_function_status.val() >> self.master_bit.val()).get_bit(0);

        self.cfg_mgmt_addr.next = self.control.val();
        self.cfg_mgmt_function_number.next = 0.into();
        self.cfg_mgmt_write.next = false;
        self.cfg_mgmt_write_data.next = 0.into();
        self.cfg_mgmt_byte_enable.next = 0.into();
        self.cfg_mgmt_read.next = self.asks.q.val();
        self.left.d.next = self.left.q.val() - 1;
        if !self.left.q.val().any() {
            self.asks.d.next = !self.asks.q.val();
            self.left.d.next = self.interval.val();
        }
        if self.asks.q.val() & self.cfg_mgmt_read_write_done.val() {
            self.tags.d.next = (self.cfg_mgmt_read_data.val() >> self.tags_bit.val()).get_bit(0);
            self.asks.d.next = false;
            self.left.d.next = self.interval.val();
        }
        if self.reset.val() {
            self.payload.d.next = self.smallest.val();
            self.request.d.next = self.smallest.val();
            self.master.d.next = false;
            self.tags.d.next = false;
            self.asks.d.next = false;
            self.left.d.next = self.interval.val();
        }
    }
}
