//! What threads share, in every order of their steps.
//!
//! The files below are those of the driver, of libibverbs and of the fabric. Each takes its locks, counters and fences from `crate::sync`,
//! and here these are loom's: a model (`models`) runs again and again, until its threads have taken their steps in every order, and until
//! each load has seen every value that the memory model allows. A thread that waits for ever is a failure as well.
//!
//! ```text
//!   host-driver/ibverbs  outbox, acks, handle      events for a program; who may end what
//!   host-driver/verbs    send_queue                requests, then their doorbell
//!   host-driver/device   entries, ring, barrier    the phase bit, then the entry
//!   host-driver/vfio-user  server/turn             one client at a time
//!   sim/fabric           clients, bell/rings       the last client; interrupts
//! ```
//!
//! What stands around these files in their own crates is stood in for here: a descriptor, the memory of a card, its doorbells. Loom does not
//! let time pass: what waits with a limit waits without.
//!
//! Where a thread waits for ever the program ends with "panic in a destructor", and names the model by its thread.

#![cfg(test)]
#![deny(unsafe_code)]

// `send_queue` is of another crate than what it stands on.
extern crate self as stroma_device;

mod card;
mod failure;
mod flag;
mod models;
mod sync;

use std::sync::PoisonError;

use card::{DmaMemory, DoorbellPage, Error, Result, doorbell, state, work_request};
use ring::{EntryRing, WorkRing};
use sync::{Mutex, MutexGuard};

macro_rules! files {
    ($($name:ident $path:literal)*) => {
        $(#[path = $path]
        #[allow(dead_code, unreachable_pub, reason = "models use a part of it, and their own crates more")]
        mod $name;)*
    };
}

files! {
    acks "../../../host-driver/ibverbs/src/acks.rs"
    barrier "../../../host-driver/device/src/barrier.rs"
    clients "../../../sim/fabric/src/clients.rs"
    entries "../../../host-driver/device/src/entries.rs"
    handle "../../../host-driver/ibverbs/src/handle.rs"
    outbox "../../../host-driver/ibverbs/src/outbox.rs"
    ring "../../../host-driver/device/src/ring.rs"
    rings "../../../sim/fabric/src/bell/rings.rs"
    send_queue "../../../host-driver/verbs/src/send_queue.rs"
    turn "../../../host-driver/vfio-user/src/server/turn.rs"
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
