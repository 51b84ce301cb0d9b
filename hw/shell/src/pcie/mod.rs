//! Towards the host: the hard block of PCIe, and its four streams of transactions.

pub mod completer;
pub mod interrupts;
pub mod pins;
pub mod requester;
pub mod settings;
