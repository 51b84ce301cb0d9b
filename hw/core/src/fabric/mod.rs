//! Where kernels sit: requests come in, answers go out, and what kernels read and write is checked on its way.
//!
//! ```text
//!   Sequence ─ reserves ─┐
//!   Place ─ Call, payload ─┬─ Port ─ command, data_in ─ kernel
//!                          │  Port ◀─ read, write ───── kernel      Port: one for each kernel
//!                          │  Port ◀─ data_out, response ─ kernel
//!                          │   │ └─ Access, bytes ─ Dma ─ Mmu, HostReader, HostWriter
//!                          │   └─ Chunk, bytes ─ Deliver ─┬─ Dma: the queue pair's result area
//!                          └─ Calls ◀─ Ended ─────────────┘─ staging ─ Fetch
//!                               └─ Task ─ Respond
//! ```
//!
//! Receiving never waits for a kernel. Sequence takes a packet of an RPC only if its port has said that there is room, and
//! reserves it in the same cycle; what finds none is refused with RNR. A port takes what was reserved at once. What a kernel
//! reads has its place before it is asked for, what it writes is whole before it is told to the host, and what it
//! answers leaves the port in whole chunks: a kernel that stands still holds up nobody but its own callers.
//!
//! Answers of one kernel come in the order of its commands. One of a single packet goes to the wire at once, out of the
//! staging, if it is its turn; all go to the result area of their queue pair, from which longer ones are sent, and those that
//! are asked for again.

pub mod calls;
pub mod deliver;
pub mod dma;
pub mod join;
pub mod port;
pub mod records;
