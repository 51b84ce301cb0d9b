//! Calls of libibverbs, as a C program makes them, on two cards that this process serves itself: above all those that are wrong.

#![expect(unsafe_code, reason = "calls of a C library")]

mod builder;
mod busy;
mod chains;
mod completions;
mod events;
mod inspection;
mod posting;
mod refused;
mod regions;
mod stage;
mod threads;
