//! Interrupts as messages, by a table that the host fills.

pub mod first;
pub mod messages;
pub mod vectors;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::regs::map::VECTORS;
use stroma_hw::block;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::completer::{RegAnswer, RegRequest};
use messages::Messages;
use vectors::Vectors;

const _: () = assert!(VECTORS == 32, "a vector has five bits, here and in the card");

block! {
    /// Turns interrupts of the card into messages of MSI-X, each with the address and data that the host has put into the table.
    ///
    /// - **Ports** `irq`: vectors to raise, taken at once whatever becomes of them; `requests`, `answers`: BAR4, with the table at 0 and the pending bits at 0x800;
    ///   `cfg_interrupt_*`: the hard block, bits of function 0. `failures`: messages that the block could not send, which are sent again.
    /// - **Order** a vector that is masked, or for which messages are not enabled, is pending until it may go; raised again meanwhile, it is one message.
    ///   Those that may go take turns.
    /// - **Latency** 7 cycles from `irq` to `cfg_interrupt_msix_int`. **Rate** one message at a time, as fast as the block tells that it was sent.
    /// - **Backpressure** none on `irq`; an access every second cycle.
    /// - **Reset** masks every vector, and none is pending. Addresses and data stay as they are: nobody may count on them. The hard block may still tell of a
    ///   message from before, which nobody hears.
    /// - **Limits** a block that tells nothing of a message stops all others for ever.
    pub struct Interrupts {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub irq: StreamSink<Bits<5>>,
        pub requests: StreamSink<RegRequest>,
        pub answers: StreamSource<RegAnswer>,
        pub cfg_interrupt_msix_enable: Signal<In, Bit>,
        pub cfg_interrupt_msix_mask: Signal<In, Bit>,
        pub cfg_interrupt_msix_address: Signal<Out, Bits<64>>,
        pub cfg_interrupt_msix_data: Signal<Out, Bits<32>>,
        pub cfg_interrupt_msix_int: Signal<Out, Bit>,
        pub cfg_interrupt_msi_sent: Signal<In, Bit>,
        pub cfg_interrupt_msi_fail: Signal<In, Bit>,
        pub failures: Signal<Out, Bits<32>>,
        vectors: Vectors,
        messages: Messages,
    }
}

impl Logic for Interrupts {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, vectors, messages);
        self.vectors.reset.next = self.reset.val();
        self.messages.reset.next = self.reset.val();
        StreamSink::<RegRequest>::link(&mut self.requests, &mut self.vectors.requests);
        StreamSource::<RegAnswer>::link(&mut self.answers, &mut self.vectors.answers);
        StreamSink::<Bits<5>>::link(&mut self.irq, &mut self.messages.irq);

        self.vectors.pending.next = self.messages.pending.val();
        self.vectors.row.next = self.messages.row.val();
        self.messages.word.next = self.vectors.word.val();
        self.messages.masks.next = self.vectors.masks.val();

        self.messages.enable.next = self.cfg_interrupt_msix_enable.val();
        self.messages.mask.next = self.cfg_interrupt_msix_mask.val();
        self.messages.sent.next = self.cfg_interrupt_msi_sent.val();
        self.messages.fail.next = self.cfg_interrupt_msi_fail.val();
        self.cfg_interrupt_msix_address.next = self.messages.address.val();
        self.cfg_interrupt_msix_data.next = self.messages.data.val();
        self.cfg_interrupt_msix_int.next = self.messages.gives.val();
        self.failures.next = self.messages.failures.val();
    }
}
