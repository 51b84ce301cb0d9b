//! Interrupts as messages, by a table that the host fills.
